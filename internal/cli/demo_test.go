package cli

import (
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/platform/gate"
)

// loaded is what renga demo load -o json prints.
type loaded struct {
	Seed    int64        `json:"seed"`
	Records int          `json:"records"`
	Date    string       `json:"date"`
	Items   []loadedKind `json:"items"`
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
		held[o.name] = r.ids(o.name)
		if records += len(held[o.name]); len(held[o.name]) != counts[o.name] {
			t.Errorf("there are %d of %s, told were %d", len(held[o.name]), o.name, counts[o.name])
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
		if got := r.ids(o.name); !slices.Equal(got, held[o.name]) {
			t.Errorf("the second time there are %d of %s, before %d", len(got), o.name, len(held[o.name]))
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

// TestDemoDataThatWasInterruptedIsCompleted loads some of the data, and then all.
func TestDemoDataThatWasInterruptedIsCompleted(t *testing.T) {
	r := newRig(t, options{})
	t.Setenv("RENGA_SERVER", r.url)
	app := &App{Flags: &Flags{Server: r.url, Output: "json"}, now: r.clock.Now}
	remote, err := app.connect(retryFor)
	if err != nil {
		t.Fatal(err)
	}
	part := &demoLoad{
		company: newDemo(1, 120, r.clock.Now().Truncate(24*time.Hour)), remote: remote, bar: &Bar{},
		ids: map[string][]string{},
	}
	// where it breaks off, before any record
	part.definitions = append(part.definitions, demoDefinition{"nothing", "x", nil})
	if err := part.run(t.Context()); err == nil {
		t.Fatal("it did not break off")
	}
	part.definitions = part.definitions[:len(part.definitions)-1]
	part.records["Contact"][3].fields["Nonsense"] = 1
	if err := part.run(t.Context()); err == nil || !strings.Contains(err.Error(), "Nonsense") {
		t.Fatalf("got %v", err)
	}
	accounts := r.ids("Account")
	if len(accounts) != 18 || len(r.ids("Contact")) != 0 {
		t.Fatalf("%d accounts before it broke off", len(accounts))
	}
	r.clock.advance(24 * time.Hour)
	r.demo("--records", "120")
	if got := r.ids("Account"); !slices.Equal(got, accounts) {
		t.Errorf("the accounts are not those of before")
	}
	if n := len(r.ids("Quote")) + len(r.ids("Contact")); n != 36+15 {
		t.Errorf("got %d quotes and contacts", n)
	}
}

// TestDemoDataFollowsFromItsSeed plans the same data twice, and looks at what it is.
func TestDemoDataFollowsFromItsSeed(t *testing.T) {
	day := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	one := newDemo(1, 10_000, day)
	if !reflect.DeepEqual(one, newDemo(1, 10_000, day)) {
		t.Error("the same seed gives other data")
	}
	if reflect.DeepEqual(one.records, newDemo(2, 10_000, day).records) {
		t.Error("another seed gives the same data")
	}
	total, japanese := 0, 0
	for object, records := range one.records {
		for i, rec := range records {
			total++
			name, _ := rec.fields["Name"].(string)
			if object == "Account" && utf8.RuneCountInString(name) < len(name) {
				japanese++
			}
			for field, ref := range rec.refs {
				if ref.at >= len(one.records[ref.object]) || ref.object == object && ref.at/bulkSize >= i/bulkSize {
					t.Errorf("%s %d: %s names %s %d, which is not there yet", object, i, field, ref.object, ref.at)
				}
			}
		}
	}
	if total != 10_000 || japanese < 600 || japanese > 1000 {
		t.Errorf("%d records, %d accounts with Japanese names", total, japanese)
	}
	stages := map[int]int{} // opportunities, by how often they have moved
	for _, moves := range one.moves {
		seen := map[demoRef]bool{}
		for _, m := range moves {
			if seen[m.of] {
				t.Errorf("%s %d changes twice in a round", m.of.object, m.of.at)
			}
			if seen[m.of] = true; m.of.object == "Opportunity" {
				stages[m.of.at]++
			}
		}
	}
	often := 0
	for _, n := range stages {
		if n > 2 {
			often++
		}
	}
	if often < 300 || len(one.converted) < 100 || len(one.approvals) < 200 {
		t.Errorf("%d opportunities moved often, %d leads were converted, %d quotes submitted", often,
			len(one.converted), len(one.approvals))
	}
	others := newDemo(2, minDemo, day).definitions
	for _, u := range one.definitions {
		if u.kind == client.DefineUser && slices.ContainsFunc(others, func(o demoDefinition) bool {
			return o.body["subject"] == u.body["subject"]
		}) {
			t.Errorf("%v is a user of two seeds", u.body["subject"])
		}
	}
	weights := 0
	for _, r := range regions {
		weights += r.weight
	}
	if weights != 100 {
		t.Errorf("the regions weigh %d of 100", weights)
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
		{"define":"user","id":"0199c1a4-0000-7000-8000-000000000002","name":"Ada","subject":"ada","permissionSetIds":["0199c1a4-0000-7000-8000-000000000001"]}]`,
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
