package export

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// quick waits for next to nothing.
var quick = pace{time.Millisecond, time.Millisecond, time.Millisecond}

// run runs an export and gives a function that ends it and waits for it.
func (r rig) run(x *Export) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); x.Run(ctx) }()
	stop = func() { cancel(); <-done }
	r.Cleanup(stop)
	return stop
}

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// until asks until something holds.
func (r rig) until(what string, holds func() bool) {
	r.Helper()
	late, tick := time.After(patience), time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			r.Fatal("it did not come to this: ", what)
		}
	}
}

func (r rig) has(subject string) bool {
	raw, err := os.ReadFile(filepath.Join(r.dir, fileName))
	return err == nil && slices.Contains(subjectsIn(raw), subject)
}

// TestACommitIsSeenInTheFileWithinASecond runs at the pace of production.
func TestACommitIsSeenInTheFileWithinASecond(t *testing.T) {
	tier.System(t)
	var x *Export
	watch := func(sqldb.Commit) { x.Wake() }
	for name, cfg := range onBoth(t) {
		t.Run(name, func(t *testing.T) {
			cfg.Watch = watch
			r := newRig(t, cfg)
			x = r.export(Config{})
			r.run(x)
			stalls := stalltest.New(t)
			for i := range 3 {
				r.write(strconv.Itoa(i))
				at := time.Now()
				r.until("the entry is in the file", func() bool { return r.has(strconv.Itoa(i)) })
				if took := stalls.Since(at); took > time.Second {
					t.Errorf("it took %v", took)
				}
			}
		})
	}
}

func TestTheEndExportsWhatIsThere(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		x := r.export(Config{})
		x.pace = pace{time.Hour, time.Hour, time.Hour}
		stop := r.run(x)
		r.until("the file is there", func() bool {
			_, err := os.Stat(filepath.Join(r.dir, fileName))
			return err == nil
		})
		r.fill(1000)
		stop()
		r.complete(r.dir)
	})
}

// TestAFolderThatCannotBeWrittenIsWarnedOfOnce has a file where the folder should be.
func TestAFolderThatCannotBeWrittenIsWarnedOfOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		if err := os.WriteFile(r.dir, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		said, log := newNotes()
		x := r.export(Config{Log: log})
		var tries atomic.Int32
		x.pace, x.tried = quick, func() { tries.Add(1) }
		r.run(x)
		r.fill(10) // the system goes on
		r.until("it was tried again", func() bool { return tries.Load() > 5 })
		if got := said.said(); len(got) != 1 {
			t.Errorf("said %q", got)
		}
		if err := os.Remove(r.dir); err != nil {
			t.Fatal(err)
		}
		got := said.wait(t, 2)
		want := []string{
			"WARN the audit log cannot be exported; it is tried again until it can",
			"INFO the audit log is exported again",
		}
		if !slices.Equal(got, want) {
			t.Errorf("said %q", got)
		}
		r.complete(r.dir)
	})
}

// TestAFullDiskIsCaughtUpWithLater exports onto a disk that is full halfway, makes room,
// and looks for every entry.
func TestAFullDiskIsCaughtUpWithLater(t *testing.T) {
	onEvery(t, func(t *testing.T, r rig) {
		r.dir = t.TempDir()
		const size = 256 << 10
		if err := syscall.Mount("tmpfs", r.dir, "tmpfs", 0, "size="+strconv.Itoa(size)); err != nil {
			t.Skipf("SKIP: a small disk cannot be made: %v", err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(r.dir, syscall.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
		ballast := filepath.Join(r.dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, size/2), 0o600); err != nil {
			t.Fatal(err)
		}
		said, log := newNotes()
		x := r.export(Config{Log: log, MaxFile: 20_000})
		x.pace = quick
		stop := r.run(x)
		for i := range 20 {
			r.write(slices.Repeat([]string{fmt.Sprint("batch ", i)}, 20)...)
			x.Wake()
		}
		if got := said.wait(t, 1); got[0] != "WARN the audit log cannot be exported; it is tried again until it can" {
			t.Fatalf("said %q", got)
		}
		r.fill(10)
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		said.wait(t, 2)
		stop()
		r.complete(r.dir)
		if got := said.said(); len(got)%2 != 0 || got[1] != "INFO the audit log is exported again" {
			t.Errorf("said %q", got)
		}
	})
}

// TestAFileThatWasMovedAwayIsWrittenAgain moves the file while it is written.
func TestAFileThatWasMovedAwayIsWrittenAgain(t *testing.T) {
	r := onSQLite(t)
	x := r.export(Config{})
	x.pace = quick
	stop := r.run(x)
	r.write("1")
	x.Wake()
	r.until("it is in the file", func() bool { return r.has("1") })
	if err := os.Rename(filepath.Join(r.dir, fileName), filepath.Join(r.dir, "moved")); err != nil {
		t.Fatal(err)
	}
	r.write("2")
	x.Wake()
	r.until("both are in the file", func() bool { return r.has("1") && r.has("2") })
	stop()
	r.complete(r.dir)
}
