package cli

import (
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/demo"
	"renga.dev/renga/internal/platform/gate"
)

// loaded is what renga demo load -o json prints.
type loaded struct {
	Seed    int64        `json:"seed"`
	Records int          `json:"records"`
	Date    string       `json:"date"`
	Items   []demo.Count `json:"items"`
}

func (r *rig) demo(args ...string) (l loaded) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.must("", append([]string{"demo", "load", "-o", "json"}, args...)...)),
		&l); err != nil {
		r.t.Fatal(err)
	}
	return l
}

// ids are the ids of all records of an object.
func (r *rig) ids(object string) (ids []string) {
	r.t.Helper()
	for page := 1; ; page++ {
		var got client.Page[client.Record]
		out := r.must("", "record", "list", object, "-o", "json", "--page-size", "100", "--page", strconv.Itoa(page))
		if err := json.Unmarshal([]byte(out), &got); err != nil {
			r.t.Fatal(err)
		}
		for _, rec := range got.Items {
			ids = append(ids, rec.ID)
		}
		if len(ids) >= got.Total {
			return ids
		}
	}
}

// demoObjects are the objects of which there are records.
var demoObjects = []string{"Campaign", "Account", "Contact", "Lead", "Opportunity", "Quote"}

// TestDemoDataIsLoadedOnce loads demo data, again on another day, and beside that of another
// seed.
func TestDemoDataIsLoadedOnce(t *testing.T) {
	r := newRig(t, options{})
	t.Setenv("RENGA_SERVER", r.url)
	first := r.demo("--records", "250")
	counts, records := map[string]int{}, 0
	held := map[string][]string{}
	for _, k := range first.Items {
		counts[k.What] = k.Count
	}
	for _, o := range demoObjects {
		held[o] = r.ids(o)
		if records += len(held[o]); len(held[o]) != counts[o] {
			t.Errorf("there are %d of %s, told were %d", len(held[o]), o, counts[o])
		}
	}
	if records != 250 || first.Date != "2026-01-05" {
		t.Errorf("got %d records around %s", records, first.Date)
	}
	for _, what := range []string{
		"role", "user", "group", "permission-set", "sharing-rule", "territory", "team member", "campaign member",
		"account in a territory", "validation-rule", "workflow-rule",
		"scheduled-job", "approval-process", "change of a record", "converted lead", "approval",
	} {
		if counts[what] == 0 {
			t.Errorf("there is no %s: %v", what, counts)
		}
	}
	r.clock.advance(48 * time.Hour)
	if again := r.demo("--records", "250"); !reflect.DeepEqual(again, first) {
		t.Errorf("the second time: %s", cmp.Diff(first, again))
	}
	if got := strings.Count(r.must("", "approval", "list", "-o", "json", "--page-size", "100"),
		`"processId"`); got != counts["approval"] {
		t.Errorf("the second time there are %d approvals, told were %d", got, counts["approval"])
	}
	for _, o := range demoObjects {
		if got := r.ids(o); !slices.Equal(got, held[o]) {
			t.Errorf("the second time there are %d of %s, before %d", len(got), o, len(held[o]))
		}
	}
	if _, errs, code := r.run("demo", "load", "--records", "300"); code != exitUsage ||
		!strings.Contains(errs, "--records 250") {
		t.Errorf("another size: %d %s", code, errs)
	}
	if _, errs, code := r.run("demo", "load", "--records", "100", "--seed", "2"); code != exitUsage ||
		!strings.Contains(errs, "--force") {
		t.Errorf("another seed: %d %s", code, errs)
	}
	if other := r.demo("--records", "100", "--seed", "2", "--force"); other.Date != "2026-01-07" {
		t.Errorf("another seed: %+v", other)
	}
	if got, want := len(r.ids("Account")), len(held["Account"])+15; got != want {
		t.Errorf("%d accounts of two seeds, want %d", got, want)
	}
	for _, wrong := range [][]string{{"--records", "99"}, {"--records", "200001"}, {"--seed", "0"}} {
		if _, errs, code := r.run(append([]string{"demo", "load"}, wrong...)...); code != exitUsage ||
			!strings.Contains(errs, wrong[0]) {
			t.Errorf("%v: %d %s", wrong, code, errs)
		}
	}
}

// TestDemoDataIsLoadedWithTokens loads it on a server with --auth jwt: as somebody whom an
// empty tenant does not know yet, and as an administrator who is a user.
func TestDemoDataIsLoadedWithTokens(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "dev")
	keys := &rig{t: t, clock: &clock{}}
	keys.clock.at.Store(time.Now().UnixMilli())
	keys.must("", "token", "new-key", "--out", prefix)
	r := newRig(t, options{auth: gate.AuthConfig{Mode: gate.ModeJWT, Keys: prefix + ".public.pem"}})
	r.clock.at.Store(time.Now().UnixMilli())
	t.Setenv("RENGA_SERVER", r.url)
	token := func(tenant, sub string) string {
		return strings.TrimSpace(r.must("", "token", "--key", prefix+".private.pem", "--sub", sub, "--tenant", tenant))
	}
	const empty, staffed = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	mika := token(empty, "mika")
	first := r.demo("--records", "100", "--token", mika)
	if again := r.demo("--records", "100", "--token", mika); !reflect.DeepEqual(again, first) {
		t.Errorf("the second time: %+v, want %+v", again, first)
	}
	if out := r.must("", "metadata", "list", "user", "--token", mika); !strings.Contains(out, "mika") {
		t.Errorf("who loaded it is no user: %s", out)
	}

	ada := token(staffed, "ada")
	r.must(`[{"define":"permission-set","id":"0199c1a4-0000-7000-8000-000000000001","name":"All","modifyAll":true},
		{"define":"user","id":"0199c1a4-0000-7000-8000-000000000002","name":"Ada","subject":"ada",
			"permissionSetIds":["0199c1a4-0000-7000-8000-000000000001"]}]`,
		"metadata", "apply", "-f", "-", "--token", ada)
	if _, errs, code := r.run("demo", "load", "--records", "100", "--token",
		token(staffed, "eve")); code != exitDenied || !strings.Contains(errs, "eve") {
		t.Errorf("somebody whom a tenant with users does not know: %d %s", code, errs)
	}
	if out := r.must("", "metadata", "list", "user", "--token", ada); strings.Contains(out, "eve") {
		t.Errorf("who was refused is a user: %s", out)
	}
	if l := r.demo("--records", "100", "--token", ada); len(l.Items) != len(first.Items) {
		t.Errorf("as an administrator: %+v", l)
	}
}
