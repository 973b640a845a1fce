package sqldb

import (
	"log/slog"
	"time"
)

// slow is how long a write may wait before the log says why.
const slow = time.Second

// waits is where the time of a write went.
type waits struct {
	queue time.Duration // for a turn, or a place on connections
	link  time.Duration // for a connection to PostgreSQL
	lock  time.Duration // for another process with the lock of SQLite's file
	job   time.Duration // statements, also of jobs that share the transaction
	sync  time.Duration // COMMIT
	again time.Duration // lost attempts and pauses
}

func (w waits) total() time.Duration { return w.queue + w.link + w.lock + w.job + w.sync + w.again }

func (w waits) reason() string {
	longest, reason := w.queue, "queue"
	for _, part := range []struct {
		took time.Duration
		name string
	}{{w.link, "connection"}, {w.lock, "lock"}, {w.job, "job"}, {w.sync, "sync"}, {w.again, "retries"}} {
		if part.took > longest {
			longest, reason = part.took, part.name
		}
	}
	return reason
}

// turn names the longest part of the loop's own work.
func (w waits) turn() string { return waits{lock: w.lock, job: w.job, sync: w.sync}.reason() }

// stalled counts and logs a write that waited longer than slow. behind is what kept the queue waiting, if known.
func (c *counters) stalled(log *slog.Logger, w waits, jobs int, behind string) {
	if w.total() <= slow {
		return
	}
	c.stalls.Add(1)
	log.Warn("a commit was held up", "reason", w.reason(), "behind", behind, "ms", w.total().Milliseconds(), "jobs",
		jobs,
		"queueMs", w.queue.Milliseconds(), "connectionMs", w.link.Milliseconds(), "lockMs", w.lock.Milliseconds(),
		"jobMs", w.job.Milliseconds(), "syncMs", w.sync.Milliseconds(), "retriesMs", w.again.Milliseconds())
}

// busy is the last long work of the loop, for those who waited meanwhile.
type busy struct {
	why   string
	until time.Time
}

func (b *busy) did(why string, began, ended time.Time) {
	if ended.Sub(began) > slow/2 {
		*b = busy{why, ended}
	}
}

// since is what the loop was busy with after an instant; "": nothing long.
func (b *busy) since(at time.Time) string {
	if b.until.After(at) {
		return b.why
	}
	return ""
}
