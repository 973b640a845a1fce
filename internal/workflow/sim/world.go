package sim

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"renga.dev/renga/internal/workflow/flow"
)

// World is an engine with everything around it.
type World struct {
	dice   dice
	clock  *Clock
	mem    *Memory
	audit  *audit
	trace  *trace
	fleet  fleet
	orders orders
	crew   crew
	climate

	executions []flow.ID
	calm       bool // nothing goes wrong
	stress     Stress
	err        error // the first thing that was wrong
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
		dice:  dice{rand.New(rand.NewPCG(seed, 0x72656e6761))},
		clock: NewClock(epoch), mem: NewMemory(), trace: newTrace(out),
	}
	w.fleet.w, w.crew.w, w.orders = w, w, orders{w: w, all: map[string]*order{}}
	w.climate = climate{
		machines: 1 + w.dice.IntN(4)/3, exclusive: !w.dice.one(3), cache: []int{1, 16 << 10, 1 << 20}[w.dice.IntN(3)],
		retention: flow.Time((30 * 24 * time.Hour).Milliseconds()),
		rough:     []int{0, 10, 30}[w.dice.IntN(3)], cancels: []int{1, 4, 10}[w.dice.IntN(3)],
		crowd: 2 + w.dice.IntN(7), graphs: 1 + w.dice.IntN(4),
	}
	if w.dice.one(4) {
		w.retention = flow.Time((2 * time.Minute).Milliseconds())
	}
	w.exclusive = w.exclusive && w.climate.machines == 1
	w.trace.say("seed %d: %+v", seed, w.climate)
	w.mem.Retain(time.Duration(w.retention) * time.Millisecond)
	w.mem.Interfere(w.fleet.interfere)
	w.mem.Tell(w.clock)
	w.audit = newAudit(w)
	for i := range w.climate.machines {
		w.fleet.here = &machine{name: string(rune('A' + i))}
		w.fleet.machines = append(w.fleet.machines, w.fleet.here)
		w.fleet.birth(w.fleet.here)
	}
	return w
}

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
	g := randomGraph(w.dice.Rand)
	if w.dice.one(2) && i > 0 {
		g.OnCancel = &flow.OnCancel{Graph: graphID(w.dice.IntN(i))} // which is registered
	}
	row, created, err := w.fleet.here.engine.PutGraph(context.Background(), tenant, graphID(i), g)
	if err != nil {
		w.fail("graph %d: %v", i, err)
		return
	}
	w.trace.say("graph %s %s version %d, new: %v", tenant, row.ID, row.Version, created)
	again, created, err := w.fleet.here.engine.PutGraph(context.Background(), tenant, graphID(i), g)
	if err != nil || created || again.Version != row.Version {
		w.fail("graph %d again: version %d, created %v, %v", i, again.Version, created, err)
	}
}

// round is a little of everything.
func (w *World) round() {
	w.fleet.boot()
	w.fleet.here = pick(w.dice, w.fleet.on())
	if w.dice.one(40) {
		w.putGraph(pick(w.dice, tenants), w.dice.IntN(w.graphs))
	}
	for range 1 + w.dice.IntN(w.crowd) {
		w.fleet.here = pick(w.dice, w.fleet.on())
		w.act()
	}
	idle := false
	for i := 0; i < 1+w.dice.IntN(4) && !idle && w.err == nil; i++ {
		idle = !w.fleet.stepAll(w.fleet.mishap)
	}
	w.audit.check(idle)
	w.passTime()
}

// passTime moves the clock, mostly a little, and lets claims give up that have
// waited long enough.
func (w *World) passTime() {
	switch n := w.dice.IntN(40); {
	case n < 20:
		w.clock.Move(time.Duration(w.dice.IntN(300)) * time.Millisecond)
	case n < 30:
		w.clock.Move(time.Duration(w.dice.IntN(5000)) * time.Millisecond)
	case n == 30:
		w.clock.Move(time.Duration(w.dice.IntN(120)) * time.Second)
	case n == 31:
		w.stress.Jumps++
		w.clock.Move(-time.Duration(w.dice.IntN(30)) * time.Second)
	}
	w.crew.giveUp()
}
