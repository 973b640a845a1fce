package recheck

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// index is what lists filter and sort by, of one tenant's strategies up to a revision.
// Strategies are known by their slot, a number that they keep.
type index struct {
	mu       sync.RWMutex
	revision int64
	slots    map[string]int32
	entries  []entry
	healths  []uint8           // by slot: the place in Healths
	tagged   []uint64          // by slot: a bit for each tag, several tags to a bit
	tags     map[string]uint32 // tags that there are or were, and their numbers
	orders   [fields][]int32   // all slots, ascending
	spare    []int32           // room for the next order

	used uint64 // when it was last used; with size guarded by Strategies.mu
	size int    // how many entries it had when it was last brought up to date
}

// entry is one strategy of the index.
type entry struct {
	id, name string
	searched string // id and name, folded, with a character between that no search has
	tags     []uint32
	checked  int64 // never when nobody has
}

func newIndex() *index { return &index{slots: map[string]int32{}, tags: map[string]uint32{}} }

// never is before every instant.
const never = math.MinInt64

// apply takes over changed strategies.
func (x *index) apply(changed []Strategy) {
	if len(changed) == 0 {
		return
	}
	slots := make([]int32, 0, len(changed))
	moved := newBitmap(len(x.entries) + len(changed))
	for i := range changed {
		slot := x.put(&changed[i])
		if !moved.has(slot) {
			moved.set(slot)
			slots = append(slots, slot)
		}
	}
	for by := range x.orders {
		x.reorder(field(by), slots, moved)
	}
}

// put makes the entry of a strategy and gives its slot.
func (x *index) put(s *Strategy) int32 {
	e := entry{id: s.ID, name: s.Name, searched: s.ID + "\x00" + normalize(s.Name), checked: never}
	if s.LastCheckedAt != nil {
		e.checked = int64(*s.LastCheckedAt)
	}
	var bits uint64
	for _, tag := range s.Tags {
		n, known := x.tags[tag]
		if !known {
			n = uint32(len(x.tags))
			x.tags[strings.Clone(tag)] = n
		}
		e.tags = append(e.tags, n)
		bits |= 1 << (n % 64)
	}
	slot, known := x.slots[s.ID]
	if !known {
		slot = int32(len(x.entries))
		x.slots[s.ID] = slot
		x.entries, x.healths, x.tagged = append(x.entries, entry{}), append(x.healths, 0), append(x.tagged, 0)
	}
	x.entries[slot], x.tagged[slot] = e, bits
	x.healths[slot] = uint8(max(0, slices.Index(Healths, s.Health)))
	return slot
}

// reorder brings the slots that moved to their places in one order. The others are
// copied in stretches, so that one change costs little in a long order and many changes
// cost not much more.
func (x *index) reorder(by field, slots []int32, moved bitmap) {
	order := func(a, b int32) int { return x.compare(by, a, b) }
	slices.SortFunc(slots, order)
	rest := slices.DeleteFunc(x.orders[by], moved.has)
	next := slices.Grow(x.spare[:0], len(rest)+len(slots))
	x.spare = x.orders[by]
	for _, slot := range slots {
		at, _ := slices.BinarySearchFunc(rest, slot, order)
		next = append(append(next, rest[:at]...), slot)
		rest = rest[at:]
	}
	x.orders[by] = append(next, rest...)
}

// compare says which of two slots is first.
func (x *index) compare(by field, a, b int32) int {
	left, right := &x.entries[a], &x.entries[b]
	c := 0
	switch by {
	case byName:
		c = strings.Compare(left.name, right.name)
	case byHealth:
		c = cmp.Compare(x.healths[a], x.healths[b])
	case byChecked:
		c = cmp.Compare(left.checked, right.checked)
	}
	if c == 0 {
		c = strings.Compare(left.id, right.id)
	}
	return c
}

// page is the ids of one page and how many strategies there are on all pages.
func (x *index) page(q *Query) (ids []string, total int) {
	order := x.orders[q.Sort.by]
	at := func(i int) int32 { return order[i] }
	if q.Sort.desc {
		at = func(i int) int32 { return order[len(order)-1-i] }
	}
	if q.Text == "" && q.TagsAny == nil && q.Health == nil {
		for i := q.Offset; i < len(order) && len(ids) < q.Limit; i++ {
			ids = append(ids, x.entries[at(i)].id)
		}
		return ids, len(order)
	}
	found, total := x.match(q)
	if q.Offset >= total {
		return nil, total
	}
	want := min(q.Limit, total-q.Offset)
	for i, skip := 0, q.Offset; len(ids) < want; i++ {
		slot := at(i)
		switch {
		case !found.has(slot):
		case skip > 0:
			skip--
		default:
			ids = append(ids, x.entries[slot].id)
		}
	}
	return ids, total
}

// match marks the strategies that a query wants, and counts them.
func (x *index) match(q *Query) (found bitmap, total int) {
	found = newBitmap(len(x.entries))
	text, tags := normalize(q.Text), x.wanted(q.TagsAny)
	healths := [...]bool{q.Health == nil, q.Health == nil, q.Health == nil}
	for _, h := range q.Health {
		healths[max(0, slices.Index(Healths, h))] = true
	}
	for slot, health := range x.healths {
		if healths[health] && (q.TagsAny == nil || x.hasAny(slot, &tags)) &&
			(text == "" || strings.Contains(x.entries[slot].searched, text)) {
			found.set(int32(slot))
		}
	}
	for _, word := range found {
		total += bits.OnesCount64(word)
	}
	return found, total
}

// tagSet is some tags by their numbers.
type tagSet struct {
	bits    uint64 // as in index.tagged
	numbers []uint32
}

// wanted is those of some tags that a strategy may have.
func (x *index) wanted(tags []string) (set tagSet) {
	for _, tag := range tags {
		if n, known := x.tags[tag]; known {
			set.bits |= 1 << (n % 64)
			set.numbers = append(set.numbers, n)
		}
	}
	return set
}

// hasAny reports whether a strategy has one of some tags.
func (x *index) hasAny(slot int, set *tagSet) bool {
	return x.tagged[slot]&set.bits != 0 &&
		(len(x.tags) <= 64 || slices.ContainsFunc(x.entries[slot].tags,
			func(n uint32) bool { return slices.Contains(set.numbers, n) }))
}

// bitmap is a set of small numbers.
type bitmap []uint64

func newBitmap(n int) bitmap { return make(bitmap, (n+63)/64) }

func (b bitmap) set(n int32)      { b[n/64] |= 1 << (n % 64) }
func (b bitmap) has(n int32) bool { return b[n/64]&(1<<(n%64)) != 0 }
