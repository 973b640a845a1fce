package engine_test

import (
	"testing"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func TestChangesHoldTheLastStateOfEachExecution(t *testing.T) {
	r := newRig(t)
	r.graph("line", taskQueue("a"))
	changes, stop, err := r.Changes(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	id, second := r.started("line"), r.started("line")
	r.must(r.to(id, flow.Cancel{}))
	<-changes.Wake()
	all, behind := changes.Take()
	if len(all) == 2 && all[0].ID == second {
		all[0], all[1] = all[1], all[0]
	}
	if len(all) != 2 || behind || all[0].ID != id || all[0].Status != flow.Canceled || all[0].GraphID != "line" ||
		all[0].Seq != r.state(id).Seq || all[1].ID != second || all[1].Status != flow.Active {
		t.Errorf("got %+v, %v", all, behind)
	}
	if all, behind = changes.Take(); len(all) > 0 || behind {
		t.Errorf("taken twice: %+v, %v", all, behind)
	}
	stop()
	r.must(r.to(second, flow.Cancel{}))
	if all, _ = changes.Take(); len(all) > 0 {
		t.Errorf("after the end: %+v", all)
	}
}

func TestAReaderOfChangesWhoIsTooSlowIsToldSo(t *testing.T) {
	changes := engine.NewChanges()
	for n := range engine.MaxPendingChanges {
		changes.Add(&engine.Change{ID: flow.ID{14: byte(n >> 8), 15: byte(n)}, Seq: 1})
	}
	if all, behind := changes.Take(); behind || len(all) != engine.MaxPendingChanges {
		t.Errorf("got %d changes, behind %v", len(all), behind)
	}
	for n := range engine.MaxPendingChanges + 3 {
		changes.Add(&engine.Change{ID: flow.ID{14: byte(n >> 8), 15: byte(n)}, Seq: 1})
	}
	if all, behind := changes.Take(); !behind || len(all) != 2 {
		t.Errorf("got %d changes, behind %v", len(all), behind)
	}
	changes.Add(&engine.Change{Seq: 2, Status: flow.Failed})
	changes.Add(&engine.Change{Seq: 1})
	if all, behind := changes.Take(); behind || len(all) != 1 || all[0].Status != flow.Failed {
		t.Errorf("got %+v, behind %v", all, behind)
	}
}

func TestChangesOfAnotherProcessAreSeen(t *testing.T) {
	processes(t, silent, func(a, b process) {
		old := b.begin(1)[0]
		changes, stop, err := a.Shards.Changes(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		defer stop()
		id := b.begin(1)[0]
		next := func() engine.Change {
			t.Helper()
			for range 10 {
				<-changes.Wake()
				all, behind := changes.Take()
				if behind {
					t.Fatal("it is behind")
				}
				if len(all) > 0 {
					return all[0]
				}
			}
			t.Fatal("nothing was seen")
			return engine.Change{}
		}
		if got := next(); got.ID != id || got.Status != flow.Active || got.Seq == 0 {
			t.Errorf("got %+v, want %v to be ACTIVE", got, id)
		}
		b.accepted(b.Submit(b.to(old, flow.Cancel{}))[0])
		if got := next(); got.ID != old || got.Status != flow.Canceled || got.GraphID != "line" {
			t.Errorf("got %+v, want %v to be CANCELED", got, old)
		}
	})
}
