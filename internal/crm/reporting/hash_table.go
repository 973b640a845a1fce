package reporting

import "hash/maphash"

// hashTable has facts by the ids of their records. It is faster than a map: a report looks up thousands
// of facts anywhere in memory and mostly waits for memory. A lookup here reads one word and the fact,
// and a handful of lookups (see find) wait together.
type hashTable struct {
	seed  maphash.Seed
	slots []uint64 // where facts are: their hashes' upper half, and their place + 1; 0: free
	used  int      // slots that are not free, those of facts that are gone among them
	facts []fact
	free  []uint32 // places of facts that are gone
}

// fact is a record with what is counted of it.
type fact struct {
	key recordKey
	packed
}

// handful is how many facts are looked up at a time.
const handful = 32

// What a slot says beside the upper half of a hash.
const (
	placeBits = 1<<32 - 1
	goneSlot  = placeBits // a fact was here, and others may be behind it
)

func newHashTable() *hashTable {
	return &hashTable{seed: maphash.MakeSeed(), slots: make([]uint64, 64)}
}

func (s *hashTable) hash(key *recordKey) uint64 { return maphash.Bytes(s.seed, key[:]) }

// len is how many facts there are.
func (s *hashTable) len() int { return len(s.facts) - len(s.free) }

// slot is where the fact of a record is noted, and its place; place is -1 when it is not
// there, and the slot the first that is free for it.
func (s *hashTable) slot(key *recordKey, hash uint64) (at, place int) {
	mask := len(s.slots) - 1
	room := -1
	for at = int(hash) & mask; ; at = (at + 1) & mask {
		switch have := s.slots[at]; {
		case have == 0:
			if room >= 0 {
				at = room
			}
			return at, -1
		case have&placeBits == goneSlot:
			if room < 0 {
				room = at
			}
		case have>>32 == hash>>32 && s.facts[have&placeBits-1].key == *key:
			return at, int(have&placeBits) - 1
		}
	}
}

// put puts a fact in the place of what was counted of a record, and gives that; nil is none.
func (s *hashTable) put(key recordKey, p *packed) (was *packed) {
	hash := s.hash(&key)
	at, place := s.slot(&key, hash)
	if place >= 0 {
		old := s.facts[place].packed
		was = &old
		if p != nil {
			s.facts[place].packed = *p
			return was
		}
		s.slots[at] = goneSlot
		s.free = append(s.free, uint32(place))
		return was
	}
	if p == nil {
		return nil
	}
	place = len(s.facts)
	if n := len(s.free); n > 0 {
		place, s.free = int(s.free[n-1]), s.free[:n-1]
		s.facts[place] = fact{key, *p}
	} else {
		s.facts = append(s.facts, fact{key, *p})
	}
	if s.slots[at] == 0 {
		s.used++
	}
	s.slots[at] = hash&^placeBits | uint64(place+1)
	if s.used > len(s.slots)/2 {
		s.spread()
	}
	return nil
}

// spread notes the facts anew, in slots of which at least three of four are free.
func (s *hashTable) spread() {
	size := 64
	for size < 4*s.len() {
		size *= 2
	}
	gone := make(map[uint32]bool, len(s.free))
	for _, place := range s.free {
		gone[place] = true
	}
	s.slots, s.used = make([]uint64, size), s.len()
	for place := range s.facts {
		if gone[uint32(place)] {
			continue
		}
		key := &s.facts[place].key
		hash := s.hash(key)
		at := int(hash) & (size - 1)
		for s.slots[at] != 0 {
			at = (at + 1) & (size - 1)
		}
		s.slots[at] = hash&^placeBits | uint64(place+1)
	}
}

// find gives the places of the facts of up to a handful of records, -1 where there is none.
// It does one step for all of them before the next, so that memory is asked for all at once.
func (s *hashTable) find(keys []recordKey, places []int) {
	var hashes, slots [handful]uint64
	mask := uint64(len(s.slots) - 1)
	for i := range keys {
		hashes[i] = s.hash(&keys[i])
	}
	for i := range keys {
		slots[i] = s.slots[hashes[i]&mask]
	}
	for i := range keys {
		place := int(slots[i]&placeBits) - 1
		if slots[i] == 0 || slots[i]>>32 != hashes[i]>>32 || slots[i]&placeBits == goneSlot ||
			s.facts[place].key != keys[i] {
			_, place = s.slot(&keys[i], hashes[i])
		}
		places[i] = place
	}
}
