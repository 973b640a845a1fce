package sqldb

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
)

// TestTenantsWriteInTurn has a tenant queue many jobs before another one queues a few: they
// come in turn, and with the first of those that take long the others go before it.
func TestTenantsWriteInTurn(t *testing.T) {
	for _, slow := range []bool{false, true} {
		t.Run(fmt.Sprint("slow ", slow), func(t *testing.T) {
			db := open(t, Config{})
			var mu sync.Mutex
			var order []string
			var results []<-chan error
			add := func(tenant string, n int) {
				for range n {
					results = append(results, enqueue(For(t.Context(), tenant), db, Other,
						func(context.Context, *Tx) error {
							mu.Lock()
							defer mu.Unlock()
							order = append(order, tenant)
							if slow && tenant == "loud" {
								db.lite().queue.charge(&job{priority: Other, key: tenant}, time.Second)
							}
							return nil
						}))
				}
			}
			add("loud", 20)
			add("quiet", 3)
			run(t, db)
			for _, res := range results {
				if err := <-res; err != nil {
					t.Error(err)
				}
			}
			last := len(order) - 1 - slices.Index(reversed(order), "quiet")
			if most := map[bool]int{false: 6, true: 3}[slow]; last > most || len(order) != 23 {
				t.Errorf("the quiet tenant's last job was number %d of %d, want at most %d", last, len(order), most)
			}
		})
	}
}

func reversed(s []string) []string {
	r := slices.Clone(s)
	slices.Reverse(r)
	return r
}

// TestATenantDoesNotFillTheQueue lets one tenant queue as many writes as it can: it is refused
// beyond half of them, and others are not. A caller that goes away gives its place back.
func TestATenantDoesNotFillTheQueue(t *testing.T) {
	db := open(t, Config{Queue: 4})
	nothing := func(context.Context, *Tx) error { return nil }
	ctx, leave := context.WithCancel(For(t.Context(), "loud"))
	gone := enqueue(ctx, db, Other, nothing)
	results := []<-chan error{enqueue(For(t.Context(), "loud"), db, Other, nothing)}
	refused(t, db, "loud")
	leave()
	if err := <-gone; fault.KindOf(err) != fault.Unavailable {
		t.Errorf("who went away got %v", err)
	}
	if n := db.Stats().Waiting[Other]; n != 1 {
		t.Fatalf("%d writes wait, and the caller of one is there", n)
	}
	for _, tenant := range []string{"loud", "quiet", ""} {
		results = append(results, enqueue(For(t.Context(), tenant), db, Other, nothing))
	}
	err := db.Write(For(t.Context(), "third"), Other, nothing)
	if f, ok := fault.As(err); !ok || f.Kind != fault.Unavailable || f.Code != codeBusy {
		t.Errorf("a write beyond all that may wait: %v", err)
	}
	run(t, db)
	for _, res := range results {
		if err := <-res; err != nil {
			t.Error(err)
		}
	}
	if n := db.Stats().Waiting[Other]; n != 0 {
		t.Errorf("%d writes wait when all are done", n)
	}
}

// refused wants that a write of a tenant is refused because too many of its own wait.
func refused(t *testing.T, db *DB, tenant string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(For(t.Context(), tenant), 5*time.Second)
	defer cancel()
	err := db.Write(ctx, Other, func(context.Context, *Tx) error { return nil })
	if f, ok := fault.As(err); !ok || f.Kind != fault.RateLimited || f.RetryAfter == 0 {
		t.Fatalf("a write beyond a tenant's part: %v", err)
	}
}

// TestATenantDoesNotFillTheQueueOfPostgreSQL is the same where each write has a connection.
func TestATenantDoesNotFillTheQueueOfPostgreSQL(t *testing.T) {
	db := start(t, Config{URL: pgtest.New(t), Conns: 16, Queue: 4})
	pg := db.base.(*postgres)
	hold, held := make(chan struct{}), make(chan struct{}, 10)
	var all sync.WaitGroup
	defer all.Wait()
	defer close(hold)
	write := func(tenant string) {
		all.Go(func() {
			err := db.Write(For(t.Context(), tenant), Other, func(context.Context, *Tx) error {
				held <- struct{}{}
				<-hold
				return nil
			})
			if err != nil {
				t.Errorf("%q: %v", tenant, err)
			}
		})
	}
	for range 5 { // three have a connection, two wait
		write("loud")
	}
	stalltest.Until(t, "three writes that are held and two that wait", func() bool {
		return pg.waiting[Other].Load() == 2 && len(held) == 3
	})
	refused(t, db, "loud")
	write("quiet")
	stalltest.Until(t, "the write of the other tenant", func() bool { return len(held) == 4 })
}

// TestATenantDoesNotHaveAllReaders lets one tenant read as much as it can: another reads all
// the same.
func TestATenantDoesNotHaveAllReaders(t *testing.T) {
	test := func(cfg Config) func(t *testing.T) {
		return func(t *testing.T) {
			db := start(t, cfg)
			hold, held := make(chan struct{}), make(chan struct{}, 100)
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					err := db.Read(For(t.Context(), "loud"), func(context.Context, *Tx) error {
						held <- struct{}{}
						<-hold
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			<-held
			within, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := db.Read(For(within, "quiet"), func(context.Context, *Tx) error { return nil }); err != nil {
				t.Error(err)
			}
			close(hold)
			all.Wait()
		}
	}
	t.Run("sqlite", test(Config{Reading: time.Minute}))
	t.Run("postgres", func(t *testing.T) { test(Config{URL: pgtest.New(t), Reading: time.Minute})(t) })
}
