package httpapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// TestWhatAFieldKeepsFromSomebodyIsNowhereForHer plants a word in a field that somebody may
// not read and in a sensitive one, and looks for it in everything that she can ask for.
func TestWhatAFieldKeepsFromSomebodyIsNowhereForHer(t *testing.T) {
	const (
		secret                    = "plaNTed"
		ann, ben, sales, insiders = "0199c1a4-0000-7000-8000-0000000000a1", "0199c1a4-0000-7000-8000-0000000000b1",
			"0199c1a4-0000-7000-8000-0000000000c1", "0199c1a4-0000-7000-8000-0000000000c2"
	)
	s := newServerWith(t, options{consumers: []bus.Consumer{{Name: "search"}}})
	put := func(path, body string) {
		t.Helper()
		s.do("PUT", "/metadata/"+path, body).is(201)
	}
	put("objects/Account/fields/Hidden__c", `{"label":"Hidden","type":"text"}`)
	put("objects/Account/fields/Secret__c", `{"label":"Secret","type":"text","sensitive":true}`)
	put("permission-sets/"+sales,
		`{"name":"Sales","objects":{"Account":{"create":true,"read":true,"update":true,"delete":true}}}`)
	put(
		"permission-sets/"+insiders,
		`{"name":"Insiders","fields":{"Account.Hidden__c":{"read":true,"edit":true},`+
			`"Account.Secret__c":{"read":true,"edit":true}}}`,
	)
	put("users/"+ann, `{"name":"Ann","permissionSetIds":["`+sales+`"]}`)
	put("users/"+ben, `{"name":"Ben","permissionSetIds":["`+sales+`","`+insiders+`"]}`)
	asBen := []string{"X-User-Id", ben}
	made := s.do("POST", "/records/Account",
		fmt.Sprintf(`{"ownerId":%q,"fields":{"Name":"Acme","Hidden__c":"%s 1","Secret__c":"%[2]s 1"}}`, ann, secret),
		asBen...).is(201)
	id := made.text("id")
	path := "/records/Account/" + id
	s.mail.Fail("Account:" + own + ":" + id) // its next events are dead letters
	for n := 2; n <= 3; n++ {
		s.do("PATCH", path, fmt.Sprintf(`{"fields":{"Hidden__c":"%s %d","Secret__c":"%[1]s %[2]d"}}`, secret, n),
			"If-Match", "*").is(200)
	}
	letter := ""
	s.eventually(func() bool {
		page, total, err := s.bus.DeadLetters(context.Background(), own, bus.DeadFilter{}, 0, 10)
		if err != nil || total == 0 {
			return false
		}
		letter = page[0].ID
		return true
	})
	asks := []struct{ method, path, body string }{
		{"GET", path, ""},
		{"GET", "/records/Account", ""},
		{"GET", "/records/Account?Name.contains=Acme&sort=Name.asc", ""},
		{"GET", "/records/Account?Hidden__c.contains=" + secret, ""},
		{"GET", "/records/Account?Hidden__c.gt=plaNTec", ""},
		{"GET", "/records/Account?sort=Secret__c.desc", ""},
		{"GET", path + "/history", ""},
		{"GET", path + "/team", ""},
		{"GET", "/metadata/describe/Account", ""},
		{"GET", "/sharing/Account/" + id, ""},
		{"GET", "/events/stream?lastEventId=0&eventType=RecordCreated", ""},
		{"GET", "/events/stream?lastEventId=0&eventType=RecordUpdated", ""},
		{"GET", "/events/outbox?after=0", ""},
		{"GET", "/events/dlq", ""},
		{"GET", "/events/dlq/" + letter, ""},
		{"GET", "/audit", ""},
		{"GET", "/audit/export", ""},
		{"PATCH", path, `{"fields":{"Hidden__c":"guess"}}`},
		{"PATCH", path, `{"recordVersion":"2026-01-10T12:34:56.789Z","fields":{"Name":"Stale"}}`},
		{"PATCH", path, `{"fields":{"Name":"Renamed"}}`},
		{"POST", "/records/Account/bulk", `{"operations":[{"op":"update","id":"` + id +
			`","fields":{"Secret__c":"guess"}},{"op":"update","id":"` + id + `","fields":{"Name":"Again"}}]}`},
	}
	answered := map[int]int{}
	for _, ask := range asks {
		header := []string{"X-User-Id", ann}
		if ask.method == "PATCH" && !strings.Contains(ask.body, "recordVersion") {
			header = append(header, "If-Match", "*")
		}
		var r reply
		if strings.HasPrefix(ask.path, "/events/stream") {
			r = s.frames(2, ask.path, header...).is(200)
		} else {
			r = s.do(ask.method, ask.path, ask.body, header...)
		}
		answered[r.status]++
		if text := string(r.body); strings.Contains(text, secret) && !strings.Contains(ask.path, secret) {
			t.Errorf("%s %s shows it: %s", r.asked, ask.body, text)
		} else if strings.Contains(text, "Hidden__c") && !strings.Contains(ask.path+ask.body, "Hidden__c") &&
			!strings.HasPrefix(ask.path, "/audit") { // which shows definitions
			t.Errorf("%s %s names the field: %s", r.asked, ask.body, text)
		}
	}
	if answered[200] < 14 || answered[422] != 4 || answered[412] != 1 {
		t.Errorf("answers by status: %v", answered)
	}
	if shown := s.get(path).is(200); strings.Count(string(shown.body), secret+" 3") != 2 {
		t.Errorf("who may read it sees %s", shown.body)
	}
}

// TestEventsDoNotNameWhatIsGivenToSomeOnly looks at events whose payloads have values of
// fields as members of their own.
func TestEventsDoNotNameWhatIsGivenToSomeOnly(t *testing.T) {
	const insiders = "0199c1a4-0000-7000-8000-0000000000c2"
	s := newServerWith(t, options{consumers: []bus.Consumer{{Name: "search"}}})
	account := s.do("POST", "/records/Account", `{"fields":{"Name":"Acme"}}`).is(201).text("id")
	deal := s.do("POST", "/records/Opportunity",
		`{"fields":{"Name":"Deal","StageName":"Prospecting","CloseDate":"2026-02-28","AccountId":"`+account+`"}}`).is(
		201).text("id")
	lead := s.do("POST", "/records/Lead",
		`{"fields":{"LastName":"Li","Company":"Acme","Status":"Open - Not Contacted"}}`).is(201).text("id")
	s.do("PATCH", "/records/Opportunity/"+deal, `{"fields":{"StageName":"Closed Won"}}`, "If-Match", "*").is(200)
	s.do("POST", "/records/Lead/"+lead+"/convert", `{"accountId":"`+account+`"}`).is(200)
	id := uid(0x41)
	payload, err := events.NewPayload(events.StageChanged{
		OpportunityID: id, AccountID: events.OrNull(account), OldStageName: "A", NewStageName: "B", NewIsWon: true,
		CloseDate: "2026-02-28", RecordVersion: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	letter := s.deadLetter("search", events.Event{
		ID: uid(0x42), Type: "StageChanged", Tenant: own, CorrelationID: uid(0x43), Key: events.RecordKey("Opportunity",
			own, id), Version: 1, Payload: payload,
	})[0]
	shown := func(eventType string) string {
		return string(s.frames(2, "/events/stream?lastEventId=0&eventType="+eventType).is(200).body)
	}
	has := func(text string, names ...string) {
		t.Helper()
		for _, name := range names {
			if !strings.Contains(text, `"`+name+`":`) {
				t.Errorf("%s is not in %s", name, text)
			}
		}
	}
	has(shown("StageChanged"), "accountId", "newIsWon", "newStageName")
	has(shown("LeadConverted"), "accountId", "contactId", "leadId")
	has(string(s.get("/events/dlq/"+letter).is(200).body), "accountId", "newIsWon")
	s.do(
		"PUT",
		"/metadata/permission-sets/"+insiders,
		`{"name":"Insiders","fields":{"Opportunity.AccountId":{"read":true},"Opportunity.IsWon":{"read":true},`+
			`"Lead.ConvertedContactId":{"read":true}}}`,
	).is(201)
	staged, converted, dead := shown("StageChanged"), shown("LeadConverted"),
		string(s.get("/events/dlq/"+letter).is(200).body)
	has(staged, "newStageName", "newIsClosed")
	has(dead, "newStageName", "newIsClosed")
	has(converted, "leadId", "opportunityId")
	for _, text := range []string{staged, converted, dead} {
		for _, hidden := range []string{account, "accountId", "newIsWon", "oldIsWon", "contactId"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%s is shown: %s", hidden, text)
			}
		}
	}
	var body []byte
	if err := s.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT body FROM outbox_events WHERE event_id = $1", uid(0x42)).Scan(&body)
	}); err != nil || !strings.Contains(string(body), account) {
		t.Errorf("what consumers get is %s, %v", body, err)
	}
}
