package inbound

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// steps is a template with these steps.
func steps(all ...string) string { return `{"name":"n","steps":[` + strings.Join(all, ",") + `]}` }

const first = `{"action":"month_close","trigger_kind":"external_event"}`

func TestATemplateThatIsNotOneIsRefusedByName(t *testing.T) {
	long := strings.Repeat("é", MaxText+1)
	for body, want := range map[string]string{
		``:           "name is missing",
		`[]`:         "the body must be an object",
		`{"name":5}`: "name must be a string",
		`{"name":"n","steps":[` + first + `],"color":1}`: "color is not a known field",
		`{"name":"n"}`: "steps must be 1 to 100",
		steps():        "steps must be 1 to 100",
		steps(strings.Split(strings.Repeat(first+" ", MaxSteps+1), " ")[:MaxSteps+1]...): "steps must be 1 to 100",
		`{"name":"` + long + `","steps":[` + first +
			`]}`: "name must be 1 to 255 characters on one line",
		`{"name":"a\nb","steps":[` + first +
			`]}`: "name must be 1 to 255 characters on one line",
		`{"name":"a\u2028b","steps":[` + first +
			`]}`: "name must be 1 to 255 characters on one line",
		`{"name":"n","year":1999,"steps":[` + first + `]}`:   "year must be 2000 or later",
		`{"name":"n","year":0,"steps":[` + first + `]}`:      "year must be 2000 or later",
		`{"name":"n","year":"2026","steps":[` + first + `]}`: "year must be a whole number",
		`{"name":"n","year":null,"steps":[` + first + `]}`:   "year must be a whole number",
		`{"name":"n","month":0,"steps":[` + first + `]}`:     "month must be 1 to 12",
		`{"name":"n","month":13,"steps":[` + first + `]}`:    "month must be 1 to 12",
		`{"name":"n","mfcloud_url":"` + strings.Repeat("x", MaxURL+1) +
			`"}`: "mfcloud_url is longer than 2048 characters",
		`{"name":"n","notes":"` + strings.Repeat("x", MaxNotes+1) + `"}`: "notes are longer than 8192 bytes",
		steps(`5`):              "steps[0] must be an object",
		steps(`{}`):             "steps[0].action is missing",
		steps(`{"action":"a"}`): "steps[0].trigger_kind is missing",
		steps(first, `{"action":"a b","trigger_kind":"manual"}`): "steps[1].action must be 1 " +
			"to 128 of A-Z a-z 0-9 . _ -",
		steps(`{"action":"` + strings.Repeat("a", 129) +
			`","trigger_kind":"manual"}`): "steps[0].action must be 1 to 128 of A-Z a-z 0-9 . _ -",
		steps(`{"action":"a","trigger_kind":"later"}`): "steps[0].trigger_kind " +
			"must be external_event, after_previous or manual",
		steps(first, first): "steps[1].trigger_kind: only the first step can be external_event",
		steps(`{"action":"a","trigger_kind":"manual","queue":"q"}`): "steps[0].queue is not a " +
			"known field",
		steps(`{"action":"a","trigger_kind":"manual","title":"` + long +
			`"}`): "steps[0].title must be at most 255 characters on one line",
		steps(`{"action":"a","trigger_kind":"manual","timeout":5}`): "steps[0].timeout: must be " +
			"a duration like 50ms, 2s or 24h",
		steps(`{"action":"a","trigger_kind":"manual","timeout":null}`): "steps[0].timeout: must be " +
			"a duration like 50ms, 2s or 24h",
		steps(first, `{"action":"a","trigger_kind":"manual","timeout":"0s"}`): "steps[1].timeout: must be " +
			"more than 0s",
		steps(`{"action":"a","trigger_kind":"manual",` +
			`"timeout":"9000h"}`): `node "step-1": timeout: must be at most 8760h`,
		steps(first, `{"action":"a","trigger_kind":"manual",`+
			`"retry":{"maxAttempts":0}}`): "steps[1].retry.maxAttempts: must be 1 to 100",
		steps(first, `{"action":"a","trigger_kind":"manual","retry":{"attempts":3}}`): "steps[1].retry.attempts: " +
			"is not a member that exists here",
		steps(first, `{"action":"a","trigger_kind":"manual","retry":[]}`): "steps[1].retry: must be an object",
		`{"name":"n","name":"m","steps":[` + first + `]}`:                 "",
	} {
		_, err := ParseTemplate([]byte(body))
		failure, _ := fault.As(err)
		if failure == nil || failure.Kind != fault.Invalid || want != "" && failure.Message != want {
			t.Errorf("%.100s:\ngot  %v\nwant %s", body, err, want)
		}
	}
}

func TestATemplateIsATaskForEachStepAndAWaitInFrontOfAManualOne(t *testing.T) {
	tpl, err := ParseTemplate([]byte(steps(
		first,
		`{"action":"mf_reconcile","trigger_kind":"after_previous","title":"突合","timeout":"10m",`+
			`"retry":{"maxAttempts":3}}`,
		`{"action":"amazon_print","trigger_kind":"manual"}`,
	)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := flow.ParseGraph([]byte(`{"nodes":[
		{"nodeId":"start","type":"Start"},
		{"nodeId":"step-1","type":"Task","queue":"month_close"},
		{"nodeId":"step-2","type":"Task","queue":"mf_reconcile","timeout":"10m","retry":{"maxAttempts":3}},
		{"nodeId":"step-3-wait","type":"Wait","waitKey":"step-3"},
		{"nodeId":"step-3","type":"Task","queue":"amazon_print"},
		{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"step-1"},{"from":"step-1","to":"step-2"},{"from":"step-2","to":"step-3-wait"},
		{"from":"step-3-wait","to":"step-3"},{"from":"step-3","to":"end"}]}`), false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, tpl.graph()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTemplatesAreKept(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		body := steps(
			first,
			`{"action":"mf_reconcile","trigger_kind":"manual","title":"突合","timeout":"10m","retry":{"maxAttempts":3}}`,
		)
		tpl, err := ParseTemplate([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		now := at(r.clock.Now())
		put := func(tpl Template, created bool, want Stored) {
			t.Helper()
			got, is, err := r.PutTemplate(t.Context(), tenantA, "a", tpl)
			if diff := cmp.Diff(want, got); diff != "" || is != created || err != nil {
				t.Fatalf("created %v, %v (-want +got):\n%s", is, err, diff)
			}
			if got, err = r.Template(t.Context(), tenantA, "a"); !cmp.Equal(want, got) || err != nil {
				t.Fatalf("read: %v\n%s", err, cmp.Diff(want, got))
			}
		}
		put(tpl, true, Stored{"a", tpl, 1, now, now})
		r.clock.forward(5e9)
		put(tpl, false, Stored{"a", tpl, 1, now, now}) // it says the same
		tpl.Notes = "other notes, the same graph"
		put(tpl, false, Stored{"a", tpl, 1, now, now + 5000})
		tpl.Steps = tpl.Steps[:1]
		put(tpl, false, Stored{"a", tpl, 2, now, now + 5000})
		text, err := json.Marshal(Stored{"a", tpl, 2, now, now + 5000})
		want := `{"id":"a","name":"n","notes":"other notes, the same graph","steps":[{"action":"month_close",` +
			`"trigger_kind":"external_event"}],` +
			`"graph_version":2,"created_at":"2026-02-20T12:00:00.000Z","updated_at":"2026-02-20T12:00:05.000Z"}`
		if string(text) != want || err != nil {
			t.Errorf("got %s %v", text, err)
		}
		if err := r.DeleteTemplate(t.Context(), tenantA, "a"); err != nil {
			t.Fatal(err)
		}
		put(tpl, true, Stored{"a", tpl, 2, now + 5000, now + 5000})
	})
}

func TestTemplatesAreListedById(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for _, id := range []string{"c", "a", "B", "d"} {
			r.template(id, closing)
		}
		r.templateOf(tenantB, "z", closing)
		for offset, want := range map[int]string{0: "B a", 1: "a c", 3: "d", 4: ""} {
			page, total, err := r.Templates(t.Context(), tenantA, offset, 2)
			var ids []string
			for _, s := range page {
				ids = append(ids, s.ID)
			}
			if got := strings.Join(ids, " "); got != want || total != 4 || err != nil {
				t.Errorf("from %d: got %q of %d %v, want %q", offset, got, total, err, want)
			}
		}
	})
}

func TestATemplateThatIsNotThereIsNotFound(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.templateOf(tenantB, "theirs", closing)
		for _, id := range []string{"none", "theirs", "a b", "a:b", "", "a\x00"} {
			_, read := r.Template(t.Context(), tenantA, id)
			for what, err := range map[string]error{"read": read, "delete": r.DeleteTemplate(t.Context(), tenantA,
				id)} {
				if failure, _ := fault.As(err); failure == nil || fault.KindOf(err) != fault.NotFound ||
					failure.Message != msgNoTemplate {
					t.Errorf("%s %q: got %v", what, id, err)
				}
			}
		}
		tpl, err := ParseTemplate([]byte(closing))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"", "a b", "a:b", strings.Repeat("a", 129), "a\x00"} {
			if _, _, err := r.PutTemplate(t.Context(), tenantA, id, tpl); fault.KindOf(err) != fault.Invalid {
				t.Errorf("put %q: got %v", id, err)
			}
		}
	})
}

// TestATemplateRunsToItsEnd works a template off: its steps one after the other, and
// a person in front of the manual one.
func TestATemplateRunsToItsEnd(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", `{"name":"n","year":2026,"month":1,"steps":[`+first+
			`,{"action":"mf_reconcile","trigger_kind":"after_previous"},
			{"action":"amazon_print","trigger_kind":"manual"}]}`)
		run := r.starts(`{}`).RunID
		r.work(run, "month_close", "step-1")
		r.work(run, "mf_reconcile", "step-2")
		state := r.view(run)
		if n, _ := state.Find("step-3-wait"); n == nil || n.Status != flow.NodeIsWaiting {
			t.Fatalf("got %+v", n)
		}
		r.command(run, flow.Resume{Node: "step-3-wait", ResumeKey: "step-3"})
		r.work(run, "amazon_print", "step-3")
		if got := r.view(run).Status; got != flow.Completed {
			t.Errorf("got %v", got)
		}
	})
}

// work claims the task of a run and succeeds it.
func (r *rig) work(run, queue, node string) {
	r.Helper()
	got, err := r.engine.Claim(r.Context(), engine.ClaimRequest{
		Tenant: tenantA, Worker: "w", Queues: []string{queue},
		Max: 1, Lease: 60,
	})
	if err != nil || len(got.Tasks) != 1 || got.Tasks[0].Execution.String() != run || got.Tasks[0].Node != node {
		r.Fatalf("claim of %s: got %+v %v", queue, got, err)
	}
	r.command(run, flow.Succeed{Node: node, Worker: "w"})
}

func FuzzParseTemplate(f *testing.F) {
	for _, body := range []string{
		closing, `{}`,
		steps(first, `{"action":"a","trigger_kind":"manual","timeout":"1s","retry":{"backoff":2}}`),
		`{"name":"n","steps":[null]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		tpl, err := ParseTemplate(body)
		if err != nil {
			if failure, ok := fault.As(err); !ok || failure.Kind != fault.Invalid || failure.Message == "" {
				t.Fatalf("got %v", err)
			}
			return
		}
		stored, err := json.Marshal(tpl)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseTemplate(stored)
		if err != nil || !cmp.Equal(tpl, again) {
			t.Fatalf("%s: %v\n%s", stored, err, cmp.Diff(tpl, again))
		}
	})
}
