// Package stalltest lets tests with a limit in seconds judge the system and not the machine.
//
// Limits are about the server. A machine that is shared takes seconds away from everybody,
// and those do not count: a Watch measures beside the test, by something that takes next to
// no time on a machine that is there, for how long it was not.
package stalltest

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"
)

const (
	every = 5 * time.Millisecond  // between two looks
	from  = 20 * time.Millisecond // later than that, and the machine stood still
)

// A Watch knows when the machine stood still.
type Watch struct {
	mu     sync.Mutex
	stalls []stall
	alive  time.Time // the last look
}

// A stall is a time in which nothing happened.
type stall struct{ from, to time.Time }

// New watches until the test ends: it syncs a block, and looks at the clock a moment later.
func New(t testing.TB) *Watch {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stalls"))
	if err != nil {
		t.Fatal(err)
	}
	w := &Watch{alive: time.Now()}
	over, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(over); <-ended })
	go func() {
		defer close(ended)
		defer file.Close()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-over:
				return
			}
			_, err := file.WriteAt(make([]byte, 4096), 0)
			if err == nil {
				err = file.Sync()
			}
			if err != nil {
				t.Errorf("stalltest: %v", err)
				return
			}
			w.look(time.Now())
		}
	}()
	return w
}

// look notes a stall if the last look was long ago.
func (w *Watch) look(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.alive) > from {
		w.stalls = append(w.stalls, stall{w.alive.Add(from), now})
	}
	w.alive = now
}

// Since is the time since a moment without that in which the machine stood still.
func (w *Watch) Since(began time.Time) time.Duration { return w.Between(began, time.Now()) }

// Between is the time between two moments without that in which the machine stood still.
func (w *Watch) Between(began, end time.Time) time.Duration {
	w.look(time.Now()) // the machine may stand still until now
	w.mu.Lock()
	defer w.mu.Unlock()
	took := end.Sub(began)
	for _, s := range w.stalls {
		if s.from.Before(began) {
			s.from = began
		}
		if s.to.After(end) {
			s.to = end
		}
		took -= max(0, s.to.Sub(s.from))
	}
	return took
}

// patience is how long a test waits for what it cannot go on without: long enough for a
// machine that is busy, and short enough that a test which waits in vain says for what.
const patience = time.Minute

// Within is what comes from a channel, or that it was closed. Nothing within a minute ends
// the test.
func Within[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v = <-c:
	case <-timer.C:
		t.Fatalf("%s: nothing came within %v", what, patience)
	}
	return v
}

// Until looks until something holds. What does not hold within a minute ends the test.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}
