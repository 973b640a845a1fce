package sqldb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// unhurried is a database whose jobs take no time, so that those which wait share a transaction
// also on a busy machine.
func unhurried(t *testing.T) *DB {
	db := open(t, Config{})
	db.lite().loop.since = func(time.Time) time.Duration { return 0 }
	return db
}

// counted is a job that notes that it ran and that it was committed, and fails if err
// is not nil.
func counted(n int, ran, hooks *[]int, err error) func(context.Context, *Tx) error {
	return func(ctx context.Context, tx *Tx) error {
		*ran = append(*ran, n)
		tx.OnCommit(func() { *hooks = append(*hooks, n) })
		if wrong := insert(n, 1)(ctx, tx); wrong != nil {
			return wrong
		}
		return err
	}
}

// TestJobsBesideOneThatFailsAreRunAgain has jobs wait so that they share a transaction.
// Nobody gets a savepoint until the third fails.
func TestJobsBesideOneThatFailsAreRunAgain(t *testing.T) {
	db := unhurried(t)
	own := errors.New("my own")
	var ran, hooks []int
	var results []<-chan error
	for n := range 5 {
		var err error
		if n == 2 {
			err = own
		}
		results = append(results, enqueue(t.Context(), db, Other, counted(n, &ran, &hooks, err)))
	}
	run(t, db)
	for n, res := range results {
		if err := <-res; (n == 2) != errors.Is(err, own) || n != 2 && err != nil {
			t.Errorf("job %d: %v", n, err)
		}
		if got := rows(t, db, n); (got == 1) != (n != 2) {
			t.Errorf("job %d left %d rows", n, got)
		}
	}
	if want := []int{0, 1, 2, 0, 1, 2, 3, 4}; !slices.Equal(ran, want) {
		t.Errorf("jobs ran as %v, want %v", ran, want)
	}
	if want := []int{0, 1, 3, 4}; !slices.Equal(hooks, want) {
		t.Errorf("%v ran their commit hooks, want %v", hooks, want)
	}
	if s := db.Stats(); s.Commits != 1 || s.Again != 3 {
		t.Errorf("%d commits, %d jobs ran again; want 3 in one", s.Commits, s.Again)
	}
}

// TestAJobThatSawWhatIsUndoneLooksAgain has a job fail because of a row of the one
// before, which does not write it when it is run again.
func TestAJobThatSawWhatIsUndoneLooksAgain(t *testing.T) {
	db := unhurried(t)
	runs := 0
	results := []<-chan error{
		enqueue(t.Context(), db, Other, insert(1, 1)),
		enqueue(t.Context(), db, Other, func(ctx context.Context, tx *Tx) error {
			if runs++; runs > 1 {
				return errors.New("not again")
			}
			return insert(2, 1)(ctx, tx)
		}),
		enqueue(t.Context(), db, Other, insert(2, 1)),
	}
	run(t, db)
	for n, want := range []bool{true, false, true} {
		if err := <-results[n]; (err == nil) != want {
			t.Errorf("job %d: %v", n, err)
		}
	}
	if got := rows(t, db, 2); got != 1 {
		t.Errorf("%d rows, want that of the third job", got)
	}
}

// TestARetriedJobReportsItsLastRun has a job fail beside another and succeed when it is run
// again.
func TestARetriedJobReportsItsLastRun(t *testing.T) {
	db := unhurried(t)
	var hooks []string
	runs := 0
	results := []<-chan error{
		enqueue(t.Context(), db, Other, insert(1, 1)),
		enqueue(t.Context(), db, Other, func(ctx context.Context, tx *Tx) error {
			runs++
			run := fmt.Sprint("run ", runs)
			tx.OnCommit(func() { hooks = append(hooks, run) })
			if runs == 1 {
				return errors.New("not yet")
			}
			return insert(2, 1)(ctx, tx)
		}),
	}
	run(t, db)
	for n, res := range results {
		if err := <-res; err != nil {
			t.Errorf("job %d: %v", n, err)
		}
	}
	if want := []string{"run 2"}; !slices.Equal(hooks, want) {
		t.Errorf("%q ran their hooks, want %q", hooks, want)
	}
}

// TestAJobOfTheEngineRunsOnce has others fail before and behind it in a transaction.
func TestAJobOfTheEngineRunsOnce(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2}, {1, 0, 2}, {1, 2, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			db := unhurried(t)
			var ran, hooks []int
			jobs := []struct {
				priority Priority
				err      error
			}{{Engine, nil}, {Other, nil}, {Other, errors.New("no")}}
			db.lite().loop.share.owed = maxOwed // the others may go before the engine
			results := make([]<-chan error, len(jobs))
			for _, n := range order {
				results[n] = enqueue(t.Context(), db, jobs[n].priority, counted(n, &ran, &hooks, jobs[n].err))
			}
			run(t, db)
			for n, res := range results {
				if err := <-res; err != jobs[n].err {
					t.Errorf("job %d: %v", n, err)
				}
			}
			once := 0
			for _, n := range ran {
				if n == 0 {
					once++
				}
			}
			slices.Sort(hooks)
			if once != 1 || !slices.Equal(hooks, []int{0, 1}) {
				t.Errorf("jobs ran as %v, and %v ran their hooks", ran, hooks)
			}
		})
	}
}
