package flow

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AppendEnvelope writes an event as the document has it, plus its seq, on one line.
func AppendEnvelope(dst []byte, ev *Event) ([]byte, error) {
	if ev.Payload == nil || !ev.Type.Valid() || ev.Payload.Type() != ev.Type {
		return dst, fmt.Errorf("flow: event %d has no payload of its type %s", ev.Seq, ev.Type)
	}
	w := writer{dst: dst}
	w.raw(`{"eventId":"`)
	w.dst = ev.ID.append(w.dst)
	w.raw(`","executionId":"`)
	w.dst = ev.Execution.append(w.dst)
	w.raw(`","seq":`)
	w.dst = strconv.AppendUint(w.dst, ev.Seq, 10)
	w.raw(`,"type":"`)
	w.raw(ev.Type.String())
	w.raw(`","occurredAt":"`)
	w.dst = ev.At.append(w.dst)
	w.raw(`","actor":`)
	w.actor(&ev.Actor)
	w.text(`,"correlationId":`, ev.CorrelationID)
	if !ev.CausationID.IsZero() {
		w.raw(`,"causationId":"`)
		w.dst = append(ev.CausationID.append(w.dst), '"')
	}
	w.number(`,"schemaVersion":`, SchemaVersion)
	w.raw(`,"payload":`)
	if w.err != nil {
		return w.dst, w.err
	}
	dst, err := AppendPayload(w.dst, ev.Payload)
	return append(dst, '}'), err
}

func (ev Event) MarshalJSON() ([]byte, error) { return AppendEnvelope(nil, &ev) }

func (ev *Event) UnmarshalJSON(data []byte) error {
	got, err := UnmarshalEvent(data)
	if err == nil {
		*ev = got
	}
	return err
}

type envelope struct {
	ID            ID             `json:"eventId"`
	Execution     ID             `json:"executionId"`
	Seq           uint64         `json:"seq"`
	Type          Type           `json:"type"`
	At            Time           `json:"occurredAt"`
	Actor         Actor          `json:"actor"`
	CorrelationID string         `json:"correlationId"`
	CausationID   ID             `json:"causationId"`
	SchemaVersion int            `json:"schemaVersion"`
	Payload       jsontext.Value `json:"payload"`
}

// UnmarshalEvent reads an event strictly. Only payloads may have members that this version does
// not know, since they gain optional ones.
func UnmarshalEvent(data []byte) (Event, error) {
	var e envelope
	if err := json.Unmarshal(data, &e, json.RejectUnknownMembers(true)); err != nil {
		return Event{}, fmt.Errorf("flow: not an event: %w", err)
	}
	missing := ""
	switch {
	case e.ID.IsZero():
		missing = "eventId"
	case e.Execution.IsZero():
		missing = "executionId"
	case e.Type == 0:
		missing = "type"
	case e.At == 0:
		missing = "occurredAt"
	case !e.Actor.valid():
		missing = "actor.kind"
	case e.SchemaVersion != SchemaVersion:
		missing = "schemaVersion " + strconv.Itoa(SchemaVersion)
	}
	if missing != "" {
		return Event{}, fmt.Errorf("flow: not an event: no %s", missing)
	}
	p, err := ParsePayload(e.Type, e.Payload)
	if err != nil {
		return Event{}, err
	}
	return Event{
		ID: e.ID, Execution: e.Execution, Seq: e.Seq, Type: e.Type, At: e.At, Actor: e.Actor,
		CorrelationID: e.CorrelationID, CausationID: e.CausationID, Payload: p,
	}, nil
}

func (a Actor) valid() bool {
	return slices.Contains([]string{KindSystem, KindUser, KindScheduler, KindExternal}, a.Kind)
}

// AppendPayload writes a payload, for the log and for the envelope. Those of every execution and
// task are written by hand, the others by reflection.
func AppendPayload(dst []byte, p Payload) ([]byte, error) {
	w := writer{dst: dst}
	switch p := p.(type) { // not by an interface, which would put w on the heap
	case *ExecutionCreated:
		p.write(&w)
	case *ExecutionStarted:
		p.write(&w)
	case *ExecutionCompleted:
		p.write(&w)
	case *NodeCreated:
		p.write(&w)
	case *NodeReady:
		p.write(&w)
	case *NodeStarted:
		p.write(&w)
	case *NodeSucceeded:
		p.write(&w)
	default:
		b, err := json.Marshal(p)
		if err != nil {
			return dst, fmt.Errorf("flow: payload of %s: %w", p.Type(), err)
		}
		return append(dst, b...), nil
	}
	return append(w.dst, '}'), w.err
}

// Stored reads JSON that was checked when it came in: to look again for names that are there
// twice takes as long as everything else.
var Stored = jsontext.AllowDuplicateNames(true)

// ParsePayload reads the payload of an event of a type.
func ParsePayload(t Type, data []byte) (Payload, error) {
	return readPayload(t, func(p Payload) error { return json.Unmarshal(data, p, Stored) })
}

// ReadPayload is ParsePayload for the next value of a decoder.
func ReadPayload(t Type, d *jsontext.Decoder) (Payload, error) {
	return readPayload(t, func(p Payload) error { return json.UnmarshalDecode(d, p) })
}

func readPayload(t Type, read func(Payload) error) (Payload, error) {
	if !t.Valid() {
		return nil, fmt.Errorf("flow: event type %d does not exist", uint8(t))
	}
	p := kinds[t].make()
	if err := read(p); err != nil {
		return nil, fmt.Errorf("flow: payload of %s: %w", t, err)
	}
	if created, ok := p.(*ExecutionCreated); ok && created.GraphID == "" {
		return nil, fmt.Errorf("flow: payload of %s: no graphId", t)
	}
	if t >= NodeCreatedType && p.Node() == "" {
		return nil, fmt.Errorf("flow: payload of %s: no nodeId", t)
	}
	return p, nil
}

func (p *ExecutionCreated) write(w *writer) {
	w.quote(`{"graphId":`, p.GraphID)
	w.data(`,"input":`, p.Input)
	w.number(`,"graphVersion":`, p.GraphVersion)
	w.text(`,"graphDigest":`, p.GraphDigest)
}

func (p *ExecutionStarted) write(w *writer) {
	w.raw(`{`)
	if p.StartedBy != nil {
		w.raw(`"startedBy":`)
		w.actor(p.StartedBy)
	}
}

func (p *ExecutionCompleted) write(w *writer) {
	w.raw(`{`)
	w.data(`"result":`, p.Result)
}

func (p *NodeCreated) write(w *writer) {
	if !p.NodeType.valid() {
		w.fail(fmt.Errorf("flow: node type %d does not exist", uint8(p.NodeType)))
		return
	}
	w.quote(`{"nodeId":`, p.NodeID)
	w.raw(`,"nodeType":"`)
	w.raw(kindNames[p.NodeType])
	w.raw(`"`)
	w.data(`,"meta":`, p.Meta)
}

func (p *NodeReady) write(w *writer) {
	w.quote(`{"nodeId":`, p.NodeID)
	w.number(`,"attempt":`, p.Attempt)
}

func (p *NodeStarted) write(w *writer) {
	w.quote(`{"nodeId":`, p.NodeID)
	w.raw(`,"attempt":`)
	w.dst = strconv.AppendInt(w.dst, int64(p.Attempt), 10)
	w.text(`,"workerId":`, p.WorkerID)
	w.number(`,"leaseSeconds":`, p.Lease)
	w.time(`,"leaseUntil":"`, p.LeaseUntil)
	w.time(`,"timeoutAt":"`, p.TimeoutAt)
}

func (p *NodeSucceeded) write(w *writer) {
	w.quote(`{"nodeId":`, p.NodeID)
	w.data(`,"output":`, p.Output)
}

// writer appends JSON and keeps the first error. Its members are left out when they are empty.
type writer struct {
	dst []byte
	err error
}

func (w *writer) raw(s string) { w.dst = append(w.dst, s...) }

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *writer) quote(name, value string) {
	dst, err := jsontext.AppendQuote(append(w.dst, name...), value)
	w.dst = dst
	if err != nil {
		w.fail(err)
	}
}

func (w *writer) text(name, value string) {
	if value != "" {
		w.quote(name, value)
	}
}

func (w *writer) number(name string, n int) {
	if n != 0 {
		w.dst = strconv.AppendInt(append(w.dst, name...), int64(n), 10)
	}
}

// time writes a member whose name ends with the opening quote.
func (w *writer) time(name string, t Time) {
	if t != 0 {
		w.dst = append(t.append(append(w.dst, name...)), '"')
	}
}

// data writes data that was checked and compacted when it came in (accept).
func (w *writer) data(name string, data Data) {
	if data != nil {
		w.dst = append(append(w.dst, name...), data...)
	}
}

func (w *writer) actor(a *Actor) {
	w.quote(`{"kind":`, a.Kind)
	w.text(`,"id":`, a.ID)
	w.raw(`}`)
}

// AppendState writes a state for a snapshot.
func AppendState(dst []byte, s *State) ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return dst, fmt.Errorf("flow: state of %s: %w", s.Execution, err)
	}
	return append(dst, b...), nil
}

// ParseState reads what AppendState wrote.
func ParseState(data []byte) (State, error) {
	var s State
	if err := json.Unmarshal(data, &s, Stored); err != nil {
		return State{}, fmt.Errorf("flow: not a state: %w", err)
	}
	if s.Status > Canceled {
		return State{}, fmt.Errorf("flow: not a state: status %d", s.Status)
	}
	for i, n := range s.Nodes {
		if n == nil || n.Status > NodeIsCanceled {
			return State{}, fmt.Errorf("flow: not a state: node %d", i)
		}
	}
	s.reindex()
	return s, nil
}
