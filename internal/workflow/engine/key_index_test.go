package engine

import (
	"slices"
	"testing"

	"renga.dev/renga/internal/workflow/flow"
)

// TestAKeyOfAnExecutionIsForgottenAfterItsTime looks at few keys and at so many that they have an
// index. A key is known by its second: it is forgotten at the end of that, and never before.
func TestAKeyOfAnExecutionIsForgottenAfterItsTime(t *testing.T) {
	for _, n := range []int{1, keyIndexFrom + 1} {
		var k keyIndex
		for i := range n {
			k.add(uint64(i), int64(i+1), 1500)
		}
		k.add(uint64(n), 1000, 2500)
		for _, tt := range []struct {
			before flow.Time
			first  []int64 // rows of the first key
		}{{1501, []int64{1}}, {1999, []int64{1}}, {2000, nil}, {2001, nil}} {
			k.dropBefore(tt.before)
			if got := k.rows(0); !slices.Equal(got, tt.first) {
				t.Errorf("%d keys, before %d: got rows %v, want %v", n, tt.before, got, tt.first)
			}
			if got := k.rows(uint64(n)); !slices.Equal(got, []int64{1000}) {
				t.Errorf("%d keys, before %d: the young key has rows %v", n, tt.before, got)
			}
		}
	}
}
