package httpapi_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/test/stalltest"
)

// members are the members of the payloads, as the document has them in sections 4.1 to 4.20.
var members = map[string]string{
	"RecordCreated": "objectName recordId ownerId fields changedFields recordVersion",
	"RecordUpdated": "objectName recordId ownerId changedFields fieldChanges recordVersion",
	"RecordDeleted": "objectName recordId deleted recordVersion",
	"OwnerChanged":  "objectName recordId oldOwnerId newOwnerId recordVersion",
	"StageChanged": "opportunityId accountId oldStageName newStageName oldIsClosed newIsClosed " +
		"oldIsWon newIsWon closeDate recordVersion",
	"LeadConverted":              "leadId convertedAt convertedBy accountId contactId opportunityId recordVersion",
	"ApprovalSubmitted":          "approvalInstanceId target submittedBy submittedAt lockedFields currentStageIndex",
	"ApprovalDecided":            "approvalInstanceId target decision decidedBy decidedAt comment finalStageIndex",
	"MetadataChanged":            "changeType objectName resourceId effectiveAt",
	"PermissionChanged":          "changeType subject effectiveAt",
	"SharingUpdated":             "objectName recordId shareModelVersion updatedAt",
	"RoleHierarchyChanged":       "changeType roleId roleName parentRoleId effectiveAt",
	"GroupMemberChanged":         "changeType groupId groupName groupType memberType memberId effectiveAt",
	"TeamMemberChanged":          "changeType objectName recordId userId teamRole accessLevel effectiveAt",
	"TerritoryAssignmentChanged": "changeType territoryId territoryName assignmentType assignedId effectiveAt",
	"SharingConfigChanged":       "changeType objectName oldOWD newOWD effectiveAt",
	"AutomationConfigChanged": "changeType objectName automationType automationId automationName isActive " +
		"effectiveAt",
	"ApprovalConfigChanged":   "changeType objectName processId processName isActive effectiveAt",
	"SharingRebuildCompleted": "rebuildJobId objectName scope oldVersion newVersion recordsProcessed completedAt",
	"CampaignMemberChanged": "changeType campaignId campaignName memberType memberId memberStatus hasResponded " +
		"recordVersion",
}

// published are the events behind a place of the outbox, and the place of the last one.
func (s *server) published(after int64) (batch []events.Event, last int64) {
	s.t.Helper()
	last = after
	err := s.db.Read(s.t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT id, body FROM outbox_events WHERE id > $1 ORDER BY id", after) {
			var body []byte
			if err == nil {
				err = row.Scan(&last, &body)
			}
			if err != nil {
				return err
			}
			e, err := events.ParseEvent(body)
			if err != nil {
				return err
			}
			batch = append(batch, e)
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return batch, last
}

// give lets consumers take events, those of their types.
func (s *server) give(batch []events.Event, to ...bus.Consumer) {
	s.t.Helper()
	for _, c := range to {
		err := s.db.Write(s.t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			for i := range batch {
				if !slices.Contains(c.Types, batch[i].Type) {
					continue
				}
				if err := c.Handle(ctx, tx, &batch[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			s.t.Fatalf("%s: %v", c.Name, err)
		}
	}
}

// TestEveryEventIsEmittedByItsCondition is the table of emission of the whole system: what a
// caller does, and exactly the events that follow, those of sharing too, each with exactly
// the members that the document gives its payload. What those say is in the tables of the
// services. At the end all 20 were emitted, and those services that only listen told nothing.
func TestEveryEventIsEmittedByItsCondition(t *testing.T) {
	s := newServer(t)
	const set, role, ann, group, west, rule, process = "11", "1", "21", "31", "71", "51", "61"
	ids := map[string]string{}
	for _, n := range []string{set, role, ann, group, west, rule, process} {
		ids[n] = "0199c1a4-0000-7000-8000-0000000000" + n
		if len(n) == 1 {
			ids[n] = "0199c1a4-0000-7000-8000-00000000000" + n
		}
	}
	seen, place := map[string]bool{}, int64(0)
	step := func(want, method, path, body string, header ...string) reply {
		t.Helper()
		for name, id := range ids {
			path, body = strings.ReplaceAll(path, "{"+name+"}", id), strings.ReplaceAll(body, "{"+name+"}", id)
		}
		r := s.do(method, path, body, header...)
		if r.status >= 300 {
			t.Fatalf("%s: %d %s", r.asked, r.status, r.body)
		}
		var got []string
		for fresh := 1; fresh > 0; { // until sharing has nothing more to say
			var batch []events.Event
			batch, place = s.published(place)
			fresh = len(batch)
			for i := range batch {
				got = append(got, batch[i].Type)
				seen[batch[i].Type] = true
				var payload map[string]jsontext.Value
				if err := json.Unmarshal(batch[i].Payload, &payload); err != nil {
					t.Fatal(err)
				}
				names := strings.Fields(members[batch[i].Type])
				if has := slices.Sorted(maps.Keys(payload)); !slices.Equal(has, slices.Sorted(slices.Values(names))) {
					t.Errorf("%s has the members %v, the document %v", batch[i].Type, has, names)
				}
			}
			s.give(batch, s.sharing.Consumer())
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s told %q, want %q", r.asked, text, want)
		}
		return r
	}
	step("RoleHierarchyChanged", "PUT", "/metadata/roles/{1}", `{"name":"Sales"}`)
	step("PermissionChanged", "PUT", "/metadata/permission-sets/{11}",
		`{"name":"All","objects":{"Opportunity":{"read":true}}}`)
	step("PermissionChanged", "PUT", "/metadata/users/{21}",
		`{"name":"Ann","roleId":"{1}","permissionSetIds":["{11}"]}`)
	step("GroupMemberChanged", "PUT", "/metadata/groups/{31}",
		`{"name":"West","type":"public","members":[{"type":"User","id":"{21}"}]}`)
	step("MetadataChanged", "PUT", "/metadata/objects/Account/fields/Tier__c", `{"label":"Tier","type":"text"}`)
	step("AutomationConfigChanged", "PUT", "/metadata/validation-rules/{51}",
		`{"name":"VR","object":"Account","condition":"record.AnnualRevenue < 0","message":"No."}`)
	step(
		"ApprovalConfigChanged",
		"PUT",
		"/metadata/approval-processes/{61}",
		`{"name":"Deals","object":"Opportunity","lockedFields":["Amount"],"steps":[{"name":"Ann",`+
			`"approvers":[{"type":"User","id":"{21}"}]}]}`,
	)
	ids["acme"] = step("RecordCreated", "POST", "/records/Account", `{"fields":{"Name":"Acme"}}`).text("id")
	ids["deal"] = step(
		"RecordCreated",
		"POST",
		"/records/Opportunity",
		`{"fields":{"Name":"Deal","StageName":"Prospecting","CloseDate":"2026-02-28","Amount":5,"AccountId":"{acme}"}}`,
	).text("id")
	step("", "PATCH", "/records/Opportunity/{deal}", `{"fields":{"Name":"Deal"}}`, "If-Match", "*")
	step("RecordUpdated", "PATCH", "/records/Opportunity/{deal}", `{"fields":{"Name":"Deal A"}}`, "If-Match", "*")
	step("RecordUpdated OwnerChanged StageChanged SharingUpdated", "PATCH", "/records/Opportunity/{deal}",
		`{"ownerId":"{21}","fields":{"StageName":"Negotiation"}}`, "If-Match", "*")
	step("TeamMemberChanged SharingUpdated", "PUT", "/records/Account/{acme}/team/{21}",
		`{"teamRole":"Sales Rep","accessLevel":"Read"}`)
	step("TerritoryAssignmentChanged", "PUT", "/sharing/territories/{71}", `{"name":"West","access":"Read"}`)
	step("TerritoryAssignmentChanged SharingUpdated", "PUT", "/sharing/territories/{71}/accounts/{acme}", "")
	ids["spring"] = step("RecordCreated", "POST", "/records/Campaign", `{"fields":{"Name":"Spring"}}`).text("id")
	ids["li"] = step("RecordCreated", "POST", "/records/Lead",
		`{"fields":{"LastName":"Li","Company":"Initech","Status":"Working - Contacted"}}`).text("id")
	step("CampaignMemberChanged", "PUT", "/records/Campaign/{spring}/members/Lead/{li}", `{"status":"Registered"}`)
	step(
		"RecordCreated RecordCreated RecordCreated RecordUpdated LeadConverted",
		"POST",
		"/records/Lead/{li}/convert",
		`{"opportunity":{"Name":"D","StageName":"Prospecting","CloseDate":"2026-02-28"}}`,
	)
	ids["approval"] = step("ApprovalSubmitted", "POST", "/approvals",
		`{"object":"Opportunity","recordId":"{deal}"}`).text("id")
	step("ApprovalDecided", "POST", "/approvals/{approval}/decide", `{"decision":"APPROVED"}`, "X-User-Id", ids[ann])
	step("RecordDeleted", "DELETE", "/records/Opportunity/{deal}", "", "If-Match", "*")
	step("SharingConfigChanged", "PUT", "/metadata/owd/Account", `{"access":"ReadOnly"}`)

	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { s.sharing.Run(ctx); close(ended) }()
	var rebuilt []events.Event
	s.eventually(func() bool { rebuilt, _ = s.published(place); return len(rebuilt) > 0 })
	stop()
	stalltest.Within(t, "sharing ends", ended)
	step("SharingRebuildCompleted", http.MethodGet, "/sharing/models", "")
	if len(seen) != 20 || len(members) != 20 {
		t.Errorf("%d of %d events were emitted: %v", len(seen), len(members), slices.Sorted(maps.Keys(seen)))
	}
	all, last := s.published(0)
	s.give(
		all,
		s.records.Consumer(s.approval, s.automation),
		s.search.Consumer(),
		s.reports.Consumer(),
		s.approval.Consumer(),
		s.automation.Consumer(),
	)
	if more, _ := s.published(last); len(more) > 0 {
		t.Errorf("who listens told %s", fmt.Sprint(more))
	}
}
