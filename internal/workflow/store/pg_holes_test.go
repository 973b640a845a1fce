package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
	"renga.dev/renga/test/stalltest"
)

// inversions is how often commits come in another order than their numbers; RENGA_LONG=1
// does ten times as many.
func inversions() int {
	if os.Getenv("RENGA_LONG") != "" {
		return 1000
	}
	return 100
}

// held is a commit that is not over.
type held struct {
	write chan engine.LogRow // appended when it comes
	wrote chan error
	end   chan error // how fn ends
	done  chan error // how the commit ended
}

// begin locks an execution in a commit that stays open: its transaction has an id, and
// no number.
func begin(t *testing.T, s *store.Store, h engine.Head) *held {
	t.Helper()
	c := &held{make(chan engine.LogRow), make(chan error, 1), make(chan error), make(chan error, 1)}
	go func() {
		c.done <- s.Commit(context.Background(), func(ctx context.Context, tx engine.Tx) error {
			_, err := tx.Fetch(ctx, []engine.Want{{Tenant: h.Tenant, ID: h.ID}})
			c.wrote <- err
			if err != nil {
				return err
			}
			select {
			case row := <-c.write:
				err = tell(ctx, tx, h, row)
				c.wrote <- err
			case <-t.Context().Done(): // the test has failed
			}
			if err != nil {
				return err
			}
			select {
			case err = <-c.end:
			case <-t.Context().Done():
			}
			return err
		})
	}()
	if err := <-c.wrote; err != nil {
		t.Fatal(err)
	}
	return c
}

// takes appends a row, which gets a number.
func (c *held) takes(t *testing.T, row engine.LogRow) *held {
	t.Helper()
	c.write <- row
	if err := <-c.wrote; err != nil {
		t.Fatal(err)
	}
	return c
}

// ends lets the commit end, by an error if that is not nil.
func (c *held) ends(t *testing.T, why error) {
	t.Helper()
	c.end <- why
	if err := <-c.done; !errors.Is(err, why) {
		t.Fatalf("commit: got %v, want %v", err, why)
	}
}

// follower reads a source and notes which rows it has read.
type follower struct {
	*testing.T
	source *store.Source
	upto   int64
}

// next reads what there is: the numbers, and up to which it looked.
func (f *follower) next() (numbers []int64) {
	f.Helper()
	for {
		msgs, upto, err := f.source.After(f.Context(), f.upto, 100)
		if err != nil {
			f.Fatal(err)
		}
		for _, m := range msgs {
			numbers = append(numbers, m.Relay.Source)
		}
		if upto == f.upto {
			return numbers
		}
		f.upto = upto
	}
}

// expect reads the rows that are published next, as places after the last one before.
func (f *follower) expect(want ...int64) {
	f.Helper()
	from := f.upto
	for i := range want {
		want[i] += from
	}
	if diff := cmp.Diff(want, f.next()); diff != "" {
		f.Fatalf("after %d (-want +got):\n%s", from, diff)
	}
}

var errUndone = errors.New("undone")

func TestNoNumberIsPassedThatMayStillAppear(t *testing.T) {
	url := pgtest.New(t)
	a, b := open(t, url), open(t, url)
	first, second, third := execution(t, a), execution(t, a), execution(t, a)
	f := &follower{t, store.NewSource(b, store.SourceConfig{}), 0}
	f.expect()
	for i := range inversions() {
		row := func(h engine.Head) engine.LogRow { return placedPublication(h.Num, int64(i+2), base) }
		quick := begin(t, b, second)
		slow := begin(t, a, first).takes(t, row(first)) // it is the younger, and has the lower number
		quick.takes(t, row(second)).ends(t, nil)
		f.expect() // the first number is missing
		beside := begin(t, b, third).takes(t, row(third))
		f.expect()
		if i%3 == 2 { // a number that was taken for nothing
			slow.ends(t, errUndone)
			f.expect(2)
			slow = begin(t, a, first).takes(t, row(first))
			beside.ends(t, nil)
			f.expect(1)
			slow.ends(t, nil)
			f.expect(1)
			continue
		}
		slow.ends(t, nil)
		f.expect(1, 2)
		beside.ends(t, nil)
		f.expect(1)
	}
}

// TestAHoleIsLeftWhenAllWhoCouldFillItAreGone has transactions run that have nothing to
// do with the hole: those that were there when it was seen are waited for, later ones
// are not.
func TestAHoleIsLeftWhenAllWhoCouldFillItAreGone(t *testing.T) {
	url := pgtest.New(t)
	a, b := open(t, url), open(t, url)
	var heads []engine.Head
	for range 5 {
		heads = append(heads, execution(t, a))
	}
	take := func(s *store.Store, i int) *held {
		return begin(t, s, heads[i]).takes(t, placedPublication(heads[i].Num, 2, base))
	}
	f := &follower{t, store.NewSource(b, store.SourceConfig{}), 0}
	undone, seen := take(a, 0), take(a, 1)
	take(b, 2).ends(t, nil)
	f.expect() // number 3 is there, 1 and 2 are missing
	later := take(b, 3)
	undone.ends(t, errUndone)
	f.expect() // whose the missing number 1 was is not known
	seen.ends(t, nil)
	f.expect(2, 3)
	take(b, 4).ends(t, nil)
	f.expect() // 5 is there, 4 is missing
	later.ends(t, nil)
	f.expect(1, 2)
}

// TestAForeignTransactionHoldsNobodyUp has one run that writes something else all the
// while.
func TestAForeignTransactionHoldsNobodyUp(t *testing.T) {
	url := pgtest.New(t)
	s, db, _ := serve(t, url)
	first, second := execution(t, s), execution(t, s)
	began, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.Write(context.Background(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "CREATE TABLE foreign_work AS SELECT 1")
			close(began)
			select {
			case <-end:
			case <-t.Context().Done():
			}
			return err
		})
	}()
	stalltest.Within(t, "a transaction that writes", began)
	f := &follower{t, store.NewSource(s, store.SourceConfig{}), 0}
	undone := begin(t, s, first).takes(t, placedPublication(first.Num, 2, base))
	begin(t, s, second).takes(t, placedPublication(second.Num, 2, base)).ends(t, nil)
	f.expect()
	undone.ends(t, errUndone)
	f.expect(2)
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestNothingIsSkippedWhileManyCommit lets writers commit, give up and wait for one
// another as they like, and reads all the time.
func TestNothingIsSkippedWhileManyCommit(t *testing.T) {
	url := pgtest.New(t)
	a, b := open(t, url), open(t, url)
	var heads []engine.Head
	for range 6 {
		heads = append(heads, execution(t, a))
	}
	f := &follower{t, store.NewSource(b, store.SourceConfig{}), 0}
	var writers sync.WaitGroup
	for w := range 6 {
		writers.Go(func() { scribble(t, []*store.Store{a, b}[w%2], heads, uint64(w), inversions()/2) })
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	var got []int64
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
		}
		got = append(got, f.next()...)
	}
	want := numbersOf(t, url)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%d rows are stored, %d were told (-stored +told):\n%s", len(want), len(got), diff)
	}
	if len(want) < inversions() || slices.Max(want) == int64(len(want)) {
		t.Errorf("%d rows up to %d: nothing was undone, or little was done", len(want), slices.Max(want))
	}
}

// scribble appends to one or two executions at a time; every fifth commit is undone.
func scribble(t *testing.T, s *store.Store, heads []engine.Head, seed uint64, times int) {
	draw := rand.New(rand.NewPCG(seed, 1))
	for range times {
		mine := []engine.Head{heads[draw.IntN(3)], heads[3+draw.IntN(3)]}[:1+draw.IntN(2)]
		undo := draw.IntN(5) == 0
		err := s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
			var wants []engine.Want
			for _, h := range mine {
				wants = append(wants, engine.Want{Tenant: "t", ID: h.ID})
			}
			histories, err := tx.Fetch(ctx, wants)
			if err != nil {
				return err
			}
			for i, h := range mine {
				rows := histories[i].Rows
				if err := tell(ctx, tx, h, placedPublication(h.Num, rows[len(rows)-1].CommitNo+1, base)); err != nil {
					return err
				}
			}
			if undo {
				return errUndone
			}
			return nil
		})
		if undo != errors.Is(err, errUndone) {
			t.Errorf("got %v", err)
		}
	}
}

// numbersOf are the numbers of all rows, by execution: those of one rise with its commits.
func numbersOf(t *testing.T, url string) (numbers []int64) {
	t.Helper()
	_, db, _ := serve(t, url)
	var last, of int64
	err := db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Batch(ctx, sqldb.Stmt{
			Query: "SELECT execution, news FROM engine_log WHERE news IS NOT NULL ORDER BY execution, commit_no",
			Row: func(r *sqldb.Row) error {
				var execution, number int64
				err := r.Scan(&execution, &number)
				if execution == of && number <= last {
					t.Errorf("execution %d: number %d follows %d", execution, number, last)
				}
				of, last = execution, number
				numbers = append(numbers, number)
				return err
			},
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(numbers)
	return numbers
}
