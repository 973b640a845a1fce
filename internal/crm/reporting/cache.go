package reporting

import (
	"crypto/sha256"
	"strings"
	"sync"
	"sync/atomic"
)

// cache has the facts of a tenant's opportunities in one version, and what they were in some versions
// before. A report takes the latest of these that is not newer than its transaction, and reads what
// has changed since. So a cache needs no lock against writers of facts, in any process. A fact takes
// 60 to 100 bytes without pointers.
type cache struct {
	mu  sync.RWMutex
	now dataVersion
	*hashTable
	owners words[string]
	keys   [3]words[[3]string] // of the cubes, see cubeNumbers
	past   []move              // the moves to the present version, the oldest first
	olds   int                 // facts in past
	most   int                 // of olds
	values atomic.Int64        // how many it has
}

// packed is an opportunity: its owner and its keys in each cube by their numbers.
type packed struct {
	owner            uint32
	keys             [3]uint32
	amount, weighted int64
}

// move is the difference between a version and the next one that was cached.
type move struct {
	from dataVersion
	was  []former
}

// former is what was counted of an opportunity; nil: it was not.
type former struct {
	key  recordKey
	fact *packed
}

// The cubes of opportunities, as places in packed.keys.
var cubeNumbers = map[string]int{stageCube: 0, monthCube: 1, campaignCube: 2}

// words numbers values.
type words[T comparable] struct {
	numbers map[T]uint32
	all     []T
}

func (w *words[T]) number(of T) uint32 {
	n, ok := w.numbers[of]
	if !ok {
		if w.numbers == nil {
			w.numbers = map[T]uint32{}
		}
		n = uint32(len(w.all))
		w.numbers[of], w.all = n, append(w.all, of)
	}
	return n
}

// recordKey is the id of a record in 16 bytes.
type recordKey [16]byte

// keyOf is a UUID, as they are written here, as bytes, and a hash of anything else.
func keyOf(id string) (k recordKey) {
	if len(id) == 36 && id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-' {
		wrong := byte(0)
		for i, at := range [len(k)]int{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34} {
			high, low := digits[id[at]], digits[id[at+1]]
			wrong |= high | low
			k[i] = high<<4 | low
		}
		if wrong < 16 {
			return k
		}
	}
	sum := sha256.Sum256([]byte(id))
	return recordKey(sum[:])
}

// digits are the values of hexadecimal digits, 16 of anything else.
var digits = func() (values [256]byte) {
	for i := range values {
		values[i] = 16
	}
	for i, c := range []byte("0123456789abcdef") {
		values[c] = byte(i)
	}
	return values
}()

func newCache(now dataVersion, most int) *cache {
	return &cache{now: now, hashTable: newHashTable(), most: most}
}

// size is how many values a cache has.
func (m *cache) size() int {
	if m == nil {
		return 0
	}
	return int(m.values.Load())
}

// count counts the values anew.
func (m *cache) count() {
	n := len(m.facts) + len(m.owners.all) + m.olds
	for i := range m.keys {
		n += len(m.keys[i].all)
	}
	m.values.Store(int64(n))
}

func (m *cache) pack(o *opportunity) packed {
	return packed{
		m.owners.number(o.owner),
		[3]uint32{
			m.keys[0].number([3]string{o.stage, o.status}),
			m.keys[1].number([3]string{o.month, o.category, o.status}),
			m.keys[2].number([3]string{o.campaign, o.status}),
		},
		o.amount, o.weighted,
	}
}

// set replaces the fact of an opportunity and gives the former one; nil is none.
func (m *cache) set(key recordKey, o *opportunity) (was *packed) {
	if o == nil {
		return m.put(key, nil)
	}
	p := m.pack(o)
	return m.put(key, &p)
}

// base is the latest cached version that is not newer than a number.
func (m *cache) base(num int64) (s dataVersion, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.now.num <= num {
		return m.now, true
	}
	for i := len(m.past) - 1; i >= 0; i-- {
		if m.past[i].from.num <= num {
			return m.past[i].from, true
		}
	}
	return dataVersion{}, false
}

// apply adds the changes since a version, unless it has newer ones.
func (m *cache) apply(since dataVersion, n changes) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.now == since {
		m.advance(n)
	}
}

func (m *cache) advance(n changes) {
	if n.now == m.now {
		return
	}
	s := move{from: m.now, was: make([]former, 0, len(n.facts))}
	for id, o := range n.facts {
		key := keyOf(id)
		s.was = append(s.was, former{key, m.set(key, o)})
	}
	m.now, m.past, m.olds = n.now, append(m.past, s), m.olds+len(s.was)
	for m.olds > m.most && len(m.past) > 0 {
		m.olds -= len(m.past[0].was)
		m.past[0].was = nil
		m.past = m.past[1:]
	}
	m.count()
}

// view is what a version has instead of what is in memory; nil: there is no such fact.
type view map[recordKey]*packed

// back is what is different in a version before the present one; ok says that it is
// cached.
func (m *cache) back(to dataVersion) (v view, ok bool) {
	if m.now == to {
		return nil, true
	}
	v = view{}
	for i := len(m.past) - 1; i >= 0; i-- {
		for _, was := range m.past[i].was {
			v[was.key] = was.fact
		}
		if m.past[i].from == to {
			return v, true
		}
	}
	return nil, false
}

// wanted is what is to be added up.
type wanted struct {
	cube    int
	key     func(k [3]string) bool
	owner   func(id string) bool
	byOwner bool
}

// sum adds up the facts of some records, whose ids are separated by commas, each once, in the version
// after some changes since another one. ok says that the other one is still cached. When it is the
// present one, the changes are added to the cache.
func (m *cache) sum(ids string, since dataVersion, n changes, of *wanted, each func(*cell)) (ok bool) {
	if n.now != since {
		m.apply(since, n)
	}
	m.mu.RLock()
	if v, ok := m.back(n.now); ok {
		defer m.mu.RUnlock()
		m.add(ids, v, of, each)
		return true
	}
	m.mu.RUnlock()
	m.mu.Lock() // values that are new get their numbers
	defer m.mu.Unlock()
	v, ok := m.back(since)
	if !ok {
		return false
	}
	for id, o := range n.facts {
		v[keyOf(id)] = nil
		if o != nil {
			p := m.pack(o)
			v[keyOf(id)] = &p
		}
	}
	m.add(ids, v, of, each)
	return true
}

// add adds up the facts of some records, as they are in a view.
func (m *cache) add(ids string, v view, of *wanted, each func(*cell)) {
	a := &adding{
		cache: m, of: of, owners: make([]answer, len(m.owners.all)), keys: make([]answer, len(m.keys[of.cube].all)),
		tallies: map[[2]uint32]*tally{},
	}
	a.all(ids, v)
	a.cells(each)
}

// adding is a sum in progress.
type adding struct {
	*cache
	of      *wanted
	owners  []answer // by number
	keys    []answer
	tallies map[[2]uint32]*tally // by owner, when that is wanted, and key
	last    *tally               // of lastAt: most have what the one before them had
	lastAt  [2]uint32
}

// answer is whether a value is wanted.
type answer uint8

const (
	unasked answer = iota
	isWanted
	isNot
)

// ask finds out whether a value is wanted, once for each value.
func ask[T any](answers []answer, n uint32, all []T, is func(T) bool) bool {
	if answers[n] == unasked {
		answers[n] = isNot
		if is(all[n]) {
			answers[n] = isWanted
		}
	}
	return answers[n] == isWanted
}

// all adds the facts of some records, each once.
func (a *adding) all(ids string, v view) {
	seen := make([]uint64, (len(a.facts)+63)/64)
	var keys [handful]recordKey
	n := 0
	some := func() {
		var places [handful]int
		a.find(keys[:n], places[:n])
		for _, at := range places[:n] {
			if at >= 0 && seen[at/64]>>(at%64)&1 == 0 {
				seen[at/64] |= 1 << (at % 64)
				a.add(&a.facts[at].packed)
			}
		}
		n = 0
	}
	for id := range strings.SplitSeq(ids, ",") {
		key := keyOf(id)
		if v != nil {
			if other, is := v[key]; is {
				if v[key] = nil; other != nil {
					a.add(other)
				}
				continue
			}
		}
		keys[n] = key
		if n++; n == handful {
			some()
		}
	}
	some()
}

func (a *adding) add(f *packed) {
	at := [2]uint32{0, f.keys[a.of.cube]}
	if !ask(a.owners, f.owner, a.cache.owners.all, a.of.owner) || !ask(a.keys, at[1], a.cache.keys[a.of.cube].all,
		a.of.key) {
		return
	}
	if a.of.byOwner {
		at[0] = f.owner
	}
	if a.last == nil || a.lastAt != at {
		if a.last = a.tallies[at]; a.last == nil {
			a.last = &tally{}
			a.tallies[at] = a.last
		}
		a.lastAt = at
	}
	t, amount, weighted := a.last, moneyOf(f.amount), moneyOf(f.weighted)
	t.n, t.amount, t.weighted = t.n+1, t.amount.plus(amount), t.weighted.plus(weighted)
}

// cells gives what was added up.
func (a *adding) cells(each func(*cell)) {
	for at, t := range a.tallies {
		k := a.cache.keys[a.of.cube].all[at[1]]
		c := cell{k1: k[0], k2: k[1], k3: k[2], tally: *t}
		if a.of.byOwner {
			c.owner = a.cache.owners.all[at[0]]
		}
		each(&c)
	}
}
