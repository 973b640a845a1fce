package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/gate"
)

// CRM-2: definitions over HTTP.

func uid(n int) string { return fmt.Sprintf("0199c1a4-0000-7000-8000-%012d", n) }

// define puts a definition that is accepted.
func (s *server) define(path, body string, header ...string) reply {
	s.t.Helper()
	r := s.do("PUT", "/metadata/"+path, body, header...)
	if r.status != http.StatusOK && r.status != http.StatusCreated {
		s.t.Fatalf("PUT %s: %d %s", path, r.status, r.body)
	}
	return r
}

func TestIfMatchIsHeldAgainstTheVersion(t *testing.T) {
	s := newServer(t)
	path := "/metadata/roles/" + uid(1)
	s.do("PUT", path, `{"name":"CEO"}`, "If-Match", "*").is(412).has("error.code", "VERSION_MISMATCH")
	tag := s.do("PUT", path, `{"name":"CEO"}`).is(201).header.Get("ETag")
	next := s.do("PUT", path, `{"name":"Chief"}`, "If-Match", tag).is(200).header.Get("ETag")
	if next == tag {
		t.Errorf("the version is still %s", tag)
	}
	s.do("PUT", path, `{"name":"Boss"}`, "If-Match", tag).is(412).has("error.code", "VERSION_MISMATCH").has(
		"error.details.version", strings.Trim(next, `"`))
	s.do("DELETE", path, "", "If-Match", tag).is(412)
	for _, wrong := range []string{"1", `"1`, `W/"1"`, `"1","2"`, `""`} {
		s.do("PUT", path, `{"name":"Boss"}`, "If-Match", wrong).invalid("If-Match")
	}
	s.get(path).is(200).has("name", "Chief")
	if same := s.do("PUT", path, `{"name":"Chief"}`, "If-Match", next).is(200).header.Get("ETag"); same != next {
		t.Errorf("what changes nothing has the version %s, want %s", same, next)
	}
	s.do("DELETE", path, "", "If-Match", next).is(204)
	s.get(path).is(404).has("error.code", "DEFINITION_NOT_FOUND")
}

// TestAnIDThatCannotBeHasNoVersion asks for a version of what cannot exist: the id is what is
// wrong, not the version.
func TestAnIDThatCannotBeHasNoVersion(t *testing.T) {
	s := newServer(t)
	for _, path := range []string{
		"roles/nope", "users/NOPE", "groups/" + strings.ToUpper(uid(10)) + "A", "permission-sets/1", "sharing-rules/x",
		"validation-rules/x", "workflow-rules/x",
		"scheduled-jobs/x", "approval-processes/x", "objects/Lead/fields/nope", "objects/Ship/fields/A__c",
		"objects/Ship", "owd/Ship", "team-roles/Lead",
	} {
		for _, match := range []string{"*", `"1"`} {
			for _, method := range []string{"PUT", "DELETE"} {
				body := ""
				if method == "PUT" {
					body = `{"name":"x","label":"x","pluralLabel":"x"}`
				}
				got := s.do(method, "/metadata/"+path, body, "If-Match", match)
				if got.status != 404 && got.status != 422 && got.status != 405 {
					t.Errorf("%s %s if %s: %d %s", method, path, match, got.status, got.body)
				}
			}
		}
	}
	for _, id := range []string{"nope", "x", strings.ToUpper(uid(10))} {
		s.do("PATCH", "/records/Account/"+id, `{"fields":{"Name":"x"}}`, "If-Match", "*").is(404)
		s.do("DELETE", "/records/Account/"+id, "", "If-Match", `"2026-01-10T12:34:56.789Z"`).is(404)
	}
	s.do("DELETE", "/metadata/roles/"+uid(1), "", "If-Match", "*").is(412) // it can be, and is not
}

// TestWhatUsesADefinitionHasAName deletes what definitions and what records need.
func TestWhatUsesADefinitionHasAName(t *testing.T) {
	s := newServer(t)
	s.define("roles/"+uid(1), `{"name":"CEO"}`)
	s.define("users/"+uid(11), `{"name":"Anna","roleId":"`+uid(1)+`"}`)
	s.do("POST", "/records/Account", `{"ownerId":"`+uid(11)+`","fields":{"Name":"Acme"}}`).is(201)
	s.do("DELETE", "/metadata/roles/"+uid(1), "").is(409).has("error.code", "IN_USE").has("error.details.usedBy.0.name",
		"Anna")
	s.do("DELETE", "/metadata/users/"+uid(11), "").is(409).has("error.code", "IN_USE").
		has("error.details.usedBy.0.kind", "record").has("error.details.usedBy.0.name", "Accounts").has(
		"error.details.usedBy.0.count", "1")
}

func TestADescriptionIsOfItsCaller(t *testing.T) {
	s := newServer(t)
	s.define("permission-sets/"+uid(1),
		`{"name":"Sales","objects":{"Opportunity":{"create":true,"read":true,"update":true}}}`)
	s.define("permission-sets/"+uid(2), `{"name":"Money","fields":{"Opportunity.Amount":{"read":true,"edit":true}}}`)
	s.define("users/"+uid(11), `{"name":"Anna","subject":"anna","permissionSetIds":["`+uid(1)+`","`+uid(2)+`"]}`)
	s.define("users/"+uid(12), `{"name":"Ben","permissionSetIds":["`+uid(1)+`"]}`)
	const path = "/metadata/describe/Opportunity"
	anna := s.get(path, "X-User-Id", "anna").is(200)
	ben := s.get(path, "X-User-Id", uid(12)).is(200)
	if !strings.Contains(string(anna.body), `"Amount"`) || strings.Contains(string(ben.body), `"Amount"`) {
		t.Errorf("Anna sees %s\nBen sees %s", anna.body, ben.body)
	}
	tag := ben.header.Get("ETag")
	if tag == anna.header.Get("ETag") {
		t.Error("two descriptions have one tag")
	}
	s.get(path, "X-User-Id", uid(12), "If-None-Match", tag).is(304)
	s.get(path, "X-User-Id", "anna", "If-None-Match", tag).is(200)
	s.define("objects/Opportunity/fields/Size__c", `{"label":"Size","type":"integer"}`)
	changed := s.get(path, "X-User-Id", uid(12), "If-None-Match", tag).is(200)
	if !strings.Contains(string(changed.body), `"Size__c"`) {
		t.Errorf("got %s", changed.body)
	}
	s.get(path, "X-User-Id", "nobody").is(403).has("error.code", "USER_UNKNOWN")
	s.get("/metadata/describe/Lead", "X-User-Id", "anna").is(403).has("error.code", "FORBIDDEN")
	s.get("/metadata/describe/Ship").is(404)
	s.define("users/"+uid(12), `{"name":"Ben","isActive":false}`)
	s.get(path, "X-User-Id", uid(12)).is(403).has("error.code", "USER_INACTIVE")
}

func TestWhatADefinitionIsReadAsCanBePutBack(t *testing.T) {
	s := newServer(t)
	s.define("roles/"+uid(1), `{"name":"CEO"}`)
	s.define("permission-sets/"+uid(2), `{"name":"Sales","objects":{"Quote":{"read":true},"Lead":{"read":true}}}`)
	s.define("users/"+uid(3), `{"name":"Anna","roleId":"`+uid(1)+`"}`)
	s.define("groups/"+uid(4), `{"name":"Desk","type":"queue"}`)
	s.define("objects/Lead/fields/Tier__c", `{"label":"Tier","type":"picklist","values":["A"]}`)
	s.define("sharing-rules/"+uid(5), `{"name":"R","object":"Lead","kind":"owner","source":{"type":"Role","id":"`+
		uid(1)+`"},"target":{"type":"Group","id":"`+uid(4)+`"},"access":"Edit"}`)
	s.define("approval-processes/"+uid(6),
		`{"name":"P","object":"Quote","steps":[{"name":"s","approvers":[{"type":"Group","id":"`+uid(4)+`"}]}]}`)
	for _, path := range []string{
		"roles/" + uid(1), "permission-sets/" + uid(2), "users/" + uid(3), "groups/" + uid(4),
		"objects/Lead/fields/Tier__c", "sharing-rules/" + uid(5),
		"approval-processes/" + uid(6), "objects/Lead", "objects/Opportunity/fields/StageName",
		"objects/Opportunity/fields/IsWon", "objects/Account/fields/Industry", "owd/Lead", "team-roles/Account",
		"stages",
	} {
		r := s.get("/metadata/" + path).is(200)
		again := s.define(path, string(r.body)).is(200)
		if string(again.body) != string(r.body) || again.header.Get("ETag") != r.header.Get("ETag") {
			t.Errorf("%s: got %s (%s), want %s (%s)", path, again.body, again.header.Get("ETag"), r.body,
				r.header.Get("ETag"))
		}
	}
}

// TestEveryDefinitionBelongsToOneTenant asks for everything of one tenant as another.
func TestEveryDefinitionBelongsToOneTenant(t *testing.T) {
	s := newServer(t)
	s.define("roles/"+uid(1), `{"name":"CEO"}`)
	s.define("users/"+uid(2), `{"name":"Anna","subject":"anna"}`)
	s.define("groups/"+uid(3), `{"name":"Desk","type":"queue"}`)
	s.define("permission-sets/"+uid(4), `{"name":"Sales"}`)
	s.define("objects/Lead/fields/Tier__c", `{"label":"Tier","type":"text"}`)
	s.define("owd/Lead", `{"access":"ReadWrite"}`)
	s.tenant = other
	for _, path := range []string{
		"roles/" + uid(1), "users/" + uid(2), "groups/" + uid(3), "permission-sets/" + uid(4),
		"objects/Lead/fields/Tier__c",
	} {
		s.get("/metadata/" + path).is(404)
		s.do("DELETE", "/metadata/"+path, "").is(404)
	}
	s.get("/metadata/roles").is(200).has("total", "0")
	s.get("/metadata/users").is(200).has("total", "1")
	s.get("/metadata/owd/Lead").is(200).has("access", "Private")
	s.get("/metadata/describe/Lead", "X-User-Id", "anna").is(403).has("error.code", "USER_UNKNOWN")
	if r := s.get("/metadata/objects/Lead/fields?page_size=100").is(200); strings.Contains(string(r.body), "Tier__c") {
		t.Errorf("another tenant sees %s", r.body)
	}
}

func TestDefinitionsAskForTheirScopes(t *testing.T) {
	n := 0
	for _, route := range app.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		if !strings.HasPrefix(path, "/metadata/") {
			continue
		}
		n++
		want := "metadata:write"
		if method == http.MethodGet {
			want = "metadata:read"
		}
		if route.Scope != want || route.Surface != gate.CRM {
			t.Errorf("%s asks for %s on the surface %s, want %s on %s", route.Pattern, route.Scope, route.Surface.Name,
				want, gate.CRM.Name)
		}
	}
	if n != 52 {
		t.Errorf("looked at %d routes, want 52", n)
	}
}

func TestAChangeOfADefinitionIsInTheOutboxAndInTheAuditLog(t *testing.T) {
	s := newServer(t)
	s.define("owd/Lead", `{"access":"ReadOnly"}`, "X-Correlation-Id", "opening-7", "X-User-Id", "anna")
	s.define("owd/Lead", `{"access":"ReadOnly"}`, "X-Correlation-Id", "again", "X-User-Id", "anna")
	s.get("/audit?action=metadata.put").is(200).has("total", "1").has("items.0.actor.id", "anna").has("items.0.subject",
		"owd Lead").has("items.0.correlationId", "opening-7")
	s.get("/events/outbox").is(200).has("unpublished", "1")
}
