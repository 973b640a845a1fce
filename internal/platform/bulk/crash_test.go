package bulk

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

// TestNoItemIsLostOrCountedTwice lets a process end, fail or sleep at any point of its
// work, again and again, on several bulks at a time.
func TestNoItemIsLostOrCountedTwice(t *testing.T) {
	tier.System(t)
	onEvery(t, func(t *testing.T, r *rig) {
		const seeds = 16
		total := map[string]int{}
		for seed := range uint64(seeds) {
			c := &chaos{rig: r, rand: rand.New(rand.NewPCG(seed, 1)), happened: map[string]int{}}
			c.run()
			for what, n := range c.happened {
				total[what] += n
			}
		}
		t.Log(total)
		for _, moment := range []string{"before select", "after select", "before do", "after do"} {
			for _, what := range []string{"fails", "is unavailable", "ends", "sleeps"} {
				if total[what+" "+moment] == 0 {
					t.Errorf("too weak: nobody %s %s", what, moment)
				}
			}
		}
	})
}

// chaos is one run of the test.
type chaos struct {
	*rig
	rand     *rand.Rand
	happened map[string]int
	asleep   bool
}

var errEnded = errors.New("the process ended")

func (c *chaos) run() {
	c.kind.around, c.kind.fail = nil, nil
	sizes := map[string]int{}
	for range 2 {
		size := freezeChunk + c.rand.IntN(6*freezeChunk)
		sizes[c.create(size)] = size
	}
	c.kind.fail = c.trouble
	started := map[string]bool{}
	for range 10_000 {
		_, err := c.step(c.Context())
		if errors.Is(err, errEnded) {
			c.Bulks = c.process() // its lease stays behind
			c.move(time.Duration(c.rand.Int64N(int64(20 * time.Second))))
		}
		c.move(time.Second)
		done := 0
		for id := range sizes {
			b, err := c.Bulk(c.Context(), tenantA, id)
			c.must(err)
			if b.Status == Preview && !started[id] {
				c.start(id)
				started[id] = true
			}
			if b.Status == Done {
				done++
			}
		}
		if done == len(sizes) {
			for id, size := range sizes {
				c.complete(id, size)
			}
			return
		}
	}
	c.Fatalf("it does not end")
}

// trouble is what happens at a moment.
func (c *chaos) trouble(moment string) error {
	if c.asleep || c.rand.IntN(4) > 0 {
		return nil
	}
	switch c.rand.IntN(4) {
	case 0:
		c.happened["fails "+moment]++
		return errBroken
	case 1:
		c.happened["is unavailable "+moment]++
		return &fault.Error{Kind: fault.Unavailable}
	case 2:
		c.happened["ends "+moment]++
		return errEnded
	}
	c.happened["sleeps "+moment]++
	c.asleep = true // past its lease, while another process works on
	c.move(20 * time.Second)
	other := c.process()
	for range c.rand.IntN(6) {
		if _, err := other.step(c.Context()); err != nil {
			c.Error(err)
		}
	}
	c.asleep = false
	return nil
}

// TestProcessesShareTheWork lets several processes work on the same bulks at once.
func TestProcessesShareTheWork(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		const size = 4*freezeChunk + 3
		ctx, stop := context.WithCancel(t.Context())
		var processes sync.WaitGroup
		for range 3 {
			process := r.process()
			processes.Go(func() { process.Run(ctx) })
		}
		var ids []string
		for range 3 {
			ids = append(ids, r.create(size))
		}
		for _, id := range ids {
			for r.mustBulk(id).Status == Freezing {
				runtime.Gosched()
			}
			r.start(id)
		}
		for _, id := range ids {
			for r.mustBulk(id).Status == Running {
				runtime.Gosched()
			}
		}
		stop()
		processes.Wait()
		for _, id := range ids {
			r.complete(id, size)
		}
		for name, n := range r.kind.done {
			if n != 1 {
				t.Errorf("%s was done %d times", name, n)
			}
		}
	})
}

// TestConnectionsThatAreCutAroundACommitLoseNothing lets PostgreSQL's answers be lost,
// and its transactions, while a bulk is frozen and worked on.
func TestConnectionsThatAreCutAroundACommitLoseNothing(t *testing.T) {
	tier.System(t)
	proxy := pgtest.NewProxy(t, pgtest.New(t))
	r := newRig(t, sqldb.Config{URL: proxy.URL()})
	random := rand.New(rand.NewPCG(3, 3))
	proxy.Choose(func(int) pgtest.Cut {
		return []pgtest.Cut{pgtest.Before, pgtest.During, pgtest.AfterAnswer, pgtest.Whole}[min(random.IntN(9), 3)]
	})
	const size = 10*freezeChunk + 3
	id := again(t, func() (Answer, error) { return r.Create(t.Context(), r.fixed(size)) }).BulkID
	order := r.order(id, "start")
	for steps := 0; ; steps++ {
		b := again(t, func() (Bulk, error) { return r.Bulk(t.Context(), tenantA, id) })
		switch b.Status {
		case Preview:
			again(t, func() (Answer, error) { return r.Start(t.Context(), order) })
		case Done:
			proxy.Choose(nil)
			r.complete(id, size)
			cuts := []int{proxy.Cuts(pgtest.Before), proxy.Cuts(pgtest.During), proxy.Cuts(pgtest.AfterAnswer)}
			t.Logf("%d steps; %v connections cut before, during and after a COMMIT", steps, cuts)
			if slices.Min(cuts) < 3 {
				t.Error("too weak: too few connections were cut")
			}
			return
		}
		if _, err := r.step(t.Context()); err != nil && fault.KindOf(err) != fault.Unavailable {
			t.Fatal(err)
		}
		again(t, func() (int, error) { return 0, r.free(t.Context()) }) // instead of waiting for leases
	}
}

// fixed is a request that is the same every time.
func (r *rig) fixed(size int) Request {
	r.keys = 0
	return r.request(size)
}

// again does what may be repeated until it is answered.
func again[T any](t *testing.T, do func() (T, error)) T {
	t.Helper()
	for range 1000 {
		got, err := do()
		if err == nil {
			return got
		}
		if fault.KindOf(err) != fault.Unavailable {
			t.Fatal(err)
		}
	}
	t.Fatal("it was never answered")
	panic("not reached")
}
