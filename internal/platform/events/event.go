package events

import (
	"hash/fnv"
	"strconv"

	"renga.dev/renga/internal/platform/canonical"
)

// MaxEvent is how large an event may be, in bytes of its envelope with its payload. With
// its headers it fits into the 1 MiB that a NATS server takes unless told otherwise.
const MaxEvent = 1<<20 - 8<<10

// SchemaVersion is the version of all payload schemas so far.
const SchemaVersion = 1

// Event is an event on the bus: the envelope of the document, decoded, with its
// payload as it came.
type Event struct {
	ID            string          // eventId, a UUID: what consumers tell repetitions by
	SchemaVersion int             // of the payload
	Type          string          // eventType
	OccurredAt    canonical.Stamp // when the change was made
	Tenant        string          // tenantId, a UUID
	Producer      Producer        // who made it
	CorrelationID string          // of the request that caused it
	Key           string          // sequence.partitionKey: events of one key keep their order
	Version       canonical.Stamp // sequence.recordVersion: strictly rises from change to change of a key
	Index         int             // sequence.index: place among the events of one change
	Payload       []byte          // a JSON object
}

// Producer is the service that made an event, and which of its processes.
type Producer struct {
	Service  string
	Instance string
}

// Stream is one of the streams that events travel on.
type Stream uint8

// The streams.
const (
	Events     Stream = iota // the business events, from the outbox
	Executions               // the engine's own events, from its log
)

// Partitions is how many partitions a stream has. It is part of what is stored.
const Partitions = 4

// String is the stream's name in JetStream.
func (s Stream) String() string { return [...]string{"RENGA_EVENTS", "RENGA_EXECUTIONS"}[s] }

// Partition is where the events of a key travel.
func Partition(key string) int {
	h := fnv.New32a()
	h.Write([]byte(key))
	return int(h.Sum32() % Partitions)
}

// Subject is what an event is published under: renga.event.{tenant}.{partition}.{type}
// or renga.execution.{tenant}.{partition}, which has one type only. A reader passes
// "*" for a tenant or a type that may be any.
func Subject(s Stream, tenant string, part int, typ string) string {
	if s == Executions {
		return "renga.execution." + tenant + "." + strconv.Itoa(part)
	}
	return "renga.event." + tenant + "." + strconv.Itoa(part) + "." + typ
}

// RecordKey is the partition key of a record's events; an object is a name such as
// Opportunity. What has no record uses a kind in its place: Role, Group, Field …
func RecordKey(object, tenant, record string) string { return object + ":" + tenant + ":" + record }

// AppendJSON writes the envelope with its payload, members in the order of the
// document. What an event does not have is written empty; CheckPublished finds that.
func (e *Event) AppendJSON(dst []byte) []byte {
	dst = canonical.AppendText(append(dst, `{"eventId":`...), e.ID)
	dst = strconv.AppendInt(append(dst, `,"schemaVersion":`...), int64(e.SchemaVersion), 10)
	dst = canonical.AppendText(append(dst, `,"eventType":`...), e.Type)
	dst = append(e.OccurredAt.Append(append(dst, `,"occurredAt":"`...)), '"')
	dst = canonical.AppendText(append(dst, `,"tenantId":`...), e.Tenant)
	dst = canonical.AppendText(append(dst, `,"producer":{"service":`...), e.Producer.Service)
	dst = canonical.AppendText(append(dst, `,"instanceId":`...), e.Producer.Instance)
	dst = canonical.AppendText(append(dst, `},"correlationId":`...), e.CorrelationID)
	dst = canonical.AppendText(append(dst, `,"sequence":{"partitionKey":`...), e.Key)
	dst = append(e.Version.Append(append(dst, `,"recordVersion":"`...)), '"')
	dst = strconv.AppendInt(append(dst, `,"index":`...), int64(e.Index), 10)
	dst = append(dst, `},"payload":`...)
	if len(e.Payload) == 0 {
		dst = append(dst, "null"...)
	}
	return append(append(dst, e.Payload...), '}')
}
