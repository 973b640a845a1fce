package test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "renga.dev/renga/client"
	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/program"
	"renga.dev/renga/test/tier"
)

func TestServeRefusesASetUpOfWorkflowEventsThatWouldDoHarm(t *testing.T) {
	onSQLite(t)
	for _, c := range []struct{ name, value, words string }{
		{"AX_WORKFLOW_EVENT_TENANT", "acme", "AX_WORKFLOW_EVENT_TENANT: the tenant of workflow events must be a UUID"},
		{"AX_WORKFLOW_EVENT_TOKEN", "hush ", "begins or ends with white space"},
		{"AX_WORKFLOW_EVENT_TOKEN", " ", "begins or ends with white space"},
		{"AX_WORKFLOW_EVENT_ACTIONS", "preflight,send mail", `"send mail" is no action`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			var out, errs bytes.Buffer
			code := program.Run(t.Context(), []string{"serve", "--data-dir", t.TempDir()}, &out, &errs)
			if code != 2 || !strings.Contains(errs.String(), c.words) || strings.Contains(errs.String(), "hush") {
				t.Errorf("%s=%q ended with %d and said %s; want %q", c.name, c.value, code, &errs, c.words)
			}
		})
	}
}

func TestTheHelpOfServeNamesTheVariablesOfWorkflowEvents(t *testing.T) {
	onSQLite(t)
	var out, errs bytes.Buffer
	program.Run(t.Context(), []string{"serve", "--help"}, &out, &errs)
	for _, name := range []string{"TOKEN", "TENANT", "MAX_RECEIPTS", "RECEIPT_TTL_DAYS", "ACTIONS"} {
		if !strings.Contains(out.String(), "AX_WORKFLOW_EVENT_"+name) {
			t.Errorf("the help lacks AX_WORKFLOW_EVENT_%s:\n%s", name, &out)
		}
	}
}

const closing = `{"name":"Closing","year":2026,"month":1,
	"steps":[{"action":"mf_reconcile","trigger_kind":"external_event"}]}`

func TestTheStartUpLogWarnsOfOpenWorkflowEventsAndOfARetentionThatCannotBeUsed(t *testing.T) {
	at := newSite(t)
	at.env = []string{"AX_WORKFLOW_EVENT_MAX_RECEIPTS=many", "AX_WORKFLOW_EVENT_RECEIPT_TTL_DAYS=0"}
	s := serve(t, at)
	ctx, cancel := context.WithTimeout(t.Context(), signalTimeout)
	defer cancel()
	for _, want := range []string{
		"workflow events and templates are open to everybody",
		"AX_WORKFLOW_EVENT_MAX_RECEIPTS must be", "AX_WORKFLOW_EVENT_RECEIPT_TTL_DAYS must be",
	} {
		if !s.log.wait(ctx, want) {
			t.Errorf("the log does not say %q:\n%s", want, s.log)
		}
	}
	c := sdk.New(sdk.Config{URL: s.url})
	defer c.Close()
	sum, err := c.WorkflowEvents.Summary(ctx, "2026-01", 0)
	if err != nil || sum.Retention.MaxReceipts != 1000 || sum.Retention.TTLDays != 90 {
		t.Errorf("got %+v (%v)", sum, err)
	}
}

// TestAKeyIsKnownAfterAKill sends an event, kills the server after its answer, and sends
// it again to the next one.
func TestAKeyIsKnownAfterAKill(t *testing.T) {
	tier.System(t)
	at := newSite(t)
	at.env = []string{
		"AX_WORKFLOW_EVENT_TOKEN=s3cret", "AX_WORKFLOW_EVENT_MAX_RECEIPTS=5", "AX_WORKFLOW_EVENT_RECEIPT_TTL_DAYS=7",
		"AX_WORKFLOW_EVENT_ACTIONS=mf_reconcile, other", "RENGA_LOG_LEVEL=debug",
	}
	s := serve(t, at)
	ctx, cancel := context.WithTimeout(t.Context(), 2*signalTimeout)
	defer cancel()
	c := sdk.New(sdk.Config{URL: s.url, EventToken: "s3cret"})
	defer c.Close()
	if _, created, err := c.Templates.PutSource(ctx, "closing", []byte(closing)); err != nil || !created {
		t.Fatalf("created %v: %v", created, err)
	}
	first, err := c.WorkflowEvents.Send(ctx, sdk.WorkflowEvent{Key: "bank-1"})
	if err != nil || !first.Triggered {
		t.Fatalf("got %+v (%v)", first, err)
	}
	s.kill()
	if s.log.has("s3cret") || s.log.has("are open to everybody") {
		t.Errorf("the log of a server with a token:\n%s", s.log)
	}
	s = serve(t, at)
	again := sdk.New(sdk.Config{URL: s.url, EventToken: "s3cret"})
	defer again.Close()
	second, err := again.WorkflowEvents.Send(ctx, sdk.WorkflowEvent{Key: "bank-1"})
	if err != nil || !second.Duplicate || second.RunID != first.RunID {
		t.Errorf("got %+v (%v), want the run %s", second, err, first.RunID)
	}
	sum, err := again.WorkflowEvents.Summary(ctx, time.Now().UTC().Format("2006-01"), 0)
	if err != nil || sum.Total != 2 || sum.Retention.MaxReceipts != 5 || sum.Retention.TTLDays != 7 {
		t.Errorf("got %+v (%v)", sum, err)
	}
	file := filepath.Join(at.dir, inbound.ReceiptsFile)
	want := fmt.Sprintf(`"idempotency_key":"bank-1","run_id":%q`, first.RunID)
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		text, err := os.ReadFile(file)
		if strings.Contains(string(text), want) {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the file of receipts is %s (%v)", text, err)
		}
	}
	s.stop()
	verify(t, at)
}
