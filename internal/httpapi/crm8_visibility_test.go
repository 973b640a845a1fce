package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// The people of these tests: Ann loses access, Ben owns what she sees, Vic decides.
const (
	annID, benID, vicID = "0199c1a4-0000-7000-8000-0000000000a1", "0199c1a4-0000-7000-8000-0000000000b1",
		"0199c1a4-0000-7000-8000-0000000000d1"
	allSet, vicSet      = "0199c1a4-0000-7000-8000-0000000000c1", "0199c1a4-0000-7000-8000-0000000000c2"
	topRole, lowRole    = "0199c1a4-0000-7000-8000-000000000001", "0199c1a4-0000-7000-8000-000000000002"
	deskQueue, westArea = "0199c1a4-0000-7000-8000-000000000031", "0199c1a4-0000-7000-8000-000000000071"
)

// newOffice is a server with these people, an account, and an opportunity of Ben that was
// submitted for approval and that every service knows of.
func newOffice(t *testing.T) (s *server, account, deal, approval string) {
	t.Helper()
	s = newServer(t)
	s.define("roles/"+topRole, `{"name":"Top"}`)
	s.define("roles/"+lowRole, `{"name":"Low","parentRoleId":"`+topRole+`"}`)
	s.define("objects/Opportunity/fields/Secret__c", `{"label":"Secret","type":"text"}`)
	s.define("permission-sets/"+allSet,
		`{"name":"All","objects":{"Opportunity":{"read":true,"update":true},"Account":{"read":true}}}`)
	s.define("permission-sets/"+vicSet,
		`{"name":"Secrets","fields":{"Opportunity.Amount":{"read":true},"Opportunity.Secret__c":{"read":true}}}`)
	s.define("users/"+annID, `{"name":"Ann","permissionSetIds":["`+allSet+`"]}`)
	s.define("users/"+benID, `{"name":"Ben","roleId":"`+lowRole+`","permissionSetIds":["`+allSet+`"]}`)
	s.define("users/"+vicID, `{"name":"Vic","permissionSetIds":["`+allSet+`","`+vicSet+`"]}`)
	s.define("groups/"+deskQueue, `{"name":"Desk","type":"queue","members":[{"type":"User","id":"`+annID+`"}]}`)
	s.define(
		"approval-processes/0199c1a4-0000-7000-8000-000000000061",
		`{"name":"Deals","object":"Opportunity","lockedFields":["Amount","Secret__c"],"steps":[{"name":"Vic",`+
			`"approvers":[{"type":"User","id":"`+vicID+`"}]}]}`,
	)
	s.want(http.StatusCreated, "PUT", "/sharing/territories/"+westArea, `{"name":"West","access":"Read"}`)
	s.want(http.StatusNoContent, "PUT", "/sharing/territories/"+westArea+"/users/"+annID, "")
	account = s.want(http.StatusCreated, "POST", "/records/Account", `{"ownerId":"`+benID+
		`","fields":{"Name":"Initech"}}`).text("id")
	deal = s.want(http.StatusCreated, "POST", "/records/Opportunity", `{"ownerId":"`+benID+
		`","fields":{"Name":"Webinar","StageName":"Negotiation","CloseDate":"2026-02-28","Amount":987654,
		"Secret__c":"planted","AccountId":"`+account+`"}}`).text("id")
	approval = s.want(http.StatusCreated, "POST", "/approvals", `{"object":"Opportunity","recordId":"`+deal+`"}`).
		text(
			"id")
	s.handOut()
	s.index()
	s.count()
	return s, account, deal, approval
}

// surfaces are where Ann might come across the opportunity: what each shows of it.
func surfaces(s *server, deal, approval string) map[string]bool {
	s.t.Helper()
	ask := func(path string) string { s.t.Helper(); return string(s.get(path, "X-User-Id", annID).is(200).body) }
	lines := func(path string) int { return strings.Count(ask(path), "\r\n") - 1 }
	return map[string]bool{
		"search":                   strings.Contains(ask("/search?q=webinar"), deal),
		"the pipeline":             !strings.Contains(ask("/reports/pipeline"), `"rows":[]`),
		"the report of approvals":  !strings.Contains(ask("/reports/approvals"), `"rows":[]`),
		"the list of approvals":    strings.Contains(ask("/approvals"), approval),
		"the approval":             s.get("/approvals/"+approval, "X-User-Id", annID).status == http.StatusOK,
		"the pipeline as CSV":      lines("/reports/pipeline?format=csv&groupBy=owner") > 0,
		"the forecast as CSV":      lines("/reports/forecast?format=csv&groupBy=month") > 0,
		"approvals as CSV":         lines("/reports/approvals?format=csv") > 0,
		"the record":               s.get("/records/Opportunity/"+deal, "X-User-Id", annID).status == http.StatusOK,
		"the list of records":      strings.Contains(ask("/records/Opportunity"), deal),
		"what waits for a caller":  strings.Contains(ask("/approvals?assigned=true"), approval),
		"the approvals of records": strings.Contains(ask("/approvals?recordId="+deal), approval),
	}
}

// TestWhoLostAccessFindsARecordNowhere gives access to somebody in every way and takes it
// away again. When sharing has taken that, and of records that got another owner reporting
// too, nothing shows the record any more: no search, report, approval or export.
func TestWhoLostAccessFindsARecordNowhere(t *testing.T) {
	s, account, deal, approval := newOffice(t)
	put := func(path, body string) func() {
		return func() {
			if r := s.do("PUT", path, body); r.status >= 300 {
				t.Fatalf("%s: %d %s", r.asked, r.status, r.body)
			}
		}
	}
	remove := func(path string) func() { return func() { s.do("DELETE", path, "").is(204) } }
	owner := func(id string) func() {
		return func() {
			s.do("PATCH", "/records/Opportunity/"+deal, `{"ownerId":"`+id+`"}`, "If-Match", "*").is(200)
			s.count()
		}
	}
	team, area := "/records/Opportunity/"+deal+"/team/"+annID, "/sharing/territories/"+westArea+"/accounts/"+account
	ann := func(more string) func() {
		return put("/metadata/users/"+annID, `{"name":"Ann","permissionSetIds":["`+allSet+`"]`+more+`}`)
	}
	for _, way := range []struct {
		name             string
		gives, takesAway func()
	}{
		{"team", put(team, `{"teamRole":"Sales Rep","accessLevel":"Read"}`), remove(team)},
		{"role", ann(`,"roleId":"` + topRole + `"`), ann("")},
		{"owner", owner(annID), owner(benID)},
		{"queue", owner(deskQueue), put("/metadata/groups/"+deskQueue, `{"name":"Desk","type":"queue","members":[]}`)},
		{"territory", func() { owner(benID)(); put(area, "")() }, remove(area)},
	} {
		for _, sees := range []bool{true, false} {
			if sees {
				way.gives()
			} else {
				way.takesAway()
			}
			s.handOut()
			for surface, shows := range surfaces(s, deal, approval) {
				if want := sees && surface != "what waits for a caller"; shows != want {
					t.Errorf("by %s: access is %v, and that %s shows it is %v", way.name, sees, surface, shows)
				}
			}
		}
	}
}

// TestAFieldThatSomebodyMayNotReadIsNowhere: who sees a record does not come across what two of
// its fields hold, wherever she looks, and does not find it by them.
func TestAFieldThatSomebodyMayNotReadIsNowhere(t *testing.T) {
	s, _, deal, approval := newOffice(t)
	s.do("PUT", "/records/Opportunity/"+deal+"/team/"+annID, `{"teamRole":"Sales Rep","accessLevel":"Read"}`).is(201)
	s.handOut()
	ask := func(user, path string) string { t.Helper(); return string(s.get(path, "X-User-Id", user).is(200).body) }
	paths := []string{
		"/search?q=webinar", "/search?q=planted", "/approvals", "/approvals/" + approval, "/reports/approvals",
		"/reports/approvals?format=csv",
		"/records/Opportunity", "/records/Opportunity/" + deal, "/records/Opportunity/" + deal + "/history",
	}
	for _, report := range []string{
		"pipeline?groupBy=owner,stage", "forecast?groupBy=owner",
		"won-lost?groupBy=owner",
	} {
		paths = append(paths, "/reports/"+report, "/reports/"+report+"&format=csv")
	}
	shown := 0
	for _, path := range paths {
		text := ask(annID, path)
		if strings.Contains(text, "987654") || strings.Contains(text, "planted") {
			t.Errorf("%s shows it: %s", path, text)
		}
		if strings.Contains(text, deal) || strings.Contains(text, "Ben") {
			shown++ // the record itself
		}
	}
	if shown < 8 {
		t.Errorf("she sees the record in %d answers only", shown)
	}
	if text := ask(annID, "/search?q=planted"); strings.TrimSpace(text) != `{"items":[]}` {
		t.Errorf("she finds it by a field that she may not read: %s", text)
	}
	s.get("/search?q=planted&field=Secret__c", "X-User-Id", annID).is(422)
	if text := ask(vicID, "/approvals/"+approval); !strings.Contains(text, "987654") {
		t.Errorf("who decides and may read the field is shown %s", text)
	}
	s.do("PUT", "/records/Opportunity/"+deal+"/team/"+vicID, `{"teamRole":"Sales Rep","accessLevel":"Read"}`).is(201)
	s.handOut()
	for path, want := range map[string]string{
		"/search?q=planted": deal, "/reports/pipeline": "987654",
		"/records/Opportunity/" + deal: "planted",
	} {
		if text := ask(vicID, path); !strings.Contains(text, want) {
			t.Errorf("who may read the fields is not shown %s by %s: %s", want, path, text)
		}
	}
}
