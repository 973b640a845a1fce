package client_test

import (
	"errors"
	"testing"

	"renga.dev/renga/client"
)

func TestInboxTasksJobsAndRunsFromGo(t *testing.T) {
	c, ctx := sender(t, newServer(t).url), soon(t)
	const job, nothing = "0199c1a4-0000-7000-8000-0000000000c3", "0199c1a4-0000-7000-8000-000000000999"
	if _, _, err := c.Metadata.Put(ctx, client.DefineScheduledJob, job, map[string]any{
		"name": "Nightly", "object": "Account", "cron": "0 3 * * *", "timeZone": "Asia/Tokyo",
		"actions": []map[string]any{{"key": "k", "type": "notify", "message": "m"}},
	}, ""); err != nil {
		t.Fatal(err)
	}
	if page, err := c.Automation.ScheduledJobs(ctx, client.Paging{}); err != nil || page.Total != 1 ||
		page.Items[0].ID != job || page.Items[0].Last != nil || !page.Items[0].IsActive {
		t.Errorf("got %+v, %v", page, err)
	}
	if page, err := c.Automation.Inbox(ctx, true, client.Paging{}); err != nil || page.Total != 0 {
		t.Errorf("got %+v, %v", page, err)
	}
	if page, err := c.Automation.UserTasks(ctx, true, client.Paging{}); err != nil || page.Total != 0 {
		t.Errorf("got %+v, %v", page, err)
	}
	if page, err := c.Automation.ActionRuns(ctx, client.ActionRunQuery{RuleID: job, Outcome: "FAILED"},
		client.Paging{}); err != nil || page.Total != 0 {
		t.Errorf("got %+v, %v", page, err)
	}
	if _, err := c.Automation.ActionRuns(ctx, client.ActionRunQuery{Outcome: "GOOD"}, client.Paging{}); !errors.Is(err,
		client.ErrInvalid) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Automation.ReadNote(ctx, nothing); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Automation.CompleteUserTask(ctx, nothing); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
