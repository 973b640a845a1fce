package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// goneWithin is how long somebody who lost access may come across a record once sharing knows.
const goneWithin = time.Second

// looker is an office in which one, beside the others, is given access and loses it.
type looker struct {
	*company
	stalls            *stalltest.Watch
	records           []held // all are found by "lantern"
	campaign, pending string // the campaign, and an approval of the first record
	looks             []glimpse
}

// held is a record that somebody may see or not.
type held struct{ object, id string }

// A glimpse is one request that may show something of the records.
type glimpse struct {
	path  string
	shows func(status int, text []byte) bool
}

// The people and definitions of this office, beside those of all offices.
var (
	annID   = officeID(20 + beside)
	ownerID = officeID(20 + below)
	clearID = officeID(4)  // the permission set that shows two fields
	queueID = officeID(31) // a queue
	groupID = officeID(32) // a group that rules give access to
)

// shared are the objects whose records are given and taken away.
var shared = []string{"Opportunity", "Lead", "Campaign"}

// newLooker starts the office, with records that every surface would show.
func newLooker(t *testing.T) *looker {
	t.Helper()
	v := &looker{company: newCompany(t, 31)}
	v.put("/metadata/objects/Opportunity/fields/Secret__c", map[string]any{"label": "Secret", "type": "text"})
	v.put("/metadata/groups/"+queueID, v.group("Queue", "queue"))
	v.put("/metadata/groups/"+groupID, v.group("Group", "public"))
	v.put("/metadata/approval-processes/"+officeID(61), map[string]any{
		"name": "Deals", "object": "Opportunity", "lockedFields": []string{"Amount", "Secret__c"},
		"steps": []map[string]any{{"name": "Boss", "approvers": []map[string]string{
			{"type": "User", "id": officeID(20 + boss)},
		}}},
	})
	v.campaign = v.create("Campaign", map[string]any{"Name": "Lantern campaign"})
	open := v.create("Opportunity", map[string]any{
		"Name": "Lantern deal", "StageName": "Negotiation", "CloseDate": "2026-02-28", "Amount": 987654,
		"Secret__c": "planted", "CampaignId": v.campaign,
	})
	won := v.create("Opportunity", map[string]any{
		"Name": "Lantern won", "StageName": "Closed Won",
		"CloseDate": "2026-02-28", "Amount": 987654, "Secret__c": "planted",
	})
	lead := v.create("Lead", map[string]any{"LastName": "Lantern", "Company": "Acme", "Status": "Working - Contacted"})
	v.put("/records/Campaign/"+v.campaign+"/members/Lead/"+lead, map[string]any{})
	var submitted struct{ ID string }
	v.send(http.MethodPost, "/approvals", map[string]string{"object": "Opportunity", "recordId": open}, &submitted)
	v.pending = submitted.ID
	v.records = []held{{"Opportunity", open}, {"Opportunity", won}, {"Lead", lead}, {"Campaign", v.campaign}}
	v.looks = v.everywhere()
	return v
}

func (v *looker) create(object string, fields map[string]any) string {
	v.t.Helper()
	var r struct{ ID string }
	v.send(http.MethodPost, "/records/"+object, map[string]any{"ownerId": ownerID, "fields": fields}, &r)
	return r.ID
}

// everywhere is every kind of place where records could be come across. Reports come first:
// they follow events, as sharing does.
func (v *looker) everywhere() (all []glimpse) {
	for _, report := range []struct{ name, by string }{
		{"pipeline", "&groupBy=owner"},
		{"forecast", "&groupBy=owner"},
		{"won-lost", "&groupBy=owner"},
		{"lead-conversion", "&groupBy=owner"},
		{"campaigns", ""},
		{"approvals", "&groupBy=submitter"},
	} {
		all = append(all, glimpse{"/reports/" + report.name, counted}, glimpse{"/reports/" + report.name +
			"?format=csv" + report.by, printed})
	}
	for _, r := range v.records {
		all = append(all, glimpse{"/records/" + r.object + "/" + r.id, opened})
	}
	for _, object := range shared {
		all = append(all, glimpse{"/records/" + object, listed}, glimpse{"/records/" + object +
			"?Name.contains=lantern&sort=Name.desc", listed})
	}
	open := v.records[0].id
	return append(
		all, glimpse{"/records/Opportunity/" + open + "/history", opened}, glimpse{"/records/Opportunity/" + open +
			"/team", opened},
		glimpse{"/records/Campaign/" + v.campaign + "/members", opened}, glimpse{
			"/sharing/Opportunity/" + open,
			opened,
		},
		glimpse{"/search?q=lantern", listed}, glimpse{"/search?q=lantern&object=Lead&field=Name", listed},
		glimpse{"/search?q=lantern&campaignId=" + v.campaign, opened},
		glimpse{"/approvals", listed}, glimpse{"/approvals?object=Opportunity&status=PENDING", listed},
		glimpse{"/approvals?recordId=" + open, listed},
		glimpse{"/approvals/" + v.pending, opened},
	)
}

// opened is how a record itself is shown.
func opened(status int, _ []byte) bool { return status < 300 }

// listed is how a page shows something.
func listed(status int, text []byte) bool {
	var page struct {
		Items []any
		Total int
	}
	return status < 300 && (json.Unmarshal(text, &page) != nil || len(page.Items) > 0 || page.Total > 0)
}

// counted is how a report shows something: in a row, or in its total.
func counted(status int, text []byte) bool {
	var report struct {
		Rows  []any
		Total map[string]*float64
	}
	if status >= 300 {
		return false
	}
	shown := json.Unmarshal(text, &report) != nil || len(report.Rows) > 0
	for _, n := range report.Total {
		shown = shown || n != nil && *n != 0
	}
	return shown
}

// printed is how a report in CSV shows something: in a line behind the names.
func printed(status int, text []byte) bool {
	return status < 300 && strings.Count(string(text), "\n") > 1
}

// shown says whether a glimpse shows something to Ann.
func (v *looker) shown(at glimpse) (bool, string) {
	v.t.Helper()
	status, text := v.ask(http.MethodGet, at.path, nil, nil, "X-User-Id", annID)
	return at.shows(status, text), string(text)
}

// sees waits until Ann comes across the records wherever she looks.
func (v *looker) sees(way string) {
	v.t.Helper()
	for _, at := range v.looks {
		eventually(v.t, "by "+way+" "+at.path+" shows a record", settleWithin, func() bool {
			shown, _ := v.shown(at)
			return shown
		})
	}
}

// knows waits until sharing says of every record that Ann has no access.
func (v *looker) knows(way string) {
	v.t.Helper()
	for _, r := range v.records {
		eventually(v.t, "by "+way+" sharing takes access to "+r.object+" away", settleWithin, func() bool {
			var why struct{ Access []struct{ Access string } }
			v.send(http.MethodGet, "/sharing/"+r.object+"/"+r.id+"?userId="+annID, nil, &why)
			return len(why.Access) == 1 && why.Access[0].Access == "None"
		})
	}
}

// gone expects that Ann comes across the records nowhere, soon after a moment, and then stays
// without them. What was asked in time may show them still.
func (v *looker) gone(way string, since time.Time) (slowest time.Duration) {
	v.t.Helper()
	for _, at := range v.looks {
		for {
			asked := time.Now()
			shown, text := v.shown(at)
			late := v.stalls.Between(since, asked)
			if !shown {
				break
			}
			if slowest = max(slowest, late); late > goneWithin {
				v.t.Errorf("by %s: %v after sharing has taken access away %s still shows %s", way, late, at.path, text)
				break
			}
			pause(5 * time.Millisecond)
		}
	}
	for _, at := range v.looks {
		if !strings.HasPrefix(at.path, "/reports/") {
			break // it is not by events that these follow
		}
		if shown, text := v.shown(at); shown {
			v.t.Errorf("by %s: %s shows a record again: %s", way, at.path, text)
		}
	}
	return slowest
}

func (v *looker) group(name, kind string, members ...string) map[string]any {
	all := []map[string]string{}
	for _, id := range members {
		all = append(all, map[string]string{"type": "User", "id": id})
	}
	return map[string]any{"name": name, "type": kind, "members": all}
}

// own gives all records to somebody.
func (v *looker) own(owner string) {
	v.t.Helper()
	for _, r := range v.records {
		v.amend(r.object, r.id, map[string]any{"ownerId": owner})
	}
}

// ann defines her, in a role or in none, with some permission sets.
func (v *looker) ann(role string, sets ...string) {
	v.t.Helper()
	u := map[string]any{"name": "Ann", "permissionSetIds": append([]string{}, sets...), "isActive": true}
	if role != "" {
		u["roleId"] = role
	}
	v.put("/metadata/users/"+annID, u)
}

// rules lets the records of the owner's role be shared with somebody, or no longer ("").
func (v *looker) rules(kind, id string) {
	v.t.Helper()
	for i, object := range shared {
		path := "/metadata/sharing-rules/" + officeID(41+i)
		if kind == "" {
			v.send(http.MethodDelete, path, nil, nil)
			continue
		}
		v.put(path, map[string]any{
			"name": "of " + object, "object": object, "kind": "owner", "source": map[string]string{
				"type": "Role",
				"id":   officeID(2),
			},
			"target": map[string]string{"type": kind, "id": id}, "access": "Read",
		})
	}
}

func (v *looker) defaults(access string) {
	v.t.Helper()
	for _, object := range shared {
		v.put("/metadata/owd/"+object, map[string]string{"access": access})
	}
}

// TestWhoLostAccessFindsNothingWithinASecond gives somebody access to records and takes it away,
// one way after another. From when sharing says that she has none it takes less than a second
// until no search, report, export, list or approval shows anything of them.
func TestWhoLostAccessFindsNothingWithinASecond(t *testing.T) {
	tier.System(t)
	v := newLooker(t)
	v.stalls = stalltest.New(t)
	all := officeID(3)
	for _, way := range []struct {
		name         string
		gives, takes func()
		after        func() // puts back what the next ways build on
		atOnce       bool   // sharing has no part in it
	}{
		{name: "owner", gives: func() { v.own(annID) }, takes: func() { v.own(ownerID) }},
		{
			name:  "queue",
			gives: func() { v.put("/metadata/groups/"+queueID, v.group("Queue", "queue", annID)); v.own(queueID) },
			takes: func() { v.put("/metadata/groups/"+queueID, v.group("Queue", "queue")) },
			after: func() { v.own(ownerID) },
		},
		{name: "rule", gives: func() { v.rules("User", annID) }, takes: func() { v.rules("", "") }},
		{
			name: "group",
			gives: func() {
				v.put("/metadata/groups/"+groupID, v.group("Group", "public", annID))
				v.rules("Group", groupID)
			},
			takes: func() { v.put("/metadata/groups/"+groupID, v.group("Group", "public")) },
			after: func() { v.rules("", "") },
		},
		{name: "default", gives: func() { v.defaults("ReadOnly") }, takes: func() { v.defaults("Private") }},
		{name: "role", gives: func() { v.ann(officeID(1), all) }, takes: func() { v.ann("", all) }},
		{
			name: "permission set", gives: func() { v.ann(officeID(1), all) }, takes: func() { v.ann(officeID(1)) },
			atOnce: true,
		},
	} {
		way.gives()
		v.sees(way.name)
		way.takes()
		if !way.atOnce {
			v.knows(way.name)
		}
		slowest := v.gone(way.name, time.Now())
		t.Logf("by %s: shown for %v longer", way.name, slowest)
		if way.after != nil {
			way.after()
		}
	}
}

// TestAFieldThatWasTakenAwayIsShownNowhere lets somebody read two fields of a record that she goes on
// to see, and takes the permission set away that shows them. From the answer on nothing
// shows them: neither what she reads, nor what she finds, counts, filters or sorts by.
func TestAFieldThatWasTakenAwayIsShownNowhere(t *testing.T) {
	v := newLooker(t)
	all, open := officeID(3), v.records[0].id
	field := map[string]bool{"read": true, "edit": false}
	v.put("/metadata/permission-sets/"+clearID, map[string]any{"name": "clear", "fields": map[string]any{
		"Opportunity.Amount": field, "Opportunity.Secret__c": field,
	}})
	v.ann(officeID(1), all, clearID)
	v.sees("role")
	eventually(t, "she finds it by the field", settleWithin,
		func() bool { shown, _ := v.shown(glimpse{"/search?q=planted", listed}); return shown })
	paths := []string{
		"/search?q=planted", "/search?q=lantern+planted", "/automation/inbox", "/automation/runs",
		"/events/outbox?page_size=100", "/audit", "/audit/export", "/executions",
	}
	for _, at := range v.looks {
		paths = append(paths, at.path)
	}
	tells := func(path string) (bool, string) {
		t.Helper()
		status, text := v.ask(http.MethodGet, path, nil, nil, "X-User-Id", annID)
		if status >= 300 {
			t.Errorf("%s: %d %s", path, status, text)
		}
		return strings.Contains(string(text), "planted") || strings.Contains(string(text), "987654") ||
			strings.Contains(string(text), fmt.Sprint(2*987654)), string(text)
	}
	shown := 0
	for _, path := range paths {
		if yes, _ := tells(path); yes {
			shown++
		}
	}
	if shown < 9 {
		t.Errorf("who may read the fields is shown them by %d answers only", shown)
	}
	v.ann(officeID(1), all)
	for _, path := range paths {
		if yes, text := tells(path); yes {
			t.Errorf("%s shows a field that she may not read any more: %s", path, text)
		}
	}
	for path, want := range map[string]int{
		"/records/Opportunity?Secret__c=planted": 422, "/records/Opportunity?Amount.gt=1": 422,
		"/records/Opportunity?sort=Amount.asc": 422,
		"/search?q=planted&field=Secret__c":    422,
	} {
		if status, text := v.ask(http.MethodGet, path, nil, nil, "X-User-Id", annID); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if shown, text := v.shown(glimpse{"/search?q=planted", listed}); shown {
		t.Errorf("she finds it by a field that she may not read: %s", text)
	}
	for name, body := range map[string]any{
		"a change":                              map[string]any{"fields": map[string]any{"NextStep": "call"}},
		"a change that is refused":              map[string]any{"fields": map[string]any{"StageName": "Nothing"}},
		"a change of what is locked and hidden": map[string]any{"fields": map[string]any{"Secret__c": "other"}},
	} {
		status, text := v.ask(http.MethodPatch, "/records/Opportunity/"+open, body, nil, "X-User-Id", annID, "If-Match",
			"*")
		if strings.Contains(string(text), "planted") || strings.Contains(string(text), "987654") ||
			(status < 300) != (name == "a change") {
			t.Errorf("the answer to %s: %d %s", name, status, text)
		}
	}
}
