package httpapi_test

import (
	"net/http"
	"testing"
)

// TestReportsAreRebuiltOverHTTP starts a rebuild of what is counted and looks at it.
func TestReportsAreRebuiltOverHTTP(t *testing.T) {
	const other = "0199c1a4-0000-7000-8000-00000000d302"
	s := newServer(t)
	s.want(http.StatusCreated, "POST", "/records/Opportunity",
		`{"fields":{"Name":"A","StageName":"Negotiation","CloseDate":"2026-02-28","Amount":5}}`)
	s.get("/reports/rebuilds").is(200).has("total", "0")
	s.get("/reports/rebuilds/0199c1a4-0000-7000-8000-000000000099").is(404).has("error.code", "REBUILD_NOT_FOUND")
	s.do("POST", "/reports/rebuild", `{"object":"Lead"}`).is(422)
	id := s.want(http.StatusAccepted, "POST", "/reports/rebuild", "").text("rebuildId")
	if again := s.want(http.StatusAccepted, "POST", "/reports/rebuild", "{}").text("rebuildId"); again != id {
		t.Errorf("a second one beside it: %s", again)
	}
	s.get("/reports/rebuilds/"+id).is(200).has("status", "RUNNING").has("recordsTotal", "1").has("recordsProcessed",
		"0")
	s.get("/reports/rebuilds").is(200).has("total", "1").has("items.0.rebuildId", id)
	s.get("/reports/rebuilds/"+id, "X-Tenant-Id", other).is(404)
	s.get("/reports/rebuilds", "X-Tenant-Id", other).is(200).has("total", "0")
}
