package bus_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
)

// holders says how many assignments each process has.
func (r *rig) holders() map[string]int {
	r.Helper()
	all := map[string]int{}
	r.must(r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx,
			"SELECT holder, count(*) FROM bus_lease WHERE name NOT LIKE 'process:%' AND holder <> '' GROUP BY holder") {
			if err != nil {
				return err
			}
			var name string
			var n int
			if err := row.Scan(&name, &n); err != nil {
				return err
			}
			all[name] = n
		}
		return nil
	}))
	return all
}

func TestProcessesShareTheAssignmentsAndTakeOverFromEachOther(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	c := newCrew()
	cfg := bus.Config{Consumers: []bus.Consumer{c.consumer("one"), c.consumer("two")}, Lease: time.Second}
	start := func(name string) func() { cfg.Instance = name; return r.start(cfg) }
	const assignments = 3 * events.Partitions // two consumers and the outbox
	stopA := start("a")
	r.eventually("all for one", func() bool { return cmp.Equal(r.holders(), map[string]int{"a": assignments}) })
	stopB := start("b")
	r.eventually("halves", func() bool {
		return cmp.Equal(r.holders(), map[string]int{
			"a": assignments / 2,
			"b": assignments / 2,
		})
	})
	var all []events.Event
	for i := range 40 {
		all = append(all, r.event(fmt.Sprint(i)))
	}
	r.send(all[:20]...)
	r.eventually("the effects of both", func() bool {
		return same(r.ids("one", ""), idsOf(all[:20]...)) && same(r.ids("two", ""), idsOf(all[:20]...))
	})
	stopA()
	r.eventually("all for the other", func() bool { return cmp.Equal(r.holders(), map[string]int{"b": assignments}) })
	r.send(all[20:]...)
	r.eventually("the rest", func() bool {
		return same(r.ids("one", ""), idsOf(all...)) &&
			same(r.ids("two", ""), idsOf(all...))
	})
	stopB()
}

func TestAProcessThatLostItsLeaseCommitsNothing(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	c := newCrew()
	reached, release, noticed := make(chan struct{}), make(chan struct{}), make(heard, 1)
	r.start(bus.Config{
		Instance: "a", Consumers: []bus.Consumer{c.consumer("c")}, Logger: slog.New(slog.NewTextHandler(noticed, nil)),
		Passed: func(point string) {
			if point == "reader.received" {
				reached <- struct{}{}
				<-release
			}
		},
	})
	r.send(r.event("x"))
	within(t, "the commit of the reader", reached)
	r.exec("UPDATE bus_lease SET epoch = epoch + 1, holder = 'b', until = until + 60000 WHERE name = 'reader:c'")
	close(release)
	within(t, "the reader notices that its lease is gone", noticed)
	if got := r.ids("c", ""); len(got) > 0 {
		t.Errorf("the process that lost its lease wrote %v", got)
	}
}

// TestASlowHandlerDoesNotCostOtherAssignments holds up one reader in its transaction. The leases
// of all others go on being renewed meanwhile.
func TestASlowHandlerDoesNotCostOtherAssignments(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	called, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	call := sync.OnceFunc(func() { close(called) })
	slow := bus.Consumer{Name: "slow", Handle: func(context.Context, *sqldb.Tx, *events.Event) error {
		call()
		<-release
		return nil
	}}
	r.start(bus.Config{Instance: "a", Consumers: []bus.Consumer{slow, newCrew().consumer("idle")}, Lease: time.Second})
	assignments := "SELECT count(*) FROM bus_lease WHERE holder = 'a' AND name <> 'process:a'"
	r.eventually("all assignments", func() bool { return r.count(assignments) == 3*events.Partitions })
	r.send(r.event("x"))
	within(t, "the handler is called", called)
	oldest := func() int {
		return r.count("SELECT min(until) FROM bus_lease WHERE name IN ('reader:idle', 'process:a')")
	}
	before := oldest()
	stalls, began := stalltest.New(t), time.Now()
	r.eventually("the others are renewed", func() bool { return oldest() > before })
	if waited := stalls.Since(began); waited >= 2*time.Second { // as long as a lock is waited for
		t.Errorf("they were renewed after %v, and last for a second", waited)
	}
}

// heard is a log that tells when a lease was lost.
type heard chan struct{}

func (h heard) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("was taken over")) {
		select {
		case h <- struct{}{}:
		default:
		}
	}
	return len(line), nil
}

// Whatever fails, is sent again or is interrupted, every event takes effect once and in
// the order of its key.
func TestEffectsAreOnceAndInOrderWhateverFails(t *testing.T) {
	rounds := 15
	if testing.Short() {
		rounds = 3
	}
	for seed := range rounds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
			rnd := rand.New(rand.NewPCG(uint64(seed), 1))
			var sick atomic.Bool
			sick.Store(true)
			var failing atomic.Uint64
			handle := func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
				_, err := tx.Exec(ctx, "INSERT INTO test_effect (consumer, key, event_id, version, idx) VALUES ('c', "+
					"$1, $2, $3, $4)", e.Key, e.ID, e.Version, e.Index)
				if n := failing.Add(1); sick.Load() && (n*2654435761>>7)%9 == 0 {
					return errSick
				}
				return err
			}
			cfg := bus.Config{Consumers: []bus.Consumer{{Name: "c", Handle: handle, MaxTries: 1000}}}
			var all []events.Event
			byKey := map[string][]string{}
			stop := r.start(cfg)
			for range 400 {
				e := r.event(fmt.Sprint(rnd.IntN(12)))
				all = append(all, e)
				byKey[e.Key] = append(byKey[e.Key], e.ID)
				r.send(e)
				switch rnd.IntN(40) {
				case 0:
					from := rnd.IntN(len(all))
					r.send(all[from:min(from+30, len(all))]...) // again
				case 1:
					stop()
					stop = r.start(cfg)
				}
			}
			sick.Store(false)
			r.eventually("all effects", func() bool {
				return len(r.ids("c", "")) >= len(all) &&
					r.count("SELECT count(*) FROM bus_lane") == 0
			})
			for key, want := range byKey {
				if got := r.ids("c", key); !slices.Equal(got, want) {
					t.Errorf("%s (-want +got):\n%s", key, cmp.Diff(want, got))
				}
			}
			if n := r.count("SELECT count(*) FROM bus_dead"); n > 0 {
				t.Errorf("there are %d dead letters", n)
			}
		})
	}
}
