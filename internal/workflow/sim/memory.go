package sim

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Point is a place in the life of a commit where something can go wrong.
type Point uint8

// The points, in the order in which a commit passes them.
const (
	BeforeCommit Point = iota // nothing was done yet
	AfterFetch                // histories were read
	BeforeWrite               // a batch is about to be written
	MidWrite                  // half of a batch was written
	BeforeApply               // the job is done, nothing is durable
	AfterApply                // everything is durable, nobody was told
	OnRead                    // a reader asks, outside of any commit

	pointEnd
)

var pointNames = [pointEnd]string{
	"before the commit", "after a fetch", "before a write", "in the middle of a write",
	"before it is durable", "after it is durable", "on a read",
}

func (p Point) String() string { return pointNames[p] }

// ErrAgain from a hook at BeforeApply makes the store undo the job and run it
// again, as a database does that found two transactions in each other's way.
var ErrAgain = errors.New("sim: the transaction is tried again")

// Hook may let a commit or a read fail with an error, or the process end with a
// panic. b is set at BeforeWrite and MidWrite. At AfterApply an error means
// nothing: what is durable was committed.
type Hook func(p Point, b *engine.Batch) error

// Memory is an engine.Store without a database. A commit gathers what it writes
// and shows it to itself alone until it is applied, all at once.
type Memory struct {
	hook      atomic.Pointer[Hook]
	clock     *Clock // that all processes share; nil: each has its own
	retention flow.Time
	commit    sync.Mutex // one commit at a time

	mu     sync.RWMutex // guards what follows
	execs  map[int64]execution
	byID   map[flow.ID]int64
	keys   map[engine.KeyRef]engine.KeyRow
	ready  map[engine.ReadyRow]bool
	waits  map[engine.WaitRef]engine.WaitRow
	graphs map[graphName][]engine.GraphRow
	last   int64 // execution number given out
}

// execution is what is stored of one. Its log only ever grows, so a copy of the
// struct is a copy of the execution.
type execution struct {
	head engine.Head
	log  []engine.LogRow
}

type graphName struct{ tenant, id string }

var _ engine.Store = (*Memory)(nil)

// NewMemory makes an empty store that keeps keys as long as an engine does by default.
func NewMemory() *Memory {
	m := &Memory{
		execs: map[int64]execution{}, byID: map[flow.ID]int64{},
		keys: map[engine.KeyRef]engine.KeyRow{}, ready: map[engine.ReadyRow]bool{},
		waits:  map[engine.WaitRef]engine.WaitRow{},
		graphs: map[graphName][]engine.GraphRow{},
	}
	m.Retain(30 * 24 * time.Hour)
	return m
}

// Retain sets how long a key cannot be used anew. Not to be called during a commit.
func (m *Memory) Retain(d time.Duration) { m.retention = flow.Time(d.Milliseconds()) }

// Tell makes clock the one by which commits have their time, whatever the clocks of
// the processes show. Not to be called during a commit.
func (m *Memory) Tell(clock *Clock) { m.clock = clock }

func (m *Memory) now(here flow.Time) flow.Time {
	if m.clock == nil {
		return here
	}
	return flow.At(m.clock.Now())
}

// Interfere makes hook decide what goes wrong from now on; nil lets all go well.
func (m *Memory) Interfere(hook Hook) { m.hook.Store(&hook) }

func (m *Memory) at(p Point, b *engine.Batch) error {
	if hook := m.hook.Load(); hook != nil && *hook != nil {
		return (*hook)(p, b)
	}
	return nil
}

// Commit runs fn and applies what it wrote. One that fails or panics leaves nothing.
func (m *Memory) Commit(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	m.commit.Lock()
	defer m.commit.Unlock()
	for {
		if err := m.at(BeforeCommit, nil); err != nil {
			return err
		}
		t := &tx{m: m, pending: m.begin()}
		if err := fn(ctx, t); err != nil {
			return err
		}
		switch err := m.at(BeforeApply, nil); {
		case errors.Is(err, ErrAgain):
			continue
		case err != nil:
			return err
		}
		m.apply(&t.pending)
		_ = m.at(AfterApply, nil)
		return nil
	}
}

// pending is what a commit has written so far.
type pending struct {
	execs map[int64]execution
	keys  map[engine.KeyRef]engine.KeyRow
	ready map[engine.ReadyRow]bool           // false: deleted
	waits map[engine.WaitRef]*engine.WaitRow // nil: deleted
}

func (m *Memory) begin() pending {
	return pending{
		execs: map[int64]execution{}, keys: map[engine.KeyRef]engine.KeyRow{}, ready: map[engine.ReadyRow]bool{},
		waits: map[engine.WaitRef]*engine.WaitRow{},
	}
}

// mark is a copy to go back to.
func (p *pending) mark() pending {
	return pending{
		execs: maps.Clone(p.execs), keys: maps.Clone(p.keys), ready: maps.Clone(p.ready), waits: maps.Clone(p.waits),
	}
}

func (m *Memory) apply(p *pending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for num, x := range p.execs {
		m.execs[num] = x
		m.byID[x.head.ID] = num
	}
	maps.Copy(m.keys, p.keys)
	for ref, row := range p.waits {
		if row == nil {
			delete(m.waits, ref)
		} else {
			m.waits[ref] = *row
		}
	}
	for row, there := range p.ready {
		if there {
			m.ready[row] = true
		} else {
			delete(m.ready, row)
		}
	}
}

// own is a row that shares no memory with the engine's buffers, as in a database.
func own(r engine.LogRow) engine.LogRow {
	r.Body, r.Snapshot = bytes.Clone(r.Body), bytes.Clone(r.Snapshot)
	return r
}

// history is the stored part of an execution, with its newest usable snapshot
// first; upTo 0 means all of it.
func (x *execution) history(upTo uint64) engine.History {
	if upTo == 0 {
		upTo = math.MaxUint64
	}
	h := engine.History{Found: true, Head: x.head}
	from := 0
	for i := range x.log {
		if r := &x.log[i]; r.Snapshot != nil && r.Reducer == engine.ReducerVersion && r.LastSeq <= upTo {
			from = i
		}
	}
	for i := from; i < len(x.log) && (i == from || x.log[i].FirstSeq <= upTo); i++ {
		r := x.log[i]
		if i > from || r.Reducer != engine.ReducerVersion || r.LastSeq > upTo {
			r.Snapshot, r.Reducer = nil, 0
		}
		h.Rows = append(h.Rows, r)
	}
	return h
}

func (x *execution) row(commitNo int64) (engine.LogRow, error) {
	for i := len(x.log) - 1; i >= 0; i-- {
		if r := x.log[i]; r.CommitNo == commitNo {
			r.Snapshot, r.Reducer = nil, 0
			return r, nil
		}
	}
	return engine.LogRow{}, errNone
}

func (x *execution) rows(from uint64, limit int) []engine.LogRow {
	var rows []engine.LogRow
	for _, r := range x.log {
		if r.LastSeq < from {
			continue
		}
		rows = append(rows, r)
		if r.LastSeq-from+1 >= uint64(limit) {
			break
		}
	}
	return rows
}

var errNone error = &fault.Error{Kind: fault.NotFound, Op: "sim.read"}
