package inbound

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

func TestADeliveryStartsARunAndItsRepetitionsNameIt(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		got := r.starts(`{"template_id":"close","idempotency_key":"k-1"}`)
		want := Outcome{
			TemplateID:   "close",
			TemplateName: "月次締め",
			Action:       "month_close",
			Key:          "k-1",
			RunID:        got.RunID,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		want.Duplicate = true
		// The key alone counts: whatever else the delivery says, also what would be refused.
		for _, body := range []string{
			`{"idempotency_key":"k-1"}`, `{"eventId":"k-1","template_id":"none"}`,
			`{"event_id":"k-1","event_name":"none"}`,
			`{"idempotencyKey":"k-1","year":"abc"}`, `{"idempotency_key":"k-1","month":3}`,
		} {
			if diff := cmp.Diff(want, r.repeats(body, got.RunID)); diff != "" {
				t.Error(diff)
			}
		}
		if n := r.runs(); n != 1 {
			t.Errorf("%d runs", n)
		}
		if got := r.view(got.RunID); got.Status != flow.Active || got.GraphID != "template:close" ||
			got.GraphVersion != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

// rules is one row for each rule of the document about what a delivery leads to. The
// templates are those that are there, by id, with their first step.
var rules = []struct {
	name      string
	templates map[string]string
	body      string
	run       string // id of the template that it starts; "": it is refused
	kind      fault.Kind
	message   string
	reason    fault.Reason
}{
	// 4.1 template_id
	{
		name: "an id", templates: map[string]string{"a": "external", "b": "external"}, body: `{"template_id":"b"}`,
		run: "b",
	},
	{
		name: "an id in the other spelling", templates: map[string]string{"a": "external", "b": "external"},
		body: `{"templateId":"b"}`, run: "b",
	},
	{
		name: "an id goes before an event name", templates: map[string]string{"a": "external", "b": "external"},
		body: `{"template_id":"b","event_name":"none"}`, run: "b",
	},
	{
		name: "an id of another first step", templates: map[string]string{"a": "external", "b": "manual"},
		body: `{"template_id":"b"}`,
		kind: fault.Conflict, message: "Template step 1 must use trigger_kind=external_event.",
		reason: fault.UnfitTemplate,
	},
	{
		name: "an id of a first step after nothing", templates: map[string]string{"b": "after"},
		body: `{"template_id":"b"}`,
		kind: fault.Conflict, message: "Template step 1 must use trigger_kind=external_event.",
		reason: fault.UnfitTemplate,
	},
	{
		name: "an id that does not exist", templates: map[string]string{"a": "external"}, body: `{"template_id":"b"}`,
		kind: fault.NotFound, message: "Workflow template not found.", reason: fault.NoTemplate,
	},
	{
		name: "an id that cannot exist", templates: map[string]string{"a": "external"},
		body: `{"template_id":"a\u0000\u2028"}`,
		kind: fault.NotFound, message: "Workflow template not found.", reason: fault.NoTemplate,
	},
	{
		name: "an id in another case", templates: map[string]string{"a": "external"}, body: `{"template_id":"A"}`,
		kind: fault.NotFound, message: "Workflow template not found.", reason: fault.NoTemplate,
	},
	// 4.2 event_name
	{
		name: "an event", templates: map[string]string{"a": "external", "b": "other"},
		body: `{"event_name":"mf_reconcile"}`, run: "b",
	},
	{
		name: "an event in the other spelling", templates: map[string]string{"a": "external", "b": "other"},
		body: `{"eventName":"mf_reconcile"}`, run: "b",
	},
	{
		name: "an event that nobody waits for", templates: map[string]string{"a": "external"},
		body: `{"event_name":"mf_reconcile"}`,
		kind: fault.NotFound, message: "No external_event workflow template matched event_name.",
		reason: fault.NoTemplate,
	},
	{
		name: "an event that a manual template is for", templates: map[string]string{"a": "manual"},
		body: `{"event_name":"month_close"}`,
		kind: fault.NotFound, message: "No external_event workflow template matched event_name.",
		reason: fault.NoTemplate,
	},
	{
		name: "an event that cannot be an action", templates: map[string]string{"a": "external"},
		body: `{"event_name":"a\u0000b"}`,
		kind: fault.NotFound, message: "No external_event workflow template matched event_name.",
		reason: fault.NoTemplate,
	},
	{
		name: "an event of two templates", templates: map[string]string{"a": "external", "b": "external", "c": "other"},
		body: `{"event_name":"month_close"}`,
		kind: fault.Conflict, message: "Multiple templates matched event_name. Specify template_id.",
		reason: fault.UnfitTemplate,
	},
	// 4.3 neither
	{
		name: "nothing, and one template", templates: map[string]string{"a": "external", "b": "manual"}, body: `{}`,
		run: "a",
	},
	{name: "nothing at all, and one template", templates: map[string]string{"a": "external"}, body: ``, run: "a"},
	{
		name: "null and nothing, and one template", templates: map[string]string{"a": "external"},
		body: `{"template_id":null,"event_name":""}`, run: "a",
	},
	{
		name: "nothing, and no template", templates: nil, body: `{}`,
		kind: fault.NotFound, message: "No external_event workflow template was found.", reason: fault.NoTemplate,
	},
	{
		name: "nothing, and no template of events", templates: map[string]string{"b": "manual"}, body: `{}`,
		kind: fault.NotFound, message: "No external_event workflow template was found.", reason: fault.NoTemplate,
	},
	{
		name: "nothing, and two templates", templates: map[string]string{"a": "external", "b": "other"}, body: `{}`,
		kind: fault.Conflict, message: "Multiple external_event templates found. Specify template_id.",
		reason: fault.UnfitTemplate,
	},
	// 5 the action
	{
		name: "an action that is not executable", templates: map[string]string{"a": "foreign"}, body: `{}`,
		kind: fault.Conflict, message: "external_event action is not executable in MVP: launch_rocket",
		reason: fault.UnsupportedAction,
	},
	{
		name: "the action is looked at before the year", templates: map[string]string{"a": "foreign"},
		body: `{"year":1}`,
		kind: fault.Conflict, message: "external_event action is not executable in MVP: launch_rocket",
		reason: fault.UnsupportedAction,
	},
	// 5 year and month
	{
		name:      "a year and a month",
		templates: map[string]string{"a": "bare"},
		body:      `{"year":2000,"month":12}`,
		run:       "a",
	},
	{
		name: "a year and a month in text", templates: map[string]string{"a": "bare"},
		body: `{"year":"2026","month":"02"}`, run: "a",
	},
	{
		name: "a month, and the template's year", templates: map[string]string{"a": "external"}, body: `{"month":2}`,
		run: "a",
	},
	{
		name: "a year, and the template's month", templates: map[string]string{"a": "external"},
		body: `{"year":2030,"month":null}`, run: "a",
	},
	{
		name: "no year", templates: map[string]string{"a": "bare"}, body: `{"month":2}`,
		kind: fault.Invalid, message: "Workflow event requires valid year/month.", reason: fault.RefusedYearMonth,
	},
	{
		name: "no month", templates: map[string]string{"a": "bare"}, body: `{"year":2026}`,
		kind: fault.Invalid, message: "Workflow event requires valid year/month.", reason: fault.RefusedYearMonth,
	},
	{
		name: "an early year", templates: map[string]string{"a": "external"}, body: `{"year":1999}`,
		kind: fault.Invalid, message: "Workflow event requires valid year/month.", reason: fault.RefusedYearMonth,
	},
	{
		name: "month 0", templates: map[string]string{"a": "external"}, body: `{"month":0}`,
		kind: fault.Invalid, message: "Workflow event requires valid year/month.", reason: fault.RefusedYearMonth,
	},
	{
		name: "month 13", templates: map[string]string{"a": "external"}, body: `{"month":13}`,
		kind: fault.Invalid, message: "Workflow event requires valid year/month.", reason: fault.RefusedYearMonth,
	},
	{
		name: "a year that is no number", templates: map[string]string{"a": "external"}, body: `{"year":"abc"}`,
		kind: fault.Invalid, message: "Workflow event requires valid year/month.", reason: fault.RefusedYearMonth,
	},
	{
		name: "a month that is not whole", templates: map[string]string{"a": "external"}, body: `{"month":2.5}`,
		kind: fault.Invalid, message: "Workflow event requires valid year/month.", reason: fault.RefusedYearMonth,
	},
	// The order: the form before everything, the template before the year.
	{
		name: "a field before the template", templates: nil, body: `{"notes":5}`,
		kind: fault.Invalid, message: "notes must be a string", reason: fault.RefusedField,
	},
	{
		name: "the template before the year", templates: nil, body: `{"year":"abc"}`,
		kind: fault.NotFound, message: "No external_event workflow template was found.", reason: fault.NoTemplate,
	},
}

// kinds are the templates of the rules.
var kinds = map[string]string{
	"external": closing,
	"other": `{"name":"other","year":2026,"month":1,"steps":[{"action":"mf_reconcile",` +
		`"trigger_kind":"external_event"}]}`,
	"manual": `{"name":"manual","year":2026,"month":1,"steps":[{"action":"month_close","trigger_kind":"manual"}]}`,
	"after": `{"name":"after","year":2026,"month":1,"steps":[{"action":"month_close",` +
		`"trigger_kind":"after_previous"}]}`,
	"foreign": `{"name":"foreign","year":2026,"month":1,"steps":[{"action":"launch_rocket",` +
		`"trigger_kind":"external_event"}]}`,
	"bare": `{"name":"bare","steps":[{"action":"month_close","trigger_kind":"external_event"}]}`,
}

func TestEveryRuleOfTheDocument(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for i, tt := range rules {
			// Each row has a tenant of its own.
			call := Caller{
				Tenant: strings.Replace(tenantA, "0000", string(rune('a'+i/26))+string(rune('a'+i%26))+"00",
					1),
				CorrelationID: "c",
			}
			for id, kind := range tt.templates {
				r.templateOf(call.Tenant, id, kinds[kind])
			}
			out, err := r.deliverTo(call, tt.body)
			if tt.run != "" {
				if err != nil || out.Duplicate || out.TemplateID != tt.run || out.RunID == "" {
					t.Errorf("%s: got %+v %v, want a run of %s", tt.name, out, err, tt.run)
				}
				continue
			}
			failure, _ := fault.As(err)
			if failure == nil || out != (Outcome{}) || fault.KindOf(err) != tt.kind || failure.Message != tt.message ||
				failure.Reason != tt.reason {
				t.Errorf("%s:\ngot  %+v %v\nwant %v %s", tt.name, out, err, tt.kind, tt.message)
			}
		}
	})
}

func TestTheRunKnowsWhatItIsFor(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		for body, want := range map[string]string{
			`{}`: `{"template_id":"close","template_name":"月次締め","year":2026,"month":1,` +
				`"mfcloud_url":"https://example.com/mf","notes":"from the template"}`,
			`{"event_name":"month_close","source":"bank","year":"2027","month":3,"mfcloud_url":"u",` +
				`"notes":"n\u2028"}`: `{"template_id":"close",` +
				`"template_name":"月次締め","year":2027,"month":3,"event_name":"month_close","source":"bank",` +
				`"mfcloud_url":"u","notes":"n` + "\u2028" + `"}`,
		} {
			run := r.starts(body).RunID
			id, err := flow.ParseID(run)
			if err != nil {
				t.Fatal(err)
			}
			v, err := r.engine.Execution(t.Context(), tenantA, id, 0)
			if err != nil || string(v.State.Input) != want {
				t.Errorf("%s:\ngot  %s %v\nwant %s", body, v.State.Input, err, want)
			}
		}
	})
}

func TestOnlyConfiguredActionsAreExecutable(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for i, action := range Actions {
			r.template(action, strings.Replace(closing, "month_close", action, 1))
			if got := r.starts(keyed(action, 1+i)[:len(keyed(action, 1+i))-1] + `,"event_name":"` + action +
				`"}`); got.Action != action {
				t.Errorf("%s: got %+v", action, got)
			}
		}
		other := r.with(func(c *Config) { c.Actions = []string{"launch_rocket"} })
		other.template("rocket", kinds["foreign"])
		other.starts(`{"event_name":"launch_rocket"}`)
		other.refused(`{"event_name":"month_close"}`, fault.Conflict,
			"external_event action is not executable in MVP: month_close", fault.UnsupportedAction)
	})
}

func TestADeliveryWithoutAKeyIsNotRemembered(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		first := r.starts(`{}`)
		r.end(first.RunID)
		second := r.starts(`{"idempotency_key":"no key, this"}`) // what cannot be used is none
		if second.Key != "" || second.RunID == first.RunID || r.count("SELECT count(*) FROM trigger_receipt") != 0 {
			t.Errorf("got %+v after %+v", second, first)
		}
	})
}

func TestOnlyARunIsRemembered(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.refused(`{"idempotency_key":"k"}`, fault.NotFound, msgNoExternal, fault.NoTemplate)
		r.template("close", closing)
		r.refused(`{"idempotency_key":"k","month":13}`, fault.Invalid, msgYearMonth, fault.RefusedYearMonth)
		run := r.starts(`{"idempotency_key":"k"}`).RunID
		r.repeats(`{"idempotency_key":"k","month":13}`, run)
		if err := r.DeleteTemplate(t.Context(), tenantA, "close"); err != nil {
			t.Fatal(err)
		}
		r.repeats(`{"idempotency_key":"k"}`, run)
	})
}

func TestKeysAndTemplatesBelongToTheirTenant(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		run := r.starts(`{"idempotency_key":"k"}`).RunID
		theirs := Caller{Tenant: tenantB}
		if _, err := r.deliverTo(theirs, `{"idempotency_key":"k","template_id":"close"}`); fault.KindOf(
			err) != fault.NotFound {
			t.Errorf("got %v", err)
		}
		r.templateOf(tenantB, "close", closing)
		out, err := r.deliverTo(theirs, `{"idempotency_key":"k"}`)
		if err != nil || out.Duplicate || out.RunID == run {
			t.Errorf("got %+v %v", out, err)
		}
	})
}

func TestAMonthHasOneActiveRunOfATemplate(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		r.template("other", strings.Replace(closing, "month_close", "mf_reconcile", 1))
		conflict := func(body string) {
			t.Helper()
			r.refused(body, fault.Conflict, "A run is already active for this template and month.", fault.RunActive)
		}
		run := r.starts(`{"template_id":"close","idempotency_key":"k-1"}`).RunID
		conflict(`{"template_id":"close"}`)
		conflict(`{"template_id":"close","idempotency_key":"k-2","year":2026,"month":"1"}`)
		r.repeats(`{"template_id":"close","idempotency_key":"k-1"}`, run) // a duplicate is no conflict
		r.starts(`{"template_id":"close","month":2}`)
		r.starts(`{"template_id":"close","year":2027}`)
		r.starts(`{"template_id":"other"}`)
		r.template("close", strings.Replace(closing, "月次締め", "renamed", 1)) // it is the same template
		conflict(`{"template_id":"close"}`)

		r.work(run, "month_close", "step-1")
		run = r.starts(`{"template_id":"close","idempotency_key":"k-2"}`).RunID // the run has completed
		conflict(`{"template_id":"close"}`)
		r.command(run, flow.StartNode{Node: "step-1", Attempt: 1})
		r.command(run, flow.Fail{Node: "step-1", Attempt: 1, Error: &flow.Error{Code: "BROKEN"}})
		if got := r.view(run).Status; got != flow.Failed {
			t.Fatalf("got %v", got)
		}
		run = r.starts(`{"template_id":"close"}`).RunID // the run has failed
		conflict(`{"template_id":"close"}`)
		r.command(run, flow.Cancel{})
		r.starts(`{"template_id":"close"}`) // the run is cancelled
		conflict(`{"template_id":"close"}`)
	})
}
