package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A heap may grow to three times what is live before it is collected, which spares collections
// under load, and to twice that when it is larger than smallHeap. JetStream keeps what was published
// in the last ten seconds; when that is much, the memory limit lets the heap grow by half only.
// The limit follows what is live: close to a fixed one the collector would never rest.
const (
	smallHeap  = 16 << 20
	peakMemory = 68 << 20
	memoryLook = 200 * time.Millisecond
)

// gcPercent is by how much the heap may grow before it is collected.
func gcPercent(live uint64) int {
	if live > smallHeap {
		return 100
	}
	return 200
}

// memoryLimit is what the heap, its room to grow and 16 MiB of stacks and tables may take.
func memoryLimit(live uint64) int64 {
	return max(peakMemory, int64(live+live/2+16<<20))
}

// TuneMemory sets how eagerly memory is collected, until ctx ends. What the operator has
// set by environment variables stays.
func TuneMemory(ctx context.Context) {
	percent, limit := debug.SetGCPercent, debug.SetMemoryLimit
	if os.Getenv("GOGC") != "" {
		percent = func(int) int { return 0 }
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		limit = func(int64) int64 { return 0 }
	}
	tune := func(live uint64) {
		percent(gcPercent(live))
		limit(memoryLimit(live))
	}
	tune(0)
	var last uint64
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	go every(ctx, memoryLook, func() {
		metrics.Read(live)
		if now := live[0].Value.Uint64(); now != last {
			last = now
			tune(now)
		}
	})
}

// perCore is how many goroutines may run at a time for each core. With one, two requests that
// compute hold up all others: nobody looks at the network until one of them has had its 10 ms,
// and that at every answer of the database. With more the kernel shares out the cores, and wakes
// who waited for an answer at once.
const perCore = 4

// TuneProcessors lets more goroutines run than there are cores, once everything that goes by
// their number was made. What the operator has set stays.
func TuneProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(perCore * runtime.GOMAXPROCS(0))
	}
}
