package events

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
)

// stripped is where the payloads that hold values of fields have them.
var stripped = map[string]*rule{
	"RecordCreated": valuesIn("fields"),
	"RecordUpdated": valuesIn("fieldChanges"),
}

func valuesIn(name string) *rule {
	return &rule{kinds: kindObject, others: anything, members: []ruled{
		{"objectName", &rule{kinds: kindString, note: noteObject}},
		{name, &rule{kinds: kindObject, others: anything, note: noteValues}},
	}}
}

// HasFields reports whether events of this type carry values of fields, which Strip
// takes out.
func (e *Event) HasFields() bool { return stripped[e.Type] != nil }

// Strip takes the values of sensitive fields out of the payload; their names stay in changedFields. A
// field is asked for by its name as it is written and in NFC. The old payload is replaced, not changed.
// A payload that CheckPublished would refuse may stay as it is.
func (e *Event) Strip(sensitive func(object, field string) bool) {
	r := stripped[e.Type]
	if r == nil {
		return
	}
	var w walker
	if w.walk(e.Payload, r, 1) != nil {
		return
	}
	values, object := w.notes[noteValues], string(w.inside(noteObject))
	kept, dropped := without(w.noted(noteValues), func(name []byte) bool {
		return sensitive(object, string(name)) || sensitive(object, canonical.NFC(string(name)))
	})
	if !dropped {
		return
	}
	payload := make([]byte, 0, len(e.Payload))
	payload = append(append(payload, e.Payload[:values.from]...), kept...)
	e.Payload = append(payload, e.Payload[values.to:]...)
}

// carried are the members of payloads that are values of fields: the fields, by the type
// of the event and the member. An account that a lead became is also the account of its
// contact and its opportunity, and the contact that of the opportunity.
var carried = map[string]map[string][]string{
	"StageChanged": {
		"accountId":    {"Opportunity.AccountId"},
		"oldStageName": {"Opportunity.StageName"}, "newStageName": {"Opportunity.StageName"},
		"oldIsClosed": {"Opportunity.IsClosed"}, "newIsClosed": {"Opportunity.IsClosed"},
		"oldIsWon": {"Opportunity.IsWon"}, "newIsWon": {"Opportunity.IsWon"},
		"closeDate": {"Opportunity.CloseDate"},
	},
	"LeadConverted": {
		"convertedAt":   {"Lead.ConvertedDate"},
		"accountId":     {"Lead.ConvertedAccountId", "Contact.AccountId", "Opportunity.AccountId"},
		"contactId":     {"Lead.ConvertedContactId", "Opportunity.ContactId"},
		"opportunityId": {"Lead.ConvertedOpportunityId"},
	},
	"CampaignMemberChanged": {"campaignName": {"Campaign.Name"}},
}

// listed is where payloads list fields by their names.
var listed = map[string]*rule{
	"RecordCreated": {kinds: kindObject, others: anything, members: []ruled{objectNamed, namesIn("changedFields")}},
	"RecordUpdated": {kinds: kindObject, others: anything, members: []ruled{objectNamed, namesIn("changedFields")}},
	"ApprovalSubmitted": {
		kinds: kindObject, others: anything,
		members: []ruled{
			{"target", &rule{kinds: kindObject, others: anything, members: []ruled{objectNamed}}},
			namesIn("lockedFields"),
		},
	},
}

var objectNamed = ruled{"objectName", &rule{kinds: kindString, note: noteObject}}

func namesIn(member string) ruled {
	return ruled{member, &rule{kinds: kindArray, items: anything, note: noteValues}}
}

// Hide takes hidden fields out of an event that is only looked at: the values that Strip
// takes, their names, and members that the schema asks for, so that it cannot be published
// any more. The payload must be one that CheckReceived accepts.
func (e *Event) Hide(hidden func(object, field string) bool) {
	e.Strip(hidden)
	e.hideNames(hidden)
	members := carried[e.Type]
	if members == nil {
		return
	}
	kept, dropped := without(e.Payload, func(name []byte) bool {
		return slices.ContainsFunc(members[string(name)], func(key string) bool {
			object, field, _ := strings.Cut(key, ".")
			return hidden(object, field)
		})
	})
	if dropped {
		e.Payload = kept
	}
}

// hideNames takes hidden fields out of the list that the payload has of them.
func (e *Event) hideNames(hidden func(object, field string) bool) {
	r := listed[e.Type]
	if r == nil {
		return
	}
	var w walker
	var names []string
	if w.walk(e.Payload, r, 1) != nil || json.Unmarshal(w.noted(noteValues), &names) != nil {
		return
	}
	at, object, all := w.notes[noteValues], string(w.inside(noteObject)), len(names)
	names = slices.DeleteFunc(names, func(name string) bool {
		return hidden(object, name) ||
			hidden(object, canonical.NFC(name))
	})
	if len(names) == all {
		return
	}
	kept, err := json.Marshal(names)
	if err != nil {
		return
	}
	payload := append(slices.Clone(e.Payload[:at.from]), kept...)
	e.Payload = append(payload, e.Payload[at.to:]...)
}

// without copies an object, which was read before, without some of its members.
func without(object []byte, drop func(name []byte) bool) (kept []byte, dropped bool) {
	if object == nil {
		return nil, false
	}
	w := walker{Scanner: canonical.Scanner{In: object}}
	kept = append(kept, '{')
	for more := w.enter('}'); more; {
		from := w.Pos
		name, err := w.name()
		if err == nil {
			err = w.value(anything, 0)
		}
		to := w.Pos
		if err == nil {
			more, err = w.comma('}', "")
		}
		switch {
		case err != nil:
			return nil, false
		case drop(name):
			dropped = true
			continue
		case len(kept) > 1:
			kept = append(kept, ',')
		}
		kept = append(kept, object[from:to]...)
	}
	return append(kept, '}'), dropped
}
