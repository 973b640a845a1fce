// Package export copies the audit log to a file, audit_log.jsonl, one line per entry, for people and programs that
// read files.
//
// The database is the record; each process keeps its own copy in its data folder, at most a second late. A crash
// neither loses nor repeats an entry: a place file says how many bytes are durable and which entry is the last. Lines
// are synced before the place, so at a start whatever follows the place is truncated and written again.
//
// A full file is rotated to audit_log-000001.jsonl and so on; nothing is deleted. While the folder cannot be written,
// the system goes on after one warning, and the file catches up later.
package export

import (
	"context"
	"log/slog"
	"time"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Limits of the export.
const (
	MaxFile = 64 << 20 // bytes before a file is rotated

	pageRows = 200                    // entries of a page
	gather   = 300 * time.Millisecond // after a commit, so that one read serves several
	poll     = 500 * time.Millisecond // for commits of other processes
	retry    = time.Second            // after a failure
	lastLook = 2 * time.Second        // at the end
)

// Config says where the file is.
type Config struct {
	Dir     string       // is created if missing
	MaxFile int64        // bytes; 0: MaxFile
	Log     *slog.Logger // nil: none
}

// Export keeps the file in step with the audit log.
type Export struct {
	cfg     Config
	db      *sqldb.DB
	entries *audit.Log
	holes   *sqldb.Holes
	woken   chan struct{}
	pace    pace
	failing bool   // and logged
	tried   func() // called after each failure, for tests; nil: not
}

// pace is how long an export waits; tests wait less.
type pace struct{ gather, poll, retry time.Duration }

// New does no I/O.
func New(db *sqldb.DB, cfg Config) *Export {
	if cfg.MaxFile == 0 {
		cfg.MaxFile = MaxFile
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Export{
		cfg: cfg, db: db, entries: audit.New(db), holes: sqldb.NewHoles(db, "audit_log"),
		woken: make(chan struct{}, 1), pace: pace{gather, poll, retry},
	}
}

// Wake announces a commit. It does not block.
func (x *Export) Wake() {
	select {
	case x.woken <- struct{}{}:
	default:
	}
}

// Run exports until ctx ends, then catches up once more. It retries failures and never blocks the system.
func (x *Export) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := x.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if !x.failing {
			x.failing = true
			x.cfg.Log.Warn("the audit log cannot be exported; it is tried again until it can", "path", x.cfg.Dir,
				"error", err)
		}
		if x.tried != nil {
			x.tried()
		}
		wait(ctx, x.pace.retry, nil)
	}
}

func (x *Export) follow(ctx context.Context) error {
	f, err := openFile(x.cfg.Dir, x.cfg.MaxFile, x.cfg.Log)
	if err != nil {
		return err
	}
	defer f.close()
	if err := x.recognise(ctx, f); err != nil {
		return err
	}
	for {
		if err := x.catchUp(ctx, f); err != nil && ctx.Err() == nil {
			return err
		}
		if ctx.Err() != nil {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
			defer cancel()
			return x.catchUp(last, f)
		}
		if x.failing {
			x.failing = false
			x.cfg.Log.Info("the audit log is exported again", "path", x.cfg.Dir)
		}
		x.pause(ctx)
	}
}

// pause waits for a commit and gathers those that follow shortly.
func (x *Export) pause(ctx context.Context) {
	if x.db.Dialect() == sqldb.SQLite { // nobody else writes
		wait(ctx, 0, x.woken)
		wait(ctx, x.pace.gather, nil)
		return
	}
	wait(ctx, x.pace.poll, nil)
}

// wait returns on a signal, after d unless it is 0, or when ctx ends.
func wait(ctx context.Context, d time.Duration, signal <-chan struct{}) {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-signal:
	case <-over:
	case <-ctx.Done():
	}
}

const selectKnown = `SELECT coalesce((SELECT id FROM audit_log WHERE num = $1), ''),
	coalesce((SELECT min(num) FROM audit_log), 0)`

// recognise starts the file anew when the database does not have its last entry: a restored or another database
// numbers entries differently. An entry that is gone together with all before it has expired.
func (x *Export) recognise(ctx context.Context, f *file) error {
	if f.at.AuditID == "" {
		return nil
	}
	var id string
	var first int64
	err := x.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, selectKnown, f.at.Position).Scan(&id, &first)
	})
	if err != nil || id == f.at.AuditID || id == "" && first > f.at.Position {
		return fault.Wrap("export.recognise", err)
	}
	if err := f.setAside("its last entry is not in the database"); err != nil {
		return err
	}
	_ = f.out.Close()
	return f.resume()
}

func (x *Export) catchUp(ctx context.Context, f *file) error {
	for full := true; full; {
		var page []audit.Entry
		n, err := x.holes.Pass(ctx, f.at.Position, func(ctx context.Context) (numbers []int64, err error) {
			page, err = x.entries.After(ctx, f.at.Position, pageRows)
			for i := range page {
				numbers = append(numbers, page[i].Num)
			}
			return numbers, err
		})
		if err != nil {
			return err
		}
		if err := f.add(page[:n]); err != nil {
			return err
		}
		full = n == pageRows
	}
	return f.confirm()
}
