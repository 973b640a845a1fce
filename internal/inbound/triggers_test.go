package inbound

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/test/tier"
)

const shopSecret = "a-secret-of-the-shop"

// placed starts an order for every event that says that one was placed.
const placed = `{"graph":"order","when":"body.type == 'placed' || body.type == 'checked' && body.total > 1",
	"key":"body.id","secret":"` + shopSecret + `",
	"input":{"orderId":"body.order.id","source":"headers['x-source']"}}`

// withGraph registers a graph with a task.
func (r *rig) withGraph(id string) {
	r.Helper()
	g, err := flow.ParseGraph([]byte(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"ship","type":"Task"},
		{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"ship"},{"from":"ship","to":"done"}]}`),
		false)
	if err != nil {
		r.Fatal(err)
	}
	if _, _, err := r.cfg.Engine.PutGraph(r.Context(), tenantA, id, g); err != nil {
		r.Fatal(err)
	}
}

// trigger stores a trigger.
func (r *rig) trigger(id, body string) StoredTrigger {
	r.Helper()
	def, secret, err := ParseTrigger([]byte(body))
	if err != nil {
		r.Fatal(err)
	}
	stored, _, err := r.Triggers().Put(r.Context(), Editor{caller, "mika"}, id, def, secret)
	if err != nil {
		r.Fatal(err)
	}
	return stored
}

var shop = Proof{Secret: shopSecret}

// fires posts a body to the trigger orders.
func (r *rig) fires(body string) Fired {
	r.Helper()
	out, err := r.Triggers().Fire(r.Context(), caller, shop, Event{
		Trigger: "orders", Body: []byte(body), Headers: map[string]string{"x-source": "shop"},
	})
	if err != nil {
		r.Fatalf("%s: %v", body, err)
	}
	return out
}

func TestAnEventOfATriggerStartsAnExecutionOnceForItsKey(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.withGraph("order")
		r.trigger("orders", placed)
		first := r.fires(`{"id":"e-1","type":"placed","order":{"id":"A-17"}}`)
		want := Fired{Triggered: true, Trigger: "orders", Graph: "order", Key: "e-1", Execution: first.Execution}
		if first != want || first.Execution == "" {
			t.Fatalf("got %+v", first)
		}
		state := r.view(first.Execution)
		if got := string(state.Input); got != `{"orderId":"A-17","source":"shop"}` {
			t.Errorf("the input is %s", got)
		}
		again := r.fires(`{"id":"e-1","type":"placed","order":{"id":"A-18"}}`)
		if want.Triggered, want.Duplicate = false, true; again != want {
			t.Errorf("got %+v, want %+v", again, want)
		}
		other := r.fires(`{"id":2,"type":"placed","order":{"id":"A-18"}}`)
		if !other.Triggered || other.Key != "2" || other.Execution == first.Execution {
			t.Errorf("got %+v", other)
		}
		for _, unwanted := range []string{`{"id":"e-3","type":"shipped"}`, `{}`} { // a missing member makes it false
			if got, want := r.fires(unwanted), (Fired{Trigger: "orders", Graph: "order"}); got != want {
				t.Errorf("%s: got %+v", unwanted, got)
			}
		}
		if n := r.runs(); n != 2 {
			t.Errorf("%d executions, want 2", n)
		}
		r.accounted(map[string]string{"success": "2", "skipped": "3"}, 1)
	})
}

// accounted demands the numbers of the month's summary, and that the log and the summary name the trigger.
func (r *rig) accounted(byStatus map[string]string, duplicates int64) {
	r.Helper()
	s, err := r.Summary(r.Context(), tenantA, SummaryQuery{Month: "2026-02"})
	if err != nil {
		r.Fatal(err)
	}
	for _, c := range s.ByStatus {
		if want := byStatus[c.Name]; want != "" && want != fmt.Sprint(c.N) {
			r.Errorf("%d are %s, want %s", c.N, c.Name, want)
		}
	}
	for _, c := range s.Duplicate {
		if c.Name == "true" && c.N != duplicates {
			r.Errorf("%d duplicates, want %d", c.N, duplicates)
		}
	}
	if len(s.Recent) == 0 || s.Recent[0].TriggerID != "orders" || s.Recent[0].TemplateID != nil {
		r.Errorf("the summary shows %+v", s.Recent)
	}
	r.recount()
}

func TestAnEventThatATriggerCannotTakeIsRefusedAndInTheLog(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.withGraph("order")
		r.trigger("orders", placed)
		for _, tc := range []struct {
			body, message string
		}{
			{`{"id":"e","type":"placed"}`, "input.orderId: no such key: order"},
			{`{"type":"placed","order":{"id":1}}`, "the key of the event: no such key: id"},
			{
				`{"id":true,"type":"placed","order":{"id":1}}`,
				"the key of the event must be a text of 1 to 255 characters on one line, or a whole number",
			},
			{
				`{"id":"","type":"placed","order":{"id":1}}`,
				"the key of the event must be a text of 1 to 255 characters on one line, or a whole number",
			},
			{`{"type":"checked","total":"much"}`, "when: no such overload"},
			{`[]`, "the body must be a JSON object"},
			{`{"a":1,"a":2}`, `the body holds the member "a" twice`},
		} {
			_, err := r.Triggers().Fire(r.Context(), caller, shop, Event{Trigger: "orders", Body: []byte(tc.body)})
			failure, _ := fault.As(err)
			if failure == nil || failure.Kind != fault.Invalid || !strings.HasPrefix(failure.Message, tc.message) {
				t.Errorf("%s: got %v, want %s", tc.body, err, tc.message)
				continue
			}
			last := r.entries(1)[0]
			if last.Outcome != audit.Refused || last.Reason != failure.Message || last.Actor != "trigger:orders" ||
				last.ReasonCode != "http_422" {
				t.Errorf("%s: the log has %+v", tc.body, last)
			}
		}
		r.accounted(map[string]string{"rejected": "7"}, 0)
	})
}

func TestOnlyWhoShowsTheSecretOfATriggerFiresIt(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.withGraph("order")
		r.trigger("orders", placed)
		r.trigger("open", `{"graph":"order"}`)
		for _, tc := range []struct {
			name, trigger string
			proof         Proof
			want          fault.Kind // "": it fires
		}{
			{"the secret", "orders", shop, 0},
			{"no secret", "orders", Proof{}, fault.Unauthorized},
			{"another secret", "orders", Proof{Secret: shopSecret + "x"}, fault.Unauthorized},
			{"no secret, on a machine of one's own", "orders", Proof{Local: true}, fault.Unauthorized},
			{"a token with the scope", "orders", Proof{Trusted: true, Local: true}, 0},
			{"nothing, where there is no secret", "open", Proof{}, fault.Unauthorized},
			{"an empty secret is none", "open", Proof{Secret: ""}, fault.Unauthorized},
			{"a machine of one's own", "open", Proof{Local: true}, 0},
			{"no trigger for a stranger", "nothing", shop, fault.Unauthorized},
			{"no trigger", "nothing", Proof{Local: true}, fault.NotFound},
		} {
			_, err := r.Triggers().Fire(r.Context(), caller, tc.proof, Event{
				Trigger: tc.trigger, Body: []byte(`{"id":"` + tc.name + `","type":"placed","order":{"id":1}}`),
				Headers: map[string]string{"x-source": "shop"},
			})
			if tc.want == 0 && err != nil || tc.want != 0 && fault.KindOf(err) != tc.want {
				t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
			}
		}
		if n := r.count("SELECT count(*) FROM audit_log WHERE action = 'workflow_event'"); n != 10 {
			t.Errorf("the log has %d entries, want 10", n)
		}
	})
}

func TestTheSecretOfATriggerIsNeitherShownNorStored(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.withGraph("order")
		stored := r.trigger("orders", placed)
		shown, err := json.Marshal(stored)
		if err != nil || !stored.HasSecret || strings.Contains(string(shown), stored.secret) {
			t.Errorf("it shows %s (%v)", shown, err)
		}
		if n := r.count(`SELECT count(*) FROM trigger_definition WHERE body LIKE $1 OR secret LIKE $1`,
			"%"+shopSecret+"%"); n != 0 {
			t.Error("the table has the secret")
		}
		without := strings.Replace(placed, `"secret":"`+shopSecret+`",`, "", 1)
		if same := r.trigger("orders", without); same.UpdatedAt != stored.UpdatedAt || !same.HasSecret {
			t.Errorf("a definition without a secret: %+v", same)
		}
		r.clock.forward(time.Second)
		gone := r.trigger("orders", strings.Replace(placed, `"`+shopSecret+`"`, "null", 1))
		if gone.HasSecret || gone.UpdatedAt == stored.UpdatedAt || gone.CreatedAt != stored.CreatedAt {
			t.Errorf("a secret that is null: %+v", gone)
		}
	})
}

func TestAKeyCountsForADayOrAMonth(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.withGraph("order")
		fire := func(wantStarted bool, key string) {
			t.Helper()
			out, err := r.Triggers().Fire(r.Context(), caller, Proof{Local: true},
				Event{Trigger: "t", Body: []byte(`{}`), Key: key})
			if err != nil || out.Triggered != wantStarted || out.Duplicate == wantStarted {
				t.Errorf("at %s: got %+v %v", r.clock.Now(), out, err)
			}
		}
		r.trigger("t", `{"graph":"order","once":"day"}`) // it is noon on 20 February
		fire(true, "")
		fire(false, "")
		fire(true, "k")
		r.clock.forward(12 * time.Hour)
		fire(true, "")
		fire(false, "")
		r.trigger("t", `{"graph":"order","once":"month"}`)
		fire(true, "")
		r.clock.forward(8*24*time.Hour - time.Second)
		fire(false, "")
		r.clock.forward(time.Second) // 1 March
		fire(true, "")
		r.trigger("t", `{"graph":"order"}`)
		fire(true, "")
		fire(true, "")
		fire(true, "k")
		r.clock.forward(DefaultTTL)
		fire(false, "k")
		r.clock.forward(time.Millisecond)
		fire(true, "k")
		// What counts no more is deleted when others are written.
		if n := r.count("SELECT count(*) FROM trigger_start"); n != 1 {
			t.Errorf("%d receipts are left, want 1", n)
		}
	})
}

func TestAMonthCountsToItsEndHoweverShortReceiptsAreRetained(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r = r.with(func(c *Config) { c.TTL = 24 * time.Hour })
		r.withGraph("order")
		r.trigger("t", `{"graph":"order","once":"month","key":"body.id"}`)
		r.clock.forward(-19 * 24 * time.Hour) // 1 February
		for i, want := range []bool{true, false} {
			for _, key := range []string{"a", "b"} {
				out, err := r.Triggers().Fire(r.Context(), caller, Proof{Local: true},
					Event{Trigger: "t", Body: []byte(`{"id":"` + key + `"}`)})
				if err != nil || out.Triggered != want {
					t.Errorf("pass %d, %s: got %+v %v", i, key, out, err)
				}
			}
			r.clock.forward(27 * 24 * time.Hour)
		}
	})
}

// shifting changes a trigger before the first transaction begins.
type shifting struct {
	Starter
	once   sync.Once
	change func()
}

func (s *shifting) Do(ctx context.Context, u engine.Unit) ([]engine.Result, error) {
	s.once.Do(s.change)
	return s.Starter.Do(ctx, u)
}

func TestAnEventGoesByTheTriggerAsItIsWhenItsExecutionStarts(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.withGraph("order")
		r.withGraph("express")
		r.trigger("orders", placed)
		plain := r
		r = r.with(func(c *Config) {
			c.Engine = &shifting{Starter: c.Engine, change: func() {
				plain.trigger("orders", strings.Replace(placed, `"order"`, `"express"`, 1))
			}}
		})
		out := r.fires(`{"id":"e-1","type":"placed","order":{"id":"A-17"}}`)
		if out.Graph != "express" || r.view(out.Execution).GraphID != "express" || r.runs() != 1 {
			t.Errorf("got %+v, and %d executions", out, r.runs())
		}
	})
}

// TestOfEventsThatComeAtOnceOneStartsAnExecution posts the same key many times at once, through two processes.
func TestOfEventsThatComeAtOnceOneStartsAnExecution(t *testing.T) {
	tier.System(t)
	race := func(t *testing.T, r *rig, all []process) {
		const each = 24
		r.withGraph("order")
		r.trigger("orders", placed)
		n := rounds(10, 200)
		for round := range n {
			body := fmt.Appendf(nil, `{"id":%d,"type":"placed","order":{"id":1}}`, round)
			outs, errs := make([]Fired, each), make([]error, each)
			var wg sync.WaitGroup
			for i := range each {
				wg.Go(func() {
					for {
						outs[i], errs[i] = all[i%len(all)].Triggers().Fire(t.Context(), caller, shop, Event{
							Trigger: "orders", Body: body, Headers: map[string]string{"x-source": "shop"},
						})
						if fault.KindOf(errs[i]) != fault.Unavailable || errs[i] == nil {
							return
						}
					}
				})
			}
			wg.Wait()
			started := 0
			for i, out := range outs {
				if errs[i] != nil || out.Execution != outs[0].Execution || out.Triggered == out.Duplicate {
					t.Fatalf("round %d: got %+v %v and %+v", round, out, errs[i], outs[0])
				}
				if out.Triggered {
					started++
				}
			}
			if started != 1 {
				t.Fatalf("round %d: %d say that they started an execution", round, started)
			}
		}
		if got := r.runs(); got != n {
			t.Errorf("%d executions, want %d", got, n)
		}
		r.recount()
	}
	t.Run("sqlite", func(t *testing.T) {
		r := newRig(t, sqldb.Config{Path: t.TempDir() + "/test.db"})
		race(t, r, []process{r.process})
	})
	t.Run("two processes", func(t *testing.T) {
		r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
		race(t, r, []process{r.process, r.open(Config{})})
	})
}

func TestATriggerThatCannotWorkIsRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                                 "graph is missing: the id of the graph that is started",
		`{"graph":"a b"}`:                    "graph must be the id of a graph: 1 to 128 of A-Z a-z 0-9 . _ -",
		`{"graph":"a","once":"year"}`:        "once must be key, day or month",
		`{"graph":"a","key":"body."}`:        "key: ",
		`{"graph":"a","when":"1 + 1"}`:       "when: ",
		`{"graph":"a","input":{"x":"y"}}`:    "input.x: ",
		`{"graph":"a","secret":"short"}`:     "secret must be 16 to 255 printable ASCII characters",
		`{"graph":"a","secret":12345678901}`: "secret must be 16 to 255 printable ASCII characters",
		`{"graph":"a","colour":"red"}`:       "colour",
	} {
		_, _, err := ParseTrigger([]byte(body))
		failure, _ := fault.As(err)
		if failure == nil || failure.Kind != fault.Invalid || !strings.Contains(failure.Message, want) {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
}

func TestTheTriggersOfATenantAreItsOwnAndBounded(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.withGraph("order")
		r.trigger("orders", placed)
		ctx, other := r.Context(), Caller{Tenant: tenantB}
		if _, err := r.Triggers().Get(ctx, tenantB, "orders"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("another tenant reads it: %v", err)
		}
		_, err := r.Triggers().Fire(ctx, other, shop, Event{Trigger: "orders", Body: []byte(`{}`)})
		if fault.KindOf(err) != fault.Unauthorized {
			t.Errorf("another tenant fires it: %v", err)
		}
		def, _, _ := ParseTrigger([]byte(`{"graph":"order"}`))
		_, _, err = r.Triggers().Put(ctx, Editor{other, ""}, "orders", def, Secret{})
		if failure, _ := fault.As(err); failure == nil ||
			!strings.HasPrefix(failure.Message, "graph order does not exist") {
			t.Errorf("a graph that another tenant has: %v", err)
		}
		page, total, err := r.Triggers().List(ctx, tenantA, 0, 10)
		if err != nil || total != 1 || len(page) != 1 || page[0].ID != "orders" {
			t.Errorf("got %+v %d %v", page, total, err)
		}
		if err := r.Triggers().Delete(ctx, Editor{other, ""}, "orders"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("another tenant deletes it: %v", err)
		}
		if err := r.Triggers().Delete(ctx, Editor{caller, ""}, "orders"); err != nil {
			t.Error(err)
		}
		if n := r.count("SELECT count(*) FROM audit_log WHERE action LIKE 'trigger.%'"); n != 2 {
			t.Errorf("%d changes are in the log, want 2", n)
		}
		fill := `INSERT INTO trigger_definition (tenant_id, id, body, secret, created_at, updated_at)
			VALUES ($1, $2, '{}', '', 0, 0)`
		err = r.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			for i := range MaxTriggers {
				if _, err := tx.Exec(ctx, fill, tenantA, fmt.Sprint(i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = r.Triggers().Put(ctx, Editor{caller, ""}, "more", def, Secret{})
		if failure, _ := fault.As(err); failure == nil || failure.Code != "TOO_MANY_TRIGGERS" {
			t.Errorf("one too many: %v", err)
		}
	})
}
