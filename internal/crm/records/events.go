package records

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
)

// service names what is published here, as the document of the events does.
const service = "core-platform"

// jsonOf is the value of a field as JSON.
func jsonOf(value any) jsontext.Value {
	switch v := value.(type) {
	case string:
		quoted, _ := jsontext.AppendQuote(nil, v) // bad UTF-8 was refused on the way in
		return quoted
	case float64:
		return jsontext.Value(strconv.AppendFloat(nil, v, 'f', -1, 64))
	case bool:
		return jsontext.Value(strconv.AppendBool(nil, v))
	}
	return jsontext.Value("null")
}

func names(changes []change) []string {
	all := make([]string, len(changes))
	for i := range changes {
		all[i] = changes[i].Field
	}
	return all
}

// createdEvent is the event about a new record: its fields, but for the values of sensitive ones.
func createdEvent(r *model.Record, changes []change) events.Payload {
	fields := make(map[string]jsontext.Value, len(changes))
	for i := range changes {
		if c := &changes[i]; !c.Sensitive {
			fields[c.Field] = jsonOf(c.New)
		}
	}
	return events.RecordCreated{
		ObjectName: r.Object, RecordID: r.ID, OwnerID: r.OwnerID, Fields: fields, ChangedFields: names(changes),
		RecordVersion: r.Version,
	}
}

// updatedEvents are the events of a change: what changed, then another owner, then another stage.
func updatedEvents(m *model.Model, before, after *model.Record, changes []change) []events.Payload {
	updated := events.RecordUpdated{
		ObjectName: after.Object, RecordID: after.ID, OwnerID: after.OwnerID, ChangedFields: names(changes),
		FieldChanges: make(map[string]events.FieldChange, len(changes)), RecordVersion: after.Version,
	}
	staged := false
	for i := range changes {
		c := &changes[i]
		if !c.Sensitive {
			updated.FieldChanges[c.Field] = events.FieldChange{Old: jsonOf(c.Old), New: jsonOf(c.New)}
		}
		staged = staged || after.Object == objOpportunity && c.Field == "StageName"
	}
	if len(updated.FieldChanges) == 0 {
		updated.FieldChanges = nil
	}
	payloads := []events.Payload{updated}
	if before.OwnerID != after.OwnerID {
		payloads = append(payloads, events.OwnerChanged{
			ObjectName: after.Object, RecordID: after.ID, OldOwnerID: before.OwnerID, NewOwnerID: after.OwnerID,
			RecordVersion: after.Version,
		})
	}
	if staged {
		payloads = append(payloads, stageEvent(m, before, after))
	}
	return payloads
}

// stageEvent is the event about another stage, without what is sensitive.
func stageEvent(m *model.Model, before, after *model.Record) events.Payload {
	old, now := values(before.Fields), values(after.Fields)
	open := func(field, value string) string {
		if m.Sensitive(objOpportunity, field) {
			return ""
		}
		return value
	}
	return events.StageChanged{
		OpportunityID: after.ID, AccountID: events.OrNull(open("AccountId", after.AccountID)),
		OldStageName: open("StageName", old.text("StageName")), NewStageName: open("StageName", now.text("StageName")),
		OldIsClosed: old.flag("IsClosed"), NewIsClosed: now.flag("IsClosed"), OldIsWon: old.flag("IsWon"),
		NewIsWon:  now.flag("IsWon"),
		CloseDate: events.OrNull(open("CloseDate", now.text("CloseDate"))), RecordVersion: after.Version,
	}
}

// envelopes puts the events of a change of a record into their envelopes.
func envelopes(to []events.Event, c kit.Caller, r *model.Record, payloads []events.Payload) ([]events.Event, error) {
	for i, p := range payloads {
		body, err := events.NewPayload(p)
		if err != nil {
			return nil, err
		}
		to = append(to, events.Event{
			Type: p.EventType(), OccurredAt: r.Version, Tenant: c.Tenant, Producer: events.Producer{Service: service},
			CorrelationID: c.CorrelationID,
			Key:           events.RecordKey(r.Object, c.Tenant, r.ID), Version: r.Version, Index: i, Payload: body,
		})
	}
	return to, nil
}
