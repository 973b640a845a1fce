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
