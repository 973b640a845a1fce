package recheck

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

func TestAResultIsReadOrRefusedWithAReason(t *testing.T) {
	artifact := func(name, media, content string) string {
		return `{"artifacts":[{"name":"` + name + `","media_type":"` + media + `","content":"` + content + `"}]}`
	}
	named := func(n int) string { // artifacts with the longest name there is in Japanese
		one := `{"name":"` + strings.Repeat("表", MaxArtifactName) + `","media_type":"text/csv","content":""}`
		return strings.Repeat(one+",", n-1) + one
	}
	for _, tt := range []struct {
		output, message string // "": it is fine
	}{
		{"", ""},
		{`{}`, ""},
		{`{"health":"degraded","metrics":{"x":1},"anything":[1]}`, ""},
		{artifact("a", "text/plain", "aGk="), ""},
		{`{"error":{"code":"X","message":"y"}}`, ""},
		{`{"health":"fine"}`, "health must be healthy, degraded or unknown"},
		{`{"health":1}`, "the result is not of the form that docs/recheck.md has"},
		{`{"metrics":[]}`, "metrics must be an object"},
		{`{"metrics":{"x":"` + strings.Repeat("x", MaxMetrics) + `"}}`, "metrics are larger than 4096 bytes"},
		{
			`{"x":"` + strings.Repeat("x", MaxResult) + `"}`,
			"the result is larger than 8192 bytes without the contents of its artifacts",
		},
		{`{"artifacts":[` + named(5) + `]}`, ""},
		{`{"x":"` + strings.Repeat("x", MaxResult/2) + `","artifacts":[` + named(5) + `]}`, ""},
		{
			`{"x":"` + strings.Repeat("x", MaxResult/2) + `","artifacts":[` + named(6) + `]}`,
			"the result is larger than 8192 bytes without the contents of its artifacts",
		},
		{artifact("", "text/plain", "aGk="), "artifacts[0].name must be 1 to 200 characters on one line"},
		{artifact("a", "text", "aGk="), "artifacts[0].media_type must be a media type such as text/html"},
		{artifact("a", "text/plain", "aGk"), "artifacts[0].content must be base64"},
		{
			artifact("a", "text/plain", base64.StdEncoding.EncodeToString(make([]byte, MaxArtifact+1))),
			"artifacts[0].content is larger than 262144 bytes",
		},
		{`{"artifacts":[` + strings.Repeat(`{},`, MaxArtifacts) + `{}]}`, "artifacts must be at most 8"},
	} {
		got := outcomeOf(&flow.Node{Status: flow.NodeIsSucceeded}, flow.Data(tt.output))
		switch {
		case tt.message == "" && got.failure != nil && got.failure.Code == CodeBadResult:
			t.Errorf("%.80s: got %v", tt.output, got.failure)
		case tt.message != "" && (got.status != ItemFailed || *got.failure != Failure{CodeBadResult, tt.message}):
			t.Errorf("%.80s: got %v %v, want %s", tt.output, got.status, got.failure, tt.message)
		}
	}
}

func TestAnOlderCheckDoesNotReplaceANewer(t *testing.T) {
	newer := canonical.Stamp(2000)
	was := Strategy{ID: "a", Health: Degraded, LastCheckedAt: &newer}
	o := outcome{status: ItemSucceeded, health: Healthy, at: 1000}
	if got, changed := o.check(was); changed || got.Health != Degraded {
		t.Errorf("got %v, changed %v", got, changed)
	}
	o.at = 2000
	if got, changed := o.check(was); !changed || got.Health != Healthy {
		t.Errorf("got %v, changed %v", got, changed)
	}
}

// TestRequestsAreDeletedAfterTheirRetention puts the clock forward and looks what is left.
func TestRequestsAreDeletedAfterTheirRetention(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.put("a", `{"name":"n"}`)
		now := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
		checks := NewRechecks(r.Strategies, RecheckConfig{
			Now: func() time.Time { return now }, KeyRetention: time.Hour,
			Retention: 2 * time.Hour,
		})
		order := []byte(`{"strategies":["a"],"window":{"lookback_days":1},"reason":"x","dry_run":true}`)
		ask := func() Answer {
			t.Helper()
			o, err := ParseOrder(order)
			if err != nil {
				t.Fatal(err)
			}
			key, err := Identity.ParseIdempotencyKey("k", "POST /pdca/recheck", order)
			if err != nil {
				t.Fatal(err)
			}
			ans, err := checks.Accept(t.Context(), Caller{Tenant: tenantA}, o, key)
			if err != nil {
				t.Fatal(err)
			}
			return ans
		}
		retain := func() {
			t.Helper()
			err := errors.Join(checks.retain(t.Context()), r.db.Write(t.Context(), sqldb.Other,
				func(ctx context.Context, tx *sqldb.Tx) error {
					_, err := idempotency.Retain(ctx, tx, canonical.Stamp(now.UnixMilli()), time.Hour, 10)
					return err
				}))
			if err != nil {
				t.Fatal(err)
			}
		}
		first := ask()
		now = now.Add(59 * time.Minute)
		retain()
		if again := ask(); again != first {
			t.Errorf("got %v, want %v", again, first)
		}
		now = now.Add(2 * time.Minute)
		retain()
		second := ask()
		if second == first {
			t.Error("the key is still known")
		}
		now = now.Add(59 * time.Minute) // exactly its time
		retain()
		if _, err := checks.Progress(t.Context(), tenantA, first.RequestID, ItemFilter{Limit: 10}); err != nil {
			t.Errorf("it is gone before its time: %v", err)
		}
		now = now.Add(time.Millisecond)
		retain()
		if _, err := checks.Progress(t.Context(), tenantA, first.RequestID, ItemFilter{Limit: 10}); fault.KindOf(
			err) != fault.NotFound {
			t.Errorf("the request is still there: %v", err)
		}
		p, err := checks.Progress(t.Context(), tenantA, second.RequestID, ItemFilter{Limit: 10})
		if err != nil || len(p.Items) != 1 || p.Items[0].Status != ItemPlanned {
			t.Errorf("got %v (%v)", p, err)
		}
	})
}
