package approval

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
)

// TestAnApprovalEmitsExactlyTheEventsOfTheDocument holds 4.7 and 4.8: when they are
// emitted, and every member of their payloads.
func TestAnApprovalEmitsExactlyTheEventsOfTheDocument(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers)), step("VP", model.ByAny, ofUser(vic))))
		names := map[string]string{sal: "SAL", mia: "MIA", vic: "VIC", tenantA: "A"}
		golden := func(want string) {
			t.Helper()
			got := r.outbox()
			for id, name := range names {
				got = strings.ReplaceAll(got, id, name)
			}
			if diff := cmp.Diff(strings.ReplaceAll(strings.TrimLeft(want, "\n"), ",\n    ", ","), got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		}
		quote := r.quote(`"Subtotal":100,"DiscountPercent":10`)
		v := r.submit(quote)
		names[quote], names[v.ID] = "QUOTE", "APPROVAL"
		golden(`
ApprovalSubmitted Approval:A:APPROVAL 2026-01-10T14:00:00.000Z
  {"approvalInstanceId":"APPROVAL","target":{"objectName":"Quote","recordId":"QUOTE"},"submittedBy":"SAL",
    "submittedAt":"2026-01-10T14:00:00.000Z","lockedFields":["DiscountPercent","GrandTotal"],
    "currentStageIndex":0}
`)
		r.at("2026-01-10T14:30:00.000Z")
		r.decide(mia, v.ID, Approved)
		golden("\n") // stages between publish nothing
		r.at("2026-01-10T15:00:00.000Z")
		r.decide(vic, v.ID, Approved)
		golden(`
ApprovalDecided Approval:A:APPROVAL 2026-01-10T15:00:00.000Z
  {"approvalInstanceId":"APPROVAL","target":{"objectName":"Quote","recordId":"QUOTE"},"decision":"APPROVED",
    "decidedBy":"VIC","decidedAt":"2026-01-10T15:00:00.000Z","comment":"by APPROVED","finalStageIndex":1}
`)
		again := r.submit(quote) // in the same millisecond
		names[again.ID] = "SECOND"
		r.decide(mia, again.ID, Rejected)
		golden(`
ApprovalSubmitted Approval:A:SECOND 2026-01-10T15:00:00.000Z
  {"approvalInstanceId":"SECOND","target":{"objectName":"Quote","recordId":"QUOTE"},"submittedBy":"SAL",
    "submittedAt":"2026-01-10T15:00:00.000Z","lockedFields":["DiscountPercent","GrandTotal"],
    "currentStageIndex":0}
ApprovalDecided Approval:A:SECOND 2026-01-10T15:00:00.001Z
  {"approvalInstanceId":"SECOND","target":{"objectName":"Quote","recordId":"QUOTE"},"decision":"REJECTED",
    "decidedBy":"MIA","decidedAt":"2026-01-10T15:00:00.001Z","comment":"by REJECTED","finalStageIndex":0}
`)
		third := r.submit(quote)
		names[third.ID] = "THIRD"
		r.outbox()
		if _, _, err := r.Recall(t.Context(), as(sal), third.ID, "", nil); err != nil {
			t.Fatal(err)
		}
		golden(`
ApprovalDecided Approval:A:THIRD 2026-01-10T15:00:00.001Z
  {"approvalInstanceId":"THIRD","target":{"objectName":"Quote","recordId":"QUOTE"},"decision":"RECALLED",
    "decidedBy":"SAL","decidedAt":"2026-01-10T15:00:00.001Z","comment":null,"finalStageIndex":0}
`)
		// the stage does not wait for her any more, and she does not see the quote
		r.refuses(mia, third.ID, Approved, CodeNotFound)
		if _, _, err := r.Submit(t.Context(), as(sal), Order{Object: "Quote", RecordID: sal}, nil); codeOf(
			err) != records.CodeRecordNotFound {
			t.Errorf("got %v", err)
		}
		golden("\n") // what is refused tells nothing
	})
}

// TestApprovalsTakeExactlyWhatTheDocumentLists holds the subscriptions against the lists
// of subscribers in the document, sections 4.1 to 4.20.
func TestApprovalsTakeExactlyWhatTheDocumentLists(t *testing.T) {
	document := []string{
		"RecordCreated", "RecordUpdated", // 4.1, 4.2
		"PermissionChanged", "RoleHierarchyChanged", "ApprovalConfigChanged", // 4.10, 4.12, 4.18
	}
	c := new(Approvals).Consumer()
	if diff := cmp.Diff(document, c.Types); diff != "" || c.Name != "approval" {
		t.Errorf("subscriptions of %s (-document +code):\n%s", c.Name, diff)
	}
}
