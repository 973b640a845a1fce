package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// machine is where an engine lives; when that dies, another one takes its place,
// at once or, while there is another machine, after some rounds.
type machine struct {
	name   string
	engine *engine.Engine // nil: the machine is off
	off    int            // rounds until it is on again
}

// fleet is the machines, and what happens to them.
type fleet struct {
	w        *World
	machines []*machine
	here     *machine // the one that clients talk to
	lives    int      // engines so far
	fault    *mishap
	latest   flow.Time // the latest instant that an engine has seen
	pause    flow.Time // until then the engine may let deadlines wait: a commit has failed
}

// birth makes an engine on what is stored. IDs of one life do not come again in another.
func (f *fleet) birth(m *machine) {
	f.lives++
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], f.w.dice.Uint64())
	binary.BigEndian.PutUint64(seed[8:], uint64(f.lives))
	clock := wrong{right: f.w.clock}
	if f.machines != nil && f.w.climate.machines > 1 {
		clock.by = time.Duration(f.w.dice.IntN(120)-60) * time.Second
		f.w.trace.say("the clock of %s is off by %v", m.name, clock.by)
	}
	m.engine = engine.New(f.w.mem, clock, engine.Config{
		Exclusive: f.w.exclusive, CacheBytes: f.w.cache, Seed: &seed,
		KeyRetention: time.Duration(f.w.retention) * time.Millisecond,
	})
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
func (f *fleet) mishap() *mishap {
	if !f.w.dice.percent(f.w.rough) {
		return nil
	}
	m := &mishap{at: Point(f.w.dice.IntN(int(pointEnd))), after: f.w.dice.IntN(3)}
	if m.at == BeforeCommit || m.at == BeforeApply || m.at == AfterApply || m.at == OnRead {
		m.after = 0
	}
	switch {
	case m.at == AfterApply: // only the end of the process can come in between
	case f.w.dice.one(2):
	case f.w.dice.one(4) && m.at == BeforeApply:
		m.err = ErrAgain
	case f.w.dice.one(2) && (m.at == BeforeWrite || m.at == MidWrite):
		m.err = errTaken
	default:
		m.err = errDown
	}
	return m
}

// interfere is the store's hook.
func (f *fleet) interfere(p Point, b *engine.Batch) error {
	if f.w.calm {
		return nil
	}
	if p == AfterFetch {
		f.w.stress.Fetched++
	}
	if p == MidWrite {
		if key := f.w.poisoned(b); key != "" {
			f.w.trace.say("  %s is poison", key)
			f.w.stress.Poison++
			f.rest()
			return errPoison
		}
	}
	m := f.fault
	if m == nil || m.at != p {
		return nil
	}
	if m.after--; m.after >= 0 {
		return nil
	}
	f.fault = nil
	switch m.err {
	case nil:
		f.w.stress.Crashes[p]++
		panic(death{})
	case ErrAgain:
		f.w.stress.Again++
	case error(errTaken):
		f.w.stress.Taken++
	default:
		f.w.stress.Down++
	}
	f.w.trace.say("  %v: %v", p, m.err)
	f.rest()
	return m.err
}

// rest notes that the engine may wait for half a second before it looks for deadlines again.
func (f *fleet) rest() { f.pause = max(f.pause, flow.At(f.w.clock.Now())+500) }

// stepAll lets every engine take one step and reports whether any had something to do.
func (f *fleet) stepAll(draw func() *mishap) (busy bool) {
	for _, m := range f.on() {
		if f.step(m, draw()) {
			busy = true
		}
	}
	return busy
}

// on are the machines that are on, at least one.
func (f *fleet) on() []*machine {
	var on []*machine
	for _, m := range f.machines {
		if m.engine != nil {
			on = append(on, m)
		}
	}
	return on
}

// boot starts machines whose time has come.
func (f *fleet) boot() {
	for _, m := range f.machines {
		if m.off--; m.engine == nil && (m.off < 0 || f.w.calm) {
			f.birth(m)
		}
	}
}

// die ends the engine of a machine.
func (f *fleet) die(m *machine) {
	f.w.noteCrash(m)
	if len(f.on()) > 1 && f.w.dice.one(2) {
		m.engine, m.off = nil, f.w.dice.IntN(20)
		return
	}
	f.birth(m)
}

// step lets an engine take one step, which it may not survive.
func (f *fleet) step(m *machine, bad *mishap) (busy bool) {
	f.fault = bad
	f.latest = max(f.latest, flow.At(f.w.clock.Now()))
	defer func() {
		f.fault = nil
		switch r := recover(); r.(type) {
		case nil:
		case death:
			f.w.trace.say("engine %s dies %v", m.name, bad.at)
			f.die(m)
			busy = true
		default:
			panic(r)
		}
	}()
	return m.engine.Step(context.Background())
}
