package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/sim"
)

// damaged is a store in which the log of some executions cannot be read, or in
// which somebody holds them.
type damaged struct {
	engine.Store
	ids  map[flow.ID]bool
	held bool
}

func (d *damaged) Commit(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return d.Store.Commit(ctx, func(ctx context.Context, tx engine.Tx) error { return fn(ctx, damagedTx{tx, d}) })
}

type damagedTx struct {
	engine.Tx
	store *damaged
}

func (t damagedTx) Fetch(ctx context.Context, want []engine.Want) ([]engine.History, error) {
	all, err := t.Tx.Fetch(ctx, want)
	for i := range all {
		switch {
		case !t.store.ids[all[i].Head.ID]:
		case t.store.held:
			all[i].Locked, all[i].Rows = true, nil
		default:
			all[i].Rows = []engine.LogRow{{CommitNo: 1, FirstSeq: 1, Body: []byte("[")}}
		}
	}
	return all, err
}

// damage makes the log of an execution unreadable, and an engine that has read
// nothing yet. mend undoes it.
func (r *rig) damage(id flow.ID) (mend func()) {
	return r.without(&damaged{ids: map[flow.ID]bool{id: true}})
}

func (r *rig) without(d *damaged) (mend func()) {
	d.Store = r.mem
	r.Engine = engine.New(d, r.clock, engine.Config{Exclusive: true})
	return func() { clear(d.ids) }
}

// commits counts the commits that are tried.
func (r *rig) commits() *int {
	n := new(int)
	r.mem.Interfere(func(p sim.Point, _ *engine.Batch) error {
		if p == sim.BeforeCommit {
			*n++
		}
		return nil
	})
	return n
}

func TestADamagedLogFailsItsOwnCommandsAlone(t *testing.T) {
	r := newRig(t)
	bad, good := r.started("line"), r.started("line")
	r.damage(bad)
	tries := r.commits()
	results := r.send(r.to(bad, flow.StartNode{Node: "a"}), r.to(good, flow.StartNode{Node: "a"}))
	if e, ok := fault.As(results[0].Err); !ok || e.Kind != fault.Internal || e.Reason != fault.Damaged {
		t.Errorf("got %v, want an internal error that no repetition mends", results[0].Err)
	}
	r.accepted(results[1])
	if *tries != 1 {
		t.Errorf("%d commits, want one: nothing had to be undone", *tries)
	}
}

func TestADamagedLogDoesNotBlockItsQueue(t *testing.T) {
	r := newRig(t)
	bad := r.started("line")
	r.clock.Move(time.Millisecond)
	good := r.started("line")
	mend := r.damage(bad)
	c := r.claim(r.claiming("w", 5, 0))
	r.settle()
	r.tasks(c, good)
	mend()
	r.restart()
	c = r.claim(r.claiming("w", 5, 0))
	r.settle()
	r.tasks(c, bad)
}

// TestDeadlinesOfADamagedLogAreLeftAlone counts how often they are tried while
// those of others are handled.
func TestDeadlinesOfADamagedLogAreLeftAlone(t *testing.T) {
	r := newRig(t)
	bad, good := r.started("pair"), r.started("pair")
	for _, id := range []flow.ID{bad, good} {
		r.must(r.to(id, flow.StartNode{Node: "a", Attempt: 1}))
		r.must(r.to(id, flow.Fail{Node: "a"}))
	}
	mend := r.damage(bad)
	r.clock.Move(10 * time.Second)
	r.settle()
	r.node(good, "a", flow.NodeIsReady)
	tries := r.commits()
	for range 10 * 60 {
		r.clock.Move(time.Second)
		r.settle()
	}
	if *tries < 10 || *tries > 20 {
		t.Errorf("tried %d times in ten minutes, want about once a minute", *tries)
	}
	mend()
	r.clock.Move(time.Minute)
	r.settle()
	r.node(bad, "a", flow.NodeIsReady)
}

func TestAnExecutionThatSomebodyHoldsFailsAloneAndForNow(t *testing.T) {
	r := newRig(t)
	bad, due := r.started("line"), r.started("pair")
	r.must(r.to(due, flow.StartNode{Node: "a", Attempt: 1, Worker: "w", Lease: 5}))
	r.clock.Move(time.Millisecond)
	good := r.started("line")
	mend := r.without(&damaged{ids: map[flow.ID]bool{bad: true, due: true}, held: true})
	tries := r.commits()
	cancel := r.to(bad, flow.Cancel{})
	both := r.offer(cancel, r.to(good, flow.CancelNode{Node: "c"}))
	var unit error
	r.OfferUnit(engine.Unit{Commands: []engine.Request{r.to(bad, flow.CancelNode{Node: "c"})}},
		func(_ []engine.Result, err error) { unit = err })
	c := r.claim(r.claiming("w", 5, 0))
	r.clock.Move(10 * time.Second) // its lease runs out
	r.settle()
	for _, err := range []error{(*both)[0].Err, unit} {
		if failure, ok := fault.As(err); !ok || failure.Kind != fault.Unavailable || failure.Code != "STORAGE_BUSY" ||
			failure.RetryAfter == 0 {
			t.Errorf("got %v", err)
		}
	}
	r.accepted((*both)[1])
	r.tasks(c, good)
	if *tries != 1 {
		t.Errorf("%d commits, want one: nothing had to be undone", *tries)
	}
	mend()
	r.clock.Move(time.Second)
	r.settle()
	r.node(due, "a", flow.NodeIsCreated) // until it is tried again
	r.restart()
	c = r.claim(r.claiming("w", 5, 0))
	r.settle()
	r.tasks(c, bad)
	if r.must(cancel).Replay {
		t.Error("the cancel is answered from memory, but was not done")
	}
}

// TestASnapshotOfAnotherCommitIsNotUsed changes what a snapshot says of itself: whoever acted
// on it would act on a state that is not that of its row.
func TestASnapshotOfAnotherCommitIsNotUsed(t *testing.T) {
	for name, change := range map[string]func(row *engine.LogRow){
		"its commit": func(row *engine.LogRow) {
			row.Snapshot = bytes.Replace(row.Snapshot, fmt.Appendf(nil, `"no":%d`, row.CommitNo),
				fmt.Appendf(nil, `"no":%d`, row.CommitNo-1), 1)
		},
		"the commit of its row": func(row *engine.LogRow) { row.CommitNo++ },
		"the events of its row": func(row *engine.LogRow) { row.LastSeq++ },
		"its form":              func(row *engine.LogRow) { row.Snapshot = row.Snapshot[:len(row.Snapshot)/2] },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			id := r.started("line")
			r.must(r.to(id, flow.StartNode{Node: "a", Attempt: 1, Worker: "w"}))
			for r.snapshots(id) == 0 {
				r.must(r.to(id, flow.Progress{Node: "a", Message: strings.Repeat("x", 4000)}))
			}
			changed := 0
			store := &tampered{Store: r.mem, change: func(row *engine.LogRow) {
				was := *row
				if change(row); !bytes.Equal(was.Snapshot, row.Snapshot) || was.CommitNo != row.CommitNo ||
					was.LastSeq != row.LastSeq {
					changed++
				}
			}}
			r.Engine = engine.New(store, r.clock, engine.Config{Exclusive: true})
			res := r.send(r.to(id, flow.Succeed{Node: "a"}))[0]
			if changed == 0 {
				t.Fatal("no snapshot was changed: the test says nothing")
			}
			if fault.KindOf(res.Err) != fault.Internal || res.Err == nil {
				t.Errorf("got %+v, want an internal error", res)
			}
			r.restart()
			r.node(id, "a", flow.NodeIsRunning)
			r.must(r.to(id, flow.Succeed{Node: "a"}))
		})
	}
}

// tampered is a store whose snapshots somebody has changed.
type tampered struct {
	engine.Store
	change func(row *engine.LogRow)
}

func (s *tampered) Commit(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	return s.Store.Commit(ctx, func(ctx context.Context, tx engine.Tx) error { return fn(ctx, tamperedTx{tx, s}) })
}

type tamperedTx struct {
	engine.Tx
	store *tampered
}

func (t tamperedTx) Fetch(ctx context.Context, want []engine.Want) ([]engine.History, error) {
	all, err := t.Tx.Fetch(ctx, want)
	for i := range all {
		if rows := all[i].Rows; len(rows) > 0 && rows[0].Snapshot != nil {
			t.store.change(&rows[0])
		}
	}
	return all, err
}
