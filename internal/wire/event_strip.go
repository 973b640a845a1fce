package wire

import (
	"slices"
	"strings"
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

// Strip takes the values of sensitive fields out of the payload; their names stay in
// changedFields. A field is asked for by its name as it is written and in NFC. The
// payload that it had is not changed but replaced. A payload that CheckPublished would
// refuse may stay as it is.
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
		return sensitive(object, string(name)) || sensitive(object, string(nfc(name)))
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

// Hide takes the values of hidden fields out of an event that is only looked at: what Strip
// does, and also members that its schema asks for, so that it cannot be published any more.
// The payload must be one that CheckReceived accepts.
func (e *Event) Hide(hidden func(object, field string) bool) {
	e.Strip(hidden)
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

// without copies an object, which was read before, without some of its members.
func without(object []byte, drop func(name []byte) bool) (kept []byte, dropped bool) {
	if object == nil {
		return nil, false
	}
	w := walker{scanner: scanner{in: object}}
	kept = append(kept, '{')
	for more := w.enter('}'); more; {
		from := w.pos
		name, err := w.name()
		if err == nil {
			err = w.value(anything, 0)
		}
		to := w.pos
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
