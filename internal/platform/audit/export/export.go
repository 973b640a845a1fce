package export

import (
	"context"
	"log/slog"
	"time"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Named limits of the export.
const (
	MaxFile = 64 << 20 // bytes of a file before it is put away

	pageRows = 200                    // entries that are read at a time
	gather   = 300 * time.Millisecond // from a commit to the look that it causes
	poll     = 500 * time.Millisecond // between looks for what other processes have written
	retry    = time.Second            // after a failure
	lastLook = 2 * time.Second        // how long the last look may take, when it ends
)

// Config says where the file is. Zero values mean what their comments say.
type Config struct {
	Dir     string       // folder of the file; it is made when it is missing
	MaxFile int64        // bytes; 0: MaxFile
	Log     *slog.Logger // nil: nowhere
}

// Export keeps the file of one folder up with the audit log of a database.
type Export struct {
	cfg     Config
	db      *sqldb.DB
	entries *audit.Log
	holes   *sqldb.Holes
	woken   chan struct{}
	pace    pace
	failing bool   // and it was said
	tried   func() // called after each failure, for tests; nil: nobody is told
}

// pace is how long an export waits; tests are in more of a hurry.
type pace struct{ gather, poll, retry time.Duration }

// New makes an export. It does no I/O.
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

// Wake says that something was committed. It does not block.
func (x *Export) Wake() {
	select {
	case x.woken <- struct{}{}:
	default:
	}
}

// Run exports until ctx ends, and then what is there. What fails is tried again: an
// export never holds the system up.
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

// follow opens the file and keeps it up until ctx ends or something fails.
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

// pause waits for something to be committed, and a little longer for what comes with it.
func (x *Export) pause(ctx context.Context) {
	if x.db.Dialect() == sqldb.SQLite { // nobody else writes
		wait(ctx, 0, x.woken)
		wait(ctx, x.pace.gather, nil)
		return
	}
	wait(ctx, x.pace.poll, nil)
}

// wait waits for a signal, so long (0: for ever), or until ctx ends.
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

const selectKnown = `SELECT coalesce((SELECT id FROM audit_log WHERE num = $1), ''), coalesce((SELECT min(num) FROM audit_log), 0)`

// recognise begins anew when the last entry of the file is not in the database: it was
// restored, or is another one, and numbers mean something else in it. An entry that is
// gone together with all before it was deleted because of its age.
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

// catchUp writes all entries that are behind the file's position.
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
