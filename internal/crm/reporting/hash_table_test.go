package reporting

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAHashTableIsAMap does to a hash table and to a map the same.
func TestAHashTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, want := newHashTable(), map[recordKey]packed{}
		many := rapid.SampledFrom([]int{3, 60, 2000}).Draw(t, "keys")
		key := func(n int) recordKey { return keyOf(fmt.Sprintf("00000000-0000-7000-8001-%012d", n)) }
		for i := range rapid.IntRange(1, 4*many).Draw(t, "steps") {
			k := key(rapid.IntRange(0, many).Draw(t, "key"))
			old, there := want[k]
			var p *packed
			if rapid.IntRange(0, 3).Draw(t, "keeps") > 0 {
				p = &packed{amount: int64(i)}
				want[k] = *p
			} else {
				delete(want, k)
			}
			if was := s.put(k, p); (was != nil) != there || there && *was != old {
				t.Fatalf("step %d: it was %v, want %v %v", i, was, old, there)
			}
		}
		if s.len() != len(want) {
			t.Fatalf("it has %d, want %d", s.len(), len(want))
		}
		all := make([]recordKey, many+1)
		for n := range all {
			all[n] = key(n)
		}
		for some := range slices.Chunk(all, handful) {
			var places [handful]int
			s.find(some, places[:len(some)])
			for i, at := range places[:len(some)] {
				if p, there := want[some[i]]; (at >= 0) != there || there && (s.facts[at].packed != p ||
					s.facts[at].key != some[i]) {
					t.Fatalf("%x is at %d, want %v %v", some[i], at, p, there)
				}
			}
		}
	})
}
