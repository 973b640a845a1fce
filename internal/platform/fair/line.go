package fair

import (
	"container/heap"
	"math"
	"slices"
)

// Anybody is a limit for Line.Next that nobody is beyond.
const Anybody = math.MaxInt64

// maxRemembered is how many keys that wait for nothing a Line remembers the costs of.
const maxRemembered = 1024

// kinds is how many kinds of items a Line has.
const kinds = 3

// Line is a queue in front of one loop. Keys come in the order of what they have cost so far: who costs
// much waits while others are there, and idle keys save up nothing. Items have a kind, from 0 to 2, and
// those of one key and kind stay in their order. It is not safe for concurrent use.
type Line[T any] struct {
	keys  map[string]*queue[T]
	ahead queues[T] // those that have items, the next one first
	now   int64     // cost at which the loop stands
	turns int64     // counts whose turn it was, for those who cost the same
	count [kinds]int
}

// queue is the items of a key.
type queue[T any] struct {
	key   string
	items [kinds][]T
	back  [kinds][]T // what PutBack is about to put before items
	n     int
	cost  int64 // where its next item stands
	turn  int64 // when it came, or was served last
	at    int   // in the heap; -1: it has no items
}

// Put adds an item of a kind after the others of its key.
func (l *Line[T]) Put(key string, kind int, item T) {
	k := l.queue(key)
	k.items[kind] = append(k.items[kind], item)
	k.n++
	l.count[kind]++
}

// PutBack adds items, in their order, before the others of their keys and kinds. It copies what waits
// of a key once, however many items it gets.
func (l *Line[T]) PutBack(items []T, of func(T) (key string, kind int)) {
	var touched []*queue[T] // for each kind that it gets items of
	for _, item := range items {
		key, kind := of(item)
		k := l.queue(key)
		if len(k.back[kind]) == 0 {
			touched = append(touched, k)
		}
		k.back[kind] = append(k.back[kind], item)
		k.n++
		l.count[kind]++
	}
	for _, k := range touched {
		for kind, back := range k.back {
			if len(back) > 0 {
				k.items[kind], k.back[kind] = append(back, k.items[kind]...), nil
			}
		}
	}
}

// queue finds the queue of a key that is about to get an item.
func (l *Line[T]) queue(key string) *queue[T] {
	k := l.keys[key]
	if k == nil {
		if l.keys == nil {
			l.keys = map[string]*queue[T]{}
		}
		if len(l.keys) >= maxRemembered+len(l.ahead) {
			l.tidy()
		}
		k = &queue[T]{key: key, at: -1}
		l.keys[key] = k
	}
	if k.at < 0 {
		k.cost, k.turn = max(k.cost, l.now), l.turn()
		heap.Push(&l.ahead, k)
	}
	return k
}

func (l *Line[T]) turn() int64 {
	l.turns++
	return l.turns
}

// tidy forgets keys that wait for nothing: first those that owe nothing, and if all do, all.
func (l *Line[T]) tidy() {
	for _, all := range []bool{false, true} {
		for key, k := range l.keys {
			if k.at < 0 && (all || k.cost <= l.now) {
				delete(l.keys, key)
			}
		}
		if len(l.keys) < maxRemembered+len(l.ahead) {
			return
		}
	}
}

// Cost is where a key stands.
func (l *Line[T]) Cost(key string) int64 {
	if k := l.keys[key]; k != nil {
		return max(k.cost, l.now)
	}
	return l.now
}

// Head is where the key stands whose turn is next; Anybody when nobody waits.
func (l *Line[T]) Head() int64 {
	if len(l.ahead) == 0 {
		return Anybody
	}
	return l.ahead[0].cost
}

// Ready reports whether Next would give an item.
func (l *Line[T]) Ready(kind int, limit int64) bool {
	k := l.first(kind)
	return k != nil && k.cost <= limit
}

// first is the queue with items of a kind whose turn is next.
func (l *Line[T]) first(kind int) *queue[T] {
	if l.count[kind] == 0 {
		return nil
	}
	if k := l.ahead[0]; len(k.items[kind]) > 0 {
		return k
	}
	var found *queue[T]
	for i, k := range l.ahead {
		if len(k.items[kind]) > 0 && (found == nil || l.ahead.Less(i, found.at)) {
			found = k
		}
	}
	return found
}

// Next takes the item of a kind whose turn it is, unless its key stands beyond a limit. It
// charges its key with 1; Charge says what it was worth.
func (l *Line[T]) Next(kind int, limit int64) (item T, ok bool) {
	k := l.first(kind)
	if k == nil || k.cost > limit {
		return item, false
	}
	l.now = max(l.now, k.cost)
	items := k.items[kind]
	item = items[0]
	clear(items[:1]) // so that its memory can go
	if k.items[kind] = items[1:]; len(items) == 1 {
		k.items[kind] = nil
	}
	l.count[kind]--
	k.n--
	k.cost, k.turn = k.cost+1, l.turn()
	if k.n == 0 {
		heap.Remove(&l.ahead, k.at)
	} else {
		heap.Fix(&l.ahead, k.at)
	}
	return item, true
}

// Remove takes out the first item of a key and kind that is one, before its turn, and reports
// whether there was any.
func (l *Line[T]) Remove(key string, kind int, is func(T) bool) bool {
	k := l.keys[key]
	if k == nil {
		return false
	}
	at := slices.IndexFunc(k.items[kind], is)
	if at < 0 {
		return false
	}
	k.items[kind] = slices.Delete(k.items[kind], at, at+1)
	l.count[kind]--
	if k.n--; k.n == 0 {
		heap.Remove(&l.ahead, k.at)
	}
	return true
}

// Charge says what a key has cost beyond the 1 of each item.
func (l *Line[T]) Charge(key string, cost int64) {
	k := l.keys[key]
	if k == nil {
		return
	}
	k.cost = max(k.cost, l.now) + cost
	if k.at >= 0 {
		heap.Fix(&l.ahead, k.at)
	}
}

// Now is the cost at which the loop stands: that of the last item that was taken.
func (l *Line[T]) Now() int64 { return l.now }

// Len is how many items of a kind wait.
func (l *Line[T]) Len(kind int) int { return l.count[kind] }

// Of is how many items of a key and kind wait.
func (l *Line[T]) Of(key string, kind int) int {
	if k := l.keys[key]; k != nil {
		return len(k.items[kind])
	}
	return 0
}

// queues is a heap.
type queues[T any] []*queue[T]

func (h queues[T]) Len() int { return len(h) }

func (h queues[T]) Less(i, j int) bool {
	return h[i].cost < h[j].cost || h[i].cost == h[j].cost && h[i].turn < h[j].turn
}

func (h queues[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push is heap's.
func (h *queues[T]) Push(x any) {
	k := x.(*queue[T])
	k.at = len(*h)
	*h = append(*h, k)
}

// Pop is heap's.
func (h *queues[T]) Pop() any {
	k := (*h)[len(*h)-1]
	k.at = -1
	(*h)[len(*h)-1] = nil
	*h = (*h)[:len(*h)-1]
	return k
}
