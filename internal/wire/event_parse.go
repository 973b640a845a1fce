package wire

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/fault"
)

// ParseEvent reads an envelope: its syntax and the types of its members. The payload
// is part of body, which must not change afterwards. Members that an envelope does not
// have are passed over; CheckReceived judges what the members hold.
func ParseEvent(body []byte) (Event, error) {
	if err := Check(body); err != nil {
		return Event{}, err
	}
	var m struct {
		ID       string `json:"eventId"`
		Schema   Count  `json:"schemaVersion"`
		Type     string `json:"eventType"`
		At       Stamp  `json:"occurredAt"`
		Tenant   string `json:"tenantId"`
		Producer struct {
			Service  string `json:"service"`
			Instance string `json:"instanceId"`
		} `json:"producer"`
		Correlation string `json:"correlationId"`
		Sequence    struct {
			Key     string `json:"partitionKey"`
			Version Stamp  `json:"recordVersion"`
			Index   Count  `json:"index"`
		} `json:"sequence"`
		Payload jsontext.Value `json:"payload"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return Event{}, fault.New(fault.Invalid, CodeEventInvalid, "not an event: %v", err)
	}
	return Event{
		ID: m.ID, SchemaVersion: int(m.Schema), Type: m.Type, OccurredAt: m.At, Tenant: m.Tenant,
		Producer: Producer(m.Producer), CorrelationID: m.Correlation, Key: m.Sequence.Key,
		Version: m.Sequence.Version, Index: int(m.Sequence.Index), Payload: m.Payload,
	}, nil
}
