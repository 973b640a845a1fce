package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// gcPercent lets the heap grow to three times what is live before it is collected,
// which spares collections under load.
const gcPercent = 200

// But not beyond this much memory while half as much again as what is live fits in:
// JetStream keeps what was published in the last ten seconds, and three times that is
// more than a small machine should give.
const (
	memoryAim   = 64 << 20
	memorySpare = 16 << 20 // stacks and what the runtime itself needs
	memoryLook  = time.Second
)

// memoryLimit is how much memory may be used before the collector works harder.
func memoryLimit(live uint64) int64 { return max(memoryAim, int64(live)*3/2+memorySpare) }

// tuneMemory sets how eagerly memory is collected, until ctx ends. What the operator has
// set by environment variables stays.
func tuneMemory(ctx context.Context) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	go often(ctx, memoryLook, func() {
		metrics.Read(live)
		debug.SetMemoryLimit(memoryLimit(live[0].Value.Uint64()))
	})
}
