package wire

// Event is an event on the bus: the envelope of the document, decoded, with its
// payload as it came.
type Event struct {
	ID            string   // eventId, a UUID: what consumers tell repetitions by
	SchemaVersion int      // of the payload
	Type          string   // eventType
	OccurredAt    Stamp    // when the change was made
	Tenant        string   // tenantId, a UUID
	Producer      Producer // who made it
	CorrelationID string   // of the request that caused it
	Key           string   // sequence.partitionKey: events of one key keep their order
	Version       Stamp    // sequence.recordVersion: strictly rises from change to change of a key
	Index         int      // sequence.index: place among the events of one change
	Payload       []byte   // a JSON object
}

// Producer is the service that made an event, and which of its processes.
type Producer struct {
	Service  string
	Instance string
}

// Stamp is an instant in milliseconds since 1970; 0 is none. On the wire it is
// RFC 3339 in UTC with three decimals.
type Stamp int64

// Stream is one of the streams that events travel on.
type Stream uint8

// The streams.
const (
	Events     Stream = iota // the business events, from the outbox
	Executions               // the engine's own events, from its log
)

// Partitions is how many partitions a stream has. It is part of what is stored.
const Partitions = 4
