package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
)

// index lets search take everything that was published, in its order.
func (s *server) index() {
	s.t.Helper()
	s.deliver(s.search.Consumer())
}

// TestRecordsAreSearched goes through pages of hits over HTTP, as two callers.
func TestRecordsAreSearched(t *testing.T) {
	s := newServer(t)
	const anna = "0199c1a4-0000-7000-8000-000000000021"
	s.want(http.StatusCreated, "PUT", "/metadata/permission-sets/0199c1a4-0000-7000-8000-000000000011",
		`{"name":"read","objects":{"Account":{"read":true}}}`)
	s.want(http.StatusCreated, "PUT", "/metadata/users/"+anna,
		`{"name":"Anna","permissionSetIds":["0199c1a4-0000-7000-8000-000000000011"],"isActive":true}`)
	s.want(http.StatusCreated, "POST", "/records/Account", `{"fields":{"Name":"Acme","Description":"東京の本社"}}`)
	s.want(http.StatusCreated, "POST", "/records/Account", `{"ownerId":"`+anna+`","fields":{"Name":"東京商事"}}`)
	s.want(http.StatusCreated, "POST", "/records/Lead",
		`{"fields":{"LastName":"Tanaka","Company":"東京 Acme","Status":"Open - Not Contacted"}}`)
	s.index()
	r := s.get("/search?q=%E6%9D%B1%E4%BA%AC&limit=2").is(200).
		has("items.0.name", "東京商事").has("items.0.relevance", "4").has("items.0.inApproval", "false").has(
		"items.0.ownerId", anna).
		has("items.0.highlights",
			`[{"field":"Name","parts":[{"match":true,"text":"東京"},{"match":false,"text":"商事"}]}]`).
		has("items.1.name", "Tanaka").has("items.1.relevance", "2")
	s.get("/search?q=%E6%9D%B1%E4%BA%AC&limit=2&cursor="+r.text("next")).is(200).has("items.0.name", "Acme").
		has("items.0.highlights.0.field", "Description")
	r = s.get("/search?q=%E6%9D%B1%E4%BA%AC", "X-User-Id", anna).is(200)
	if body := string(r.body); strings.Count(body, `"id"`) != 1 || !strings.Contains(body, "東京商事") ||
		strings.Contains(body, "next") {
		t.Errorf("Anna finds %s", body)
	}
	r = s.get("/search?q=acme", "X-Tenant-Id", other).is(200)
	if body := strings.TrimSpace(string(r.body)); body != `{"items":[]}` {
		t.Errorf("another tenant finds %s", body)
	}
	for path, field := range map[string]string{
		"/search": "q", "/search?q=": "q", "/search?q=a&limit=0": "limit", "/search?q=a&limit=101": "limit",
		"/search?q=a&since=yesterday": "since", "/search?q=a&cursor=": "cursor",
		"/search?q=a&cursor=abc": "cursor", "/search?q=a&campaignId=x": "campaignId", "/search?q=a&field=": "field",
		"/search?q=a&page=2": "page", "/search?q=a&field=Secret": "field",
	} {
		s.get(path).is(422).has("error.details.field", field)
	}
	s.get("/search?q=a&object=Nothing").is(404).has("error.code", "OBJECT_UNKNOWN")
	s.get("/search?q=a&object=Quote", "X-User-Id", anna).is(403).has("error.code", "ACCESS_DENIED")
	s.get("/search?q=a&campaignId=0199c1a4-0000-7000-8000-000000000099").is(404).has("error.code", "RECORD_NOT_FOUND")
	s.get("/search/rebuilds/0199c1a4-0000-7000-8000-000000000099").is(404).has("error.code", "REBUILD_NOT_FOUND")
	s.do("POST", "/search/rebuild", `{"object":""}`).is(422).has("error.details.field", "object")
	s.do("POST", "/search/rebuild", `{"object":"Nothing"}`).is(404)
	s.do("POST", "/search/rebuild", `{"objects":[]}`).is(422)
	id := s.want(http.StatusAccepted, "POST", "/search/rebuild", "").text("rebuildId")
	s.get("/search/rebuilds/"+id, "X-Tenant-Id", other).is(404)
	s.get("/search/rebuilds/"+id).is(200).has("status", "RUNNING").has("recordsTotal", "3")
}
