package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A heap grows to heapGoal before it is collected: by twice what is live at most, which spares collections
// under load, and by half of it at least. A memory limit is for the operator: close to one the collector
// never rests.
const (
	heapGoal   = 52 << 20
	mostGrowth = 200 // percent of what is live
	minGrowth  = 50
	memoryLook = 200 * time.Millisecond
)

// gcPercent is by how much the heap may grow before it is collected.
func gcPercent(live uint64) int {
	if live == 0 {
		return mostGrowth
	}
	return int(min(max(100*(heapGoal-int64(live))/int64(live), minGrowth), mostGrowth))
}

// TuneMemory sets how eagerly memory is collected, until ctx ends. What the operator has
// set by environment variables stays.
func TuneMemory(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	last := gcPercent(0)
	debug.SetGCPercent(last)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	go every(ctx, memoryLook, func() {
		metrics.Read(live)
		if next := gcPercent(live[0].Value.Uint64()); next != last {
			last = next
			debug.SetGCPercent(next)
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
