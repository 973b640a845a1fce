package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// World is an engine with everything around it.
type World struct {
	rng   *rand.Rand
	clock *Clock
	mem   *Memory
	audit *audit
	trace *trace
	climate

	machines []*machine
	here     *machine // the one that clients talk to
	lives    int      // engines so far
	fault    *mishap
	calm     bool // nothing goes wrong

	placed     int // orders so far
	orders     map[string]*order
	open       []*order // not answered yet
	done       []*order // answered
	claims     []*claim // under way or to be repeated
	claimed    []*claim // answered with tasks
	held       []held   // tasks that workers have
	executions []flow.ID

	latest flow.Time // the latest instant that an engine has seen
	pause  flow.Time // until then the engine may let deadlines wait: a commit has failed
	stress Stress
	err    error // the first thing that was wrong
}

// machine is where an engine lives; when that dies, another one takes its place,
// at once or, while there is another machine, after some rounds.
type machine struct {
	name   string
	engine *engine.Engine // nil: the machine is off
	off    int            // rounds until it is on again
}

// climate is what a seed makes of the world.
type climate struct {
	machines  int
	exclusive bool // with one machine
	cache     int
	retention flow.Time
	rough     int // of 100 steps, how many meet a mishap
	cancels   int // of 100 commands on executions, how many cancel them
	crowd     int // how many things clients do before the engine takes a step
	graphs    int
}

var tenants = []string{"acme", "zeta"}

// epoch is when every world begins.
var epoch = time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)

// Run makes a world of a seed, lets it live for a number of rounds, brings
// everything to its end and checks it. The lines of its story go to out unless
// that is nil.
func Run(seed uint64, rounds int, out io.Writer) (digest string, stress Stress, err error) {
	w := newWorld(seed, out)
	w.found()
	for i := 0; i < rounds && w.err == nil; i++ {
		w.trace.say("round %d at %v", i, flow.At(w.clock.Now()))
		w.round()
	}
	if w.err == nil {
		w.settle()
	}
	w.trace.record(w.mem)
	return w.trace.digest(), w.stress, w.err
}

func newWorld(seed uint64, out io.Writer) *World {
	w := &World{
		rng: rand.New(rand.NewPCG(seed, 0x72656e6761)), clock: NewClock(epoch), mem: NewMemory(), trace: newTrace(out),
		orders: map[string]*order{},
	}
	w.climate = climate{
		machines: 1 + w.rng.IntN(4)/3, exclusive: !w.one(3), cache: []int{1, 16 << 10, 1 << 20}[w.rng.IntN(3)],
		retention: flow.Time((30 * 24 * time.Hour).Milliseconds()),
		rough:     []int{0, 10, 30}[w.rng.IntN(3)], cancels: []int{1, 4, 10}[w.rng.IntN(3)],
		crowd: 2 + w.rng.IntN(7), graphs: 1 + w.rng.IntN(4),
	}
	if w.one(4) {
		w.retention = flow.Time((2 * time.Minute).Milliseconds())
	}
	w.exclusive = w.exclusive && w.climate.machines == 1
	w.trace.say("seed %d: %+v", seed, w.climate)
	w.mem.Retain(time.Duration(w.retention) * time.Millisecond)
	w.mem.Interfere(w.interfere)
	w.mem.Tell(w.clock)
	w.audit = newAudit(w)
	for i := range w.climate.machines {
		w.here = &machine{name: string(rune('A' + i))}
		w.machines = append(w.machines, w.here)
		w.birth(w.here)
	}
	return w
}

// birth makes an engine on what is stored. IDs of one life do not come again in another.
func (w *World) birth(m *machine) {
	w.lives++
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], w.rng.Uint64())
	binary.BigEndian.PutUint64(seed[8:], uint64(w.lives))
	clock := wrong{right: w.clock}
	if w.machines != nil && w.climate.machines > 1 {
		clock.by = time.Duration(w.rng.IntN(120)-60) * time.Second
		w.trace.say("the clock of %s is off by %v", m.name, clock.by)
	}
	m.engine = engine.New(w.mem, clock, engine.Config{
		Exclusive: w.exclusive, CacheBytes: w.cache, Seed: &seed,
		KeyRetention: time.Duration(w.retention) * time.Millisecond,
	})
}

func (w *World) one(in int) bool { return w.rng.IntN(in) == 0 }

func (w *World) percent(p int) bool { return w.rng.IntN(100) < p }

func pick[T any](w *World, list []T) T { return list[w.rng.IntN(len(list))] }

func sortedNames[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// fail notes the first thing that is wrong. Nothing after it can be believed.
func (w *World) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
		w.trace.say("WRONG: %v", w.err)
	}
}

// found registers the first graphs.
func (w *World) found() {
	w.calm = true
	defer func() { w.calm = false }()
	for _, tenant := range tenants {
		for i := range w.graphs {
			w.putGraph(tenant, i)
		}
	}
}

func graphID(i int) string { return fmt.Sprintf("g%d", i) }

func (w *World) putGraph(tenant string, i int) {
	g := randomGraph(w.rng)
	row, created, err := w.here.engine.PutGraph(context.Background(), tenant, graphID(i), g)
	if err != nil {
		w.fail("graph %d: %v", i, err)
		return
	}
	w.trace.say("graph %s %s version %d, new: %v", tenant, row.ID, row.Version, created)
	again, created, err := w.here.engine.PutGraph(context.Background(), tenant, graphID(i), g)
	if err != nil || created || again.Version != row.Version {
		w.fail("graph %d again: version %d, created %v, %v", i, again.Version, created, err)
	}
}

// round is a little of everything.
func (w *World) round() {
	w.boot()
	w.here = pick(w, w.on())
	if w.one(40) {
		w.putGraph(pick(w, tenants), w.rng.IntN(w.graphs))
	}
	for range 1 + w.rng.IntN(w.crowd) {
		w.here = pick(w, w.on())
		w.act()
	}
	idle := false
	for i := 0; i < 1+w.rng.IntN(4) && !idle && w.err == nil; i++ {
		idle = !w.stepAll(w.mishap)
	}
	w.check(idle)
	w.passTime()
}

// passTime moves the clock, mostly a little, and lets claims give up that have
// waited long enough.
func (w *World) passTime() {
	switch n := w.rng.IntN(40); {
	case n < 20:
		w.clock.Move(time.Duration(w.rng.IntN(300)) * time.Millisecond)
	case n < 30:
		w.clock.Move(time.Duration(w.rng.IntN(5000)) * time.Millisecond)
	case n == 30:
		w.clock.Move(time.Duration(w.rng.IntN(120)) * time.Second)
	case n == 31:
		w.stress.Jumps++
		w.clock.Move(-time.Duration(w.rng.IntN(30)) * time.Second)
	}
	w.giveUp()
}

// mishap is something that goes wrong once, at the nth time that a commit comes by a point.
type mishap struct {
	at    Point
	after int
	err   error // nil: the process ends
}

// death is what a hook panics with when the process ends.
type death struct{}

var (
	errTaken = fault.New(fault.Conflict, "ALREADY_EXISTS", "somebody else was faster")
	errDown  = &fault.Error{
		Kind: fault.Unavailable, Code: "STORAGE_BUSY", RetryAfter: time.Second,
		Message: "the store is down",
	}
	errPoison = errors.New("sim: a row that the disk does not take")
)

// mishap draws what goes wrong in the next step; nil: nothing does.
func (w *World) mishap() *mishap {
	if !w.percent(w.rough) {
		return nil
	}
	m := &mishap{at: Point(w.rng.IntN(int(pointEnd))), after: w.rng.IntN(3)}
	if m.at == BeforeCommit || m.at == BeforeApply || m.at == AfterApply || m.at == OnRead {
		m.after = 0
	}
	switch {
	case m.at == AfterApply: // only the end of the process can come in between
	case w.one(2):
	case w.one(4) && m.at == BeforeApply:
		m.err = ErrAgain
	case w.one(2) && (m.at == BeforeWrite || m.at == MidWrite):
		m.err = errTaken
	default:
		m.err = errDown
	}
	return m
}

// interfere is the store's hook.
func (w *World) interfere(p Point, b *engine.Batch) error {
	if w.calm {
		return nil
	}
	if p == AfterFetch {
		w.stress.Fetched++
	}
	if p == MidWrite {
		if key := w.poisoned(b); key != "" {
			w.trace.say("  %s is poison", key)
			w.stress.Poison++
			w.rest()
			return errPoison
		}
	}
	m := w.fault
	if m == nil || m.at != p {
		return nil
	}
	if m.after--; m.after >= 0 {
		return nil
	}
	w.fault = nil
	switch m.err {
	case nil:
		w.stress.Crashes[p]++
		panic(death{})
	case ErrAgain:
		w.stress.Again++
	case error(errTaken):
		w.stress.Taken++
	default:
		w.stress.Down++
	}
	w.trace.say("  %v: %v", p, m.err)
	w.rest()
	return m.err
}

// rest notes that the engine may wait for half a second before it looks for deadlines again.
func (w *World) rest() { w.pause = max(w.pause, flow.At(w.clock.Now())+500) }

// stepAll lets every engine take one step and reports whether any had something to do.
func (w *World) stepAll(draw func() *mishap) (busy bool) {
	for _, m := range w.on() {
		if w.step(m, draw()) {
			busy = true
		}
	}
	return busy
}

// on are the machines that are on, at least one.
func (w *World) on() []*machine {
	var on []*machine
	for _, m := range w.machines {
		if m.engine != nil {
			on = append(on, m)
		}
	}
	return on
}

// boot starts machines whose time has come.
func (w *World) boot() {
	for _, m := range w.machines {
		if m.off--; m.engine == nil && (m.off < 0 || w.calm) {
			w.birth(m)
		}
	}
}

// die ends the engine of a machine.
func (w *World) die(m *machine) {
	w.bury(m)
	if len(w.on()) > 1 && w.one(2) {
		m.engine, m.off = nil, w.rng.IntN(20)
		return
	}
	w.birth(m)
}

// step lets an engine take one step, which it may not survive.
func (w *World) step(m *machine, bad *mishap) (busy bool) {
	w.fault = bad
	w.latest = max(w.latest, flow.At(w.clock.Now()))
	defer func() {
		w.fault = nil
		switch r := recover(); r.(type) {
		case nil:
		case death:
			w.trace.say("engine %s dies %v", m.name, bad.at)
			w.die(m)
			busy = true
		default:
			panic(r)
		}
	}()
	return m.engine.Step(context.Background())
}
