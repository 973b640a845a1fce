package store

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

type publication struct {
	number    int64 // the publication number (column news)
	tenant    string
	execution flow.ID
	commitNo  int64
	firstSeq  uint64
	lastSeq   uint64
	first     flow.ID   // id of the first event of the row, published or not
	at        flow.Time // of that event
	corr      string
	wanted    engine.PublishPolicy // the policy of its tenant
	events    []flow.Event         // those that are published
}

// weight is about the memory that a publication holds.
func (n *publication) weight() int {
	w := 256
	for i := range n.events {
		w += 256 + len(flow.DataOf(n.events[i].Payload))
	}
	return w
}

// newPublication is the publication of a row that is being written.
func newPublication(number int64, row *engine.LogRow, p *engine.Publication, wanted engine.PublishPolicy) *publication {
	n := &publication{
		number: number, tenant: p.Tenant, execution: p.Execution,
		commitNo: row.CommitNo, firstSeq: row.FirstSeq, lastSeq: row.LastSeq, wanted: wanted,
	}
	for ev := range p.Events {
		if n.at == 0 {
			n.first, n.at, n.corr = ev.ID, ev.At, ev.CorrelationID
		}
		if wanted.Wants(ev.Type) {
			n.events = append(n.events, *ev)
		}
	}
	return n
}

// executionObject begins the partition keys of executions.
const executionObject = "Execution"

// version is the recordVersion of a row: it rises with every row of an execution. The first six
// bytes of an id are the instant of creation.
func (n *publication) version() canonical.Stamp {
	var created int64
	for _, b := range n.execution[:6] {
		created = created<<8 | int64(b)
	}
	return canonical.Stamp(created + n.commitNo)
}

// maxEvents is how many bytes of events one message takes, which has events.MaxEvent at most.
const maxEvents = events.MaxEvent - 16<<10

// messages are those of a publication: several when the events are too large together. The ids count up from that of
// the row's first event, so that a repetition has the same.
func (s *Source) messages(dst []bus.Message, n *publication) ([]bus.Message, error) {
	if len(n.events) == 0 {
		return dst, nil
	}
	payload := n.appendHead(s.payload[:0])
	head := len(payload)
	index := 0
	for i := range n.events {
		at := len(payload)
		if at > head {
			payload = append(payload, ',')
		}
		var err error
		if payload, err = appendEvent(payload, &n.events[i]); err != nil {
			return dst, err
		}
		if len(payload) < maxEvents || at == head {
			continue
		}
		next := slices.Clone(payload[at+1:])
		dst = append(dst, s.message(n, index, payload[:at]))
		index++
		payload = append(payload[:head], next...)
	}
	s.payload = payload
	return append(dst, s.message(n, index, payload)), nil
}

// appendHead writes what a payload begins with, up to its first event.
func (n *publication) appendHead(dst []byte) []byte {
	dst = append(append(dst, `{"executionId":"`...), n.execution.String()...)
	dst = strconv.AppendInt(append(dst, `","commitNo":`...), n.commitNo, 10)
	dst = strconv.AppendUint(append(dst, `,"firstSeq":`...), n.firstSeq, 10)
	dst = strconv.AppendUint(append(dst, `,"lastSeq":`...), n.lastSeq, 10)
	return append(dst, `,"events":[`...)
}

// message makes one message of a payload that lacks its end.
func (s *Source) message(n *publication, index int, payload []byte) bus.Message {
	id := n.execution.String()
	key := events.RecordKey(executionObject, n.tenant, id)
	e := events.Event{
		ID: n.first.Plus(index).String(), SchemaVersion: events.SchemaVersion, Type: events.ExecutionChanged,
		OccurredAt: canonical.Stamp(n.at),
		Tenant:     n.tenant, Producer: events.Producer{Service: s.cfg.Service, Instance: s.cfg.Instance},
		CorrelationID: n.corr,
		Key:           key, Version: n.version(), Index: index, Payload: append(payload, ']', '}'),
	}
	if e.CorrelationID == "" {
		e.CorrelationID = id
	}
	return bus.Message{
		Stream: events.Executions, ID: e.ID, Tenant: n.tenant, Part: events.Partition(key), Type: e.Type, Key: key,
		OccurredAt: e.OccurredAt, Service: s.cfg.Service, Relay: bus.Relay{Source: n.number},
		Body: e.AppendJSON(make([]byte, 0, len(e.Payload)+512+len(e.CorrelationID))),
	}
}

// appendEvent writes an event as GET /executions/{executionId}/events shows it, with the place in
// the log instead of a member of its payload that is larger than what a state holds.
func appendEvent(dst []byte, ev *flow.Event) ([]byte, error) {
	at := len(dst)
	dst, err := flow.AppendEnvelope(dst, ev)
	if err != nil || len(dst)-at <= flow.MaxInline {
		return dst, err
	}
	payload, err := flow.AppendPayload(nil, ev.Payload)
	if err != nil {
		return dst, err
	}
	dst, err = shrink(dst[:len(dst)-len("}")-len(payload)], payload, ev.Seq) // it is the last member
	return append(dst, '}'), err
}

// shrink writes an object without the members larger than flow.MaxInline; of an error only the
// detail goes.
func shrink(dst, object []byte, seq uint64) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(object), flow.Stored)
	if _, err := d.ReadToken(); err != nil {
		return dst, err
	}
	dst = append(dst, '{')
	for i := 0; d.PeekKind() != '}'; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		name, err := d.ReadValue()
		if err != nil {
			return dst, err
		}
		dst = append(dst, name...)
		isError := string(name) == `"error"`
		value, err := d.ReadValue()
		if err != nil {
			return dst, err
		}
		switch {
		case len(value) <= flow.MaxInline:
			dst = append(append(dst, ':'), value...)
		case isError:
			if dst, err = shrink(append(dst, ':'), value, seq); err != nil {
				return dst, err
			}
		default:
			dst = fmt.Appendf(dst[:len(dst)-1], `Ref":{"seq":%d,"size":%d}`, seq, len(value))
		}
	}
	return append(dst, '}'), nil
}
