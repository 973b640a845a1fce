package client_test

import (
	"errors"
	"testing"
	"time"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/app"
)

func TestRecordsAreSubmittedAndDecidedFromGo(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	const readers, anna, ben, process = "0199c1a4-0000-7000-8000-000000000011", "0199c1a4-0000-7000-8000-000000000021",
		"0199c1a4-0000-7000-8000-000000000022",
		"0199c1a4-0000-7000-8000-000000000061"
	for _, d := range []struct {
		kind client.DefinitionKind
		id   string
		body map[string]any
	}{
		{client.DefinePermissionSet, readers, map[string]any{"name": "Readers", "viewAll": true}},
		{client.DefineUser, anna, map[string]any{"name": "Anna", "permissionSetIds": []string{readers}}},
		{client.DefineUser, ben, map[string]any{"name": "Ben", "permissionSetIds": []string{readers}}},
		{client.DefineApprovalProcess, process, map[string]any{
			"name": "Accounts", "object": "Account", "lockedFields": []string{"Name"},
			"steps": []any{map[string]any{"name": "Anna", "approvers": []any{map[string]string{
				"type": "User",
				"id":   anna,
			}}}},
		}},
	} {
		if _, _, err := c.Metadata.Put(ctx, d.kind, d.id, d.body, ""); err != nil {
			t.Fatal(err)
		}
	}
	acme, err := c.Records.Create(ctx, "Account", client.RecordDraft{Fields: map[string]any{"Name": "Acme"}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Approvals.Submit(ctx, client.Submission{Object: "Account", RecordID: acme.ID, Comment: "please"})
	if err != nil || made.Status != "PENDING" || made.Record["Name"] != "Acme" || len(made.Stages) != 1 ||
		made.Stages[0].Approvers[0].UserID != anna {
		t.Fatalf("got %+v, %v", made, err)
	}
	if _, err := c.Records.Update(ctx, "Account", acme.ID, client.AnyVersion,
		client.RecordDraft{Fields: map[string]any{"Name": "Other"}}); !errors.Is(err, client.ErrRefused) {
		t.Errorf("got %v, want the name locked", err)
	}
	given, err := c.Approvals.Delegate(ctx, made.ID, ben, "away")
	if err != nil || given.Stages[0].Approvers[0].DelegateID != ben {
		t.Errorf("got %+v, %v", given, err)
	}
	other := 1
	if _, err := c.Approvals.Decide(ctx, made.ID, client.Ballot{Decision: client.Reject, Stage: &other}); !errors.Is(
		err, client.ErrRefused) {
		t.Errorf("a stage that is not open: got %v, want a refusal", err)
	}
	done, err := c.Approvals.Decide(ctx, made.ID, client.Ballot{Decision: client.Reject, Comment: "no"})
	if err != nil || done.Status != "REJECTED" || done.Decision.Comment != "no" {
		t.Errorf("got %+v, %v", done, err)
	}
	if _, err := c.Approvals.Recall(ctx, made.ID, ""); !errors.Is(err, client.ErrRefused) {
		t.Errorf("got %v, want that it has ended", err)
	}
	if found, err := c.Approvals.Get(ctx, made.ID); err != nil || found.Status != "REJECTED" {
		t.Errorf("got %+v, %v", found, err)
	}
	if page, err := c.Approvals.List(ctx, client.ApprovalQuery{
		Object: "Account", Status: "REJECTED",
		RecordID: acme.ID,
	}); err != nil || page.Total != 1 || page.Items[0].ID != made.ID {
		t.Errorf("got %+v, %v", page, err)
	}
	if page, err := c.Approvals.List(ctx, client.ApprovalQuery{Assigned: true}); err != nil || page.Total != 0 {
		t.Errorf("got %+v, %v", page, err)
	}
	if _, err := c.Approvals.Get(ctx, anna); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestTheOutcomeOfAnApprovalIsReadFromGo submits a record under a key, twice, approves it
// under one, and waits until the record has what the process says.
func TestTheOutcomeOfAnApprovalIsReadFromGo(t *testing.T) {
	s, err := serveWith(app.Place{DataDir: t.TempDir()}, "127.0.0.1:0", true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	c, ctx := sender(t, s.url), soon(t)
	const readers, anna, process = "0199c1a4-0000-7000-8000-000000000011", "0199c1a4-0000-7000-8000-000000000021",
		"0199c1a4-0000-7000-8000-000000000061"
	for _, d := range []struct {
		kind client.DefinitionKind
		id   string
		body map[string]any
	}{
		{client.DefinePermissionSet, readers, map[string]any{"name": "Readers", "viewAll": true}},
		{client.DefineUser, anna, map[string]any{"name": "Anna", "permissionSetIds": []string{readers}}},
		{client.DefineApprovalProcess, process, map[string]any{
			"name": "Accounts", "object": "Account", "onApproved": map[string]any{"Rating": "Hot"},
			"steps": []any{map[string]any{"name": "Anna", "approvers": []any{map[string]string{
				"type": "User",
				"id":   anna,
			}}}},
		}},
	} {
		if _, _, err := c.Metadata.Put(ctx, d.kind, d.id, d.body, ""); err != nil {
			t.Fatal(err)
		}
	}
	acme, err := c.Records.Create(ctx, "Account", client.RecordDraft{Fields: map[string]any{"Name": "Acme"}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := c.Approvals.Submit(ctx, client.Submission{Object: "Account", RecordID: acme.ID, Key: "submit"})
	again, problem := c.Approvals.Submit(ctx, client.Submission{Object: "Account", RecordID: acme.ID, Key: "submit"})
	if err != nil || problem != nil || made.ID != again.ID {
		t.Fatalf("got %+v %v, %+v %v", made, err, again, problem)
	}
	for range 2 {
		if done, err := c.Approvals.Decide(ctx, made.ID, client.Ballot{
			Key:      "decide",
			Decision: client.Approve,
		}); err != nil || done.Status != "APPROVED" {
			t.Fatalf("got %+v, %v", done, err)
		}
	}
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		found, err := c.Approvals.Get(ctx, made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if found.Outcome != nil && found.Outcome.Status == "WRITTEN" {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the outcome is not written: %+v", found.Outcome)
		}
	}
	if got, err := c.Records.Get(ctx, "Account", acme.ID); err != nil || got.Fields["Rating"] != "Hot" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := c.Approvals.RecallWithKey(ctx, "recall", made.ID, ""); !errors.Is(err, client.ErrRefused) {
		t.Errorf("got %v, want that it has ended", err)
	}
}
