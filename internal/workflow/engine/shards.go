package engine

import (
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/workflow/flow"
)

// MaxShards is how many engines one process runs.
const MaxShards = 16

// Shards is several engines over one store that other processes write to as well. Each has its own
// loop, so that one decides while another waits for the database. An execution belongs to one of
// them by its id; a claim may start tasks of any. One more engine, without executions, does what
// tenants ask for that make others wait.
type Shards struct {
	*Reads
	all    []*Engine // those of executions, and the other one
	own    int       // how many of them have executions
	costly costly
	seed   maphash.Seed
	turn   atomic.Uint32 // of requests that belong to none
}

// NewShards makes n engines. The store is not exclusive, whatever cfg says.
func NewShards(store Store, clock Clock, cfg Config, n int) *Shards {
	n = max(1, min(n, MaxShards))
	cfg.Exclusive = false
	s := &Shards{Reads: newReads(store, clock), own: n, costly: costly{clock: clock}, seed: maphash.MakeSeed()}
	s.shared = true
	elsewhere := cfg.Announce
	for i := range n + 1 {
		cfg.Announce = func(tenant, queue string, count int) {
			s.wakeOthers(i, tenant, queue, count)
			if elsewhere != nil {
				elsewhere(tenant, queue, count)
			}
		}
		e := newEngine(s.Reads, cfg, Shard{byte(i), byte(n)})
		e.billed = s.costly.note
		s.all = append(s.all, e)
	}
	for _, e := range s.all[:n] {
		e.spare, e.costly = s.all[n], s.costly.isCostly
	}
	return s
}

// newExecutionID makes an id that belongs to this shard, or, where that has none, to any.
func (e *Engine) newExecutionID(now flow.Time) flow.ID {
	id := e.newID(now)
	if e.shard.none() {
		return id
	}
	last := &id[len(id)-1]
	rounded := *last - *last%e.shard.N
	if rounded > 255-e.shard.I {
		rounded -= e.shard.N
	}
	*last = rounded + e.shard.I
	return id
}

func (s *Shards) wakeOthers(but int, tenant, queue string, n int) {
	for i, e := range s.all {
		if i != but {
			e.WakeClaims(tenant, queue, n)
		}
	}
}

// WakeClaims says that n tasks of a queue became ready in another process.
func (s *Shards) WakeClaims(tenant, queue string, n int) { s.wakeOthers(-1, tenant, queue, n) }

// of is the shard that a request goes to. Requests with one key meet in one.
func (s *Shards) of(req *Request) int {
	if !req.Execution.IsZero() {
		return slices.IndexFunc(s.all, func(e *Engine) bool { return e.shard.Has(req.Execution) })
	}
	return s.byKey(req.Tenant, &req.Idempotency)
}

func (s *Shards) byKey(tenant string, key *canonical.IdempotencyKey) int {
	if key.Key == "" {
		return s.next()
	}
	return int(maphash.Comparable(s.seed, KeyRef{tenant, key.Endpoint, key.Key}) % uint64(s.own))
}

func (s *Shards) next() int { return int(s.turn.Add(1)) % s.own }

// Submit decides requests, in order where they are about one execution, and returns
// when everything they cause is durable.
func (s *Shards) Submit(ctx context.Context, reqs []Request) []Result {
	if len(reqs) == 0 {
		return nil
	}
	places := make([][]int, len(s.all))
	for i := range reqs {
		k := s.of(&reqs[i])
		places[k] = append(places[k], i)
		if len(places[k]) == len(reqs) { // all are of one
			return s.all[k].Submit(ctx, reqs)
		}
	}
	results := make([]Result, len(reqs))
	var wg sync.WaitGroup
	for k, mine := range places {
		if mine != nil {
			wg.Go(func() {
				submitSome(reqs, mine, results, func(part []Request) []Result { return s.all[k].Submit(ctx, part) })
			})
		}
	}
	wg.Wait()
	return results
}

// Do runs a unit: a caller's SQL and engine commands in one transaction.
func (s *Shards) Do(ctx context.Context, unit Unit) ([]Result, error) {
	if len(unit.Commands) > 0 {
		return s.all[s.of(&unit.Commands[0])].Do(ctx, unit)
	}
	return s.all[s.next()].Do(ctx, unit)
}

// Claim gives ready tasks to a worker, waiting for some as long as the request says.
func (s *Shards) Claim(ctx context.Context, req ClaimRequest) (Claimed, error) {
	return s.all[s.byKey(req.Tenant, &req.Idempotency)].Claim(ctx, req)
}

// Drain answers the claims that wait, and lets none wait from now on.
func (s *Shards) Drain() {
	for _, e := range s.all {
		e.Drain()
	}
}

// Run is the loops of all. It returns when ctx has ended and everything that was
// taken is answered.
func (s *Shards) Run(ctx context.Context) error {
	errs := make([]error, len(s.all))
	var wg sync.WaitGroup
	for i, e := range s.all {
		wg.Go(func() { errs[i] = e.Run(ctx) })
	}
	wg.Go(func() { s.poll(ctx) })
	wg.Wait()
	return errors.Join(errs...)
}

// Metrics gives what all did together.
func (s *Shards) Metrics() Metrics {
	var sum Metrics
	for _, e := range s.all {
		m := e.Metrics()
		sum.Commits += m.Commits
		sum.Commands += m.Commands
		sum.Stalls += m.Stalls
	}
	return sum
}
