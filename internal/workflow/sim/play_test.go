package sim

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheSameLogIsPlayedTheSame plays the same logs on two stores: one that is new and
// the engine's own, one that has been used before and that others may write to.
func TestTheSameLogIsPlayedTheSame(t *testing.T) {
	used := NewMemory()
	kinds := map[string]int{}
	for seed := range uint64(30) {
		first, err := Play(t.Context(), seed, 40, NewMemory(), true)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Play(t.Context(), seed, 40, used, false)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(first, second) {
			t.Fatalf("seed %d, first and second:\n%s", seed, cmp.Diff(first, second))
		}
		for _, line := range first {
			for _, what := range []string{
				": accepted", ": refused", "replay, ", "IDEMPOTENCY_CONFLICT", "  task ",
				"next ", "kept as late", "cancel won", "ERR_TIMEOUT", "JOIN_PASSED",
			} {
				if strings.Contains(line, what) {
					kinds[what]++
				}
			}
		}
	}
	t.Logf("%v", kinds)
	for _, what := range []string{
		": accepted", ": refused", "replay, ", "IDEMPOTENCY_CONFLICT", "  task ", "next ",
		"kept as late", "cancel won", "ERR_TIMEOUT", "JOIN_PASSED",
	} {
		if kinds[what] < 3 {
			t.Errorf("too weak: %q comes %d times", what, kinds[what])
		}
	}
}
