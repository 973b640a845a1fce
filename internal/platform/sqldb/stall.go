package sqldb

import (
	"log/slog"
	"time"
)

// slow is how long a write may wait until the log says why.
const slow = time.Second

// waits is where the time of a write went.
type waits struct {
	queue time.Duration // until its turn came, or it had a place among those who use connections
	link  time.Duration // until a connection to PostgreSQL was free
	lock  time.Duration // for another process that holds the lock of SQLite's file
	job   time.Duration // its statements, and those of the jobs that share its transaction
	sync  time.Duration // from COMMIT until it was durable
	again time.Duration // attempts that lost against others, and the pauses between them
}

func (w waits) total() time.Duration { return w.queue + w.link + w.lock + w.job + w.sync + w.again }

// reason names the longest part.
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

// turn names the longest part of what the loop itself did.
func (w waits) turn() string { return waits{lock: w.lock, job: w.job, sync: w.sync}.reason() }

// stalled counts a write that waited for longer than slow, and says why. behind is what kept
// the queue from moving, where that is known.
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

// busy is what the loop did last that took long, for those who waited meanwhile.
type busy struct {
	why   string
	until time.Time
}

// did notes what the loop did, if it took long enough to be somebody's reason.
func (b *busy) did(why string, began, ended time.Time) {
	if ended.Sub(began) > slow/2 {
		*b = busy{why, ended}
	}
}

// since is what the loop was busy with at some time after an instant, "" when nothing took long.
func (b *busy) since(at time.Time) string {
	if b.until.After(at) {
		return b.why
	}
	return ""
}
