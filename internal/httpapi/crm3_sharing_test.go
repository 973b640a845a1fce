package httpapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/sqldb"
)

// TestAccessIsExplained asks over HTTP why somebody sees a record.
func TestAccessIsExplained(t *testing.T) {
	s := newServer(t)
	const anna, acme, west = "0199c1a4-0000-7000-8000-000000000021", "0199c1a5-0000-7000-8000-0000000000a1",
		"0199c1a4-0000-7000-8000-000000000072"
	s.want(http.StatusCreated, "PUT", "/metadata/users/"+anna, `{"name":"Anna","isActive":true}`)
	tenant := "00000000-0000-0000-0000-000000000000"
	err := s.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(
			ctx,
			`INSERT INTO records_record (tenant_id, object, id, owner_id, name, account_id, opportunity_id,
				fields, version, created_at, created_by, updated_at, updated_by, deleted_at)
			VALUES ($1, 'Account', $2, 'somebody', 'Acme', '', '', '{"Name":"Acme"}', 1, 1, '', 1, '', 0)`,
			tenant,
			acme,
		)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	s.want(http.StatusCreated, "PUT", "/sharing/territories/"+west, `{"name":"West","access":"Edit"}`)
	s.want(http.StatusNoContent, "PUT", "/sharing/territories/"+west+"/users/"+anna, "")
	s.want(http.StatusNoContent, "PUT", "/sharing/territories/"+west+"/accounts/"+acme, "")
	if got := s.do("GET", "/sharing/Account/"+acme+"?userId="+anna, ""); got.status != http.StatusOK ||
		!strings.Contains(string(got.body), `"access":"None"`) {
		t.Errorf("before the events are handled: %d %s", got.status, got.body)
	}
	s.handOut()
	got := s.want(http.StatusOK, "GET", "/sharing/Account/"+acme+"?userId="+anna, "")
	want := `{"object":"Account","id":"` + acme + `","access":[{"grantee":{"type":"user","id":"` + anna +
		`"},"access":"Edit","why":[` +
		`{"cause":"territory","id":"` + west + `","access":"Edit","via":{"type":"territory","id":"` + west + `"}}]}]}`
	if strings.TrimSpace(string(got.body)) != want {
		t.Errorf("got  %s\nwant %s", got.body, want)
	}
	if got := s.do("GET", "/sharing/Account/"+acme, "", "X-Tenant-Id",
		"00000000-0000-0000-0000-00000000000b"); got.status != http.StatusNotFound {
		t.Errorf("another tenant: %d %s", got.status, got.body)
	}
	if got := s.do("GET", "/sharing/Account/"+acme, "", "X-User-Id", anna); got.status != http.StatusForbidden {
		t.Errorf("without permission on the object: %d %s", got.status, got.body)
	}
}

// want sends a request that must be answered with a status.
func (s *server) want(status int, method, path, body string) reply {
	s.t.Helper()
	got := s.do(method, path, body)
	if got.status != status {
		s.t.Fatalf("%s %s: got %d, want %d: %s", method, path, got.status, status, got.body)
	}
	return got
}

// handOut lets sharing take everything that was published, in its order.
func (s *server) handOut() {
	s.t.Helper()
	s.deliver(s.sharing.Consumer())
}
