package inbound

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// BacklogFile is where the backlog of a process is, in its data folder.
const BacklogFile = "workflow_events_backlog.jsonl"

// MaxBacklog is how many audit entries wait for a database that is away. Refusals have half of the
// room. An entry that finds none is dropped, counted and logged; its delivery is answered.
const MaxBacklog = 10_000

const (
	backlogChunk = 100             // entries of one transaction
	backlogPause = time.Second     // between two tries
	backlogLast  = 2 * time.Second // for the last try of a process that ends
)

// waiting is an audit entry that waits for the database.
type waiting struct {
	Entry audit.Entry `json:"entry"` // with its id and time, by which it is found if it was written
	// Unless is an entry of the same delivery that may have been committed, with the run that
	// it started: then this one did not happen.
	Unless    string          `json:"unless,omitzero"`
	UnlessAt  canonical.Stamp `json:"unlessAt,omitzero"`
	Duplicate bool            `json:"duplicate,omitzero"`
}

// backlog holds the audit entries of deliveries that ended while the database was away, in memory and
// in a file, which survives the process, not always the machine. An entry is written exactly once: the
// transaction that writes it looks for its id.
type backlog struct {
	path string // of the file; "": memory alone
	wake chan struct{}

	mu       sync.Mutex
	entries  []waiting
	refusals int   // of entries
	dropped  int64 // for lack of room
	loaded   bool  // the file of the process before was read
	failing  bool  // the file cannot be written, and that was logged
	stuck    bool  // the database takes no entry, though it is there, and that was logged
}

// Backlog says how many audit entries wait for the database, and how many found no room.
func (t *Deliveries) Backlog() (entries int, dropped int64) {
	b := &t.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.entries), b.dropped
}

// add puts an entry into the backlog.
func (t *Deliveries) add(ctx context.Context, w waiting) {
	b := &t.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	refusal := w.Entry.Outcome == audit.Refused
	if len(b.entries) >= MaxBacklog || refusal && b.refusals >= MaxBacklog/2 {
		if b.dropped++; b.dropped == 1 {
			t.cfg.Log.ErrorContext(ctx, "too many entries of workflow events wait for the database; "+
				"from now on some are not in the audit log", "entries", len(b.entries))
		}
		return
	}
	if len(b.entries) == 0 {
		t.cfg.Log.WarnContext(ctx, "entries of workflow events wait for the database, they are written when it is back",
			"path", b.path)
	}
	b.entries = append(b.entries, w)
	if refusal {
		b.refusals++
	}
	t.fileError(ctx, b.append(w))
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// fileError logs that the file cannot be written, once.
func (t *Deliveries) fileError(ctx context.Context, err error) {
	if err != nil && !t.backlog.failing {
		t.cfg.Log.WarnContext(ctx, "the backlog of workflow events is in memory alone",
			"path", t.backlog.path, "error", err)
	}
	t.backlog.failing = err != nil
}

// append adds an entry to the file.
func (b *backlog) append(w waiting) error {
	if b.path == "" {
		return nil
	}
	line, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(b.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(slices.Concat([]byte("\n"), line, []byte("\n"))) // the last one may be half a line
	return errors.Join(err, file.Close())
}

// RunBacklog writes the backlog, that of a process before this one first, whenever the
// database takes it, until ctx ends. What is left stays in the file.
func (t *Deliveries) RunBacklog(ctx context.Context) {
	t.load(ctx)
	for ctx.Err() == nil {
		if t.flush(ctx) == nil {
			select {
			case <-t.backlog.wake:
				continue
			case <-ctx.Done():
			}
			break
		}
		pause(ctx, backlogPause, nil)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), backlogLast)
	defer cancel()
	_ = t.flush(last) // the next process finds the rest
}

// load reads the file of the process before, without lines that are cut off. It may have more lines
// than entries may wait: entries stay in it until all are written. None is dropped.
func (t *Deliveries) load(ctx context.Context) {
	b := &t.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.path == "" || b.loaded {
		return
	}
	b.loaded = true
	text, err := os.ReadFile(b.path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.fileError(ctx, err)
		}
		return
	}
	have := map[string]bool{} // of this process, in the file too
	for i := range b.entries {
		have[b.entries[i].Entry.ID] = true
	}
	var found []waiting
	for line := range bytes.Lines(text) {
		var w waiting
		if json.Unmarshal(line, &w) == nil && w.Entry.ID != "" && !have[w.Entry.ID] {
			found = append(found, w)
		}
	}
	b.entries = append(found, b.entries...)
	b.refusals = refusals(b.entries)
}

// refusals counts the entries that are refusals.
func refusals(entries []waiting) (n int) {
	for i := range entries {
		if entries[i].Entry.Outcome == audit.Refused {
			n++
		}
	}
	return n
}

// flush writes all entries, some at a time, and empties the file.
func (t *Deliveries) flush(ctx context.Context) error {
	b := &t.backlog
	for written := false; ; written = true {
		b.mu.Lock()
		chunk := b.entries[:min(len(b.entries), backlogChunk)]
		if len(chunk) == 0 {
			if written {
				t.emptied(ctx)
			}
			b.mu.Unlock()
			return nil
		}
		b.mu.Unlock()
		if err := t.writeChunk(ctx, chunk); err != nil {
			return err
		}
		b.mu.Lock()
		b.refusals -= refusals(chunk)
		b.entries, b.stuck = b.entries[len(chunk):], false
		b.mu.Unlock()
	}
}

// emptied is called when all entries are in the database.
func (t *Deliveries) emptied(ctx context.Context) {
	b := &t.backlog
	t.cfg.Log.InfoContext(ctx, "the entries of workflow events that waited for the database are in the audit log",
		"dropped", b.dropped)
	b.entries = nil
	if b.path != "" {
		t.fileError(ctx, os.Truncate(b.path, 0))
	}
}

// errEntry marks an error that is about an entry and not about the database.
var errEntry = errors.New("inbound: the entry cannot be written")

// writeChunk writes entries in one transaction. When that fails because of one of them, each
// is tried alone, and the culprit is given up. What else fails leaves them for another try.
func (t *Deliveries) writeChunk(ctx context.Context, chunk []waiting) error {
	err := t.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		for i := range chunk {
			if err := t.writeWaiting(ctx, tx, &chunk[i]); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err == nil:
		return nil
	case !ofEntry(err):
		t.stuck(ctx, err)
		return err
	case len(chunk) == 1:
		t.cfg.Log.ErrorContext(ctx, "an entry of a workflow event cannot be written into the audit log", "error", err)
		return nil
	}
	for i := range chunk {
		if err := t.writeChunk(ctx, chunk[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// ofEntry reports whether an entry fails however well the database is. An error of which
// nobody knows that, such as damage, is none of it.
func ofEntry(err error) bool {
	switch fault.KindOf(err) {
	case fault.Invalid, fault.TooLarge, fault.Conflict:
		return true
	}
	return errors.Is(err, errEntry)
}

// stuck logs that the database is there and takes no entries, once.
func (t *Deliveries) stuck(ctx context.Context, err error) {
	b := &t.backlog
	b.mu.Lock()
	defer b.mu.Unlock()
	if fault.KindOf(err) != fault.Unavailable && !b.stuck {
		b.stuck = true
		t.cfg.Log.ErrorContext(ctx,
			"the database does not take the entries of workflow events that wait for it; it is tried again",
			"entries", len(b.entries), "error", err)
	}
}

// writeWaiting writes an entry unless it is there, or the one in doubt is. The tenant is locked, as by
// whoever starts a run, so a run in doubt is stored by now or never will be. Refusals and failures do
// not lock it: should the COMMIT of one arrive later than this, the delivery is in the log twice.
func (t *Deliveries) writeWaiting(ctx context.Context, tx *sqldb.Tx, w *waiting) error {
	var held desk
	if err := t.hold(ctx, tx, w.Entry.Tenant, "", &held); err != nil {
		return err
	}
	there := false
	find := func(id string, at canonical.Stamp) sqldb.Stmt {
		return audit.Find(w.Entry.Tenant, at, id, &there)
	}
	if err := tx.Batch(ctx, find(w.Entry.ID, w.Entry.At), find(w.Unless, w.UnlessAt)); err != nil || there {
		return err
	}
	line, err := audit.Stmt(w.Entry)
	if err != nil {
		return errors.Join(errEntry, err)
	}
	return tx.Batch(ctx, line, tally(&w.Entry, w.Duplicate))
}
