package wire

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Strip takes the values of sensitive fields out of the payload. Their names stay in
// changedFields.
func (e *Event) Strip(sensitive func(object, field string) bool) {
	member := map[string]string{"RecordCreated": "fields", "RecordUpdated": "fieldChanges"}[e.Type]
	if member == "" {
		return
	}
	var object struct {
		Name string `json:"objectName"`
	}
	var payload, fields map[string]jsontext.Value
	if json.Unmarshal(e.Payload, &object) != nil || json.Unmarshal(e.Payload, &payload) != nil || json.Unmarshal(payload[member], &fields) != nil {
		return // CheckPublished refuses it
	}
	before := len(fields)
	for name := range fields {
		if sensitive(object.Name, name) {
			delete(fields, name)
		}
	}
	if len(fields) == before {
		return
	}
	payload[member], _ = json.Marshal(fields, json.Deterministic(true))
	e.Payload, _ = json.Marshal(payload, json.Deterministic(true))
}
