package export

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

const tenant = "00000000-0000-0000-0000-00000000000a"

func TestMain(m *testing.M) {
	if child() {
		return
	}
	goleak.VerifyTestMain(m)
}

// rig is a database and the folder of an export.
type rig struct {
	*testing.T
	db  *sqldb.DB
	dir string
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r rig)) {
	for name, cfg := range onBoth(t) {
		t.Run(name, func(t *testing.T) { test(t, newRig(t, cfg)) })
	}
}

// onBoth are fresh databases of every kind.
func onBoth(t *testing.T) map[string]sqldb.Config {
	return map[string]sqldb.Config{
		"sqlite":   {Path: filepath.Join(t.TempDir(), "test.db")},
		"postgres": {URL: pgtest.New(t)},
	}
}

func newRig(t *testing.T, cfg sqldb.Config) rig {
	t.Helper()
	db, stop, err := openDB(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return rig{t, db, filepath.Join(t.TempDir(), "reports")}
}

// openDB opens a database with an audit log and runs it until stop.
func openDB(cfg sqldb.Config) (db *sqldb.DB, stop func() error, err error) {
	cfg.Migrations = []sqldb.Migration{audit.Migration()}
	if db, err = sqldb.Open(context.Background(), cfg); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	return db, func() error { cancel(); return errors.Join(<-ended, db.Close()) }, nil
}

// entry is an entry with a subject.
func entry(subject string) audit.Entry {
	return audit.Entry{
		At: 1_767_600_000_000, Tenant: tenant, Actor: "ann", Action: "dlq.skip", Subject: subject,
		CorrelationID: "call-1",
		Outcome:       audit.Accepted, Reason: "merged by hand", Detail: []byte(`{"consumer":"search"}`),
	}
}

// job writes entries.
func job(entries ...audit.Entry) func(context.Context, *sqldb.Tx) error {
	return func(ctx context.Context, tx *sqldb.Tx) error {
		for _, e := range entries {
			if err := audit.Write(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	}
}

// write writes entries with subjects.
func (r rig) write(subjects ...string) {
	r.Helper()
	var all []audit.Entry
	for _, s := range subjects {
		all = append(all, entry(s))
	}
	if err := r.db.Write(r.Context(), sqldb.Other, job(all...)); err != nil {
		r.Fatal(err)
	}
}

// fill writes n entries.
func (r rig) fill(n int) {
	r.Helper()
	subjects := make([]string, n)
	for i := range subjects {
		subjects[i] = fmt.Sprint("entry ", i)
	}
	r.write(subjects...)
}

// export is one in the rig's folder.
func (r rig) export(cfg Config) *Export {
	if cfg.Dir == "" {
		cfg.Dir = r.dir
	}
	return New(r.db, cfg)
}

// once opens the file, brings it up to date and closes it.
func (r rig) once(x *Export) {
	r.Helper()
	f, err := openFile(x.cfg.Dir, x.cfg.MaxFile, x.cfg.Log)
	if err != nil {
		r.Fatal(err)
	}
	defer f.close()
	if err := x.recognise(r.Context(), f); err != nil {
		r.Fatal(err)
	}
	if err := x.catchUp(r.Context(), f); err != nil {
		r.Fatal(err)
	}
}

// finish brings a folder up to date, also when a process that was killed has left a
// transaction behind which PostgreSQL must end first.
func (r rig) finish(dir string) {
	r.Helper()
	x := New(r.db, Config{Dir: dir, MaxFile: victimFile})
	r.until("everything is in the file", func() bool {
		r.once(x)
		p, _, err := readPlace(dir)
		var last int64
		if err == nil {
			err = r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				return tx.Row(ctx, "SELECT coalesce(max(num), 0) FROM audit_log").Scan(&last)
			})
		}
		if err != nil {
			r.Fatal(err)
		}
		return p.Position == last
	})
}

// line is what is read of a line.
type line struct {
	At        string         `json:"at"`
	EventType string         `json:"event_type"`
	Status    string         `json:"status"`
	Action    *string        `json:"action"`
	RunID     *string        `json:"run_id"`
	Details   map[string]any `json:"details"`
}

// files are those of a folder in the order of their lines.
func files(t *testing.T, dir string) []string {
	t.Helper()
	away, err := filepath.Glob(filepath.Join(dir, "audit_log-*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(away)
	return append(away, filepath.Join(dir, fileName))
}

// lines reads every line of every file; each must be whole and JSON.
func lines(t *testing.T, dir string) (all []line) {
	t.Helper()
	for _, name := range files(t, dir) {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 0 && raw[len(raw)-1] != '\n' {
			t.Errorf("%s: the last line is torn", name)
		}
		for sc := bufio.NewScanner(bytes.NewReader(raw)); sc.Scan(); {
			var l line
			d := json.NewDecoder(bytes.NewReader(sc.Bytes()))
			d.DisallowUnknownFields()
			if err := d.Decode(&l); err != nil || d.More() {
				t.Fatalf("%s: %v\n%s", name, err, sc.Text())
			}
			all = append(all, l)
		}
	}
	return all
}

// complete asks that the files of a folder have every entry of the database once, in order.
func (r rig) complete(dir string) {
	r.Helper()
	var want, got []string
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Batch(ctx, sqldb.Stmt{
			Query: "SELECT id FROM audit_log ORDER BY num",
			Row: func(row *sqldb.Row) error {
				var id string
				err := row.Scan(&id)
				want = append(want, id)
				return err
			},
		})
	})
	if err != nil {
		r.Fatal(err)
	}
	for _, l := range lines(r.T, dir) {
		got = append(got, l.Details["audit_id"].(string))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("%d entries, %d lines (-entries +lines):\n%s", len(want), len(got), diff)
	}
}

// subjects are those of all lines.
func subjects(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, l := range lines(t, dir) {
		all = append(all, l.Details["subject"].(string))
	}
	return all
}

// subjectsIn are those of the lines that are whole.
func subjectsIn(raw []byte) (all []string) {
	for text := range bytes.Lines(raw) {
		var l line
		if json.Unmarshal(text, &l) == nil {
			all = append(all, l.Details["subject"].(string))
		}
	}
	return all
}

// notes are the messages of a log, for tests to wait for.
type notes struct {
	mu   sync.Mutex
	all  []string
	more chan struct{}
}

func newNotes() (*notes, *slog.Logger) {
	n := &notes{more: make(chan struct{}, 100)}
	return n, slog.New(n)
}

func (n *notes) Enabled(context.Context, slog.Level) bool { return true }
func (n *notes) WithAttrs([]slog.Attr) slog.Handler       { return n }
func (n *notes) WithGroup(string) slog.Handler            { return n }

func (n *notes) Handle(_ context.Context, r slog.Record) error {
	n.mu.Lock()
	n.all = append(n.all, r.Level.String()+" "+r.Message)
	n.mu.Unlock()
	select {
	case n.more <- struct{}{}:
	default:
	}
	return nil
}

func (n *notes) said() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// wait waits until a number of messages were logged.
func (n *notes) wait(t *testing.T, count int) []string {
	t.Helper()
	late := time.After(patience)
	for len(n.said()) < count {
		select {
		case <-n.more:
		case <-late:
			t.Fatalf("%d messages were not logged, but %q", count, n.said())
		}
	}
	return n.said()
}
