package sqldb

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/platform/fault"
)

// enqueue starts a Write and returns when its job waits in the queue, so that
// jobs wait in a known order. The channel gives its result.
func enqueue(ctx context.Context, db *DB, priority Priority, fn func(context.Context, *Tx) error) <-chan error {
	before := db.lite().queue.waiting(priority)
	res := make(chan error, 1)
	go func() { res <- db.Write(ctx, priority, fn) }()
	for db.lite().queue.waiting(priority) == before {
		runtime.Gosched()
	}
	return res
}

func TestJobsThatWaitShareACommit(t *testing.T) {
	db := open(t, Config{})
	var results []<-chan error
	for i := range 100 {
		results = append(results, enqueue(t.Context(), db, Priority(i%2), insert(1, i)))
	}
	run(t, db)
	for i, res := range results {
		if err := <-res; err != nil {
			t.Errorf("job %d: %v", i, err)
		}
	}
	if got := rows(t, db, 1); got != 100 {
		t.Errorf("%d rows, want 100", got)
	}
	if s := db.Stats(); s.Commits > 10 || s.Jobs != [priorities]uint64{50, 50} {
		t.Errorf("%d commits for jobs %v, want few for 50 and 50", s.Commits, s.Jobs)
	}
}

func TestAJobThatFailsIsUndoneAlone(t *testing.T) {
	own := errors.New("my own")
	failing := func(a int) func(context.Context, *Tx) error {
		return func(ctx context.Context, tx *Tx) error {
			if err := insert(a, 1)(ctx, tx); err != nil {
				return err
			}
			return own
		}
	}
	panicking := func(ctx context.Context, tx *Tx) error {
		_ = insert(3, 1)(ctx, tx)
		panic("lost my head")
	}
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {1, 3, 0, 2, 4}, {3, 1, 2, 0, 4}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			db := open(t, Config{})
			jobs := []func(context.Context, *Tx) error{insert(0, 1), failing(1), insert(2, 1), panicking, insert(4, 1)}
			results := make([]<-chan error, len(jobs))
			for _, i := range order {
				results[i] = enqueue(t.Context(), db, Other, jobs[i])
			}
			run(t, db)
			for i, want := range []string{"", "my own", "", "lost my head", ""} {
				err := <-results[i]
				if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
					t.Errorf("job %d: %v, want %q", i, err, want)
				}
			}
			for a, want := range []int{1, 0, 1, 0, 1} {
				if got := rows(t, db, a); got != want {
					t.Errorf("job %d left %d rows, want %d", a, got, want)
				}
			}
		})
	}
}

func TestAStatementThatFailsLeavesItsJobGoing(t *testing.T) {
	db := start(t, Config{})
	err := db.Write(t.Context(), Other, func(ctx context.Context, tx *Tx) error {
		if err := insert(1, 1)(ctx, tx); err != nil {
			return err
		}
		if err := insert(1, 1)(ctx, tx); fault.KindOf(err) != fault.Conflict {
			return fmt.Errorf("a second (1, 1): %w", err)
		}
		return insert(1, 2)(ctx, tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := rows(t, db, 1); got != 2 {
		t.Errorf("%d rows, want 2", got)
	}
}

func TestWithoutASuccessNothingIsCommitted(t *testing.T) {
	db := start(t, Config{})
	want := errors.New("no")
	got := db.Write(t.Context(), Engine, func(ctx context.Context, tx *Tx) error {
		_ = insert(1, 1)(ctx, tx)
		return want
	})
	if got != want {
		t.Errorf("got %v, want the job's own error", got)
	}
	if s := db.Stats(); s.Commits != 0 || s.JobErrors[Engine] != 1 || rows(t, db, 1) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestTheEngineGoesFirst(t *testing.T) {
	db := open(t, Config{})
	var order []Priority
	note := func(priority Priority) func(context.Context, *Tx) error {
		return func(context.Context, *Tx) error {
			order = append(order, priority)
			return nil
		}
	}
	var results []<-chan error
	for _, priority := range []Priority{Other, Other, Engine} {
		results = append(results, enqueue(t.Context(), db, priority, note(priority)))
	}
	run(t, db)
	for _, res := range results {
		if err := <-res; err != nil {
			t.Error(err)
		}
	}
	if want := []Priority{Engine, Other, Other}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// TestOthersGetOnWhileTheEngineIsBusy keeps the engine's priority full and measures how
// the others get on.
func TestOthersGetOnWhileTheEngineIsBusy(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	commits := 0
	db := start(t, Config{Watch: func(Commit) {
		if commits++; commits == 30 {
			stop()
		}
	}})
	var wg sync.WaitGroup
	work := func(priority Priority, a int) {
		for n := 0; ctx.Err() == nil; n++ {
			_ = db.Write(ctx, priority, func(ctx context.Context, tx *Tx) error {
				for i := range 50 {
					if err := insert(a, n*50+i)(ctx, tx); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	for i := range 16 {
		wg.Go(func() { work(Engine, 100+i) })
	}
	for i := range 4 {
		wg.Go(func() { work(Other, 200+i) })
	}
	wg.Wait()
	s := db.Stats()
	// Four callers have at most four jobs waiting, so they get them all while sixteen of the
	// engine share the rest; on a busy machine they come late for every other commit.
	if s.Jobs[Other]*10 < s.Jobs[Engine] {
		t.Errorf("others did %d jobs beside %d of the engine", s.Jobs[Other], s.Jobs[Engine])
	}
	if s.Jobs[Engine] < s.Jobs[Other] {
		t.Errorf("the engine did %d jobs beside %d of others", s.Jobs[Engine], s.Jobs[Other])
	}
}

func TestACallerThatLeavesBeforeItsJobBeginsLeavesNothing(t *testing.T) {
	db := open(t, Config{})
	ctx, leave := context.WithCancel(t.Context())
	gone := enqueue(ctx, db, Engine, insert(1, 1))
	stays := enqueue(t.Context(), db, Engine, insert(2, 1))
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) || fault.KindOf(err) != fault.Unavailable {
		t.Errorf("got %v, want Unavailable because of the cancel", err)
	}
	run(t, db)
	if err := <-stays; err != nil {
		t.Error(err)
	}
	if rows(t, db, 1) != 0 || rows(t, db, 2) != 1 {
		t.Errorf("%d rows of who left, %d of who stayed", rows(t, db, 1), rows(t, db, 2))
	}
}

func TestACallerOfAJobThatBeganLearnsItsOutcome(t *testing.T) {
	db := start(t, Config{})
	ctx, leave := context.WithCancel(t.Context())
	err := db.Write(ctx, Other, func(ctx context.Context, tx *Tx) error {
		leave()
		if ctx.Err() != nil {
			return errors.New("a job that began sees the end of its caller")
		}
		return insert(1, 1)(ctx, tx)
	})
	if err != nil || rows(t, db, 1) != 1 {
		t.Errorf("%v, %d rows", err, rows(t, db, 1))
	}
}

func TestAFullQueueRefuses(t *testing.T) {
	db := open(t, Config{Queue: 2})
	for i := range 2 {
		enqueue(t.Context(), db, Other, insert(1, i))
	}
	err := db.Write(t.Context(), Other, insert(1, 3))
	if f, _ := fault.As(err); f == nil || f.Kind != fault.Unavailable || f.RetryAfter != retryAfter {
		t.Errorf("got %v, want Unavailable with advice", err)
	}
	engine := enqueue(t.Context(), db, Engine, insert(2, 1)) // the engine has room of its own
	run(t, db)
	if err := <-engine; err != nil {
		t.Error(err)
	}
}

func TestStoppingFinishesWhatWaits(t *testing.T) {
	db := open(t, Config{})
	var results []<-chan error
	for i := range maxJobs + 10 {
		results = append(results, enqueue(t.Context(), db, Other, insert(1, i)))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Run(ctx); err != nil {
		t.Fatal(err)
	}
	for _, res := range results {
		if err := <-res; err != nil {
			t.Error(err)
		}
	}
	if got := rows(t, db, 1); got != len(results) {
		t.Errorf("%d rows, want %d", got, len(results))
	}
	if err := db.Write(t.Context(), Engine, insert(2, 1)); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("after the end: %v, want Unavailable", err)
	}
}

func TestAJobCannotWaitForAJob(t *testing.T) {
	db := start(t, Config{})
	err := db.Write(t.Context(), Other, func(ctx context.Context, _ *Tx) error {
		return db.Write(ctx, Other, insert(1, 1))
	})
	if err == nil || fault.KindOf(err) != fault.Internal {
		t.Errorf("got %v, want an internal error", err)
	}
}

func TestATransactionEndsWithItsJob(t *testing.T) {
	db := start(t, Config{})
	var kept *Tx
	if err := db.Write(t.Context(), Other, func(_ context.Context, tx *Tx) error {
		kept = tx
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Exec(t.Context(), insertRow, 1, 1, nil); err != errOver {
		t.Errorf("Exec: %v", err)
	}
	if err := kept.Row(t.Context(), "SELECT 1").Scan(new(int)); err != errOver {
		t.Errorf("Row: %v", err)
	}
}
