package messages

import (
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

// The maxima of messages.
const (
	MaxID      = 128      // characters of the id of a message
	MaxPayload = 64 << 10 // bytes
	MaxKept    = 100_000  // kept messages of a tenant
	MaxNodes   = 100      // nodes that one message resumes, the longest waiting
	MaxStarted = 16       // graphs that one message starts, by id
	maxReason  = 1024     // bytes of the reason of a rejection
	minTTL     = time.Second
)

// How long a message is kept that does not say so, and the longest that it may ask for.
const (
	DefaultTTL = 24 * time.Hour
	MaxTTL     = 30 * 24 * time.Hour
)

// State is what became of a message. The numbers are stored.
type State int64

// The states. A message leaves Kept once.
const (
	Kept     State = 1 // nobody waited for it yet
	Resumed  State = 2 // it resumed nodes
	Started  State = 3 // it started executions
	Rejected State = 4 // no node that waited for it, or graph, took its payload
	Expired  State = 5 // its time to live ended first
)

var states = [...]string{
	Kept: "KEPT", Resumed: "RESUMED", Started: "STARTED", Rejected: "REJECTED", Expired: "EXPIRED",
}

func (s State) String() string { return states[s] }

// MarshalText writes the word.
func (s State) MarshalText() ([]byte, error) { return []byte(states[s]), nil }

// UnmarshalText reads the word.
func (s *State) UnmarshalText(text []byte) error {
	got, ok := ParseState(string(text))
	if !ok {
		return fault.New(fault.Invalid, canonical.CodeInvalid, "there is no state %.20q", text)
	}
	*s = got
	return nil
}

// ParseState is a state by its word.
func ParseState(word string) (State, bool) {
	at := slices.Index(states[:], word)
	return State(at), at >= int(Kept)
}

// Delivery is what a message did to one execution.
type Delivery struct {
	ExecutionID string `json:"executionId"`
	NodeID      string `json:"nodeId,omitzero"`  // that waited for it
	GraphID     string `json:"graphId,omitzero"` // that it started
	Reason      string `json:"reason,omitzero"`  // why the node did not take it; "": it did
}

// Message is a message and what became of it.
type Message struct {
	ID            string          `json:"messageId"`
	Name          string          `json:"name"`
	Key           string          `json:"key,omitzero"`
	State         State           `json:"state"`
	Deliveries    []Delivery      `json:"deliveries"`
	Reason        string          `json:"reason,omitzero"` // of Rejected
	Sender        string          `json:"sender,omitzero"`
	CorrelationID string          `json:"correlationId,omitzero"`
	ReceivedAt    canonical.Stamp `json:"receivedAt"`
	ExpiresAt     canonical.Stamp `json:"expiresAt"`
	DecidedAt     canonical.Stamp `json:"decidedAt,omitzero"` // when it left Kept
	Payload       jsontext.Value  `json:"payload,omitzero"`   // lists and answers leave it out
}

// awaited is what nodes that wait for the message ask for.
func (m *Message) awaited() flow.Awaited { return flow.Awaited{Name: m.Name, Key: m.Key} }

// Draft is a message that somebody sends.
type Draft struct {
	ID      messageID      `json:"messageId"`
	Name    string         `json:"name"`
	Key     string         `json:"key"`
	Payload jsontext.Value `json:"payload"`
	TTL     flow.Duration  `json:"ttl"`
}

// messageID may be left out, but is not empty: a sender who lost the id would lose its protection, too.
type messageID string

// UnmarshalText refuses what no message is called.
func (id *messageID) UnmarshalText(text []byte) error {
	if *id = messageID(text); !validID(string(text)) {
		return invalid("messageId", "messageId must be 1 to %d printable ASCII characters", MaxID)
	}
	return nil
}

// ParseDraft reads a message strictly and fills in defaults. The error is fault.Invalid, and its details name the
// member.
func ParseDraft(body []byte) (Draft, error) {
	d := Draft{Payload: jsontext.Value("{}"), TTL: flow.Duration(DefaultTTL)}
	if err := canonical.Decode(body, &d); err != nil {
		return d, err
	}
	switch ttl := time.Duration(d.TTL); {
	case d.Name == "":
		return d, invalid("name", "name is missing: the name of the message that nodes wait for")
	case d.Name == LateResult:
		return d, invalid("name", "messages named %s come from the server alone; choose another name", LateResult)
	case !canonical.Name(d.Name):
		return d, invalid("name", "name must be 1 to %d of A-Z a-z 0-9 . _ -", canonical.MaxName)
	case !flow.ValidMessageKey(d.Key):
		return d, invalid("key", "key must be at most %d bytes, without control characters", flow.MaxMessageKey)
	case ttl < minTTL || ttl > MaxTTL:
		return d, invalid("ttl", "ttl must be between %s and %s", minTTL, MaxTTL)
	case d.Payload.Kind() != jsontext.KindBeginObject || d.Payload.Compact() != nil:
		return d, invalid("payload", "payload must be a JSON object")
	case len(d.Payload) > MaxPayload:
		return d, invalid("payload", "payload has %d bytes and may have %d", len(d.Payload), MaxPayload)
	}
	return d, nil
}

func validID(id string) bool { return canonical.Printable(id, MaxID) }

func invalid(field, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...).With(map[string]string{"field": field})
}

func unknown(id string) error {
	return fault.New(fault.NotFound, "MESSAGE_NOT_FOUND",
		"there is no message %.128q; one that was delivered, rejected or expired is retained for 30 days", id)
}

const columns = "id, name, key, state, deliveries, reason, sender, correlation_id, received_at, expires_at, decided_at"

func (m *Message) fields(deliveries *string) []any {
	return []any{
		&m.ID, &m.Name, &m.Key, &m.State, deliveries, &m.Reason, &m.Sender, &m.CorrelationID, &m.ReceivedAt,
		&m.ExpiresAt, &m.DecidedAt,
	}
}

func scan(row *sqldb.Row) (m Message, err error) {
	var deliveries string
	if err = row.Scan(m.fields(&deliveries)...); err == nil {
		err = json.Unmarshal([]byte(deliveries), &m.Deliveries)
	}
	return m, err
}

// scanWhole is scan with the payload, which follows the other columns.
func scanWhole(row *sqldb.Row) (m Message, err error) {
	var deliveries, payload string
	if err = row.Scan(append(m.fields(&deliveries), &payload)...); err == nil {
		m.Payload = jsontext.Value(payload)
		err = json.Unmarshal([]byte(deliveries), &m.Deliveries)
	}
	return m, err
}

// outcome are the columns of what became of a message.
func (m *Message) outcome() (deliveries string, err error) {
	if m.Deliveries == nil {
		m.Deliveries = []Delivery{}
	}
	raw, err := json.Marshal(m.Deliveries)
	return string(raw), fault.Wrap("messages.outcome", err)
}
