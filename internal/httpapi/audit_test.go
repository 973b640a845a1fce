package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/sqldb"
)

// entries writes entries into the audit log of the server's database.
func (s *server) entries(all ...audit.Entry) {
	s.t.Helper()
	err := s.db.Write(context.Background(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		for _, e := range all {
			if err := audit.Write(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// subjectsOf are those of the lines of an export.
func subjectsOf(t *testing.T, body []byte) (all []string) {
	t.Helper()
	for line := range bytes.Lines(body) {
		var e struct{ Subject string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, e.Subject)
	}
	return all
}

func TestWhoDidItIsAUserOnlyWhereSomebodyHasChecked(t *testing.T) {
	s := newServer(t)
	for i, tt := range []struct{ action, actor, want string }{
		{"dlq.skip", "ann", `{"kind":"user","id":"ann"}`},
		{"execution.cancel", "system", `{"kind":"system"}`},
		{"workflow_event", "bank", `{"kind":"external","id":"bank"}`},
		{"token.refused", "", `{"kind":"external"}`},
	} {
		s.entries(audit.Entry{
			At: canonical.Stamp(1_767_600_000_000 + i), Tenant: own, Actor: tt.actor, Action: tt.action,
			Outcome: audit.Accepted,
		})
		if got := s.get("/audit?action=" + tt.action).is(200).body; !strings.Contains(
			string(got),
			`"actor":`+tt.want,
		) {
			t.Errorf("%s: got %s, want the actor %s", tt.action, got, tt.want)
		}
	}
}

// TestTheAuditLogIsExportedAsLines has every line held against the contract.
func TestTheAuditLogIsExportedAsLines(t *testing.T) {
	s := newServer(t)
	var all []audit.Entry
	var want []string
	for i := range 1000 {
		e := audit.Entry{
			At: canonical.Stamp(
				1_767_600_000_000 + i,
			), Tenant: own, Actor: []string{"ann", "bob"}[i%2], Action: "dlq.skip",
			Subject: fmt.Sprint(i), Outcome: audit.Outcomes[i%4],
		}
		if i%10 == 9 {
			e.Tenant = other
		} else {
			want = append(want, e.Subject)
		}
		all = append(all, e)
	}
	all[0].Detail = []byte("{\"notes\":\"a\\nb\u2028c\u0085d\"}")
	s.entries(all...)
	r := s.get("/audit/export").is(200)
	if got := r.header.Get("Content-Type"); got != "application/x-ndjson" {
		t.Errorf("Content-Type: %s", got)
	}
	if got := subjectsOf(t, r.body); !slices.Equal(got, want) {
		t.Errorf("got %d lines %q", len(got), got)
	}
	if first, _, _ := bytes.Cut(r.body, []byte("\n")); !strings.Contains(string(first),
		`{"notes":"a\nb\u2028c\u0085d"}`) {
		t.Errorf("the first line is %s", first)
	}
	for query, n := range map[string]int{
		"?actor=ann":                     500,
		"?subject=17":                    1,
		"?action=events.replay":          0,
		"?from=2026-01-05T08:00:00.500Z": 450,
		"?from=2026-01-05T08:00:00.100Z&to=2026-01-05T08:00:00.200Z&actor=bob": 40,
	} {
		if got := subjectsOf(t, s.get("/audit/export"+query).is(200).body); len(got) != n {
			t.Errorf("%s: %d lines, want %d", query, len(got), n)
		}
	}
	if got := subjectsOf(t, s.get("/audit/export", "X-Tenant-Id", other).is(200).body); len(got) != 100 ||
		got[0] != "9" {
		t.Errorf("of another tenant: %q", got)
	}
	for _, query := range []string{"from=1", "action=a%20b", "actor=", "page=1", "page_size=10", "format=csv"} {
		s.get("/audit/export?" + query).is(422)
	}
}

// broken is an audit log that fails when a page was read.
type broken struct{ *audit.Log }

func (b broken) Export(_ context.Context, q audit.Query) iter.Seq2[[]audit.Entry, error] {
	return func(yield func([]audit.Entry, error) bool) {
		page := []audit.Entry{{
			ID: "0199c1a3-a0d1-7000-8000-000000000003", At: 1, Outcome: audit.Accepted,
			Detail: []byte("{}"),
		}}
		if q.Subject == "at once" || yield(page, nil) {
			yield(nil, errors.New("the disk is gone"))
		}
	}
}

func TestAnExportThatFailsIsNoExport(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	auth, err := gate.OpenAuth(gate.AuthConfig{})
	if err != nil {
		t.Fatal(err)
	}
	door, err := gate.New(gate.Config{Auth: auth, Log: quiet},
		httpapi.New(httpapi.Config{Audit: broken{}, Log: quiet}).Routes())
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(door)
	defer web.Close()
	get := func(query string) (int, error) {
		resp, err := web.Client().Get(web.URL + "/audit/export" + query)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, err = io.ReadAll(resp.Body)
		return resp.StatusCode, err
	}
	if status, err := get("?subject=at+once"); status != 500 || err != nil {
		t.Errorf("one that cannot begin: %d %v", status, err)
	}
	if status, err := get(""); status != 200 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("one that is cut off: %d %v", status, err)
	}
}
