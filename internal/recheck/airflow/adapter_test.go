package airflow

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/internal/recheck/airflow/airflowtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/test/stalltest"
)

const request = "01J8TPZ7YJ1E1X4C5N9ZP3M3QJ"

// soon ends every run at its second poll.
func soon(state string, value any) func(airflowtest.Run, int) (string, any) {
	return func(_ airflowtest.Run, polls int) (string, any) {
		if polls < 2 {
			return "running", nil
		}
		return state, value
	}
}

func TestEveryCheckGetsTheResultOfItsRun(t *testing.T) {
	for _, api := range []string{V1, V2} {
		t.Run(api, func(t *testing.T) {
			onEvery(t, airflowtest.Config{API: api, End: func(r airflowtest.Run, polls int) (string, any) {
				if polls < 2 {
					return "running", nil
				}
				return "success", map[string]any{"health": "healthy", "strategy": r.Conf["strategy"]}
			}}, func(r *rig) {
				r.adapter(nil)
				a, b := r.batch(tenant, request, 30), r.batch("other", "01J8TPZ7YJ1E1X4C5N9ZP3M3QK", 3)
				for n, node := range r.ended(tenant, a) {
					if node.Kind != flow.TaskKind {
						continue
					}
					want := fmt.Sprintf(`{"health":"healthy","strategy":"strat.%s"}`, n[1:])
					if node.Status != flow.NodeIsSucceeded || string(node.Output.Inline) != want || node.Attempt != 1 {
						r.Errorf("%s: %v %s, attempt %d", n, node.Status, node.Output.Inline, node.Attempt)
					}
				}
				r.ended("other", b)
				if n := r.airflow.Calls("trigger"); n != 33 {
					r.Errorf("%d runs were triggered", n)
				}
				for _, run := range r.airflow.Runs() {
					if run.Conf["request_id"] != request && run.Conf["tenant"] != "other" ||
						run.ID != runID(run.Conf["request_id"].(string), run.Conf["strategy"].(string)) {
						r.Errorf("got %+v", run)
					}
				}
			})
		})
	}
}

// TestNobodyWaitsForAllChecksOfAnother lets a tenant with many checks fill all places first.
func TestNobodyWaitsForAllChecksOfAnother(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{End: soon("success", map[string]any{})})
	many, one := r.batch(tenant, request, 40), r.batch("other", "01J8TPZ7YJ1E1X4C5N9ZP3M3QK", 1)
	r.adapter(func(c *Config, _ *Ports) { c.Runs = 2 })
	r.ended(tenant, many)
	triggered := r.airflow.Runs()
	for i, run := range triggered {
		if run.Conf["tenant"] == "other" && i > 4 {
			t.Errorf("the check of the other tenant was the %dth of %d", i+1, len(triggered))
		}
	}
	r.ended("other", one)
}

func TestAFailedRunIsAFinalAnswer(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{End: soon("failed", nil)})
	r.adapter(nil)
	node := r.ended(tenant, r.batch(tenant, request, 1))["s1"]
	want := `{"airflow":{"dag_id":"recheck","dag_run_id":"renga__` + request +
		`__strat.1","reason_class":"infra","retry_advice":"retry_after_fix"},` +
		`"error":{"code":"AIRFLOW_RUN_FAILED","message":"The DAG run renga__` + request +
		`__strat.1 ended as failed; Airflow's log of it says why."}}`
	if node.Status != flow.NodeIsSucceeded || node.Attempt != 1 || string(node.Output.Inline) != want {
		t.Errorf("got %v, attempt %d, %s\nwant %s", node.Status, node.Attempt, node.Output.Inline, want)
	}
}

func TestARunThatIsThereIsFoundAndNotDoubled(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{})
	id := runID(request, "strat.1")
	r.airflow.Put(airflowtest.Run{ID: id, State: "success", Value: map[string]any{"n": 1}})
	r.adapter(nil)
	node := r.ended(tenant, r.batch(tenant, request, 1))["s1"]
	if node.Status != flow.NodeIsSucceeded || string(node.Output.Inline) != `{"n":1}` || len(r.airflow.Runs()) != 1 {
		t.Errorf("got %v %s, %d runs", node.Status, node.Output.Inline, len(r.airflow.Runs()))
	}
}

func TestATriggerWhoseAnswerIsLostIsNotDoubled(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{API: "v1", End: soon("success", nil)})
	r.airflow.Ail(airflowtest.Trouble{Status: 502, After: true, Only: "POST"})
	r.adapter(func(c *Config, _ *Ports) { c.Failures = 1000 })
	id := r.batch(tenant, request, 2)
	wait(t, "both to be tried again", func() bool { return r.airflow.Calls("trigger") > 5 })
	r.airflow.Ail(airflowtest.Trouble{})
	for n, node := range r.ended(tenant, id) {
		if node.Kind == flow.TaskKind && (node.Status != flow.NodeIsSucceeded || node.Attempt != 1) {
			t.Errorf("%s: %v, attempt %d", n, node.Status, node.Attempt)
		}
	}
	if n := len(r.airflow.Runs()); n != 2 {
		t.Errorf("%d runs", n)
	}
}

func TestCancellingTheExecutionCancelsTheRun(t *testing.T) {
	for _, api := range []string{V1, V2} {
		t.Run(api, func(t *testing.T) {
			onEvery(t, airflowtest.Config{API: api}, func(r *rig) {
				a, _ := r.adapter(nil)
				id := r.batch(tenant, request, 3)
				runs := r.running(3)
				r.airflow.End(runs[0].ID, "success", nil)
				wait(r.T, "one result", func() bool { return a.line.count() == 2 })
				r.cancel(id)
				wait(r.T, "the cancelled runs", func() bool { return a.line.count() == 0 })
				for i, run := range r.airflow.Runs() {
					if want := map[bool]string{true: "success", false: "failed"}[i == 0]; run.State != want {
						r.Errorf("%s is %s", run.ID, run.State)
					}
				}
				if n := r.airflow.Calls("cancel"); n != 2 {
					r.Errorf("%d runs were cancelled", n)
				}
			})
		})
	}
}

// TestAnOutageFailsNothing kills Airflow while runs are under way, for longer than a
// lease, and starts it again.
func TestAnOutageFailsNothing(t *testing.T) {
	const lease = 4 * time.Second
	onEvery(t, airflowtest.Config{}, func(r *rig) {
		var claims *countedClaims
		a, _ := r.adapter(func(c *Config, p *Ports) {
			c.Lease = lease
			claims = &countedClaims{Engine: p.Engine}
			p.Engine = claims
		})
		stalls, began := stalltest.New(r.T), time.Now()
		id := r.batch(tenant, request, 5)
		r.running(5)
		r.airflow.Stop()
		wait(r.T, "the circuit", a.Down)
		before := claims.begun.Load()
		later := r.batch(tenant, "01J8TPZ7YJ1E1X4C5N9ZP3M3QK", 1)
		until := time.Now().Add(lease + lease/2)
		wait(r.T, "the outage to last", func() bool { return time.Now().After(until) })
		// One claim may have looked at the circuit before it opened; it holds what it got.
		if n := claims.begun.Load() - before; n > 1 {
			r.Errorf("tasks were claimed %d times in an outage", n)
		}
		for _, run := range r.airflow.Runs() {
			r.airflow.End(run.ID, "success", map[string]any{"n": 1})
		}
		r.airflow.Start()
		wait(r.T, "the circuit to close", func() bool { return !a.Down() })
		nodes := r.ended(tenant, id)
		// A lease is renewed after a third of it; a machine that stood still for the rest of it lost it.
		renewed := time.Since(began)-stalls.Since(began) < lease-lease/beats
		for n, node := range nodes {
			again := node.Attempt != 1 && renewed
			if node.Kind == flow.TaskKind && (node.Status != flow.NodeIsSucceeded || again ||
				string(node.Output.Inline) != `{"n":1}`) {
				r.Errorf("%s: %v, attempt %d, %s", n, node.Status, node.Attempt, node.Output.Inline)
			}
		}
		for _, run := range r.running(6)[5:] {
			r.airflow.End(run.ID, "success", nil)
		}
		r.ended(tenant, later)
		if n := len(r.airflow.Runs()); n != 6 {
			r.Errorf("%d runs", n)
		}
	})
}

// countedClaims counts the claims that begin.
type countedClaims struct {
	Engine
	begun atomic.Int64
}

func (c *countedClaims) Claim(ctx context.Context, q engine.ClaimRequest) (engine.Claimed, error) {
	c.begun.Add(1)
	return c.Engine.Claim(ctx, q)
}

// TestAnotherProcessFindsTheRuns ends one adapter in the middle; the next one, when the
// leases have run out, triggers nothing again.
func TestAnotherProcessFindsTheRuns(t *testing.T) {
	onEvery(t, airflowtest.Config{}, func(r *rig) {
		_, stop := r.adapter(func(c *Config, _ *Ports) { c.Lease = time.Second })
		id := r.batch(tenant, request, 3)
		runs := r.running(3)
		stop()
		for _, run := range runs {
			r.airflow.End(run.ID, "success", map[string]any{"n": 2})
		}
		r.adapter(func(_ *Config, p *Ports) { p.Worker = "airflow-2" })
		for n, node := range r.ended(tenant, id) {
			if node.Kind == flow.TaskKind && (node.Status != flow.NodeIsSucceeded || node.Attempt != 2 ||
				string(node.Output.Inline) != `{"n":2}`) {
				r.Errorf("%s: %v, attempt %d, %s", n, node.Status, node.Attempt, node.Output.Inline)
			}
		}
		if n := len(r.airflow.Runs()); n != 3 {
			r.Errorf("%d runs", n)
		}
	})
}

// TestRunsThatNobodyWaitsForAreEnded cancels an execution while no adapter runs.
func TestRunsThatNobodyWaitsForAreEnded(t *testing.T) {
	onEvery(t, airflowtest.Config{}, func(r *rig) {
		_, stop := r.adapter(nil)
		gone, kept := r.batch(tenant, request, 2), r.batch(tenant, "01J8TPZ7YJ1E1X4C5N9ZP3M3QK", 1)
		r.running(3)
		stop()
		r.cancel(gone)
		r.airflow.Put(airflowtest.Run{ID: "renga__x__y", State: "running", Conf: map[string]any{
			"request_id": "x", "strategy": "y", "tenant": tenant,
			"execution_id": "00000000-0000-7000-8000-000000000001", "node_id": "s1",
		}})
		r.airflow.Put(airflowtest.Run{ID: "scheduled__1", State: "running"})
		r.adapter(nil)
		wait(r.T, "the runs to end", func() bool { return r.airflow.Calls("cancel") == 2 })
		r.adapter(nil) // a third looks again
		before := r.airflow.Calls("runs")
		wait(r.T, "another sweep", func() bool { return r.airflow.Calls("runs") > before+4 })
		for _, run := range r.airflow.Runs() {
			want := "failed"
			if run.Conf["request_id"] != request {
				want = map[bool]string{true: "queued", false: "running"}[run.Conf["reason"] == "test"]
			}
			if run.State != want {
				r.Errorf("%s is %s, want %s", run.ID, run.State, want)
			}
		}
		if status, _ := r.nodes(tenant, kept); status.Terminal() {
			r.Errorf("the other execution is %v", status)
		}
	})
}

func TestADAGThatComesLaterIsFound(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{End: soon("success", nil)})
	r.airflow.Forget(true)
	a, _ := r.adapter(nil)
	id := r.batch(tenant, request, 1)
	wait(t, "a failed attempt", func() bool { _, nodes := r.nodes(tenant, id); return nodes["s1"].Error != nil })
	if _, nodes := r.nodes(tenant, id); nodes["s1"].Error.Code != "AIRFLOW_DAG_NOT_FOUND" || a.Down() {
		t.Errorf("got %+v, down %t", nodes["s1"].Error, a.Down())
	}
	r.airflow.Forget(false)
	if node := r.ended(tenant, id)["s1"]; node.Status != flow.NodeIsSucceeded {
		t.Errorf("got %v %+v", node.Status, node.Error)
	}
}

func TestARunThatSomebodyDeletesIsTriggeredAgain(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{})
	r.adapter(nil)
	id := r.batch(tenant, request, 1)
	r.airflow.Delete(r.running(1)[0].ID)
	r.airflow.End(r.running(1)[0].ID, "success", nil)
	if node := r.ended(tenant, id)["s1"]; node.Status != flow.NodeIsSucceeded || node.Attempt != 1 {
		t.Errorf("got %v, attempt %d", node.Status, node.Attempt)
	}
}

func TestResultsThatCannotBeTakenAreSaidToBe(t *testing.T) {
	for name, tt := range map[string]struct {
		value any
		want  string
	}{
		"no JSON":       {airflowtest.Raw(`{"value":{"n":NaN},"run_id":""}`), "is not JSON"},
		"too large":     {map[string]any{"text": string(make([]byte, maxOutput))}, "too large"},
		"another run":   {airflowtest.Raw(`{"value":"{\"n\":1}","run_id":"renga__before"}`), ""},
		"nested deeply": {airflowtest.Raw(`{"run_id":"","value":{"a":` + nest(80) + `}}`), "cannot be taken"},
	} {
		t.Run(name, func(t *testing.T) {
			r := onSQLite(t, airflowtest.Config{End: soon("success", tt.value)})
			a, _ := r.adapter(nil)
			node := r.ended(tenant, r.batch(tenant, request, 1))["s1"]
			got := string(node.Output.Inline)
			if tt.want == "" && got != "" || !contains(got, tt.want) || tt.want != "" &&
				!contains(got, "AIRFLOW_BAD_RESULT") || node.Attempt != 1 || a.Down() {
				t.Errorf("got %v, attempt %d, %.200s; down %t", node.Status, node.Attempt, got, a.Down())
			}
		})
	}
}

func TestRefusedCredentialsFailNothing(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{End: soon("success", nil)})
	password := &changing{text: "wrong"}
	a, _ := r.adapter(func(c *Config, _ *Ports) { c.Password = password.get })
	id := r.batch(tenant, request, 1)
	wait(t, "the circuit", a.Down)
	if _, nodes := r.nodes(tenant, id); nodes["s1"].Error != nil {
		t.Errorf("got %+v", nodes["s1"].Error)
	}
	if !contains(r.log.String(), "the credentials are refused") {
		t.Errorf("the log does not say why:\n%s", r.log)
	}
	password.set("airflow-pass")
	if node := r.ended(tenant, id)["s1"]; node.Status != flow.NodeIsSucceeded || node.Attempt != 1 {
		t.Errorf("got %v, attempt %d", node.Status, node.Attempt)
	}
}

func TestARefusedTriggerFailsTheAttempt(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{API: "v1"})
	r.airflow.Ail(airflowtest.Trouble{
		Status: 400, Body: `{"detail":"DAG has import errors"}`,
		Media: "application/json", Only: "POST",
	})
	a, _ := r.adapter(nil)
	node := r.ended(tenant, r.batch(tenant, request, 1))["s1"]
	if node.Status != flow.NodeIsFailed || node.Attempt != 5 || node.Error.Code != "AIRFLOW_RUN_REFUSED" ||
		!contains(node.Error.Message, "import errors") || a.Down() {
		t.Errorf("got %v, attempt %d, %+v", node.Status, node.Attempt, node.Error)
	}
}

func TestADeadAirflowIsKnownBeforeAnybodyAsks(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{})
	a, _ := r.adapter(nil)
	wait(t, "a probe", func() bool { return r.airflow.Calls("dag") > 0 })
	r.airflow.Stop()
	wait(t, "the circuit", a.Down)
	r.airflow.Start()
	wait(t, "the circuit to close", func() bool { return !a.Down() })
}

// TestSlowAnswersAreAnOutage lets triggers take effect though nobody waits for their answers.
func TestSlowAnswersAreAnOutage(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{End: soon("success", nil)})
	a, _ := r.adapter(func(c *Config, _ *Ports) {
		c.ConnectTimeout, c.ReadTimeout, c.Lease = 50*time.Millisecond, 250*time.Millisecond, time.Second
	})
	wait(t, "a probe", func() bool { return r.airflow.Calls("dag") > 0 })
	r.airflow.Ail(airflowtest.Trouble{Delay: 10 * time.Second, After: true})
	id := r.batch(tenant, request, 4)
	wait(t, "the circuit", a.Down)
	r.airflow.Ail(airflowtest.Trouble{})
	for n, node := range r.ended(tenant, id) {
		if node.Kind == flow.TaskKind && (node.Status != flow.NodeIsSucceeded || node.Attempt != 1) {
			t.Errorf("%s: %v, attempt %d", n, node.Status, node.Attempt)
		}
	}
	if n := len(r.airflow.Runs()); n != 4 {
		t.Errorf("%d runs for 4 checks", n)
	}
}

func TestATaskOfAnotherKindIsFailed(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{})
	r.adapter(func(_ *Config, p *Ports) {
		p.Parse = func(string, flow.Data) (Check, error) { return Check{}, fmt.Errorf("no strategy") }
	})
	if node := r.ended(tenant, r.batch(tenant, request, 1))["s1"]; node.Status != flow.NodeIsFailed ||
		node.Error.Code != "AIRFLOW_BAD_TASK" {
		t.Errorf("got %v %+v", node.Status, node.Error)
	}
}

// flaky is an engine whose database is away now and then.
type flaky struct {
	Engine
	mu   sync.Mutex
	away int
}

func (f *flaky) Submit(ctx context.Context, requests []engine.Request) []engine.Result {
	f.mu.Lock()
	f.away--
	gone := f.away >= 0
	f.mu.Unlock()
	if !gone {
		return f.Engine.Submit(ctx, requests)
	}
	results := make([]engine.Result, len(requests))
	for i := range results {
		results[i].Err = fmt.Errorf("the database is away")
	}
	return results
}

func TestAResultThatCannotBeDeliveredIsDeliveredLater(t *testing.T) {
	r := onSQLite(t, airflowtest.Config{End: soon("success", map[string]any{"n": 1})})
	id := r.batch(tenant, request, 1)
	r.adapter(func(_ *Config, p *Ports) { p.Engine = &flaky{Engine: p.Engine, away: 8} })
	if node := r.ended(tenant, id)["s1"]; node.Status != flow.NodeIsSucceeded ||
		string(node.Output.Inline) != `{"n":1}` {
		t.Errorf("got %v %s", node.Status, node.Output.Inline)
	}
}

// changing is a password that is changed.
type changing struct {
	mu   sync.Mutex
	text string
}

func (c *changing) get() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text, nil
}

func (c *changing) set(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = text
}

func contains(s, part string) bool { return strings.Contains(s, part) }

// nest is an array in arrays.
func nest(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
