package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// recordOf makes a record and gives its id and version.
func (s *server) recordOf(object, fields string, header ...string) (id, version string) {
	s.t.Helper()
	r := s.do("POST", "/records/"+object, `{"fields":`+fields+`}`, header...).is(201)
	return r.text("id"), r.text("recordVersion")
}

// TestNoRecordOfATenantIsThereForAnother asks for everything that the paths of records name
// as another tenant.
func TestNoRecordOfATenantIsThereForAnother(t *testing.T) {
	s := newServer(t)
	s.do("PUT", "/metadata/users/"+someUser, `{"name":"Ann"}`).is(201)
	account, _ := s.recordOf("Account", `{"Name":"Acme"}`)
	campaign, _ := s.recordOf("Campaign", `{"Name":"Spring"}`)
	lead, _ := s.recordOf("Lead", `{"LastName":"Li","Company":"X","Status":"Open - Not Contacted"}`)
	s.do("PUT", "/records/Account/"+account+"/team/"+someUser, `{"teamRole":"Sales Rep"}`).is(201)
	s.do("PUT", "/records/Campaign/"+campaign+"/members/Lead/"+lead, `{}`).is(201)
	asked := 0
	for _, operation := range asPublished().operations() {
		method, path, _ := strings.Cut(operation, " ")
		if !strings.HasPrefix(path, "/records/{object}/{id}") {
			continue
		}
		asked++
		object, id := "Account", account
		switch {
		case strings.Contains(path, "/members"):
			object, id = "Campaign", campaign
		case strings.Contains(path, "/convert"):
			object, id = "Lead", lead
		}
		path = strings.NewReplacer("{object}", object, "{id}", id, "{userId}", someUser, "{memberType}", "Lead",
			"{memberId}", lead).Replace(path)
		body := map[string]string{"PATCH": `{"fields":{"Name":"x"}}`, "PUT": `{}`, "POST": `{}`}[method]
		if strings.Contains(path, "/team/") && method == "PUT" {
			body = `{"teamRole":"Sales Rep"}`
		}
		s.do(method, path, body, "X-Tenant-Id", other, "If-Match", "*").is(404)
	}
	if asked != 11 {
		t.Errorf("%d operations were asked, want all", asked)
	}
	r := s.do("POST", "/records/Account/bulk", `{"operations":[{"op":"update","id":"`+account+
		`","fields":{}},{"op":"delete","id":"`+account+`"}]}`, "X-Tenant-Id", other).is(200)
	if strings.Count(string(r.body), `"status":404`) != 2 {
		t.Errorf("a bulk: %s", r.body)
	}
	if list := s.get("/records/Account", "X-Tenant-Id", other).is(200); !strings.Contains(string(list.body),
		`"total":0`) {
		t.Errorf("a list: %s", list.body)
	}
	if mine := s.get("/records/Account/" + account).is(200); !strings.Contains(string(mine.body), `"Name":"Acme"`) {
		t.Errorf("the tenant's own: %s", mine.body)
	}
}

const someUser = "0199c1a4-0000-7000-8000-0000000000aa"

func TestVersionsGuardChangesOverHTTP(t *testing.T) {
	s := newServer(t)
	id, version := s.recordOf("Account", `{"Name":"Acme"}`)
	path := "/records/Account/" + id
	if tag := s.get(path).is(200).header.Get("Etag"); tag != `"`+version+`"` {
		t.Errorf("the tag is %s, the version %s", tag, version)
	}
	second := s.do("PATCH", path, `{"fields":{"Phone":"1"}}`, "If-Match", `"`+version+`"`).is(200).text("recordVersion")
	if second <= version {
		t.Errorf("the version went from %s to %s", version, second)
	}
	stale := s.do("PATCH", path, `{"fields":{"Phone":"2"},"recordVersion":"`+version+`"}`).is(412)
	if !strings.Contains(string(stale.body), `"version":"`+second+`"`) {
		t.Errorf("the refusal does not say which version there is: %s", stale.body)
	}
	s.do("DELETE", path, "", "If-Match", `"`+version+`"`).is(412)
	s.do("DELETE", path, "").is(422)
	s.do("PATCH", path, `{"fields":{}}`).is(422)
	s.do("PATCH", path, `{"fields":{},"recordVersion":"`+second+`"}`, "If-Match", "*").is(422)
	s.do("PATCH", path, `{"fields":{}}`, "If-Match", second).is(422)
	s.do("DELETE", path, "", "If-Match", `"`+second+`"`).is(204)
	s.get(path).is(404)
	s.get(path + "/history").is(404)
}

func TestARepeatedChangeIsAnsweredAgain(t *testing.T) {
	s := newServer(t)
	made := s.do("POST", "/records/Account", `{"fields":{"Name":"Acme"}}`).is(201)
	path, version := "/records/Account/"+made.text("id"), made.text("recordVersion")
	change := func() reply {
		return s.do("PATCH", path, `{"fields":{"Phone":"1"}}`, "If-Match", `"`+version+`"`, "Idempotency-Key", "k")
	}
	first, again := change().is(200), change().is(200)
	if string(first.body) != string(again.body) {
		t.Errorf("got %s, then %s", first.body, again.body)
	}
	s.do("PATCH", path, `{"fields":{"Phone":"2"}}`, "If-Match", `"`+version+`"`, "Idempotency-Key", "k").is(409)
	newest := `"` + first.text("recordVersion") + `"`
	const insiders = "0199c1a4-0000-7000-8000-0000000000c2"
	s.do("PUT", "/metadata/permission-sets/"+insiders,
		`{"name":"Insiders","fields":{"Account.Phone":{"read":true}}}`).is(201)
	s.do("PUT", "/metadata/permission-sets/"+someUser,
		`{"name":"Sales","objects":{"Account":{"create":true,"read":true,"update":true}}}`).is(201)
	s.do("PUT", "/metadata/users/"+someUser, `{"name":"Ann","permissionSetIds":["`+someUser+`","`+insiders+`"]}`).is(
		201)
	create := func() reply {
		return s.do("POST", "/records/Account", `{"fields":{"Name":"Hers"}}`, "Idempotency-Key", "k", "X-User-Id",
			someUser)
	}
	hers := create().is(201)
	s.do("PATCH", "/records/Account/"+hers.text("id"), `{"fields":{"Phone":"3"}}`, "If-Match", "*").is(200)
	if r := create().is(201); string(r.body) != string(hers.body) {
		t.Errorf("got %s, want %s", r.body, hers.body)
	}
	s.do("PATCH", "/records/Account/"+hers.text("id"), `{"ownerId":"`+s.get(path).text("ownerId")+`"}`, "If-Match",
		"*").is(200)
	if r := create().is(201).has("id", hers.text("id")).has("recordVersion",
		hers.text("recordVersion")); strings.Contains(string(r.body), "Hers") {
		t.Errorf("a record that she does not see any more: %s", r.body)
	}
	for range 2 {
		s.do("DELETE", path, "", "If-Match", newest, "Idempotency-Key", "k").is(204)
	}
}

func TestARepeatedCreationHappensOnce(t *testing.T) {
	s := newServer(t)
	const body = `{"fields":{"Name":"Acme"}}`
	first := s.do("POST", "/records/Account", body, "Idempotency-Key", "k").is(201)
	again := s.do("POST", "/records/Account", body, "Idempotency-Key", "k").is(201)
	if string(first.body) != string(again.body) {
		t.Errorf("got %s, then %s", first.body, again.body)
	}
	s.do("POST", "/records/Account", `{"fields":{"Name":"Other"}}`, "Idempotency-Key", "k").is(409)
	s.do("POST", "/records/Campaign", body, "Idempotency-Key", "k").is(201) // another path
	const bulk = `{"operations":[{"op":"create","fields":{"Name":"One"}},{"op":"create","fields":{}}]}`
	one := s.do("POST", "/records/Account/bulk", bulk, "Idempotency-Key", "k").is(200)
	two := s.do("POST", "/records/Account/bulk", bulk, "Idempotency-Key", "k").is(200)
	if string(one.body) != string(two.body) {
		t.Errorf("got %s, then %s", one.body, two.body)
	}
	const all = "0199c1a4-0000-7000-8000-0000000000ab"
	s.do("PUT", "/metadata/permission-sets/"+all, `{"name":"All","modifyAll":true}`).is(201)
	s.do("PUT", "/metadata/users/"+someUser, `{"name":"Ann","permissionSetIds":["`+all+`"]}`).is(201)
	if r := s.do("POST", "/records/Account", body, "Idempotency-Key", "k", "X-User-Id", someUser).is(201); r.text(
		"id") == first.text("id") {
		t.Errorf("another client's key is the same: %s", r.body)
	}
	if list := s.get("/records/Account").is(200); !strings.Contains(string(list.body), `"total":3`) {
		t.Errorf("there are %s", list.body)
	}
}

func TestBulksOfRecordsHaveTheirLimits(t *testing.T) {
	s := newServer(t)
	op := `{"op":"create","fields":{"Name":"x"}}`
	s.do("POST", "/records/Account/bulk", `{"operations":[`+strings.Repeat(op+",", 200)+op+`]}`).is(422)
	full := s.do("POST", "/records/Account/bulk", `{"operations":[`+strings.Repeat(op+",", 199)+op+`]}`).is(200)
	if n := strings.Count(string(full.body), `"status":201`); n != 200 {
		t.Errorf("%d were created", n)
	}
	for i, bad := range []string{
		`{}`, `{"operations":[]}`, `{"operations":[{}]}`, `{"operations":[{"op":"merge"}]}`,
		`{"operations":[{"op":"update"}]}`,
		`{"operations":[{"op":"create","id":"` + uuid.NewString() + `"}]}`, `{"operations":[{"op":"delete","id":"` +
			uuid.NewString() + `","fields":{}}]}`,
		`{"operations":[{"op":"create","fields":[]}]}`, `{"operations":[{"op":"create","colour":"red"}]}`,
	} {
		if r := s.do("POST", "/records/Account/bulk", bad).is(422); !strings.Contains(string(r.body), "operations") {
			t.Error(fmt.Sprint(i), string(r.body))
		}
	}
}
