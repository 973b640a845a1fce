package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// stallsFrom is how late a machine may be before it is said to stand still.
const stallsFrom = 20 * time.Millisecond

// watchStalls measures how long the machine stands still, by something that takes next to
// no time on one that does not: a sync of one block, and a look at the clock a millisecond
// later. The function that it gives ends that and says how long it was.
//
// Limits in seconds are about the server. A machine that is shared takes seconds away from
// everybody, and those do not count.
func watchStalls(t testing.TB) (end func() time.Duration) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "probe"))
	if err != nil {
		t.Fatal(err)
	}
	over, total := make(chan struct{}), make(chan time.Duration)
	go func() {
		defer file.Close()
		var stood time.Duration
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			began := time.Now()
			_, err := file.WriteAt(make([]byte, 4096), 0)
			if err == nil {
				err = file.Sync()
			}
			if err != nil {
				t.Errorf("probe: %v", err)
			}
			select {
			case <-tick.C:
			case <-over:
				total <- stood
				return
			}
			if took := time.Since(began); took > stallsFrom {
				stood += took - stallsFrom
			}
		}
	}()
	return func() time.Duration {
		close(over)
		return <-total
	}
}
