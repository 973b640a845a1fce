package engine

import (
	"log/slog"
	"time"
)

// Named maxima of the engine.
const (
	MaxBatch       = 1000     // commands in one commit; also tasks that its claims start
	MaxQueue       = 8192     // commands that wait; more are refused with Unavailable
	MaxTenantQueue = 4096     // commands of one tenant that wait; more are refused with RateLimited
	MaxCancelQueue = 8192     // cancels of one tenant that wait, beside MaxQueue: others never have one refused
	MaxClaimers    = 4096     // claims that wait for tasks
	MaxClaimData   = 16 << 20 // bytes of data of tasks that the claims of one commit start, before the last one
	MaxWindow      = 1024     // ready tasks of one queue that are held in memory
	MaxLate        = 100      // late results that are kept of one execution
	MaxLateBytes   = 64 << 10 // of one late result
	MaxTaskOutputs = 64 << 10 // bytes of the outputs of earlier nodes that a Task carries
	MaxTaskNodes   = 1000     // nodes before its direct predecessors that a claim looks at for a Task
	sweepLimit     = 500      // executions whose deadlines are looked at in one commit

	snapshotFrom   = 32 << 10 // bytes of log without a snapshot before one is taken
	snapshotFactor = 2        // and at least so many times the size of the last one
)

// Config is what an operator may choose. Zero values mean the defaults.
type Config struct {
	// Exclusive says that no other process writes to the store, so what is cached is current.
	Exclusive bool
	// KeyRetention is how long a key is remembered; default 30 days.
	KeyRetention time.Duration
	// CacheBytes is how much memory cached executions may take; default 32 MiB.
	CacheBytes int
	// Announce is called for ready tasks that no claim of this engine got, once they are
	// durable, so that claims that wait elsewhere can be woken. It must not block.
	Announce func(tenant, queue string, n int)
	// Reserved reports whether a queue is the server's own: its tasks are not started or
	// reported on by users. nil: none is.
	Reserved func(queue string) bool
	// Seed makes the ids reproducible; default: from the system's entropy.
	Seed *[32]byte
	Log  *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.KeyRetention == 0 {
		c.KeyRetention = 30 * 24 * time.Hour
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = 32 << 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
