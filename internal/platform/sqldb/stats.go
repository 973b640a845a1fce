package sqldb

import (
	"sync/atomic"
	"time"
)

// Commit describes a commit.
type Commit struct {
	Pages int           // in SQLite's write-ahead log
	Took  time.Duration // from the begin of the first job
	Sync  time.Duration // to make it durable
}

// Stats are counts since the database was opened, and a few levels.
type Stats struct {
	Commits     uint64
	Failed      uint64 // commits and attempts
	Jobs        [priorities]uint64
	JobErrors   [priorities]uint64
	Pages       uint64 // in the write-ahead log
	CommitTime  time.Duration
	SyncTime    time.Duration
	Reads       uint64
	Checkpoints uint64
	Blocked     uint64 // checkpoints of a long log that a reader blocked
	Stalls      uint64 // writes that waited longer than a second
	Waiting     [priorities]int
	WAL         int64  // bytes of the write-ahead log
	Again       uint64 // jobs that ran twice on SQLite, because another one failed

	// Of PostgreSQL:
	Trips  uint64              // round trips in transactions
	Doubts uint64              // commits whose answer was lost
	Redone [maxRedo + 1]uint64 // jobs by repetitions
}

type counters struct {
	commits, failed, pages, reads, again atomic.Uint64
	stalls                               atomic.Uint64
	jobs, jobErrors                      [priorities]atomic.Uint64
	commitTime, syncTime                 atomic.Int64
	trips, doubts                        atomic.Uint64
	redone                               [maxRedo + 1]atomic.Uint64
	pulse                                pulse
}

func (c *counters) job(priority Priority, err error) {
	c.jobs[priority].Add(1)
	if err != nil {
		c.jobErrors[priority].Add(1)
	}
}

func (c *counters) commit(d Commit) {
	c.commits.Add(1)
	c.pages.Add(uint64(d.Pages))
	c.commitTime.Add(int64(d.Took))
	c.syncTime.Add(int64(d.Sync))
}

func (db *DB) Stats() Stats {
	c := db.stats
	s := Stats{
		Commits:    c.commits.Load(),
		Failed:     c.failed.Load(),
		Pages:      c.pages.Load(),
		CommitTime: time.Duration(c.commitTime.Load()),
		SyncTime:   time.Duration(c.syncTime.Load()),
		Reads:      c.reads.Load(),
		Again:      c.again.Load(),
		Stalls:     c.stalls.Load(),
		Trips:      c.trips.Load(),
		Doubts:     c.doubts.Load(),
	}
	for i := range s.Jobs {
		s.Jobs[i], s.JobErrors[i] = c.jobs[i].Load(), c.jobErrors[i].Load()
	}
	for i := range s.Redone {
		s.Redone[i] = c.redone[i].Load()
	}
	db.base.levels(&s)
	return s
}
