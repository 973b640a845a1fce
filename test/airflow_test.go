package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"renga.dev/renga/internal/recheck/airflow/airflowtest"
)

// checker asks a server for checks.
type checker struct {
	t testing.TB
	s *child
}

// checkView is a request as a caller sees it.
type checkView struct {
	Status string
	Counts map[string]int
	Items  []struct {
		Strategy, Status string
		Result           map[string]any
		Error            *struct{ Code, Message string }
	}
}

// say is a view in one line, for errors and comparisons.
func (v checkView) say() string {
	items := []string{v.Status}
	for _, i := range v.Items {
		text := i.Strategy + " " + i.Status
		if i.Error != nil {
			text += " " + i.Error.Code
		}
		items = append(items, text)
	}
	return strings.Join(items, ", ")
}

func (k checker) register(strategies ...string) {
	k.t.Helper()
	for _, id := range strategies {
		if status, _, answer := ask(k.t, k.s.url, "PUT", "/pdca/strategies/"+id, `{"name":"`+id+`"}`); status >= 300 {
			k.t.Fatal(status, answer)
		}
	}
}

// recheck asks for checks, and gives status and body of the answer.
func (k checker) recheck(strategies ...string) (int, string) {
	k.t.Helper()
	list, err := json.Marshal(strategies)
	if err != nil {
		k.t.Fatal(err)
	}
	status, _, answer := ask(k.t, k.s.url, "POST", "/pdca/recheck",
		fmt.Sprintf(`{"strategies":%s,"window":{"lookback_days":14},"reason":"test"}`, list), "Idempotency-Key: "+
			ulid.Make().String())
	return status, answer
}

// accepted is the id of a request that must be accepted.
func (k checker) accepted(strategies ...string) string {
	k.t.Helper()
	status, answer := k.recheck(strategies...)
	var got struct {
		RequestID string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(answer), &got); status != http.StatusAccepted || err != nil {
		k.t.Fatal(status, answer)
	}
	return got.RequestID
}

func (k checker) view(id string) (v checkView) {
	k.t.Helper()
	status, _, answer := ask(k.t, k.s.url, "GET", "/pdca/recheck/"+id, "")
	for ; status == http.StatusTooManyRequests; status, _, answer = ask(k.t, k.s.url, "GET", "/pdca/recheck/"+id, "") {
		time.Sleep(time.Second) // as Retry-After says
	}
	if err := json.Unmarshal([]byte(answer), &v); status != http.StatusOK || err != nil {
		k.t.Fatal(status, answer, err)
	}
	slices.SortFunc(v.Items, func(a, b struct {
		Strategy, Status string
		Result           map[string]any
		Error            *struct{ Code, Message string }
	},
	) int {
		return strings.Compare(a.Strategy, b.Strategy)
	})
	return v
}

// comes waits until a request looks like something.
func (k checker) comes(id, want string, within time.Duration) checkView {
	k.t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		v := k.view(id)
		if v.say() == want {
			return v
		}
		if time.Now().After(end) {
			k.t.Fatalf("got %s\nwant %s\n%s", v.say(), want, k.s.log)
		}
	}
}

// down says whether the circuit is open, as the metrics have it.
func (k checker) down() bool {
	_, _, metrics := ask(k.t, k.s.url, "GET", "/metrics", "")
	return strings.Contains(metrics, "\nairflow_adapter_circuit_state 1") ||
		strings.Contains(metrics, "\nairflow_adapter_circuit_state 2")
}

func (k checker) cancel(id string) {
	k.t.Helper()
	if status, _, answer := ask(k.t, k.s.url, "POST", "/pdca/recheck/"+id+"/cancel", "", "Idempotency-Key: "+
		ulid.Make().String()); status >= 300 {
		k.t.Fatal(status, answer)
	}
}

// eventually waits for something.
func eventually(t testing.TB, what string, within time.Duration, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still waiting for %s", what)
		}
	}
}

// TestAirflowChecksStrategies goes the whole way through the real binary, with an Airflow
// that dies and comes back, and a server that is killed. The credentials turn up nowhere.
func TestAirflowChecksStrategies(t *testing.T) {
	planted := canaries{}
	password := planted.plant("the password of Airflow")
	server := airflowtest.New(t, airflowtest.Config{Password: password, End: func(r airflowtest.Run, _ int) (string,
		any,
	) {
		switch strategy := r.Conf["strategy"].(string); {
		case strings.Contains(strategy, "fail"):
			return "failed", nil
		case strings.Contains(strategy, "slow"):
			return "running", nil
		default:
			return "success", map[string]any{
				"health": "degraded", "metrics": map[string]any{"sharpe": 1.5},
				"note": strategy,
			}
		}
	}})
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := newSite(t)
	at.whole = true
	at.env = []string{
		"RENGA_AIRFLOW_URL=" + server.URL(), "RENGA_AIRFLOW_DAG=recheck", "RENGA_AIRFLOW_RESULT_TASK=report",
		"RENGA_AIRFLOW_USER=renga",
		"RENGA_AIRFLOW_PASSWORD_FILE=" + file, "RENGA_AIRFLOW_FAILURES=2", "RENGA_AIRFLOW_PROBE=200ms",
		"RENGA_AIRFLOW_LEASE=3s", "RENGA_LOG_LEVEL=debug",
	}
	k := checker{t, serve(t, at)}
	k.register("a.good", "b.fail", "c.slow", "d.good")
	// the server's own, now that Airflow does the checks
	for _, queue := range []string{"pdca.recheck", "sharing.rebuild"} {
		status, _, answer := ask(t, k.s.url, "POST", "/tasks/claim", `{"workerId":"w","queues":["`+queue+`"]}`,
			"X-Idempotency-Key: "+queue)
		if status != http.StatusForbidden || !strings.Contains(answer, "QUEUE_RESERVED") {
			t.Errorf("a claim of %s is answered %d %s", queue, status, answer)
		}
	}

	id := k.accepted("a.good", "b.fail")
	v := k.comes(id, "partial, a.good succeeded, b.fail failed AIRFLOW_RUN_FAILED", time.Minute)
	if v.Items[0].Result["note"] != "a.good" {
		t.Errorf("got %+v", v.Items[0])
	}
	if _, _, list := ask(t, k.s.url, "GET", "/gui/strategies?q=a.good", ""); !strings.Contains(list,
		`"health":"degraded"`) || !strings.Contains(list, `"sharpe":1.5`) {
		t.Errorf("the strategy is %s", list)
	}

	id = k.accepted("c.slow")
	run := "renga__" + id + "__c.slow"
	eventually(t, "the run", time.Minute, func() bool { _, there := server.Run(run); return there })
	k.cancel(id)
	k.comes(id, "canceled, c.slow canceled", time.Minute)
	eventually(t, "the run to be cancelled", time.Minute, func() bool {
		r, _ := server.Run(run)
		return r.State == "failed"
	})

	id = k.accepted("c.slow", "d.good")
	run = "renga__" + id + "__c.slow"
	k.comes(id, "running, c.slow running, d.good succeeded", time.Minute)
	server.Stop()
	eventually(t, "the circuit to open", time.Minute, k.down)
	if status, answer := k.recheck("a.good"); status != http.StatusBadGateway ||
		!strings.Contains(answer, `"error":"AIRFLOW_DOWN"`) {
		t.Errorf("got %d %s", status, answer)
	}
	_, _, metrics := ask(t, k.s.url, "GET", "/metrics", "")
	for _, want := range []string{
		`airflow_adapter_requests_total{endpoint="trigger",outcome="ok"} `,
		`,outcome="unreachable"} `, "# TYPE airflow_adapter_runs gauge",
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	k.s.kill()
	planted.none(t, "the log", k.s.log.String())
	server.Start()
	k.s = serve(t, at)
	server.End(run, "success", map[string]any{"health": "healthy"})
	k.comes(id, "succeeded, c.slow succeeded, d.good succeeded", time.Minute)
	k.comes(k.accepted("a.good"), "succeeded, a.good succeeded", time.Minute)
	triggered := map[string]bool{}
	for _, r := range server.Runs() {
		if triggered[r.ID] {
			t.Errorf("%s was triggered twice", r.ID)
		}
		triggered[r.ID] = true
	}
	if len(triggered) != 6 {
		t.Errorf("%d runs: %v", len(triggered), triggered)
	}
	_, _, metrics = ask(t, k.s.url, "GET", "/metrics", "")
	planted.none(t, "the metrics", metrics)
	k.s.stop()
	planted.none(t, "the log", k.s.log.String())
	planted.folder(t, at.dir)
}
