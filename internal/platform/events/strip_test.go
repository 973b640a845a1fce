package events

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

func TestStripTakesSensitiveValuesAndLeavesTheirNames(t *testing.T) {
	sensitive := map[string]bool{
		"Lead 給与": true, "Lead Card": true, "Lead がいよう": true, "Lead a\"b": true,
		"Contact Name": true,
	}
	of := func(typ, payload string) *Event { return &Event{Type: typ, Payload: []byte(payload)} }
	for _, tc := range []struct{ name, typ, payload, want string }{
		{
			"a Japanese name and nested values", "RecordCreated",
			`{"objectName":"Lead","fields":{"Name":"A","給与":{"額":[1,{"}":"\"]"}]},"Card":"4111","Age":3},` +
				`"changedFields":["Name","給与","Card","Age"]}`,
			`{"objectName":"Lead","fields":{"Name":"A","Age":3},"changedFields":["Name","給与","Card","Age"]}`,
		},
		{
			"changes", "RecordUpdated",
			`{"fieldChanges":{"Card":{"old":"4111","new":null},"Name":{"old":"A","new":"B"}},` +
				`"changedFields":["Card","Name"],"objectName":"Lead"}`,
			`{"fieldChanges":{"Name":{"old":"A","new":"B"}},"changedFields":["Card","Name"],"objectName":"Lead"}`,
		},
		{
			"all of them", "RecordCreated",
			`{"objectName":"Lead","fields":{ "Card" : 1 , "給与" : 2 },"changedFields":["Card","給与"]}`,
			`{"objectName":"Lead","fields":{},"changedFields":["Card","給与"]}`,
		},
		{
			"names that are spelled otherwise", "RecordCreated",
			`{"object\u004eame":"Le\u0061d","fi\u0065lds":{"\u0043ard":1,"か` + "\u3099" + `いよう":2,"a\"b":3,"x":4}}`,
			`{"object\u004eame":"Le\u0061d","fi\u0065lds":{"x":4}}`,
		},
		{
			"of another object", "RecordCreated", `{"objectName":"Contact","fields":{"Card":1}}`,
			`{"objectName":"Contact","fields":{"Card":1}}`,
		},
		{
			"a value that has the name inside", "RecordCreated", `{"objectName":"Lead","fields":{"x":{"Card":1}}}`,
			`{"objectName":"Lead","fields":{"x":{"Card":1}}}`,
		},
		{
			"without changes", "RecordUpdated", `{"objectName":"Lead","changedFields":["Card"]}`,
			`{"objectName":"Lead","changedFields":["Card"]}`,
		},
		{
			"many fields", "RecordCreated", `{"objectName":"Lead","fields":{` + many(100) + `"Card":1}}`,
			`{"objectName":"Lead","fields":{` + strings.TrimSuffix(many(100), ",") + `}}`,
		},
	} {
		e := of(tc.typ, tc.payload)
		before := string(e.Payload)
		original := e.Payload
		e.Strip(func(object, field string) bool { return sensitive[object+" "+field] })
		if got := string(e.Payload); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
		if string(original) != before {
			t.Errorf("%s: the payload that the caller has was changed", tc.name)
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"f` + string(rune('a'+i/26)) + string(rune('a'+i%26)) + `":0,`)
	}
	return b.String()
}

func TestStrippedEventsCanBePublished(t *testing.T) {
	for _, typ := range EventTypes() {
		e := parsed(t, golden(t, typ))
		e.Strip(func(object, field string) bool { return object == "Opportunity" && field != "Name" })
		if err := e.CheckPublished(); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
		for _, value := range []string{"Qualification", "2026-02-28", "10"} {
			if strings.HasPrefix(typ, "RecordC") && strings.Contains(string(e.Payload), `"`+value+`"`) {
				t.Errorf("%s still has %s", typ, value)
			}
		}
	}
	updated := parsed(t, golden(t, "RecordUpdated"))
	updated.Strip(func(string, string) bool { return true })
	if got := string(updated.Payload); !strings.Contains(got, `"fieldChanges":{}`) ||
		!strings.Contains(got, `"changedFields":["StageName","Probability","ForecastCategoryName"]`) {
		t.Errorf("got %s", got)
	}
}

func TestWhatCannotBeStrippedCannotBePublished(t *testing.T) {
	for _, payload := range []string{
		`{"objectName":"Lead","fields":{"Card":1},"fields":{"Card":1}}`,
		`{"objectName":"Lead","fields":{"Card":1,"Card":2}}`,
		`{"objectName":"Lead","fields":[{"Card":1}]}`,
		`{"objectName":7,"fields":{"Card":1}}`,
		`{"objectName":"Lead","fields":{"Card":1}`,
		``,
	} {
		e := parsed(t, golden(t, "RecordCreated"))
		e.Payload = []byte(payload)
		e.Strip(func(string, string) bool { return true })
		if err := e.CheckPublished(); err == nil {
			t.Errorf("%s can be published, as %s", payload, e.Payload)
		}
	}
}

func TestHideTakesMembersThatAreValuesOfHiddenFields(t *testing.T) {
	for _, tc := range []struct {
		typ, hidden string
		gone        []string
	}{
		{"StageChanged", "Opportunity.AccountId", []string{"accountId"}},
		{"StageChanged", "Opportunity.StageName", []string{"oldStageName", "newStageName"}},
		{"StageChanged", "Opportunity.IsClosed", []string{"oldIsClosed", "newIsClosed"}},
		{"StageChanged", "Opportunity.IsWon", []string{"oldIsWon", "newIsWon"}},
		{"StageChanged", "Opportunity.CloseDate", []string{"closeDate"}},
		{"StageChanged", "Lead.AccountId", nil},
		{"LeadConverted", "Lead.ConvertedDate", []string{"convertedAt"}},
		{"LeadConverted", "Lead.ConvertedAccountId", []string{"accountId"}},
		{"LeadConverted", "Contact.AccountId", []string{"accountId"}},
		{"LeadConverted", "Opportunity.AccountId", []string{"accountId"}},
		{"LeadConverted", "Lead.ConvertedContactId", []string{"contactId"}},
		{"LeadConverted", "Opportunity.ContactId", []string{"contactId"}},
		{"LeadConverted", "Lead.ConvertedOpportunityId", []string{"opportunityId"}},
		{"CampaignMemberChanged", "Campaign.Name", []string{"campaignName"}},
		{"RecordDeleted", "Opportunity.AccountId", nil},
	} {
		e := parsed(t, golden(t, tc.typ))
		before, want := string(e.Payload), members(t, e.Payload)
		original := e.Payload
		for _, name := range tc.gone {
			if _, ok := want[name]; !ok {
				t.Fatalf("%s has no %s", tc.typ, name)
			}
			delete(want, name)
		}
		e.Hide(func(object, field string) bool { return object+"."+field == tc.hidden })
		if diff := cmp.Diff(want, members(t, e.Payload)); diff != "" {
			t.Errorf("%s without %s (-want +got):\n%s", tc.typ, tc.hidden, diff)
		}
		if string(original) != before {
			t.Errorf("%s without %s: the payload that the caller has was changed", tc.typ, tc.hidden)
		}
	}
	created := parsed(t, golden(t, "RecordCreated"))
	created.Hide(func(string, string) bool { return true })
	if got := string(created.Payload); !strings.Contains(got, `"fields":{}`) {
		t.Errorf("the values of fields are still there: %s", got)
	}
	if got := string(created.Payload); !strings.Contains(got, `"changedFields":[]`) {
		t.Errorf("the names of fields are still there: %s", got)
	}
	for _, tc := range []struct{ typ, payload, want string }{
		{
			"RecordUpdated", `{"objectName":"Lead","changedFields":["Name", "\u0043ard","か` + "\u3099" +
				`いよう","Age"],"fieldChanges":{"Card":{"old":1,"new":2},"Age":{"old":1,"new":2}}}`,
			`{"objectName":"Lead","changedFields":["Name","Age"],"fieldChanges":{"Age":{"old":1,"new":2}}}`,
		},
		{
			"RecordCreated", `{"changedFields":["Card"],"objectName":"Contact","fields":{"Card":1}}`,
			`{"changedFields":["Card"],"objectName":"Contact","fields":{"Card":1}}`,
		},
		{
			"ApprovalSubmitted", `{"target":{"objectName":"Lead"},"lockedFields":["Card","Name"]}`,
			`{"target":{"objectName":"Lead"},"lockedFields":["Name"]}`,
		},
		{
			"ApprovalSubmitted", `{"target":{"objectName":"Contact"},"lockedFields":["Card"],"x":1}`,
			`{"target":{"objectName":"Contact"},"lockedFields":["Card"],"x":1}`,
		},
	} {
		e := Event{Type: tc.typ, Payload: []byte(tc.payload)}
		original := e.Payload
		e.Hide(func(object, field string) bool {
			return object == "Lead" && (field == "Card" || field == "がいよう")
		})
		if got := string(e.Payload); got != tc.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tc.typ, got, tc.want)
		}
		if string(original) != tc.payload {
			t.Errorf("%s: the payload that the caller has was changed", tc.typ)
		}
	}
	escaped := Event{Type: "StageChanged", Payload: []byte(`{"account\u0049d":"secret","closeDate":null}`)}
	escaped.Hide(func(_, field string) bool { return field == "AccountId" })
	if got := string(escaped.Payload); got != `{"closeDate":null}` {
		t.Errorf("a name that is spelled otherwise: %s", got)
	}
}

func members(t *testing.T, object []byte) (all map[string]any) {
	t.Helper()
	if err := json.Unmarshal(object, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
