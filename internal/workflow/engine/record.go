package engine

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/workflow/flow"
)

// record is one command in a log row: who asked what with which key, the events
// that it emitted and what was answered. A row's body is a JSON array of records.
//
// The events of a decision share their instant, their correlation and an actor,
// and their IDs and causes count up from the first, so only what differs is stored.
type record struct {
	Command     string
	Node        string
	Idempotency canonical.IdempotencyKey // Endpoint is not stored: command, execution and node make it
	At          flow.Time
	Corr        string
	Actor       flow.Actor
	Events      []flow.Event

	CancelSeq uint64
	Task      *taskRef
	Refused   *flow.Refusal
	Late      *LateResult
}

// event is one of its events; nil: it has none with that seq.
func (r *record) event(seq uint64) *flow.Event {
	if n := len(r.Events); n == 0 || seq < r.Events[0].Seq || seq > r.Events[n-1].Seq {
		return nil
	}
	return &r.Events[seq-r.Events[0].Seq]
}

// taskRef names a Task that was started; the rest of a Task is read from the log.
type taskRef struct {
	Execution  flow.ID   `json:"e,omitzero"`
	Node       string    `json:"n"`
	Attempt    int       `json:"a"`
	LeaseUntil flow.Time `json:"l,omitzero"`
}

// write writes a taskRef of the record's own execution, as its tags say but faster.
func (t *taskRef) write(w *flow.Writer) {
	w.Quote(`,"x":{"n":`, t.Node)
	w.Raw(`,"a":`)
	w.Dst = strconv.AppendInt(w.Dst, int64(t.Attempt), 10)
	w.Time(`,"l":"`, t.LeaseUntil)
	w.Raw(`}`)
}

// storedRecord is the form of a record in the log. Names are short: they are
// written with every command.
type storedRecord struct {
	Command   string            `json:"c"`
	Node      string            `json:"n,omitempty"`
	Key       string            `json:"k,omitempty"`
	Hash      string            `json:"h,omitempty"`
	Members   map[string]uint32 `json:"m,omitempty"`
	At        int64             `json:"t"`
	Corr      string            `json:"r,omitempty"`
	Actor     []string          `json:"a,omitempty"`
	FirstID   string            `json:"i,omitempty"`
	Cause     string            `json:"p,omitempty"`
	Events    []jsontext.Value  `json:"e,omitempty"`
	CancelSeq uint64            `json:"s,omitzero"`
	Task      *taskRef          `json:"x,omitempty"`
	Refused   *flow.Refusal     `json:"f,omitempty"`
	Late      *LateResult       `json:"l,omitempty"`
}

var b64 = base64.RawURLEncoding

// appendRecord writes r as one JSON value.
func appendRecord(dst []byte, r *record) ([]byte, error) {
	w := flow.Writer{Dst: dst}
	w.Quote(`{"c":`, r.Command)
	w.Text(`,"n":`, r.Node)
	if r.Idempotency.Key != "" {
		w.Quote(`,"k":`, r.Idempotency.Key)
		if r.Idempotency.Hash != (canonical.IdempotencyKey{}).Hash {
			writeBase64(&w, `,"h":"`, r.Idempotency.Hash[:])
		}
		name := `,"m":{`
		for _, m := range r.Idempotency.Members {
			w.Quote(name, m.Name)
			w.Dst = strconv.AppendUint(append(w.Dst, ':'), uint64(m.Digest), 10)
			name = `,`
		}
		if len(r.Idempotency.Members) > 0 {
			w.Raw(`}`)
		}
	}
	w.Dst = strconv.AppendInt(append(w.Dst, `,"t":`...), int64(r.At), 10)
	w.Text(`,"r":`, r.Corr)
	writeActor(&w, `,"a":`, r.Actor)
	if len(r.Events) > 0 {
		writeEvents(&w, r.Events)
	}
	w.Number(`,"s":`, int64(r.CancelSeq))
	if r.Task != nil {
		r.Task.write(&w)
	}
	if r.Refused != nil {
		w.JSON(`,"f":`, r.Refused)
	}
	if r.Late != nil {
		w.JSON(`,"l":`, r.Late)
	}
	w.Raw(`}`)
	return w.Dst, w.Err
}

// writeBase64 writes bytes. Their name ends with the opening quote.
func writeBase64(w *flow.Writer, name string, b []byte) {
	w.Dst = append(b64.AppendEncode(append(w.Dst, name...), b), '"')
}

func writeActor(w *flow.Writer, name string, a flow.Actor) {
	w.Raw(name)
	w.Raw(`["`)
	w.Raw(a.Kind)
	w.Raw(`"`)
	w.Text(`,`, a.ID)
	w.Raw(`]`)
}

// writeEvents writes the events of one decision, each as [type, payload], and the actor where it is
// not the record's (first) or the system (later).
func writeEvents(w *flow.Writer, events []flow.Event) {
	first := &events[0]
	writeBase64(w, `,"i":"`, first.ID[:])
	if !first.CausationID.IsZero() {
		writeBase64(w, `,"p":"`, first.CausationID[:])
	}
	before := `,"e":[[`
	for i := range events {
		ev := &events[i]
		w.Dst = strconv.AppendUint(append(w.Dst, before...), uint64(ev.Type), 10)
		w.Raw(`,`)
		w.Payload(ev.Payload)
		if i > 0 && ev.Actor != (flow.Actor{Kind: flow.KindSystem}) {
			writeActor(w, `,`, ev.Actor)
		}
		w.Raw(`]`)
		before = `,[`
	}
	w.Raw(`]`)
}

// parseRow reads the records of a log row and checks that it has the events that it says.
func parseRow(execution flow.ID, row *LogRow) ([]*record, error) {
	var stored []storedRecord
	if err := json.Unmarshal(row.Body, &stored, flow.Stored); err != nil {
		return nil, fmt.Errorf("log row %d of %v: %w", row.CommitNo, execution, err)
	}
	out := make([]*record, len(stored))
	seq := row.FirstSeq
	for i := range stored {
		r, err := stored[i].expand(execution, seq)
		if err != nil {
			return nil, fmt.Errorf("log row %d of %v: %w", row.CommitNo, execution, err)
		}
		out[i] = r
		seq += uint64(len(r.Events))
	}
	if seq != row.LastSeq+1 {
		return nil, fmt.Errorf("log row %d of %v: holds events up to %d, says %d", row.CommitNo, execution, seq-1,
			row.LastSeq)
	}
	return out, nil
}

func (s *storedRecord) expand(execution flow.ID, seq uint64) (*record, error) {
	r := &record{
		Command: s.Command, Node: s.Node, At: flow.Time(s.At), Corr: s.Corr, Actor: actorOf(s.Actor),
		CancelSeq: s.CancelSeq, Task: s.Task, Refused: s.Refused, Late: s.Late,
	}
	r.Idempotency.Key, r.Idempotency.Members = s.Key, membersOf(s.Members)
	if s.Hash != "" {
		b, err := b64.DecodeString(s.Hash)
		if err != nil || len(b) != len(r.Idempotency.Hash) {
			return r, fmt.Errorf("hash %q is damaged", s.Hash)
		}
		copy(r.Idempotency.Hash[:], b)
	}
	if r.Refused != nil {
		r.Refused.Command, r.Refused.Node = s.Command, s.Node
	}
	var err error
	r.Events, err = s.events(r, execution, seq, nil)
	return r, err
}

// events reads the events of a record, from seq on. With want, those of other types have no payload.
func (s *storedRecord) events(
	r *record, execution flow.ID, seq uint64, want func(flow.Type) bool,
) ([]flow.Event, error) {
	if len(s.Events) == 0 {
		return nil, nil
	}
	id, err := idOf(s.FirstID)
	if err != nil {
		return nil, err
	}
	var cause flow.ID
	if s.Cause != "" {
		if cause, err = idOf(s.Cause); err != nil {
			return nil, err
		}
	}
	events := make([]flow.Event, len(s.Events))
	actor := r.Actor
	for i, raw := range s.Events {
		ev := flow.Event{
			ID: id.Plus(i), Execution: execution, Seq: seq + uint64(i), At: r.At,
			Actor: actor, CorrelationID: r.Corr, CausationID: cause,
		}
		if err := parseEvent(raw, &ev, want); err != nil {
			return nil, fmt.Errorf("event %d: %w", ev.Seq, err)
		}
		events[i] = ev
		cause, actor = ev.ID, flow.Actor{Kind: flow.KindSystem}
	}
	return events, nil
}

// membersOf puts stored digests into the order in which wire compares them.
func membersOf(stored map[string]uint32) []canonical.Member {
	var members []canonical.Member
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		members = append(members, canonical.Member{Name: name, Digest: stored[name]})
	}
	return members
}

// typeOf is the type of a stored event, which begins with its number.
func typeOf(raw jsontext.Value) (flow.Type, error) {
	number, _, ok := bytes.Cut(bytes.TrimPrefix(raw, []byte{'['}), []byte{','})
	if !ok {
		return 0, fmt.Errorf("%s is not an event", raw)
	}
	n, err := strconv.ParseUint(string(number), 10, 8)
	return flow.Type(n), err
}

func parseEvent(raw jsontext.Value, ev *flow.Event, want func(flow.Type) bool) error {
	var err error
	if ev.Type, err = typeOf(raw); err != nil || want != nil && !want(ev.Type) {
		return err
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(raw), flow.Stored)
	for range 2 { // the bracket and the type
		if _, err := d.ReadToken(); err != nil {
			return err
		}
	}
	if ev.Payload, err = flow.ReadPayload(ev.Type, d); err != nil || d.PeekKind() == jsontext.KindEndArray {
		return err
	}
	var actor []string
	if err := json.UnmarshalDecode(d, &actor); err != nil {
		return err
	}
	ev.Actor = actorOf(actor)
	return nil
}

func actorOf(parts []string) flow.Actor {
	var a flow.Actor
	if len(parts) > 0 {
		a.Kind = parts[0]
	}
	if len(parts) > 1 {
		a.ID = parts[1]
	}
	return a
}

func idOf(s string) (flow.ID, error) {
	var id flow.ID
	b, err := b64.DecodeString(s)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("event id %q is damaged", s)
	}
	copy(id[:], b)
	return id, nil
}
