package test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

// The acceptance conditions of section 8 of the document of the events, one test each,
// against the real program.

// deal creates an opportunity of somebody in the office.
func (o *company) deal(owner int, name string) string {
	o.t.Helper()
	var r struct{ ID string }
	o.send(http.MethodPost, "/records/Opportunity", map[string]any{
		"ownerId": officeID(20 + owner), "fields": map[string]any{
			"Name": name, "StageName": "Negotiation",
			"CloseDate": "2026-02-28", "Amount": 100,
		},
	}, &r)
	return r.ID
}

// amend changes a record, whatever its version.
func (o *company) amend(object, id string, body map[string]any) {
	o.t.Helper()
	o.send(http.MethodPatch, "/records/"+object+"/"+id, body, nil, "If-Match", "*")
}

// outboxOf are the types of the events of a record, and whether all of them are published.
func (o *company) outboxOf(object, id string) (types []string, published bool) {
	o.t.Helper()
	var box struct {
		Items []struct{ EventType, PublishedAt string }
	}
	key := object + ":00000000-0000-0000-0000-000000000000:" + id
	o.send(http.MethodGet, "/events/outbox?page_size=100&key="+url.QueryEscape(key), nil, &box)
	published = true
	for _, e := range box.Items {
		types = append(types, e.EventType)
		published = published && e.PublishedAt != ""
	}
	return types, published
}

// finds is how many records somebody finds.
func (o *company) finds(user int, q string) int {
	o.t.Helper()
	var page struct{ Items []struct{ ID string } }
	o.send(http.MethodGet, "/search?q="+url.QueryEscape(q), nil, &page, "X-User-Id", officeID(20+user))
	return len(page.Items)
}

// counts is how many open opportunities the pipeline report shows somebody.
func (o *company) counts(user int) int {
	o.t.Helper()
	var report struct{ Total struct{ Count int } }
	o.send(http.MethodGet, "/reports/pipeline", nil, &report, "X-User-Id", officeID(20+user))
	return report.Total.Count
}

// TestAcceptance1WhatIsSavedIsInTheOutboxAndIsDelivered: what was answered is published, also when the
// process dies right behind the answer; what was refused is not.
func TestAcceptance1WhatIsSavedIsInTheOutboxAndIsDelivered(t *testing.T) {
	o := newCompany(t, 21)
	id := o.deal(below, "webinar")
	o.amend("Opportunity", id, map[string]any{"ownerId": officeID(20 + beside), "fields": map[string]any{
		"StageName": "Closed Won",
	}})
	if status, text := o.ask(http.MethodPatch, "/records/Opportunity/"+id,
		map[string]any{"fields": map[string]any{"StageName": "Nothing"}}, nil, "If-Match", "*"); status != 422 {
		t.Fatalf("got %d %s", status, text)
	}
	o.killed()
	want := "[RecordCreated RecordUpdated OwnerChanged StageChanged]"
	if types, _ := o.outboxOf("Opportunity", id); fmt.Sprint(types) != want {
		t.Errorf("the outbox has %v, want %s", types, want)
	}
	eventually(t, "everything is published", settleWithin, func() bool {
		_, published := o.outboxOf("Opportunity", id)
		return published
	})
	eventually(t, "it is found", settleWithin, func() bool { return o.finds(beside, "webinar") == 1 })
	eventually(t, "the new owner is notified", settleWithin, func() bool {
		return o.total("/automation/inbox", "X-User-Id", officeID(20+beside)) == 2 // of the record and of its stage
	})
}

// TestAcceptance2ReceiversDetectDuplicatesByEventID: all events come again to everybody, of
// the outbox and of a carrier that has lost all that it had, and nothing happens.
func TestAcceptance2ReceiversDetectDuplicatesByEventID(t *testing.T) {
	o := newCompany(t, 22)
	o.put("/metadata/workflow-rules/"+officeID(51), map[string]any{
		"name": "Welcome", "object": "Opportunity", "on": []string{"create"}, "when": "after",
		"actions": []map[string]any{
			{"key": "todo", "type": "createTask", "message": "call"},
			{"key": "next", "type": "updateField", "field": "NextStep", "value": "call"},
		},
	})
	id := o.deal(below, "webinar")
	owner := []string{"X-User-Id", officeID(20 + below)}
	eventually(t, "the rule has acted", settleWithin, func() bool {
		return o.total("/automation/tasks",
			owner...) == 1
	})
	o.settle()
	o.c.kill()
	o.exec("DELETE FROM bus_applied") // nobody knows by versions what is old
	o.c = serve(t, o.at)
	for _, consumer := range services {
		if got := o.replay(consumer); got.Applied+got.Stale+got.Failed > 0 || got.Duplicate == 0 {
			t.Errorf("%s: %+v, want duplicates alone", consumer, got)
		}
	}
	before := o.place()
	o.forget()
	o.settle()
	if tasks, changes := o.total("/automation/tasks", owner...), o.total("/records/Opportunity/"+id+
		"/history"); tasks != 1 || changes != 2 || o.place() != before {
		t.Errorf("after all events came again there are %d tasks and %d changes, and others were told: %v", tasks,
			changes, o.place() != before)
	}
}

// TestAcceptance3ReceiversIgnoreOldEventsByTheirVersion: nobody remembers which events it has taken;
// those that are older than what it has taken of their record are ignored.
func TestAcceptance3ReceiversIgnoreOldEventsByTheirVersion(t *testing.T) {
	o := newCompany(t, 23)
	id := o.deal(below, "webinar")
	for _, owner := range []int{beside, boss, below} {
		o.amend("Opportunity", id, map[string]any{"ownerId": officeID(20 + owner)})
	}
	o.settle()
	o.c.kill()
	o.exec("DELETE FROM processed_events", "DELETE FROM automation_run", "DELETE FROM automation_note")
	o.c = serve(t, o.at)
	for _, consumer := range services {
		if got := o.replay(consumer); got.Applied+got.Failed > 0 || got.Stale == 0 && (consumer == "sharing" ||
			consumer == "automation" || consumer == "reporting") {
			t.Errorf("%s: %+v, want old ones alone", consumer, got)
		}
	}
	for user := range 3 {
		if n := o.total("/automation/inbox", "X-User-Id", officeID(20+user)); n > 0 {
			t.Errorf("old events notified user %d %d times", user, n)
		}
	}
	if o.finds(below, "webinar") != 1 || o.finds(beside, "webinar") != 0 || o.counts(below) != 1 ||
		o.counts(beside) != 0 {
		t.Error("what is shown is not of the newest event")
	}
}

// TestAcceptance4EveryServiceFollowsTheRecords: one change of each kind, and what each service shows
// of it.
func TestAcceptance4EveryServiceFollowsTheRecords(t *testing.T) {
	o := newCompany(t, 24)
	o.put("/metadata/approval-processes/"+officeID(80), map[string]any{
		"name": "Deals", "object": "Opportunity", "lockedFields": []string{"Amount"},
		"steps": []any{map[string]any{"name": "Boss", "approvers": []any{map[string]string{
			"type": "User",
			"id":   officeID(20 + boss),
		}}}},
	})
	id := o.deal(below, "webinar")
	var a struct{ ID string }
	o.send(http.MethodPost, "/approvals", map[string]string{"object": "Opportunity", "recordId": id}, &a)
	if status, text := o.ask(http.MethodPatch, "/records/Opportunity/"+id,
		map[string]any{"fields": map[string]any{"Amount": 1}}, nil, "If-Match", "*"); status != 409 {
		t.Errorf("Approval: the field is not locked: %d %s", status, text)
	}
	o.settle() // an approval that waits no more notifies nobody
	o.send(http.MethodPost, "/approvals/"+a.ID+"/decide", map[string]string{"decision": "APPROVED"}, nil, "X-User-Id",
		officeID(20+boss))
	o.amend("Opportunity", id, map[string]any{"fields": map[string]any{"Amount": 250}})
	o.settle()
	if o.finds(below, "webinar") != 1 || o.finds(boss, "webinar") != 1 || o.finds(beside, "webinar") != 0 {
		t.Error("Search and Sharing: others find it than the owner and who is above")
	}
	if o.counts(below) != 1 || o.counts(boss) != 1 || o.counts(beside) != 0 {
		t.Error("Reporting: others count it than the owner and who is above")
	}
	if n := o.total("/automation/inbox", "X-User-Id", officeID(20+boss)); n != 1 {
		t.Errorf("Automation: the boss was notified %d times that an approval waits", n)
	}
	o.amend("Opportunity", id, map[string]any{"ownerId": officeID(20 + beside), "fields": map[string]any{
		"StageName": "Closed Won",
	}})
	o.settle()
	if o.finds(below, "webinar") != 0 || o.finds(beside, "webinar") != 1 || o.counts(beside) != 0 {
		t.Error("another owner and stage are not what Search and Reporting show")
	}
	var report struct {
		Total struct{ Submitted, Approved int }
	}
	o.send(http.MethodGet, "/reports/approvals", nil, &report, "X-User-Id", officeID(20+beside))
	if report.Total.Submitted != 1 || report.Total.Approved != 1 {
		t.Errorf("Reporting: the approvals are %+v", report.Total)
	}
	o.consistent()
}

// TestAcceptance5DeadLettersDoNotStopTheRest: an event that cannot be taken waits for a decision,
// with what comes behind it of its record, and everything else goes on. It is driven again, or
// skipped with a reason, and both are in the audit log.
func TestAcceptance5DeadLettersDoNotStopTheRest(t *testing.T) {
	o := newCompany(t, 25)
	refuse := func(active bool) {
		o.put("/metadata/validation-rules/"+officeID(52), map[string]any{
			"name": "VR", "object": "Opportunity", "condition": `record.NextStep == "call" && record.Name != "good"`,
			"message": "No.", "isActive": active,
		})
	}
	refuse(true)
	o.put("/metadata/workflow-rules/"+officeID(51), map[string]any{ // what it does is refused
		"name": "Welcome", "object": "Opportunity", "on": []string{"create"}, "when": "after",
		"actions": []map[string]any{
			{"key": "todo", "type": "createTask", "message": "call"},
			{"key": "next", "type": "updateField", "field": "NextStep", "value": "call"},
		},
	})
	o.deal(below, "bad one")
	o.deal(below, "bad two")
	var dead struct {
		Items []struct{ DeadLetterID string }
		Total int
	}
	eventually(t, "both are dead letters", settleWithin, func() bool {
		o.send(http.MethodGet, "/events/dlq?consumer=automation", nil, &dead)
		return dead.Total == 2
	})
	for range 5 {
		o.deal(below, "good")
	}
	owner := []string{"X-User-Id", officeID(20 + below)}
	eventually(t, "the others go on", settleWithin, func() bool {
		return o.total("/automation/tasks", owner...) == 5 && o.finds(below, "good") == 5 &&
			o.finds(below, "bad") == 2 && o.counts(below) == 7
	})
	refuse(false)
	o.send(http.MethodPost, "/events/dlq/"+dead.Items[0].DeadLetterID+"/redrive",
		map[string]string{"reason": "the rule is off"}, nil, "X-Idempotency-Key", "redrive")
	o.send(http.MethodPost, "/events/dlq/"+dead.Items[1].DeadLetterID+"/skip",
		map[string]string{"reason": "it is of no use"}, nil, "X-Idempotency-Key", "skip")
	eventually(t, "the one is done and the other is not", settleWithin, func() bool {
		return o.total("/automation/tasks", owner...) == 6 && o.total("/events/dlq?status=OPEN,REDRIVING,SKIPPING") == 0
	})
	for action, subject := range map[string]string{
		"dlq.redrive": dead.Items[0].DeadLetterID,
		"dlq.skip":    dead.Items[1].DeadLetterID,
	} {
		if n := o.total("/audit?action=" + action + "&subject=" + subject); n == 0 {
			t.Errorf("%s is not in the audit log", action)
		}
	}
	o.settle()
	o.consistent()
}
