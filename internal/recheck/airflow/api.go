package airflow

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/workflow/flow"
)

// run is a DAG run, as far as it matters here.
type run struct {
	ID    string         `json:"dag_run_id"`
	DAG   string         `json:"dag_id"`
	State string         `json:"state"`
	Conf  jsontext.Value `json:"conf"`
}

// The states of a run that are its ends. The others, queued and running among them,
// mean that it goes on.
const (
	runSucceeded = "success"
	runFailed    = "failed"
)

func (r *run) ended() bool { return r.State == runSucceeded || r.State == runFailed }

// conf is the configuration of a run. Tenant, execution and node say whom it is for, so that a
// run which nobody waits for any more can be found and ended.
type conf struct {
	Check
	Tenant    string  `json:"tenant"`
	Execution flow.ID `json:"execution_id"`
	Node      string  `json:"node_id"`
}

// idPrefix begins the id of every run that is triggered here.
const idPrefix = "renga__"

// runID is the id of the run that checks a strategy for a request. It does not depend
// on the attempt: a repetition finds the run.
func runID(request, strategy string) string { return idPrefix + request + "__" + strategy }

// dagPath is the path of the DAG, runsPath that of its runs, runPath that of one of them.
func (c *client) dagPath() string          { return "/dags/" + url.PathEscape(c.cfg.DAG) }
func (c *client) runsPath() string         { return c.dagPath() + "/dagRuns" }
func (c *client) runPath(id string) string { return c.runsPath() + "/" + url.PathEscape(id) }

// trigger starts a run. When one of that id is there already the outcome is conflict.
func (c *client) trigger(ctx context.Context, id string, parameters conf) (run, error) {
	var got run
	body := map[string]any{"dag_run_id": id, "conf": parameters}
	if api, err := c.known(ctx); err != nil {
		return run{}, err
	} else if api == V2 { // it must be there, and null means: no date of its own
		body["logical_date"] = nil
	}
	in := exchange{endpoint: endTrigger, method: http.MethodPost, path: c.runsPath(), body: body}
	if err := c.do(ctx, in, &got); err != nil {
		return run{}, err
	}
	return got, c.same(endTrigger, id, got)
}

// known is the version of the API, asked for as a call of its own when it is not known.
func (c *client) known(ctx context.Context) (string, error) {
	if api := c.api.Load().(string); api != "" {
		return api, nil
	}
	end, err := c.circuit.ask()
	if err != nil {
		return "", err
	}
	api, err := c.version(ctx)
	end(outcomeOf(err).health())
	return api, err
}

// same says whether Airflow speaks of the run that it was asked for.
func (c *client) same(endpoint, id string, got run) error {
	if got.ID != id || got.DAG != c.cfg.DAG || got.State == "" {
		return &callError{endpoint: endpoint, outcome: badAnswer, detail: "it is about another run"}
	}
	return nil
}

// run reads a run.
func (c *client) run(ctx context.Context, id string) (run, error) {
	var got run
	if err := c.do(ctx, exchange{endpoint: endRun, method: http.MethodGet, path: c.runPath(id)}, &got); err != nil {
		return run{}, err
	}
	return got, c.same(endRun, id, got)
}

// cancel ends a run: Airflow stops its tasks and calls it failed.
func (c *client) cancel(ctx context.Context, id string) error {
	return c.do(ctx, exchange{
		endpoint: endCancel, method: http.MethodPatch, path: c.runPath(id),
		body: map[string]string{"state": runFailed},
	}, &run{})
}

// pageSize is how many runs are listed at a time.
const pageSize = 100

// active lists a page of the runs that have not ended, and says how many there are.
func (c *client) active(ctx context.Context, offset int) ([]run, int, error) {
	var got struct {
		Runs  []run `json:"dag_runs"`
		Total int   `json:"total_entries"`
	}
	query := url.Values{
		"state": {"queued", "running"}, "limit": {strconv.Itoa(pageSize)},
		"offset": {strconv.Itoa(offset)}, "order_by": {"id"},
	}
	err := c.do(ctx, exchange{endpoint: endRuns, method: http.MethodGet, path: c.runsPath(), query: query}, &got)
	return got.Runs, got.Total, err
}

// dag asks whether the DAG is there, and whether it is paused. As a call that needs the
// credentials and changes nothing it is also the probe of the circuit.
func (c *client) dag(ctx context.Context) (paused bool, err error) {
	var got struct {
		Paused bool `json:"is_paused"`
	}
	err = c.do(ctx, exchange{endpoint: endDAG, method: http.MethodGet, path: c.dagPath()}, &got)
	return got.Paused, err
}

// result is what the result task of a run returned, as an object; nil when it returned
// nothing, or when there is no such task.
func (c *client) result(ctx context.Context, id string) (jsontext.Value, error) {
	if c.cfg.ResultTask == "" {
		return nil, nil
	}
	var got struct {
		RunID string         `json:"run_id"`
		Value jsontext.Value `json:"value"`
	}
	in := exchange{
		endpoint: endResult, method: http.MethodGet,
		path: c.runPath(id) + "/taskInstances/" + url.PathEscape(c.cfg.ResultTask) + "/xcomEntries/return_value",
	}
	api, err := c.known(ctx)
	if err != nil {
		return nil, err
	}
	if api == V1 && !c.strings.Load() {
		in.query = url.Values{"stringify": {"false"}}
	}
	err = c.do(ctx, in, &got)
	switch o := outcomeOf(err); {
	case o == notFound:
		return nil, nil
	case in.query != nil && statusOf(err) == http.StatusBadRequest: // before 2.10 the parameter is not known
		c.strings.Store(true)
		return c.result(ctx, id)
	case err != nil:
		return nil, err
	case got.RunID != "" && got.RunID != id: // Airflow may look further back
		return nil, nil
	}
	return asObject(got.Value), nil
}

// asObject makes an object of a return value. Airflow keeps it as JSON inside a text, or
// gives it as it is; whatever is no object becomes the member return_value of one.
func asObject(value jsontext.Value) jsontext.Value {
	for range 3 {
		if value.Kind() != '"' {
			break
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			break
		}
		inner := jsontext.Value(text)
		if !inner.IsValid() {
			break
		}
		value = inner
	}
	switch value.Kind() {
	case '{':
		return value
	case 'n', 0:
		return nil
	}
	raw, err := json.Marshal(map[string]jsontext.Value{"return_value": value})
	if err != nil {
		return nil
	}
	return raw
}

// spread varies a pause by a fifth, so that many do not come at once.
func spread(d time.Duration, chance float64) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*chance))
}
