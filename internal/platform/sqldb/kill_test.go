package sqldb

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/test/tier"
)

// victimEnv names the database of a process that writes until it is killed.
const victimEnv = "RENGA_TEST_VICTIM"

// jobRows is how many rows a job of the victim writes: all or none may be found.
const jobRows = 20

// child makes this process a victim if its parent wants it to be one.
func child() bool {
	path := os.Getenv(victimEnv)
	if path == "" {
		return false
	}
	if err := victim(path); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	return true
}

// victim writes with several writers for ever and prints the number of each job
// after it was acknowledged.
func victim(path string) error {
	db, err := Open(context.Background(), Config{Path: path, Migrations: []Migration{rowTable}})
	if err != nil {
		return err
	}
	// checkpoints too are to be interrupted
	db.lite().wal.step, db.lite().wal.start, db.lite().wal.limit = 1<<18, 1<<19, 4<<20
	base, _ := strconv.Atoi(os.Getenv(victimEnv + "_BASE"))
	var mu sync.Mutex
	for w := range 4 {
		go func() {
			for n := base + w; ; n += 4 {
				if db.Write(context.Background(), Priority(w%2), victimJob(n)) != nil {
					return // Run says why
				}
				mu.Lock()
				fmt.Println(n)
				mu.Unlock()
			}
		}()
	}
	return db.Run(context.Background())
}

func victimJob(n int) func(context.Context, *Tx) error {
	return func(ctx context.Context, tx *Tx) error {
		for b := range jobRows {
			if _, err := tx.Exec(ctx, insertRow, n, b, make([]byte, 300)); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestWhatWasAcknowledgedSurvivesAKill kills a process in the middle of its writes,
// again and again on one database, and looks for every job that was acknowledged.
func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	tier.System(t)
	path := filepath.Join(t.TempDir(), "test.db")
	acked := map[int]bool{}
	const kills, atLeast = 5, 100
	for round := range kills {
		before := len(acked)
		killOnce(t, path, (round+1)*1_000_000, atLeast, acked)
		if got := len(acked) - before; got < atLeast {
			t.Fatalf("round %d: only %d jobs before the kill", round, got)
		}
		checkSurvivors(t, path, acked)
	}
}

// killOnce runs a victim until it has acknowledged so many jobs and kills it.
func killOnce(t *testing.T, path string, base, jobs int, acked map[int]bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	lines := 0
	said, err := watch(t, cmd, path, base, acked, func() {
		if lines++; lines == jobs {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	})
	if err == nil || said != "" {
		t.Errorf("the victim ended by itself: %q", said)
	}
}

// watch runs a victim, notes what it acknowledges, and gives what else it said and
// how it ended.
func watch(t *testing.T, cmd *exec.Cmd, path string, base int, acked map[int]bool, each func()) (
	said string, err error,
) {
	t.Helper()
	cmd.Env = append(os.Environ(), victimEnv+"="+path, victimEnv+"_BASE="+strconv.Itoa(base))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for sc := bufio.NewScanner(out); sc.Scan(); {
		n, err := strconv.Atoi(sc.Text())
		if err != nil || n < base { // a line that the kill cut short is below base
			if strings.HasPrefix(sc.Text(), "error:") {
				said = sc.Text()
			}
			continue
		}
		acked[n] = true
		each()
	}
	return said, cmd.Wait()
}

// TestARealFailedSyncEndsTheProcess makes the kernel fail a sync of a process that
// writes: it must end by itself, say why, and leave everything it acknowledged.
func TestARealFailedSyncEndsTheProcess(t *testing.T) {
	tier.System(t)
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("SKIP: strace is not installed: no sync can be made to fail")
	}
	path := filepath.Join(t.TempDir(), "test.db")
	acked := map[int]bool{}
	cmd := exec.Command(strace, "-f", "-qqq", "-o", os.DevNull,
		"-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO:when=60+", os.Args[0])
	said, err := watch(t, cmd, path, 1_000_000, acked, func() {})
	if err == nil || !strings.Contains(said, "could not be synced") {
		t.Errorf("the victim ended with %v and said %q", err, said)
	}
	if len(acked) < 20 {
		t.Errorf("only %d jobs before the sync failed", len(acked))
	}
	checkSurvivors(t, path, acked)
}

// checkSurvivors opens what the victim left: it is whole, every acknowledged job is
// there, and no job is there in part.
func checkSurvivors(t *testing.T, path string, acked map[int]bool) {
	t.Helper()
	db, err := Open(t.Context(), Config{Path: path, Migrations: []Migration{rowTable}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	checkIntegrity(t, db)
	found := map[int]bool{}
	err = db.Read(t.Context(), func(ctx context.Context, tx *Tx) error {
		for row, err := range tx.Query(ctx, "SELECT a, count(*) FROM test_row GROUP BY a") {
			var a, n int
			if err == nil {
				err = row.Scan(&a, &n)
			}
			if err != nil {
				return err
			}
			if n != jobRows {
				t.Errorf("job %d has %d rows of %d", a, n, jobRows)
			}
			found[a] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range acked {
		if !found[n] {
			t.Errorf("job %d was acknowledged and is gone", n)
		}
	}
}
