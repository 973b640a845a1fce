package flow

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// AppendEnvelope writes an event as the document has it, plus its seq, on one line.
func AppendEnvelope(dst []byte, ev *Event) ([]byte, error) {
	if ev.Payload == nil || !ev.Type.Valid() || ev.Payload.Type() != ev.Type {
		return dst, fmt.Errorf("flow: event %d has no payload of its type %s", ev.Seq, ev.Type)
	}
	var err error
	dst = ev.ID.append(append(dst, `{"eventId":"`...))
	dst = ev.Execution.append(append(dst, `","executionId":"`...))
	dst = strconv.AppendUint(append(dst, `","seq":`...), ev.Seq, 10)
	dst = append(append(dst, `,"type":"`...), ev.Type.String()...)
	dst = ev.At.append(append(dst, `","occurredAt":"`...))
	if dst, err = jsontext.AppendQuote(append(dst, `","actor":{"kind":`...), ev.Actor.Kind); err != nil {
		return dst, err
	}
	if dst, err = appendString(dst, `,"id":`, ev.Actor.ID); err != nil {
		return dst, err
	}
	if dst, err = appendString(append(dst, '}'), `,"correlationId":`, ev.CorrelationID); err != nil {
		return dst, err
	}
	if !ev.CausationID.IsZero() {
		dst = append(ev.CausationID.append(append(dst, `,"causationId":"`...)), '"')
	}
	dst = strconv.AppendInt(append(dst, `,"schemaVersion":`...), SchemaVersion, 10)
	if dst, err = AppendPayload(append(dst, `,"payload":`...), ev.Payload); err != nil {
		return dst, err
	}
	return append(dst, '}'), nil
}

// MarshalJSON is AppendEnvelope for encoders.
func (ev Event) MarshalJSON() ([]byte, error) { return AppendEnvelope(nil, &ev) }

// UnmarshalJSON is UnmarshalEvent for decoders.
func (ev *Event) UnmarshalJSON(data []byte) error {
	got, err := UnmarshalEvent(data)
	if err == nil {
		*ev = got
	}
	return err
}

// envelope is an event on the wire, with its payload still to be read.
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

// UnmarshalEvent reads an event strictly: one of the 24 types, every member that
// an envelope must have and no other. Payloads may have members that this version
// does not know, since they only ever gain optional ones.
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
	switch a.Kind {
	case KindSystem, KindUser, KindScheduler, KindExternal:
		return true
	}
	return false
}

// AppendPayload writes a payload. The log and the envelope share this form. The
// payloads of every execution and task are written by hand, the others by reflection.
func AppendPayload(dst []byte, p Payload) ([]byte, error) {
	switch p := p.(type) {
	case *ExecutionCreated:
		return p.append(dst)
	case *ExecutionStarted:
		return p.append(dst)
	case *ExecutionCompleted:
		return p.append(dst)
	case *NodeCreated:
		return p.append(dst)
	case *NodeReady:
		return p.append(dst)
	case *NodeStarted:
		return p.append(dst)
	case *NodeSucceeded:
		return p.append(dst)
	}
	b, err := json.Marshal(p)
	if err != nil {
		return dst, fmt.Errorf("flow: payload of %s: %w", p.Type(), err)
	}
	return append(dst, b...), nil
}

// Stored is how JSON is read that was checked when it came in, where names that are there twice
// are refused: to look for them again takes as long as everything else.
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
	p := NewPayload(t)
	if p == nil {
		return nil, fmt.Errorf("flow: event type %d does not exist", uint8(t))
	}
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

func (p *ExecutionCreated) append(dst []byte) ([]byte, error) {
	dst, err := jsontext.AppendQuote(append(dst, `{"graphId":`...), p.GraphID)
	if err != nil {
		return dst, err
	}
	dst = appendData(dst, `,"input":`, p.Input)
	if p.GraphVersion != 0 {
		dst = strconv.AppendInt(append(dst, `,"graphVersion":`...), int64(p.GraphVersion), 10)
	}
	dst, err = appendString(dst, `,"graphDigest":`, p.GraphDigest)
	return append(dst, '}'), err
}

func (p *ExecutionStarted) append(dst []byte) ([]byte, error) {
	if p.StartedBy == nil {
		return append(dst, '{', '}'), nil
	}
	dst, err := jsontext.AppendQuote(append(dst, `{"startedBy":{"kind":`...), p.StartedBy.Kind)
	if err != nil {
		return dst, err
	}
	dst, err = appendString(dst, `,"id":`, p.StartedBy.ID)
	return append(dst, '}', '}'), err
}

func (p *ExecutionCompleted) append(dst []byte) ([]byte, error) {
	return append(appendData(append(dst, '{'), `"result":`, p.Result), '}'), nil
}

func (p *NodeCreated) append(dst []byte) ([]byte, error) {
	kind, err := p.NodeType.MarshalText()
	if err != nil {
		return dst, err
	}
	if dst, err = jsontext.AppendQuote(append(dst, `{"nodeId":`...), p.NodeID); err != nil {
		return dst, err
	}
	dst = append(append(dst, `,"nodeType":"`...), kind...)
	return append(appendData(append(dst, '"'), `,"meta":`, p.Meta), '}'), nil
}

func (p *NodeReady) append(dst []byte) ([]byte, error) {
	dst, err := jsontext.AppendQuote(append(dst, `{"nodeId":`...), p.NodeID)
	if p.Attempt != 0 {
		dst = strconv.AppendInt(append(dst, `,"attempt":`...), int64(p.Attempt), 10)
	}
	return append(dst, '}'), err
}

func (p *NodeStarted) append(dst []byte) ([]byte, error) {
	dst, err := jsontext.AppendQuote(append(dst, `{"nodeId":`...), p.NodeID)
	if err != nil {
		return dst, err
	}
	dst = strconv.AppendInt(append(dst, `,"attempt":`...), int64(p.Attempt), 10)
	if dst, err = appendString(dst, `,"workerId":`, p.WorkerID); err != nil {
		return dst, err
	}
	if p.Lease != 0 {
		dst = strconv.AppendInt(append(dst, `,"leaseSeconds":`...), int64(p.Lease), 10)
	}
	dst = appendTime(dst, `,"leaseUntil":"`, p.LeaseUntil)
	dst = appendTime(dst, `,"timeoutAt":"`, p.TimeoutAt)
	return append(dst, '}'), nil
}

func (p *NodeSucceeded) append(dst []byte) ([]byte, error) {
	dst, err := jsontext.AppendQuote(append(dst, `{"nodeId":`...), p.NodeID)
	return append(appendData(dst, `,"output":`, p.Output), '}'), err
}

// appendString writes a member unless it is empty.
func appendString(dst []byte, name, value string) ([]byte, error) {
	if value == "" {
		return dst, nil
	}
	return jsontext.AppendQuote(append(dst, name...), value)
}

// appendTime writes a member unless it is none; name ends with the opening quote.
func appendTime(dst []byte, name string, t Time) []byte {
	if t == 0 {
		return dst
	}
	return append(t.append(append(dst, name...)), '"')
}

// appendData writes a member unless there is none. Data was checked and
// compacted when it came in (accept).
func appendData(dst []byte, name string, data Data) []byte {
	if data == nil {
		return dst
	}
	return append(append(dst, name...), data...)
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
