package store_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
	"renga.dev/renga/test/stalltest"
)

// two gives two stores on one database, as two processes have them.
func two(t *testing.T) (a, b *store.Store) {
	t.Helper()
	url := pgtest.New(t)
	return open(t, url), open(t, url)
}

func commit(t *testing.T, s *store.Store, fn func(ctx context.Context, tx engine.Tx) error) {
	t.Helper()
	if err := s.Commit(t.Context(), fn); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, s *store.Store, b engine.Batch) {
	t.Helper()
	commit(t, s, func(ctx context.Context, tx engine.Tx) error { return tx.Write(ctx, &b) })
}

// execution stores one with a row in its log.
func execution(t *testing.T, s *store.Store) (h engine.Head) {
	t.Helper()
	commit(t, s, func(ctx context.Context, tx engine.Tx) error {
		num, err := tx.Number(ctx, 1)
		if err != nil {
			return err
		}
		h = engine.Head{Num: num, ID: idOf(num), Tenant: "t", GraphID: "g", GraphVersion: 1, CreatedAt: 1}
		return tx.Write(ctx, &engine.Batch{Create: []engine.Head{h}, Log: []engine.LogRow{logRow(num, 1)}})
	})
	return h
}

func logRow(num, commit int64) engine.LogRow {
	return engine.LogRow{
		Execution: num, CommitNo: commit, FirstSeq: uint64(commit), LastSeq: uint64(commit),
		Body: []byte{byte(commit)},
	}
}

// TestAFetchSeesWhatItWaitedFor has one process append while the other waits for
// the execution's lock.
func TestAFetchSeesWhatItWaitedFor(t *testing.T) {
	url := pgtest.New(t)
	a, b := open(t, url), open(t, url)
	h := execution(t, a)
	locked, release := make(chan struct{}), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		commit(t, a, func(ctx context.Context, tx engine.Tx) error {
			if _, err := tx.Fetch(ctx, []engine.Want{{Tenant: "t", ID: h.ID}}); err != nil {
				return err
			}
			close(locked)
			<-release
			moved := h
			moved.DueAt = 77
			return tx.Write(ctx, &engine.Batch{Log: []engine.LogRow{logRow(h.Num, 2)}, Update: []engine.Update{
				{Head: moved},
			}})
		})
	})
	stalltest.Within(t, "the other process holds the row", locked)
	h.DueAt = 77
	for _, known := range []int64{0, 1, 2} {
		want := engine.History{Found: true, Head: h, Rows: []engine.LogRow{logRow(h.Num, 1), logRow(h.Num, 2)}}
		if known == 2 {
			want = engine.History{Found: true, Fresh: true, Head: h}
		}
		done.Go(func() {
			commit(t, b, func(ctx context.Context, tx engine.Tx) error {
				got, err := tx.Fetch(ctx, []engine.Want{{Tenant: "t", ID: h.ID, Num: h.Num, Known: known}})
				if diff := cmp.Diff([]engine.History{want}, got); diff != "" {
					t.Errorf("with commit %d known (-want +got):\n%s", known, diff)
				}
				return err
			})
		})
	}
	blocked(t, url, 3)
	close(release)
	done.Wait()
}

// blocked returns when a number of transactions wait for locks.
func blocked(t *testing.T, url string, want int) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n := 0; n < want; runtime.Gosched() {
		err := db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Row(ctx, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = "+
				"current_database()").Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyAreFetched mixes what is known, stale, unknown and not there.
func TestManyAreFetched(t *testing.T) {
	a, b := two(t)
	var heads []engine.Head
	for range 4 {
		heads = append(heads, execution(t, a))
	}
	write(t, b, engine.Batch{Log: []engine.LogRow{logRow(heads[1].Num, 2), logRow(heads[1].Num, 3)}})
	commit(t, a, func(ctx context.Context, tx engine.Tx) error {
		got, err := tx.Fetch(ctx, []engine.Want{
			{Tenant: "t", ID: heads[3].ID},                                     // by id
			{Tenant: "t", ID: heads[1].ID, Num: heads[1].Num, Known: 1},        // stale
			{Tenant: "t", ID: idOf(999)},                                       // not there
			{Tenant: "t", ID: heads[0].ID, Num: heads[0].Num, Known: 1},        // fresh
			{Tenant: "t", Num: heads[2].Num}, {Tenant: "t", Num: heads[2].Num}, // by number, twice
			{Tenant: "other", Num: heads[0].Num}, {Tenant: "t", ID: heads[3].ID}, // somebody else's; the first again
			{Tenant: "t", ID: heads[1].ID, Num: heads[1].Num, Known: 3}, // fresh
		})
		one := func(i int) engine.History {
			return engine.History{Found: true, Head: heads[i], Rows: []engine.LogRow{logRow(heads[i].Num, 1)}}
		}
		stale := one(1)
		stale.Rows = append(stale.Rows, logRow(heads[1].Num, 2), logRow(heads[1].Num, 3))
		want := []engine.History{
			one(3), stale,
			{},
			{Found: true, Fresh: true, Head: heads[0]},
			one(2), one(2),
			{},
			one(3),
			{Found: true, Fresh: true, Head: heads[1]},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return err
	})
	ids := []flow.ID{heads[1].ID, idOf(999), heads[0].ID}
	if got, err := b.Commits(t.Context(), ids); err != nil || !slices.Equal(got, []int64{3, 0, 1}) {
		t.Errorf("commits %v, %v", got, err)
	}
}

// TestTasksThatAreBeingTakenAreLeftOut has two processes ask for tasks at once.
func TestTasksThatAreBeingTakenAreLeftOut(t *testing.T) {
	a, b := two(t)
	var tasks []engine.ReadyRow
	for i := range 4 {
		tasks = append(tasks, engine.ReadyRow{
			Tenant: "t", Queue: "q", At: flow.Time(i), Execution: execution(t, a).Num,
			Node: "n",
		})
	}
	write(t, a, engine.Batch{Ready: tasks})
	commit(t, a, func(ctx context.Context, tx engine.Tx) error {
		mine, err := tx.Ready(ctx, "t", "q", engine.ReadyRow{}, 2)
		if err != nil || !slices.Equal(mine, tasks[:2]) {
			return fmt.Errorf("got %v, %w", mine, err)
		}
		commit(t, b, func(ctx context.Context, tx engine.Tx) error {
			theirs, err := tx.Ready(ctx, "t", "q", engine.ReadyRow{}, 10)
			if !slices.Equal(theirs, tasks[2:]) {
				t.Errorf("the other process got %v, want the last two", theirs)
			}
			return err
		})
		if mine, err = tx.Ready(ctx, "t", "q", engine.ReadyRow{}, 10); len(mine) != 4 {
			t.Errorf("then %v, want all: nobody holds them any more", mine)
		}
		return err
	})
}

// TestTwoThatDecideAtOnceDoNotBothSucceed writes the same things twice at once.
func TestTwoThatDecideAtOnceDoNotBothSucceed(t *testing.T) {
	a, b := two(t)
	h := execution(t, a)
	ended := h
	ended.Status = flow.Completed
	for name, batch := range map[string]engine.Batch{
		"a commit number": {Log: []engine.LogRow{logRow(h.Num, 2)}},
		"a key": {Keys: []engine.KeyRow{{
			KeyRef: engine.KeyRef{Tenant: "t", Endpoint: "e", Key: "k"}, At: 1,
			Body: []byte("b"),
		}}},
		"an end": {Update: []engine.Update{{Head: ended}}},
	} {
		var done sync.WaitGroup
		errs := make([]error, 2)
		for i, s := range []*store.Store{a, b} {
			done.Go(func() {
				errs[i] = s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
					return tx.Write(ctx, &batch)
				})
			})
		}
		done.Wait()
		if slices.IndexFunc(errs, func(err error) bool { return err == nil }) < 0 {
			t.Errorf("%s: nobody succeeded: %v", name, errs)
		}
		if slices.IndexFunc(errs, func(err error) bool {
			return err != nil &&
				fault.KindOf(err) == fault.Conflict
		}) < 0 {
			t.Errorf("%s: %v, want one conflict", name, errs)
		}
	}
}

func TestGraphsThatAreStoredAtOnceGetTheirVersions(t *testing.T) {
	a, b := two(t)
	var done sync.WaitGroup
	var mu sync.Mutex
	created, versions := 0, map[int]string{}
	for i := range 6 {
		done.Go(func() {
			digest := fmt.Sprint(i / 2) // two put the same
			g, is, err := []*store.Store{a, b}[i%2].PutGraph(t.Context(), engine.GraphRow{
				Tenant: "t", ID: "g",
				Digest: digest, Body: []byte("{}"),
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
				return
			}
			if is {
				created++
				if other, taken := versions[g.Version]; taken {
					t.Errorf("version %d is both %s and %s", g.Version, other, digest)
				}
				versions[g.Version] = digest
			}
		})
	}
	done.Wait()
	if created < 3 {
		t.Errorf("%d versions, want at least 3", created)
	}
	for v := 1; v <= created; v++ {
		if g, err := a.Graph(t.Context(), "t", "g", v); err != nil || g.Digest != versions[v] {
			t.Errorf("version %d: %v, %v", v, g, err)
		}
	}
}

// TestNumbersAreNobodyElses takes numbers in two processes at once, also when a
// commit that took some is undone, and more than a block at a time.
func TestNumbersAreNobodyElses(t *testing.T) {
	a, b := two(t)
	var mu sync.Mutex
	seen := map[int64]bool{}
	var done sync.WaitGroup
	for i, s := range []*store.Store{a, b, a, b} {
		done.Go(func() {
			for k := range 20 {
				n := []int{1, 7, 600, 2500}[(i+k)%4]
				err := s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
					first, err := tx.Number(ctx, n)
					if err != nil {
						return err
					}
					mu.Lock()
					defer mu.Unlock()
					for num := first; num < first+int64(n); num++ {
						if seen[num] || num < 1 {
							t.Errorf("number %d was given twice", num)
						}
						seen[num] = true
					}
					if k%5 == 0 {
						return context.Canceled // undone
					}
					return nil
				})
				if err != nil && k%5 != 0 {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
}

// TestTotalsAreExactWhileTheyAreCompacted lists while others create, end and fold.
func TestTotalsAreExactWhileTheyAreCompacted(t *testing.T) {
	a, b := two(t)
	const each = 30
	var writers, folders sync.WaitGroup
	stop := make(chan struct{})
	for i, s := range []*store.Store{a, b} {
		writers.Go(func() {
			for range each {
				h := execution(t, s)
				h.Status = flow.Failed
				write(t, s, engine.Batch{Update: []engine.Update{{Head: h}}})
			}
		})
		folders.Go(func() {
			for last := 0; ; {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := s.CompactCounts(t.Context()); err != nil {
					t.Error(err)
				}
				_, total, err := s.List(t.Context(), engine.ListQuery{Tenant: "t", Limit: 1})
				if err != nil || total < last {
					t.Errorf("store %d: a total of %d after %d, %v", i, total, last, err)
				}
				last = total
			}
		})
	}
	writers.Wait()
	close(stop)
	folders.Wait()
	for range 2 { // before and after the rest is folded
		for status, want := range map[flow.Status]int{flow.Active: 0, flow.Failed: 2 * each} {
			_, total, err := a.List(t.Context(), engine.ListQuery{Tenant: "t", GraphID: "g", Status: []flow.Status{
				status,
			}, Limit: 1})
			if err != nil || total != want {
				t.Errorf("%v: %d, %v; want %d", status, total, err, want)
			}
		}
		if _, err := a.CompactCounts(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n, err := b.CompactCounts(t.Context()); n != 0 || err != nil {
		t.Errorf("%d deltas are left, %v", n, err)
	}
}

// TestTheTimeIsTheDatabases gives a clock that is far off.
func TestTheTimeIsTheDatabases(t *testing.T) {
	a, _ := two(t)
	here := flow.Time(5)
	near := func(now flow.Time) bool { return math.Abs(float64(time.Now().UnixMilli()-int64(now))) < 60_000 }
	var first flow.Time
	for _, fetch := range []bool{false, true} {
		commit(t, a, func(ctx context.Context, tx engine.Tx) error {
			if fetch {
				if _, err := tx.Fetch(ctx, []engine.Want{{Tenant: "t", ID: idOf(1)}}); err != nil {
					return err
				}
			}
			now, err := tx.Now(ctx, here)
			if !near(now) || now < first {
				t.Errorf("%d after %d is not the time", now, first)
			}
			first = now
			again, _ := tx.Now(ctx, here)
			if again != now {
				t.Errorf("%d, then %d in one commit", now, again)
			}
			return err
		})
	}
	if _, _, now, err := a.Due(t.Context(), here, engine.Shard{}, engine.Head{}, 10); err != nil || !near(now) ||
		now < first {
		t.Errorf("deadlines: %d, %v", now, err)
	}
	key := engine.KeyRow{KeyRef: engine.KeyRef{Tenant: "t", Endpoint: "e", Key: "k"}, At: first, Body: []byte("{}")}
	write(t, a, engine.Batch{Keys: []engine.KeyRow{key}})
	if n, err := a.Retain(t.Context(), first.Add(time.Hour), 10); err != nil || n != 0 {
		t.Errorf("a process whose clock is ahead forgot %d keys that have not expired, %v", n, err)
	}
}

// TestProcessesThatShareExecutionsLoseNothing has two processes append to the same
// few executions, each by what it holds of them, and counts how often a commit was
// run again.
func TestProcessesThatShareExecutionsLoseNothing(t *testing.T) {
	const executions, writers, rounds, perCommit = 60, 3, 40, 20
	url := pgtest.New(t)
	stores, dbs := make([]*store.Store, 2), make([]*sqldb.DB, 2)
	for i := range stores {
		stores[i], dbs[i], _ = serve(t, url)
	}
	var heads []engine.Head
	for range executions {
		heads = append(heads, execution(t, stores[0]))
	}
	var all sync.WaitGroup
	for w := range len(stores) * writers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			known := map[int64]int64{}
			for range rounds {
				var wants []engine.Want
				for _, i := range random.Perm(executions)[:perCommit] {
					wants = append(wants, engine.Want{
						Tenant: "t", ID: heads[i].ID, Num: heads[i].Num,
						Known: known[heads[i].Num],
					})
				}
				commit(t, stores[w%2], func(ctx context.Context, tx engine.Tx) error {
					found, err := tx.Fetch(ctx, wants)
					if err != nil {
						return err
					}
					var batch engine.Batch
					for i, h := range found {
						no := wants[i].Known
						if !h.Fresh {
							no = h.Rows[len(h.Rows)-1].CommitNo
						}
						known[h.Head.Num] = no + 1
						batch.Log = append(batch.Log, logRow(h.Head.Num, no+1))
					}
					return tx.Write(ctx, &batch)
				})
			}
		})
	}
	all.Wait()
	total := 0
	for _, h := range heads {
		found, err := stores[0].History(t.Context(), "t", h.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range found.Rows {
			if row.CommitNo != int64(i+1) {
				t.Fatalf("row %d has commit number %d", i, row.CommitNo)
			}
		}
		total += len(found.Rows) - 1
	}
	if want := len(stores) * writers * rounds * perCommit; total != want {
		t.Errorf("%d rows were appended, want %d", total, want)
	}
	for _, db := range dbs {
		s := db.Stats()
		jobs, often := uint64(0), uint64(0)
		for times, n := range s.Redone {
			jobs += n
			if times > 3 {
				often += n
			}
		}
		t.Logf("%d jobs, run again: %v", jobs, s.Redone)
		if often*100 > jobs {
			t.Errorf("of %d jobs %d were run again more than three times", jobs, often)
		}
	}
}
