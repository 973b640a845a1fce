package engine

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

// Engine runs executions over a store. Its methods may be called from anywhere;
// one goroutine must be in Run, or a simulation calls Step (and nobody else does).
type Engine struct {
	*Reads
	cfg       Config
	retention flow.Time
	shard     Shard                          // whose executions it makes, and looks after their deadlines
	billed    func(map[string]time.Duration) // is called with what a commit has cost; nil: nobody counts
	spare     *Engine                        // does what costly tenants ask for; nil: there is none
	costly    func(tenant string) bool

	q             queue
	pendingClaims pendingClaims
	counters      counters

	draining atomic.Bool  // claims do not wait any more
	claimers atomic.Int64 // claims that are not answered yet

	running atomic.Bool // a goroutine is in Run

	baton     sync.Mutex // who has it may call Step; it guards what follows
	cache     *cache
	tasks     taskQueues
	deadlines deadlines
	rand      *rand.ChaCha8
	skew      time.Duration // what the store's clock is ahead of this process's, by the last commit
	postponed bool          // the last commit left its claims to the next
}

// New makes an engine. It does no I/O.
func New(store Store, clock Clock, cfg Config) *Engine {
	return newEngine(newReads(store, clock), cfg, Shard{0, 1})
}

func newEngine(reads *Reads, cfg Config, shard Shard) *Engine {
	cfg = cfg.withDefaults()
	e := &Engine{
		Reads: reads, cfg: cfg, shard: shard,
		retention: flow.Time(cfg.KeyRetention / time.Millisecond),
		cache:     newCache(cfg.CacheBytes),
	}
	e.tasks = taskQueues{
		all: map[queueKey]*taskQueue{}, commands: &e.q, clock: reads.clock, exclusive: cfg.Exclusive,
		announce: cfg.Announce,
	}
	e.deadlines = deadlines{e: e, next: 1, ill: map[flow.ID]pause{}} // look once at the start
	if shard.none() {
		e.deadlines.next = 0
	}
	e.q.wakeup, e.q.clock = make(chan struct{}, 1), reads.clock
	seed := cfg.Seed
	if seed == nil {
		seed = new([32]byte)
		crand.Read(seed[:])
	}
	e.rand = rand.NewChaCha8(*seed)
	return e
}

// now is the store's clock as far as this process knows it, to look for deadlines; what is due is
// for the commit's own time to say.
func (e *Engine) now() flow.Time { return flow.At(e.clock.Now()).Add(e.skew) }

// newID makes a UUIDv7.
func (e *Engine) newID(now flow.Time) flow.ID {
	var id flow.ID
	binary.BigEndian.PutUint64(id[:], uint64(now)<<16|e.rand.Uint64()&0x0fff|0x7000)
	binary.BigEndian.PutUint64(id[8:], e.rand.Uint64()&^(3<<62)|1<<63)
	return id
}

// Submit decides requests, in order, and returns when everything they cause is
// durable. When ctx ends first the outcome is unknown: repeat with the same keys.
func (e *Engine) Submit(ctx context.Context, reqs []Request) []Result {
	if sqldb.InJob(ctx) {
		return failAll(len(reqs), errInJob)
	}
	return e.submitWarm(ctx, reqs)
}

func (e *Engine) submit(ctx context.Context, reqs []Request) []Result {
	done := make(chan struct{})
	var results []Result
	e.offer(reqs, func(r []Result) { results = r; close(done) })
	e.help(ctx)
	select {
	case <-done:
		return results
	case <-ctx.Done():
		return failAll(len(reqs), errGone)
	}
}

// errInJob refuses a caller whose job holds up the loop that the engine commits through.
var errInJob = fault.Wrap("engine", errors.New("a job cannot wait for the engine; its SQL and commands are a unit"))

func failAll(n int, err error) []Result {
	return slices.Repeat([]Result{{Err: err}}, n)
}

// Offer hands requests to the loop; done gets their results after the commit, or
// at once when there is no room. When there is no room cancels are still taken.
func (e *Engine) Offer(reqs []Request, done func([]Result)) {
	e.offer(reqs, done)
	e.q.wake()
}

// accepted are requests whose large data was looked at here, where no other request waits for it.
func accepted(reqs []Request) []Request {
	own := false
	for i := range reqs {
		c, ok := flow.Accept(reqs[i].Command)
		if !ok {
			continue
		}
		if !own {
			reqs, own = slices.Clone(reqs), true // they are the caller's
		}
		reqs[i].Command, reqs[i].accepted = c, true
	}
	return reqs
}

func (e *Engine) offer(reqs []Request, done func([]Result)) {
	reqs = accepted(reqs)
	c := &call{reqs: reqs, results: make([]Result, len(reqs))}
	c.done = func() { done(c.results) }
	if len(reqs) == 0 {
		c.done()
		return
	}
	cancels := 0
	for i := range reqs {
		if isCancel(&reqs[i]) {
			cancels++
		}
	}
	c.cancels = cancels == len(reqs)
	err := e.q.put(item{call: c})
	if err == nil {
		return
	}
	results := failAll(len(reqs), err)
	if cancels == 0 || c.cancels || err == errClosed {
		done(results)
		return
	}
	e.offerCancels(reqs, results, done)
}

// offerCancels offers the cancels among requests that were refused for lack of room.
func (e *Engine) offerCancels(reqs []Request, results []Result, done func([]Result)) {
	var places []int
	c := &call{cancels: true}
	for i := range reqs {
		if isCancel(&reqs[i]) {
			places = append(places, i)
			c.reqs = append(c.reqs, reqs[i])
		}
	}
	c.results = make([]Result, len(c.reqs))
	c.done = func() {
		for i, place := range places {
			results[place] = c.results[i]
		}
		done(results)
	}
	if err := e.q.put(item{call: c}); err != nil {
		done(results)
	}
}

// Do runs a unit: a caller's SQL and engine commands in one transaction.
func (e *Engine) Do(ctx context.Context, unit Unit) ([]Result, error) {
	if sqldb.InJob(ctx) {
		return nil, errInJob
	}
	for {
		results, err := e.do(ctx, unit)
		cold, ok := errors.AsType[coldGraph](err)
		if !ok {
			return results, err
		}
		if err := e.warm(ctx, cold); err != nil {
			return nil, err
		}
	}
}

func (e *Engine) do(ctx context.Context, unit Unit) ([]Result, error) {
	done := make(chan struct{})
	var results []Result
	var err error
	e.offerUnit(unit, func(r []Result, failed error) {
		results, err = r, failed
		close(done)
	})
	e.help(ctx)
	select {
	case <-done:
		return results, err
	case <-ctx.Done():
		return nil, errGone
	}
}

// OfferUnit hands a unit to the loop; done gets its outcome after the commit, or
// at once when there is no room.
func (e *Engine) OfferUnit(unit Unit, done func([]Result, error)) {
	e.offerUnit(unit, done)
	e.q.wake()
}

func (e *Engine) offerUnit(unit Unit, done func([]Result, error)) {
	unit.Commands = accepted(unit.Commands)
	u := &unitCall{unit: unit}
	u.done = func() { done(u.results, u.err) }
	if err := e.q.put(item{unit: u}); err != nil {
		done(nil, err)
	}
}

// help does one step if the baton is free: at light load a command needs no context switch. Whoever has the baton looks
// again after letting it go, so what is in the queue is always seen.
func (e *Engine) help(ctx context.Context) {
	if !e.cfg.Exclusive { // a database elsewhere may take longer than the caller has
		e.q.wake()
		return
	}
	if !e.running.Load() || !e.baton.TryLock() {
		return
	}
	defer fault.Fatal()                // the cache may be half changed, and the baton is held
	e.Step(context.WithoutCancel(ctx)) // others may be in the same commit
	e.baton.Unlock()
	if e.q.any() {
		e.q.wake()
	}
}

// Run is the loop. It returns when ctx has ended and everything that was accepted is answered.
func (e *Engine) Run(ctx context.Context) error {
	// What was accepted is finished even while the process is shutting down.
	work := context.WithoutCancel(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	e.running.Store(true)
	defer e.running.Store(false)
	for ctx.Err() == nil {
		idle := e.steps(work)
		if e.q.any() {
			continue
		}
		timer.Reset(idle)
		select {
		case <-e.q.wakeup:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	e.Drain()
	e.q.close()
	e.steps(work)
	return nil
}

// steps does all there is to do, and gives the time until there may be more.
func (e *Engine) steps(ctx context.Context) time.Duration {
	e.baton.Lock()
	defer e.baton.Unlock()
	for e.Step(ctx) {
	}
	if e.draining.Load() {
		e.tasks.releaseClaims()
	}
	return e.deadlines.untilNext()
}

// Drain answers the claims that wait, and lets none wait from now on. Workers can still finish their tasks.
func (e *Engine) Drain() {
	e.draining.Store(true)
	e.q.wake()
}

// maxIdle is how long the loop sleeps at most, so that a clock that jumps does
// not keep deadlines waiting.
const maxIdle = 500 * time.Millisecond

// Metrics is what was done so far.
type Metrics struct {
	Commits  int64
	Commands int64
	Stalls   int64 // claims that waited for more than a second while a task was ready
}

type counters struct{ commits, commands, stalls atomic.Int64 }

// Metrics gives what this engine did.
func (e *Engine) Metrics() Metrics {
	return Metrics{
		Commits: e.counters.commits.Load(), Commands: e.counters.commands.Load(),
		Stalls: e.counters.stalls.Load(),
	}
}
