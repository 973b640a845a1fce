package export

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

// The environment of a process that exports until it is killed.
const (
	victimDB    = "RENGA_TEST_EXPORT_DB"
	victimDir   = "RENGA_TEST_EXPORT_DIR"
	victimWrite = "RENGA_TEST_EXPORT_WRITE" // it also writes entries
)

// victimFile is the limit of a victim's files: it rotates all the time.
const victimFile = 8192

// child makes this process a victim if its parent wants it to be one.
func child() bool {
	if os.Getenv(victimDB) == "" {
		return false
	}
	if err := victim(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	return true
}

// config is how a database is opened that is named by a path or a URL.
func config(name string) sqldb.Config {
	if strings.HasPrefix(name, "postgres") {
		return sqldb.Config{URL: name}
	}
	return sqldb.Config{Path: name}
}

// victim exports in a hurry, and writes if it is asked to. Of every entry that it wrote
// it prints a line. Without writing it ends when all is exported.
func victim() error {
	cfg := config(os.Getenv(victimDB))
	var x *Export
	cfg.Watch = func(sqldb.Commit) { x.Wake() }
	db, stop, err := openDB(cfg)
	if err != nil {
		return err
	}
	x = New(db, Config{Dir: os.Getenv(victimDir), MaxFile: victimFile})
	x.pace = pace{time.Millisecond, time.Millisecond, time.Millisecond}
	if os.Getenv(victimWrite) == "" {
		f, err := openFile(x.cfg.Dir, victimFile, x.cfg.Log)
		if err != nil {
			return err
		}
		if err := x.catchUp(context.Background(), f); err != nil {
			return err
		}
		fmt.Println("done")
		return stop()
	}
	go x.Run(context.Background())
	for w := range 3 {
		go func() {
			for n := 0; ; n++ {
				if err := db.Write(context.Background(), sqldb.Other,
					job(entry(fmt.Sprint(os.Getpid(), " ", w, " ", n)))); err != nil {
					fmt.Println("error:", err)
					return
				}
				fmt.Println("wrote")
			}
		}()
	}
	select {}
}

func victimEnv(db, dir, write string) []string {
	return append(os.Environ(), victimDB+"="+db, victimDir+"="+dir, victimWrite+"="+write)
}

// kill runs a victim that writes and kills it after it has written so many entries.
func kill(t *testing.T, db, dir string, after int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = victimEnv(db, dir, "1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if strings.HasPrefix(sc.Text(), "error") {
			t.Error(sc.Text())
		}
		if n++; n == after {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || n < after {
		t.Fatalf("the victim ended by itself after %d entries: %v", n, err)
	}
}

// kills is how often a test kills; RENGA_LONG=1 does ten times as many.
func kills(n int) int {
	if os.Getenv("RENGA_LONG") != "" {
		return 10 * n
	}
	return n
}

// TestTheFileIsCompleteAfterKills kills a process that writes entries, exports them and
// rotates, again and again.
func TestTheFileIsCompleteAfterKills(t *testing.T) {
	tier.System(t)
	for name, db := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") },
		"postgres": func(t *testing.T) string { return pgtest.New(t) },
	} {
		t.Run(name, func(t *testing.T) {
			at, dir := db(t), filepath.Join(t.TempDir(), "reports")
			draw := rand.New(rand.NewPCG(1, 2))
			for range kills(12) {
				kill(t, at, dir, 1+draw.IntN(120))
			}
			r := newRig(t, config(at))
			r.finish(dir)
			r.complete(dir)
			if n := len(files(t, dir)); n < 10 {
				t.Errorf("there are %d files: little was written between the kills", n)
			}
		})
	}
}

// TestTheFileIsCompleteWhateverStepWasTheLast kills a process at each of the calls by which it
// writes, syncs, renames and opens files.
func TestTheFileIsCompleteWhateverStepWasTheLast(t *testing.T) {
	tier.System(t)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIP: strace is not installed: no process can be killed at a call")
	}
	for _, call := range []string{"write", "fsync", "renameat", "openat"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			at, dir := filepath.Join(t.TempDir(), "test.db"), filepath.Join(t.TempDir(), "reports")
			prepare(t, at, 400)
			killed := 0
			for n := 1; n < 200; n++ {
				cmd := exec.Command(strace, "-f", "-qqq", "-o", os.DevNull, "-P", dir, "-P",
					filepath.Join(dir, fileName), "-P", filepath.Join(dir, placeName+".new"),
					"-e", "trace="+call, "-e", "inject="+call+":signal=SIGKILL:when="+strconv.Itoa(n), os.Args[0])
				cmd.Env = victimEnv(at, dir, "")
				out, err := cmd.CombinedOutput()
				if strings.Contains(string(out), "error") {
					t.Fatalf("%s", out)
				}
				if err == nil && strings.Contains(string(out), "done") {
					break
				}
				killed++
			}
			r := newRig(t, config(at))
			r.finish(dir)
			r.complete(dir)
			t.Logf("killed %d times, %d files", killed, len(files(t, dir)))
			if killed == 0 {
				t.Error("it was never killed")
			}
		})
	}
}

// prepare makes a database with entries.
func prepare(t *testing.T, path string, n int) {
	t.Helper()
	db, stop, err := openDB(sqldb.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	rig{t, db, ""}.fill(n)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
