package export

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/platform/folder"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// held is a transaction that has written an entry and is not over.
type held struct{ end, done chan error }

// hold writes an entry in a transaction that stays open.
func (r rig) hold(subject string) *held {
	r.Helper()
	h := &held{make(chan error), make(chan error, 1)}
	wrote := make(chan error, 1)
	go func() {
		h.done <- r.db.Write(context.Background(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			err := job(entry(subject))(ctx, tx)
			wrote <- err
			if err != nil {
				return err
			}
			select {
			case err = <-h.end:
			case <-r.Context().Done(): // the test has failed
			}
			return err
		})
	}()
	if err := <-wrote; err != nil {
		r.Fatal(err)
	}
	return h
}

// ends lets the transaction end, by an error if that is not nil.
func (h *held) ends(t *testing.T, why error) {
	t.Helper()
	h.end <- why
	if err := <-h.done; !errors.Is(err, why) {
		t.Fatalf("got %v, want %v", err, why)
	}
}

// TestEntriesThatCommitOutOfOrderAreAllWritten has an entry with a lower number
// committed after one with a higher, or not at all.
func TestEntriesThatCommitOutOfOrderAreAllWritten(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	x := r.export(Config{})
	var want []string
	expect := func(more ...string) {
		t.Helper()
		want = append(want, more...)
		r.once(x)
		if got := subjects(t, r.dir); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	r.once(x)
	for i := range 30 {
		slow := r.hold("slow")
		r.write("quick")
		expect()
		if i%3 == 2 {
			slow.ends(t, errors.New("undone"))
			expect("quick")
			continue
		}
		slow.ends(t, nil)
		expect("slow", "quick")
	}
	r.complete(r.dir)
}

// TestEveryProcessHasTheWholeLogInItsFolder runs two processes over one database that write and
// export, and kills them at random.
func TestEveryProcessHasTheWholeLogInItsFolder(t *testing.T) {
	url := pgtest.New(t)
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	prepared := newRig(t, config(url)) // the tables are there
	var both sync.WaitGroup
	for i, dir := range dirs {
		both.Go(func() {
			draw := rand.New(rand.NewPCG(uint64(i), 3))
			for range kills(6) {
				kill(t, url, dir, 1+draw.IntN(200))
			}
		})
	}
	both.Wait()
	for _, dir := range dirs {
		prepared.finish(dir)
		prepared.complete(dir)
	}
}

func TestAProcessCatchesUpWithWhatOthersWrote(t *testing.T) {
	url := pgtest.New(t)
	r := newRig(t, config(url))
	r.once(r.export(Config{}))
	kill(t, url, filepath.Join(t.TempDir(), "other"), 100)
	r.finish(r.dir)
	r.complete(r.dir)
}

// TestOneFolderIsWrittenByOneProcess starts a second process on the folder of one that
// runs: it waits until the first is gone.
func TestOneFolderIsWrittenByOneProcess(t *testing.T) {
	url := pgtest.New(t)
	r := newRig(t, config(url))
	first := exec.Command(os.Args[0])
	first.Env = victimEnv(url, r.dir, "1")
	out, err := first.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	r.until("the first has the folder", func() bool { return sc.Scan() && r.taken() })
	said, log := newNotes()
	x := r.export(Config{Log: log, MaxFile: victimFile})
	x.pace = quick
	stop := r.run(x)
	if got := said.wait(t, 1); !strings.Contains(got[0], "cannot be exported") {
		t.Errorf("said %q", got)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for sc.Scan() {
	}
	_ = first.Wait()
	said.wait(t, 2)
	stop()
	r.finish(r.dir)
	r.complete(r.dir)
}

// taken reports whether somebody has the folder.
func (r rig) taken() bool {
	d, err := folder.Lock(r.dir)
	if err != nil {
		_, missing := os.Stat(r.dir)
		return missing == nil
	}
	_ = d.Close()
	return false
}
