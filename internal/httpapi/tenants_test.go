package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/bus"
)

// TestNothingOfATenantIsThereForAnother plays the story of the contract, which has every
// operation. Before each of its requests another tenant sends the same one: with the ids,
// keys, filters and bodies of the first. What names a thing of the first tenant is not
// found, and every answer is the one of a server that has never heard of the first tenant.
// The story goes on as if nobody had asked.
//
// An operation that is new is in the story before it is on main, so it is asked here too;
// its path parameters name things of a tenant unless they are among those of everybody.
func TestNothingOfATenantIsThereForAnother(t *testing.T) {
	o := &onlooker{
		play: newPlay(
			newStoryServer(t),
		), alone: newServerWith(t, options{consumers: []bus.Consumer{{Name: "search"}}}),
		ids: map[string]bool{}, hidden: map[string]bool{}, asked: map[string]bool{},
	}
	o.before, o.after, o.loose = o.ask, o.learn, func(operation string) bool { return wide[operation] }
	o.all()
	o.follow()
	o.notifications()
	o.complete()
}

// TestTenantsWhoChooseTheSameNamesDoNotMeet lets one tenant play the story and then another,
// on one server: with the same ids of users, roles and rules, the same names of graphs,
// templates and queues, the same keys and bodies. The second is answered as if there had
// been no first.
func TestTenantsWhoChooseTheSameNamesDoNotMeet(t *testing.T) {
	s := newStoryServer(t)
	s.furnishStory(other)
	for _, tenant := range []string{other, own} {
		p := newPlay(s)
		p.loose = func(operation string) bool { return wide[operation] }
		if tenant != own {
			p.tenant, p.real[own] = tenant, tenant
		}
		p.all()
	}
}

// onlooker is a tenant who has nothing and asks for everything, and others who make what
// they ask for.
type onlooker struct {
	*play
	alone  *server         // on which there is nobody else
	ids    map[string]bool // of the tenant whose story it is
	hidden map[string]bool // operations that did not find a thing that is there
	asked  map[string]bool // operations
}

// everybodys are the path parameters that name the same for all tenants.
var everybodys = []string{"object", "eventType", "memberType", "rest"}

// wide are the operations that describe the system as a whole, beside what they show of a
// tenant: their answers depend on what others do, but name nobody.
var wide = map[string]bool{"listConsumers": true, "getOutbox": true, "followEvents": true, "metrics": true}

// owned are the path parameters of a request that name things of a tenant.
func owned(template string, path map[string]string) (names []string) {
	for _, found := range aParameter.FindAllStringSubmatch(template, -1) {
		name := found[1]
		// a field that all tenants have
		standard := name == "name" && path != nil && !strings.HasSuffix(path[name], "__c")
		if !slices.Contains(everybodys, name) && !standard {
			names = append(names, name)
		}
	}
	return names
}

var aParameter = regexp.MustCompile(`\{(\w+)\}`)

// makes reports whether an operation makes the thing that its path names.
func (o *onlooker) makes(operation string, names []string) bool {
	method, template, _ := strings.Cut(operation, " ")
	created, _ := o.contract.at("/paths/" + escape(template) + "/put/responses/201")
	return method == http.MethodPut && len(names) == 1 && strings.HasSuffix(template, "{"+names[0]+"}") &&
		created != nil
}

// ask sends a request of the story as somebody else, before it is sent.
func (o *onlooker) ask(s step, r request) {
	o.t.Helper()
	_, template, _ := strings.Cut(r.operation, " ")
	names := owned(template, s.Path)
	o.asked[r.operation] = true
	switch {
	case s.Operation == "downloadArtifact":
		o.borrow(r)
	case s.Operation == "followEvents": // it does not end: see follow
	case s.Operation == "contract": // its examples have ids of their own, and the story takes some
	case s.Operation == "console", s.Operation == "consolePage": // no answer has the nonce of another
	case len(names) == 0 && r.method == http.MethodGet:
		o.same(s, r, other)
	case len(names) == 0, o.makes(r.operation, names):
		// It makes something of its own, so that a tenant who does this has something afterwards.
		if got := o.same(s, r, uuid.NewString()); len(names) > 0 && got.status == http.StatusOK {
			o.t.Errorf("%s as another tenant changed what is there: %s", got.asked, got.body)
		} else if len(names) > 0 && s.Status < 300 {
			o.hidden[r.operation] = true
		}
	default:
		got := o.same(s, r, other)
		if malformed := s.Status == http.StatusBadRequest ||
			s.Status == http.StatusUnprocessableEntity; got.status != http.StatusNotFound &&
			(!malformed || got.status != s.Status) {
			o.t.Errorf("%s as another tenant: got %d, want 404: %s", got.asked, got.status, got.body)
		} else if got.status == http.StatusNotFound && (s.Status < 300 || s.Status == http.StatusConflict) {
			o.hidden[r.operation] = true
		}
	}
}

// same sends a request as a tenant to both servers and demands the same answer.
func (o *onlooker) same(s step, r request, tenant string) reply {
	o.t.Helper()
	header := append(slices.Clone(r.header), "X-Tenant-Id", tenant)
	body := strings.NewReplacer(`"waitSeconds":5`, `"waitSeconds":0`, `"waitSeconds":30`, `"waitSeconds":0`).Replace(
		r.body)
	send := func(to *server) reply {
		if r.method == http.MethodGet {
			return to.frames(1, r.path, header...)
		}
		return to.do(r.method, r.path, body, header...)
	}
	got, want := send(o.server), send(o.alone)
	o.silent(got, r.path, r.body, strings.Join(r.header, " "), string(want.body))
	if got.status != want.status {
		o.t.Errorf("%s as another tenant: got %d %s, alone it is %d %s", got.asked, got.status, got.body, want.status,
			want.body)
		return got
	}
	if wide[s.Operation] {
		o.narrow(s, got)
		return got
	}
	if diff := cmp.Diff(unnamed(want.body), unnamed(got.body)); diff != "" {
		o.t.Errorf("%s as another tenant (-alone +beside the other):\n%s", got.asked, diff)
	}
	return got
}

// narrow looks at what an answer about the system says of a tenant who has nothing.
func (o *onlooker) narrow(s step, got reply) {
	o.t.Helper()
	switch s.Operation {
	case "getOutbox":
		if got.status == http.StatusOK { // else its position is another tenant's
			got.has("items", "[]")
		}
	case "listConsumers":
		var all struct {
			Items []struct {
				Partitions []struct {
					DeadLetters  int            `json:"deadLetters"`
					WaitingKeys  map[string]int `json:"waitingKeys"`
					WaitingSince string         `json:"waitingSince"`
				} `json:"partitions"`
			} `json:"items"`
		}
		got.read(&all)
		for _, c := range all.Items {
			for _, p := range c.Partitions {
				if p.DeadLetters != 0 || p.WaitingKeys["retrying"] != 0 || p.WaitingKeys["blocked"] != 0 ||
					p.WaitingSince != "" {
					o.t.Errorf("a tenant who has nothing waits: %+v", p)
				}
			}
		}
	}
}

// silent demands that an answer names nothing of the tenant whose story it is, but for what
// was said before: in the request, or by a server on which there is nobody else.
func (o *onlooker) silent(got reply, before ...string) {
	o.t.Helper()
	said := strings.Join(before, "\n")
	for _, id := range anID.FindAllString(string(got.body)+fmt.Sprint(got.header), -1) {
		if o.ids[id] && !strings.Contains(said, id) {
			o.t.Errorf("%s as another tenant shows %s: %s", got.asked, id, got.body)
		}
	}
}

// learn notes the ids that the answers of the story have.
func (o *onlooker) learn(_ step, got reply) {
	for _, id := range anID.FindAllString(string(got.body), -1) {
		if id != own {
			o.ids[id] = true
		}
	}
}

// borrow asks for an artifact with a signature that was made for its owner: it opens
// what it was made for, and that alone.
func (o *onlooker) borrow(r request) {
	o.t.Helper()
	if r.path = strings.Replace(r.path, "tenant="+own, "tenant="+other, 1); !strings.Contains(r.path, other) {
		o.t.Fatalf("the URL %s names no tenant", r.path)
	}
	if got := o.server.do(r.method, r.path, ""); got.status != http.StatusForbidden &&
		got.status != http.StatusNotFound {
		o.t.Errorf("%s: got %d: %s", got.asked, got.status, got.body)
	}
	o.hidden[r.operation] = true
}

// follow reads the stream of events from its beginning: what comes first is of the tenant
// who asks, though others were first.
func (o *onlooker) follow() {
	o.t.Helper()
	mine := o.mail.Deleted(other, uuid.NewString())
	o.mail.Publish(mine)
	got := o.server.frames(2, "/events/stream?lastEventId=0", "X-Tenant-Id", other).is(http.StatusOK)
	if !strings.Contains(string(got.body), mine.ID) {
		o.t.Errorf("the stream does not begin with the tenant's own event: %s", got.body)
	}
	o.silent(got)
}

// notifications lets a rule act, which no request of the story does, and asks as another tenant for
// what it made.
func (o *onlooker) notifications() {
	o.t.Helper()
	const ann = "0199c1a4-0000-7000-8000-0000000000a1"
	s := o.server
	s.do("PUT", "/metadata/users/"+ann, `{"name":"Ann"}`).is(201)
	// callers choose the ids of users
	s.do("PUT", "/metadata/users/"+ann, `{"name":"Ann"}`, "X-Tenant-Id", other).is(201)
	s.do("PUT", "/metadata/workflow-rules/0199c1a4-0000-7000-8000-0000000000c2",
		`{"name":"Welcome","object":"Account","on":["create"],"when":"after","actions":[
		{"key":"tell","type":"notify","message":"A new account."},{"key":"todo","type":"createTask",
		"message":"Call them."}]}`).is(201)
	s.do("POST", "/records/Account", `{"ownerId":"`+ann+`","fields":{"Name":"Told"}}`).is(201)
	s.automate()
	for _, what := range []struct{ list, do, operation string }{
		{"/automation/inbox", "/read", "PUT /automation/inbox/{id}/read"},
		{"/automation/tasks", "/done", "PUT /automation/tasks/{id}/done"},
	} {
		thing := what.list + "/" + s.get(what.list, "X-User-Id", ann).is(200).text("items.0.id") + what.do
		for _, stranger := range [][]string{{"X-Tenant-Id", other}, {"X-Tenant-Id", other, "X-User-Id", ann}} {
			if got := s.get(what.list, stranger...).is(200); !strings.Contains(string(got.body), `"total":0`) {
				o.t.Errorf("%s with %v: %s", what.list, stranger, got.body)
			}
			s.do("PUT", thing, "", stranger...).is(404)
		}
		s.do("PUT", thing, "", "X-User-Id", ann).is(200)
		o.hidden[what.operation] = true
	}
}

// complete demands that every operation was asked, and that those that name a thing of a
// tenant were asked for one that is there.
func (o *onlooker) complete() {
	o.t.Helper()
	for _, operation := range o.contract.operations() {
		_, template, _ := strings.Cut(operation, " ")
		switch {
		case !o.asked[operation]:
			o.t.Errorf("%s was not asked as another tenant: the story does not have it", operation)
		case len(owned(template, nil)) > 0 && !o.hidden[operation]:
			o.t.Errorf("%s was never asked for a thing of another tenant that is there: the story has no step of it "+
				"that finds one", operation)
		}
	}
	if len(o.ids) < 50 {
		o.t.Errorf("the story showed %d ids only", len(o.ids))
	}
}

// unnamed is an answer without ids, instants and what else no two servers have in common.
func unnamed(body []byte) any {
	var value any
	if json.Unmarshal(body, &value) != nil {
		value = string(body)
	}
	return rewrite(mask(value), func(s string) string { return anID.ReplaceAllString(s, "<id>") })
}
