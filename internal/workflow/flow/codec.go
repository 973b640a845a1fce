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
	w := Writer{Dst: dst}
	w.Raw(`{"eventId":"`)
	w.Dst = ev.ID.append(w.Dst)
	w.Raw(`","executionId":"`)
	w.Dst = ev.Execution.append(w.Dst)
	w.Raw(`","seq":`)
	w.Dst = strconv.AppendUint(w.Dst, ev.Seq, 10)
	w.Raw(`,"type":"`)
	w.Raw(ev.Type.String())
	w.Raw(`","occurredAt":"`)
	w.Dst = ev.At.append(w.Dst)
	w.Raw(`","actor":`)
	w.actor(&ev.Actor)
	w.Text(`,"correlationId":`, ev.CorrelationID)
	if !ev.CausationID.IsZero() {
		w.Raw(`,"causationId":"`)
		w.Dst = append(ev.CausationID.append(w.Dst), '"')
	}
	w.Number(`,"schemaVersion":`, SchemaVersion)
	w.Raw(`,"payload":`)
	w.Payload(ev.Payload)
	w.Raw(`}`)
	return w.Dst, w.Err
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

// AppendPayload writes a payload, for the log and for the envelope.
func AppendPayload(dst []byte, p Payload) ([]byte, error) {
	w := Writer{Dst: dst}
	w.Payload(p)
	return w.Dst, w.Err
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

func (p *ExecutionCreated) write(w *Writer) {
	w.Quote(`{"graphId":`, p.GraphID)
	w.data(`,"input":`, p.Input)
	w.Number(`,"graphVersion":`, int64(p.GraphVersion))
	w.Text(`,"graphDigest":`, p.GraphDigest)
	w.Text(`,"businessKey":`, p.BusinessKey)
	if len(p.Labels) > 0 {
		w.Raw(`,"labels":`)
		w.labels(p.Labels)
	}
	if !p.RerunOf.IsZero() {
		w.Raw(`,"rerunOf":"`)
		w.Dst = append(p.RerunOf.append(w.Dst), '"')
	}
}

func (p *ExecutionStarted) write(w *Writer) {
	w.Raw(`{`)
	if p.StartedBy != nil {
		w.Raw(`"startedBy":`)
		w.actor(p.StartedBy)
	}
}

func (p *ExecutionCompleted) write(w *Writer) {
	w.Raw(`{`)
	comma := ""
	if p.Result != nil {
		w.data(`"result":`, p.Result)
		comma = ","
	}
	w.Text(comma+`"outcome":`, p.Outcome)
}

func (p *NodeCreated) write(w *Writer) {
	if !p.NodeType.valid() {
		w.Fail(fmt.Errorf("flow: node type %d does not exist", uint8(p.NodeType)))
		return
	}
	w.Quote(`{"nodeId":`, p.NodeID)
	w.Raw(`,"nodeType":"`)
	w.Raw(kindNames[p.NodeType])
	w.Raw(`"`)
	w.data(`,"meta":`, p.Meta)
}

func (p *NodeReady) write(w *Writer) {
	w.Quote(`{"nodeId":`, p.NodeID)
	w.Number(`,"attempt":`, int64(p.Attempt))
	w.data(`,"input":`, p.Input)
	w.Text(`,"on":`, string(p.On))
	w.Text(`,"failedNodeId":`, p.FailedNodeID)
}

func (p *NodeStarted) write(w *Writer) {
	w.Quote(`{"nodeId":`, p.NodeID)
	w.Raw(`,"attempt":`)
	w.Dst = strconv.AppendInt(w.Dst, int64(p.Attempt), 10)
	w.Text(`,"workerId":`, p.WorkerID)
	w.Number(`,"leaseSeconds":`, int64(p.Lease))
	w.Time(`,"leaseUntil":"`, p.LeaseUntil)
	w.Time(`,"timeoutAt":"`, p.TimeoutAt)
}

func (p *NodeSucceeded) write(w *Writer) {
	w.Quote(`{"nodeId":`, p.NodeID)
	w.data(`,"output":`, p.Output)
}

// Writer appends JSON and keeps the first error. A name is what stands before a value: comma, name and colon.
type Writer struct {
	Dst []byte
	Err error
}

func (w *Writer) Raw(s string) { w.Dst = append(w.Dst, s...) }

func (w *Writer) Quote(name, value string) {
	dst, err := jsontext.AppendQuote(append(w.Dst, name...), value)
	w.Dst = dst
	w.Fail(err)
}

// Fail notes an error; nil is none.
func (w *Writer) Fail(err error) {
	if w.Err == nil {
		w.Err = err
	}
}

// Text leaves out an empty text.
func (w *Writer) Text(name, value string) {
	if value != "" {
		w.Quote(name, value)
	}
}

// Number leaves out 0.
func (w *Writer) Number(name string, n int64) {
	if n != 0 {
		w.Dst = strconv.AppendInt(append(w.Dst, name...), n, 10)
	}
}

// Time leaves out none. Its name ends with the opening quote.
func (w *Writer) Time(name string, t Time) {
	if t != 0 {
		w.Dst = append(t.append(append(w.Dst, name...)), '"')
	}
}

// Payload writes the payload of an event. Those of every execution and task are written by hand, the others by
// reflection.
func (w *Writer) Payload(p Payload) {
	switch p := p.(type) { // not by an interface, which would put w on the heap
	case *ExecutionCreated:
		p.write(w)
	case *ExecutionStarted:
		p.write(w)
	case *ExecutionCompleted:
		p.write(w)
	case *NodeCreated:
		p.write(w)
	case *NodeReady:
		p.write(w)
	case *NodeStarted:
		p.write(w)
	case *NodeSucceeded:
		p.write(w)
	default:
		b, err := json.Marshal(p)
		if err != nil {
			w.Fail(fmt.Errorf("flow: payload of %s: %w", p.Type(), err))
		}
		w.Dst = append(w.Dst, b...)
		return
	}
	w.Raw(`}`)
}

// JSON writes a value by reflection.
func (w *Writer) JSON(name string, v any) {
	b, err := json.Marshal(v)
	w.Dst = append(append(w.Dst, name...), b...)
	w.Fail(err)
}

// data writes data that was checked and compacted when it came in (accept).
func (w *Writer) data(name string, data Data) {
	if data != nil {
		w.Dst = append(append(w.Dst, name...), data...)
	}
}

func (w *Writer) actor(a *Actor) {
	w.Quote(`{"kind":`, a.Kind)
	w.Text(`,"id":`, a.ID)
	w.Raw(`}`)
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
