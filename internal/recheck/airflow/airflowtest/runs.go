package airflowtest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func (s *Server) version(*http.Request, []byte, []string) answer {
	return answer{http.StatusOK, map[string]any{
		"version":     map[string]string{"v1": "2.10.5", "v2": "3.1.0"}[s.cfg.API],
		"git_version": nil,
	}}
}

func (s *Server) dag(_ *http.Request, _ []byte, at []string) answer {
	if at[0] != s.cfg.DAG || s.noDAG {
		return problem(http.StatusNotFound, "The DAG with dag_id: `"+at[0]+"` was not found")
	}
	return answer{http.StatusOK, map[string]any{"dag_id": at[0], "is_paused": s.paused, "tags": []string{}}}
}

// idPattern is Airflow's default for the ids of runs.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9_.~:+-]{1,250}$`)

func (s *Server) trigger(r *http.Request, body []byte, at []string) answer {
	names, required := []string{
		"dag_run_id", "logical_date", "execution_date", "data_interval_start",
		"data_interval_end", "conf", "note",
	}, 0
	if s.cfg.API == "v2" {
		names, required = []string{
			"logical_date", "dag_run_id", "data_interval_start", "data_interval_end",
			"run_after", "conf", "note",
		}, 1
	}
	members, why := strict(body, required, names...)
	if why != "" {
		return s.wrong(r, "%s", why)
	}
	if raw := members["logical_date"]; raw != nil && raw.Kind() != 'n' {
		var at time.Time
		if json.Unmarshal(raw, &at) != nil {
			return s.wrong(r, "logical_date is %s", raw)
		}
	}
	run := &Run{State: "queued"}
	if json.Unmarshal(members["dag_run_id"], &run.ID) != nil || !idPattern.MatchString(run.ID) {
		return s.wrong(r, "dag_run_id is %s", members["dag_run_id"])
	}
	if json.Unmarshal(members["conf"], &run.Conf) != nil {
		return s.wrong(r, "conf is %s", members["conf"])
	}
	switch {
	case at[0] != s.cfg.DAG || s.noDAG:
		return problem(http.StatusNotFound, "DAG with dag_id: '"+at[0]+"' not found")
	case s.runs[run.ID] != nil:
		return problem(http.StatusConflict, "DAGRun with DAG ID: '"+at[0]+"' and DAGRun ID: '"+run.ID+
			"' already exists")
	}
	s.runs[run.ID] = run
	s.order = append(s.order, run.ID)
	return s.show(run)
}

// show is a run as the API gives it.
func (s *Server) show(r *Run) answer { return answer{http.StatusOK, s.view(r)} }

func (s *Server) view(r *Run) map[string]any {
	return map[string]any{
		"dag_run_id": r.ID, "dag_id": s.cfg.DAG, "state": r.State, "conf": r.Conf, "run_type": "manual",
		"logical_date": nil, "start_date": nil, "end_date": nil, "note": nil, "last_scheduling_decision": nil,
		"data_interval_start": nil, "data_interval_end": nil,
	}
}

func (s *Server) find(at []string) (*Run, answer) {
	r := s.runs[at[1]]
	if at[0] != s.cfg.DAG || r == nil {
		return nil, problem(http.StatusNotFound, "The DagRun with dag_id: `"+at[0]+"` and run_id: `"+at[1]+
			"` was not found")
	}
	return r, answer{}
}

func (s *Server) run(_ *http.Request, _ []byte, at []string) answer {
	r, none := s.find(at)
	if r == nil {
		return none
	}
	r.Polls++
	if s.cfg.End != nil && (r.State == "queued" || r.State == "running") {
		if state, value := s.cfg.End(*r, r.Polls); state != "" {
			r.State, r.Value = state, value
		}
	}
	return s.show(r)
}

func (s *Server) patch(r *http.Request, body []byte, at []string) answer {
	names := []string{"state"}
	if s.cfg.API == "v2" {
		names = append(names, "note")
	}
	members, why := strict(body, 1, names...)
	var state string
	if why == "" && (json.Unmarshal(members["state"], &state) != nil ||
		!slices.Contains([]string{"success", "failed", "queued"}, state)) {
		why = "state is " + string(members["state"])
	}
	if why != "" {
		return s.wrong(r, "%s", why)
	}
	got, none := s.find(at)
	if got == nil {
		return none
	}
	got.State = state
	return s.show(got)
}

func (s *Server) list(r *http.Request, _ []byte, at []string) answer {
	if at[0] != s.cfg.DAG || s.noDAG {
		return problem(http.StatusNotFound, "The DAG with dag_id: `"+at[0]+"` was not found")
	}
	query := r.URL.Query()
	for name := range query {
		if !slices.Contains([]string{"state", "limit", "offset", "order_by"}, name) {
			return s.wrong(r, "the parameter %s", name)
		}
	}
	limit, err1 := strconv.Atoi(query.Get("limit"))
	offset, err2 := strconv.Atoi(query.Get("offset"))
	if err1 != nil || err2 != nil || limit < 0 || limit > 100 || offset < 0 {
		return s.wrong(r, "limit %q, offset %q", query.Get("limit"), query.Get("offset"))
	}
	var all []any
	for _, id := range s.order {
		if run := s.runs[id]; run != nil && slices.Contains(query["state"], run.State) {
			all = append(all, s.view(run))
		}
	}
	page := all[min(offset, len(all)):min(offset+limit, len(all))]
	return answer{http.StatusOK, map[string]any{"dag_runs": append([]any{}, page...), "total_entries": len(all)}}
}

// xcom gives what the result task returned, in the form of the version: as JSON in a
// text (3.x), as it is (2.10 on), or as Python writes it (before).
func (s *Server) xcom(r *http.Request, _ []byte, at []string) answer {
	stringify := r.URL.Query().Get("stringify")
	if s.cfg.API == "v1" && s.cfg.Old && stringify != "" {
		return problem(http.StatusBadRequest, "Extra query parameter(s) stringify not in spec")
	}
	run, none := s.find(at)
	switch {
	case run == nil:
		return none
	case run.Value == nil:
		return problem(http.StatusNotFound, "XCom entry with key: `return_value` not found")
	}
	value, err := json.Marshal(run.Value, json.Deterministic(true))
	if text, is := run.Value.(raw); is {
		return answer{http.StatusOK, text}
	}
	if err != nil {
		s.t.Error(err)
	}
	out := map[string]any{
		"key": "return_value", "dag_id": at[0], "task_id": at[2], "timestamp": time.Now(),
		"map_index": -1, "value": string(value),
	}
	switch {
	case s.cfg.API == "v2":
		out["run_id"] = run.ID
	case stringify == "false":
		out["value"] = jsontext.Value(value)
	default:
		out["value"] = fmt.Sprint(run.Value)
	}
	return answer{http.StatusOK, out}
}

// Raw is a result whose whole answer is this text.
func Raw(text string) any { return raw(text) }
