package app

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestAHeapGrowsToItsGoalAndALargeOneByHalf(t *testing.T) {
	for live, want := range map[uint64]int{0: 200, 10: 200, 26: 100, 40: 50, 400: 50} {
		if got := gcPercent(live << 20); got != want {
			t.Errorf("a heap of %d MiB may grow by %d %%, want %d", live, got, want)
		}
	}
}

func TestTheHeapIsCollectedByWhatIsLive(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	TuneMemory(t.Context())
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	if got := percent(); got != mostGrowth {
		t.Errorf("a small heap may grow by %d %%, want %d", got, mostGrowth)
	}
	large := make([]byte, heapGoal)
	for late := time.Now().Add(time.Minute); percent() != minGrowth; {
		if time.Now().After(late) {
			t.Fatalf("a large heap may grow by %d %%, want %d", percent(), minGrowth)
		}
		runtime.GC()
	}
	runtime.KeepAlive(large)
}

func TestMemoryLimitsOfTheOperatorStay(t *testing.T) {
	t.Setenv("GOGC", "150")
	t.Setenv("GOMEMLIMIT", "1GiB")
	defer debug.SetGCPercent(debug.SetGCPercent(150))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
	TuneMemory(t.Context())
	if got := debug.SetGCPercent(150); got != 150 {
		t.Errorf("the heap may grow by %d %%, want the operator's 150", got)
	}
	if got := debug.SetMemoryLimit(-1); got != 1<<30 {
		t.Errorf("the memory limit is %d, want the operator's %d", got, 1<<30)
	}
}
