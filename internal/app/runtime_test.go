package app

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestALargeHeapMayGrowToTwiceWhatIsLive(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	TuneMemory(t.Context())
	percent := func() int {
		now := debug.SetGCPercent(100)
		debug.SetGCPercent(now)
		return now
	}
	if got := percent(); got != 200 {
		t.Errorf("a small heap may grow by %d %%, want 200", got)
	}
	large := make([]byte, 2*smallHeap)
	for late := time.Now().Add(time.Minute); percent() != 100; {
		if time.Now().After(late) {
			t.Fatalf("a large heap may grow by %d %%, want 100", percent())
		}
		runtime.GC()
	}
	runtime.KeepAlive(large)
}

func TestTheMemoryLimitLeavesRoomForHalfOfWhatIsLive(t *testing.T) {
	for live, want := range map[uint64]int64{0: 68, 30: 68, 40: 76, 400: 616} {
		if got := memoryLimit(live<<20) >> 20; got != want {
			t.Errorf("the limit of %d MiB that are live is %d MiB, want %d", live, got, want)
		}
	}
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
