package inbound

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
)

// copied is a file of receipts that somebody keeps.
type copied struct {
	*rig
	file  string
	wrote chan struct{} // holds a token when it was written
	stop  func()
}

// exporting keeps a file of receipts until the test ends.
func (r *rig) exporting(p process) copied {
	return r.export(p, filepath.Join(r.TempDir(), "data", ReceiptsFile))
}

func (r *rig) export(p process, file string) copied {
	c := copied{rig: r, file: file, wrote: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	x := newExport(p.Deliveries, file, func() {
		select {
		case c.wrote <- struct{}{}:
		default:
		}
	})
	go func() { ended <- x.run(ctx) }()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.Error(err)
		}
	})
	r.Cleanup(c.stop)
	return c
}

// receiptKeys reads a file as others do: it is whole whenever it is there.
func (r *rig) receiptKeys(file string) string {
	r.Helper()
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "no file"
	}
	var doc struct {
		Receipts []line `json:"receipts"`
	}
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err != nil {
		r.Fatalf("%v:\n%s", err, text)
	}
	var keys []string
	for _, l := range doc.Receipts {
		keys = append(keys, l.Key)
	}
	return strings.Join(keys, " ")
}

// until waits for a file to hold the receipts of keys.
func (c copied) until(want string) {
	c.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case <-c.wrote:
			if c.receiptKeys(c.file) == want {
				return
			}
		case <-deadline:
			c.Fatalf("the file has %q, want %q", c.receiptKeys(c.file), want)
		}
	}
}

func TestTheFileOfReceiptsHasWhatCounts(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		out := r.starts(keyed("a", 1))
		c := r.exporting(r.process)
		c.until("a")
		text, err := os.ReadFile(c.file)
		want := fmt.Sprintf("{\"receipts\":[\n"+
			`{"tenant":"%s","idempotency_key":"a","run_id":"%s","template_id":"close","at":"2026-02-20T12:00:00.000Z"}`+
			"\n]}\n",
			tenantA, out.RunID)
		if string(text) != want || err != nil {
			t.Errorf("got %s %v, want %s", text, err, want)
		}
		r.starts(keyed("b", 2))
		c.until("a b")
		if info, err := os.Stat(c.file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("got %v %v", info, err)
		}
		if left, err := filepath.Glob(filepath.Join(filepath.Dir(c.file), "*")); len(left) != 1 || err != nil {
			t.Errorf("there are %q", left)
		}
	})
}

func TestTheFileOfReceiptsIsThereWithoutAny(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		c := r.exporting(r.process)
		c.until("")
	})
}

func TestAReceiptWhoseTimeHasPassedLeavesTheFile(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		r.Deliveries = r.with(func(c *Config) { c.TTL, c.Now = 2*time.Second, nil }).Deliveries // by the real clock
		r.starts(keyed("a", 1))
		c := r.exporting(r.process)
		c.until("a")
		c.until("")
	})
}

func TestEveryProcessKeepsAFileOfAllReceipts(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	other := r.open(Config{})
	one, two := r.exporting(r.process), r.exporting(other)
	r.template("close", closing)
	r.starts(keyed("a", 1))
	one.until("a")
	two.until("a")
	r.Deliveries = other.Deliveries
	r.starts(keyed("b", 2))
	one.until("a b")
	two.until("a b")
}

// Two processes that were given one folder by mistake do not tear its file: one of them
// writes it, and the other takes over when that one ends.
func TestOneOfTwoProcessesWritesTheFileOfAFolder(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	r.template("close", closing)
	file := filepath.Join(t.TempDir(), "data", ReceiptsFile)
	one := r.export(r.process, file)
	one.until("")
	tried := make(chan struct{}, 100)
	other := r.open(Config{Log: logged(tried)})
	two := r.export(other, file)
	<-tried // it says so
	r.starts(keyed("a", 1))
	one.until("a")
	one.stop()
	two.until("a")
	r.starts(keyed("b", 2))
	two.until("a b")
}

func TestAFolderThatWasTakenAwayIsMadeAgain(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		data := filepath.Join(t.TempDir(), "data")
		c := r.export(r.process, filepath.Join(data, ReceiptsFile))
		c.until("")
		if err := os.RemoveAll(data); err != nil {
			t.Fatal(err)
		}
		r.starts(keyed("a", 1))
		c.until("a")
	})
}

func TestTheEndWritesTheReceiptsThatAreThere(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		c := r.exporting(r.process)
		c.until("")
		r.starts(keyed("a", 1))
		c.stop()
		if got := r.receiptKeys(c.file); got != "a" {
			t.Errorf("the file has %q, want %q", got, "a")
		}
	})
}

func TestAFileThatIsBehindIsWrittenAtTheStart(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		file := filepath.Join(t.TempDir(), "receipts.json")
		c := r.export(r.process, file)
		c.until("")
		c.stop()
		for i := range 7 {
			r.starts(keyed(fmt.Sprint("k", i), i+1))
		}
		if err := os.WriteFile(file, []byte(`{"receipts":[{"torn`), 0o600); err != nil {
			t.Fatal(err)
		}
		c = r.export(r.process, file)
		want := []string{}
		for i := range 7 {
			want = append(want, fmt.Sprint("k", i))
		}
		c.until(strings.Join(want, " "))
	})
}

func TestAFileThatCannotBeWrittenIsTriedAgain(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		r.starts(keyed("a", 1))
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // where the folder should be
			t.Fatal(err)
		}
		tried := make(chan struct{}, 100)
		r.Deliveries = r.with(func(c *Config) { c.Log = logged(tried) }).Deliveries
		c := r.export(r.process, filepath.Join(dir, "receipts.json"))
		stalltest.Within(t, "a line in the log", tried)
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		c.until("a")
	})
}

// A disk that stays full fills no log.
func TestAFileThatCannotBeWrittenIsLoggedOnce(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // where the folder should be
		t.Fatal(err)
	}
	said := make(chan struct{}, 100)
	x := newExport(r.with(func(c *Config) { c.Log = logged(said) }).Deliveries, filepath.Join(dir, "receipts.json"),
		func() {})
	defer x.dir.leave()
	try := func() error {
		_, err := x.keep(t.Context())
		x.report(t.Context(), err)
		return err
	}
	for range 3 {
		if err := try(); err == nil || len(said) != 1 {
			t.Errorf("got %v, and it was said %d times", err, len(said))
		}
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := try(); err != nil || len(said) != 2 {
			t.Errorf("got %v, and %d things were said", err, len(said))
		}
	}
}

func TestManyReceiptsAreWrittenInParts(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const n = 2*exportChunk + 10
		var want []string
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			for _, tenant := range []string{tenantA, tenantB} {
				if _, _, err := lock(ctx, tx, tenant); err != nil {
					return err
				}
				for i := range int64(n / 2) {
					rec := &receipt{n: i + 1, about: about{run: "r"}, at: at(r.clock.Now())}
					if err := tx.Batch(ctx, r.save(tenant, fmt.Sprint("k", i), rec)...); err != nil {
						return err
					}
					if i >= n/2-DefaultMaxReceipts {
						want = append(want, fmt.Sprint("k", i))
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want = want[len(want)-2*DefaultMaxReceipts:]
		c := r.exporting(r.process)
		c.until(strings.Join(slices.Clone(want), " "))
	})
}
