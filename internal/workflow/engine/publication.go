package engine

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/workflow/flow"
)

// Publication is the events of a log row that may be published. It is not stored: the row's body holds the events.
type Publication struct {
	Row       int // place of the row in Batch.Log
	Tenant    string
	Execution flow.ID
	Main      bool // the row holds an event that is PublishedByDefault
	records   []*record
}

// Events are the events of the row, in order. They are not changed any more.
func (n *Publication) Events(yield func(*flow.Event) bool) {
	for _, r := range n.records {
		for i := range r.Events {
			if !yield(&r.Events[i]) {
				return
			}
		}
	}
}

// PublishedByDefault reports whether events of a type are published unless the tenant asks for less: the life cycle of
// an execution, and that it waits for somebody.
func PublishedByDefault(t flow.Type) bool {
	return t <= flow.ExecutionFailedType || t == flow.NodeWaitingType
}

// PublishPolicy is which events of a tenant's executions are published.
type PublishPolicy uint8

// The publish policies.
const (
	PublishMain PublishPolicy = iota // what is PublishedByDefault
	PublishAll                       // every event
	PublishNone                      // no event
)

// Wants reports whether events of a type are published.
func (p PublishPolicy) Wants(t flow.Type) bool {
	return p == PublishAll || p == PublishMain && PublishedByDefault(t)
}

func (b *batch) notePublication(ent *entry, open *openRow, out *Batch) {
	n := Publication{Row: len(out.Log) - 1, Tenant: ent.tenant, Execution: ent.state.Execution, records: open.records}
	for ev := range n.Events {
		if PublishedByDefault(ev.Type) {
			n.Main = true
			break
		}
	}
	out.Publications = append(out.Publications, n)
}

// EventsOf reads the wanted events of a log row, in order. first is the event that the row begins with, without its
// payload unless that is wanted.
func EventsOf(
	execution flow.ID, row *LogRow, want func(flow.Type) bool,
) (first flow.Event, events []flow.Event, err error) {
	var stored []storedRecord
	if err := json.Unmarshal(row.Body, &stored, flow.Stored); err != nil {
		return first, nil, fmt.Errorf("log row %d of %v: %w", row.CommitNo, execution, err)
	}
	seq := row.FirstSeq
	for i := range stored {
		r := &record{At: flow.Time(stored[i].At), Corr: stored[i].Corr, Actor: actorOf(stored[i].Actor)}
		all, err := stored[i].events(r, execution, seq, want)
		if err != nil {
			return first, nil, fmt.Errorf("log row %d of %v: %w", row.CommitNo, execution, err)
		}
		for i := range all {
			if all[i].Seq == row.FirstSeq {
				first = all[i]
			}
			if all[i].Payload != nil {
				events = append(events, all[i])
			}
		}
		seq += uint64(len(all))
	}
	return first, events, nil
}
