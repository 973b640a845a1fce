package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// read reads the body into a value.
func (r reply) read(into any) {
	r.t.Helper()
	if err := json.Unmarshal(r.body, into); err != nil {
		r.t.Fatalf("%s: %v: %s", r.asked, err, r.body)
	}
}

const (
	recheckPath    = "/pdca/recheck"
	recheckAllPath = "/pdca/recheck_all"
)

// enrol registers strategies.
func (s *server) enrol(ids ...string) {
	s.t.Helper()
	for _, id := range ids {
		if r := s.do("PUT", strategiesPath+id, fmt.Sprintf(`{"name":"The %s","tags":["all"]}`, id)); r.status != 200 &&
			r.status != 201 {
			s.t.Fatalf("%s: got status %d: %s", r.asked, r.status, r.body)
		}
	}
}

// ask sends a request of this surface under a key of its own.
func (s *server) ask(path, body string, header ...string) reply {
	s.t.Helper()
	return s.askOnce(uuid.NewString(), path, body, header...)
}

// askOnce sends a request of this surface under a key.
func (s *server) askOnce(key, path, body string, header ...string) reply {
	s.t.Helper()
	return s.do("POST", path, body, append([]string{"Idempotency-Key", key}, header...)...)
}

// order is a body that asks for strategies to be checked again.
func order(rest string, ids ...string) string {
	if rest != "" {
		rest = "," + rest
	}
	return fmt.Sprintf(`{"strategies":["%s"],"window":{"lookback_days":14},"reason":"manual"%s}`,
		strings.Join(ids, `","`), rest)
}

// recheck has strategies checked again and gives the id of the request.
func (s *server) recheck(rest string, ids ...string) string {
	s.t.Helper()
	return s.ask(recheckPath, order(rest, ids...)).is(202).text("request_id")
}

// progress reads a request.
func (s *server) progress(id string) reply {
	s.t.Helper()
	return s.get(recheckPath + "/" + id + "?page_size=100").is(200)
}

// until reads a request until it has a status.
func (s *server) until(id, status string) reply {
	s.t.Helper()
	for began := time.Now(); ; {
		r := s.progress(id)
		if r.text("status") == status {
			return r
		}
		if time.Since(began) > patience {
			s.t.Fatalf("the request is not %s: %s", status, r.body)
		}
	}
}

// settled reads a request when it has ended and all strategies know what came of it: the
// number of tenants with something under way is back to none.
func (s *server) settled(id string) reply {
	s.t.Helper()
	for began := time.Now(); ; {
		tenants, err := s.rechecks.Tenants(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		if len(tenants) == 0 {
			return s.progress(id)
		}
		if time.Since(began) > patience {
			s.t.Fatalf("it is not settled: %s", s.progress(id).body)
		}
	}
}

// job is a strategy that a worker has taken.
type job struct{ execution, node, strategy string }

// take takes up to n strategies that are to be checked, waiting for the first.
func (s *server) take(n int) (jobs []job) {
	s.t.Helper()
	type tasks struct {
		Tasks []struct {
			ExecutionID string `json:"executionId"`
			NodeID      string `json:"nodeId"`
			Input       struct {
				Strategies map[string]string `json:"strategies"`
			} `json:"input"`
		} `json:"tasks"`
	}
	for wait := 10; len(jobs) < n; wait = 0 { // a claim ends early when the machine is slow
		var got tasks
		body := fmt.Sprintf(`{"workerId":"w","queues":["pdca.recheck"],"max":%d,"waitSeconds":%d}`, n-len(jobs), wait)
		s.post("/tasks/claim", body).is(200).read(&got)
		if len(got.Tasks) == 0 {
			break
		}
		for _, t := range got.Tasks {
			jobs = append(jobs, job{t.ExecutionID, t.NodeID, t.Input.Strategies[t.NodeID]})
		}
	}
	return jobs
}

// found sends what a check has found out.
func (s *server) found(j job, output string) reply {
	s.t.Helper()
	return s.post("/executions/"+j.execution+"/nodes/"+j.node+"/success", `{"attempt":1,"workerId":"w","output":`+
		output+`}`)
}

// failed fails an attempt.
func (s *server) failed(j job, attempt int) reply {
	s.t.Helper()
	return s.post("/executions/"+j.execution+"/nodes/"+j.node+"/fail",
		fmt.Sprintf(`{"attempt":%d,"workerId":"w","error":{"code":"NO_DATA","message":"there is no data"}}`, attempt))
}

// strategy is a strategy as the list has it.
func (s *server) strategy(id string) (found strategyDoc) {
	s.t.Helper()
	var page struct {
		Items []strategyDoc `json:"items"`
	}
	s.get(listPath + "?q=" + id).is(200).read(&page)
	for _, item := range page.Items {
		if item.ID == id {
			return item
		}
	}
	s.t.Fatalf("there is no strategy %s", id)
	return found
}

type strategyDoc struct {
	ID            string         `json:"id"`
	Health        string         `json:"health"`
	LastCheckedAt *time.Time     `json:"last_checked_at"`
	Metrics       map[string]any `json:"metrics"`
}
