package test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/test/tier"
)

// deliveries is how many machines send one event at a time.
const deliveries = 50

// TestOfManyDeliveriesOfOneKeyOneStartsARun has many machines send the same event to two
// processes on one database (to one, on SQLite), round after round, while processes are
// killed. Each sends until it is answered.
func TestOfManyDeliveriesOfOneKeyOneStartsARun(t *testing.T) {
	tier.System(t)
	rounds := 12
	if long() {
		rounds = 200
	}
	at := newSite(t)
	sites := []site{at}
	if postgres() {
		sites = append(sites, at.beside(t))
	}
	r := newRace(t, sites)
	random := rand.New(rand.NewPCG(7, uint64(rounds)))
	for round := range rounds {
		r.round(round, random)
		if t.Failed() {
			break
		}
	}
	r.audit()
	t.Logf("%d rounds, %d kills: %d deliveries answered, %d unanswered; %d of the runs were started for a delivery "+
		"whose answer was lost",
		rounds, r.kills, len(r.answered), len(r.lost), r.orphans)
	for _, min := range []struct {
		what      string
		got, want int
	}{{"kills", r.kills, rounds / 2}, {"deliveries without an answer", len(r.lost), rounds / 2}} {
		if min.got < min.want {
			t.Errorf("too weak: %d %s, want at least %d", min.got, min.what, min.want)
		}
	}
	for _, s := range r.servers {
		s.stop()
	}
	verify(t, at)
	r.files()
}

// race is one run of the test.
type race struct {
	t        *testing.T
	sites    []site
	home     *home
	servers  []*child
	kills    int
	orphans  int
	mu       sync.Mutex
	answered map[string]sent // by correlation id
	lost     []string
	runs     map[string]bool
}

// sent is the answer to a delivery.
type sent struct {
	Status    string `json:"status"`
	Duplicate bool   `json:"duplicate"`
	Triggered bool   `json:"triggered"`
	RunID     string `json:"run_id"`
}

func newRace(t *testing.T, sites []site) *race {
	r := &race{
		t: t, sites: sites, home: newHome(len(sites)), servers: make([]*child, len(sites)),
		answered: map[string]sent{}, runs: map[string]bool{},
	}
	for i := range sites {
		r.start(i)
	}
	req, err := http.NewRequest(http.MethodPut, r.servers[0].url+"/api/workflow-templates/closing",
		strings.NewReader(closing))
	if err != nil {
		t.Fatal(err)
	}
	if status, body, err := r.send(req, "setup"); err != nil || status != http.StatusCreated {
		t.Fatalf("the template: %d %s %v", status, body, err)
	}
	return r
}

func (r *race) start(i int) {
	r.t.Helper()
	r.servers[i] = serve(r.t, r.sites[i])
	r.home.open(i, r.servers[i].url)
}

func (r *race) send(req *http.Request, corr string) (status int, body []byte, err error) {
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Correlation-Id", corr)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// round has everybody send one key, kills a process meanwhile in most rounds, and
// compares the answers.
func (r *race) round(n int, random *rand.Rand) {
	r.t.Helper()
	key := fmt.Sprintf("bank:%d", n)
	body := fmt.Sprintf(`{"template_id":"closing","year":%d,"month":1,"event_id":%q}`, 2000+n, key)
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*signalTimeout)
	defer cancel()
	got := make([]sent, deliveries)
	var all sync.WaitGroup
	for i := range deliveries {
		all.Go(func() { got[i] = r.deliver(ctx, i, n, body) })
	}
	if victim := random.IntN(len(r.servers)); n%4 != 3 {
		pause(time.Duration(random.Int64N(int64(30 * time.Millisecond)))) // anywhere among the deliveries
		r.home.close(victim)
		r.servers[victim].kill()
		r.kills++
		r.start(victim)
	}
	all.Wait()
	triggered := 0
	for _, a := range got {
		if a.RunID == "" || a.RunID != got[0].RunID || a.Status != "ok" || a.Triggered == a.Duplicate {
			r.t.Fatalf("round %d: got %+v and %+v", n, got[0], a)
		}
		if a.Triggered {
			triggered++
		}
	}
	if r.runs[got[0].RunID] || triggered > 1 {
		r.t.Errorf("round %d: %d deliveries started run %s", n, triggered, got[0].RunID)
	}
	if triggered == 0 {
		r.orphans++
	}
	r.runs[got[0].RunID] = true
}

// deliver sends until it is answered.
func (r *race) deliver(ctx context.Context, i, round int, body string) (a sent) {
	for try := 0; ctx.Err() == nil; try++ {
		url, err := r.home.find(ctx, i)
		if err != nil {
			break
		}
		corr := fmt.Sprintf("r%d-m%d-t%d", round, i, try)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/workflow-events",
			strings.NewReader(body))
		if err != nil {
			r.t.Error(err)
			return a
		}
		status, answer, err := r.send(req, corr)
		r.mu.Lock()
		switch {
		case err != nil:
			r.lost = append(r.lost, corr)
		case status == http.StatusOK:
			if err := json.Unmarshal(answer, &a); err != nil {
				r.t.Errorf("%s: %v", answer, err)
			}
			r.answered[corr] = a
			r.mu.Unlock()
			return a
		case status != http.StatusServiceUnavailable:
			r.t.Errorf("%s was answered %d %s", corr, status, answer)
		}
		r.mu.Unlock()
		pause(time.Millisecond)
	}
	r.t.Errorf("delivery %d of round %d was not answered", i, round)
	return a
}

// audit holds the audit log, the list of executions and the summary against the answers.
func (r *race) audit() {
	r.t.Helper()
	entries := map[string]int{}
	started := 0
	for line := range lines(r.t, r.get("/audit/export?action=workflow_event")) {
		var e struct {
			CorrelationID string `json:"correlationId"`
			Subject       string `json:"subject"`
			Outcome       string `json:"outcome"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			r.t.Fatalf("%s: %v", line, err)
		}
		entries[e.CorrelationID]++
		if e.Outcome == "accepted" {
			started++
		}
		if a, ok := r.answered[e.CorrelationID]; ok && (a.RunID != e.Subject ||
			a.Duplicate != (e.Outcome == "skipped")) {
			r.t.Errorf("%s was answered %+v, and the log says %s", e.CorrelationID, a, line)
		}
	}
	for corr := range r.answered {
		if entries[corr] != 1 {
			r.t.Errorf("delivery %s is in the audit log %d times", corr, entries[corr])
		}
	}
	for corr, n := range entries {
		if n > 1 {
			r.t.Errorf("%s is in the audit log %d times", corr, n)
		}
	}
	if started != len(r.runs) {
		r.t.Errorf("the log has %d runs, want %d", started, len(r.runs))
	}
	var list struct {
		Total int `json:"total"`
	}
	if err := json.Unmarshal(r.get("/executions?page_size=10"), &list); err != nil || list.Total != len(r.runs) {
		r.t.Errorf("there are %d executions, want %d (%v)", list.Total, len(r.runs), err)
	}
}

func (r *race) get(path string) []byte {
	r.t.Helper()
	resp, err := http.Get(r.servers[0].url + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %d %s %v", path, resp.StatusCode, body, err)
	}
	return body
}

// files holds the export of every process against the answers: complete, nothing twice.
func (r *race) files() {
	r.t.Helper()
	var first []string
	for i, s := range r.sites {
		text, err := os.ReadFile(filepath.Join(s.dir, "reports", "audit_log.jsonl"))
		if err != nil {
			r.t.Fatal(err)
		}
		entries := map[string]int{}
		for line := range lines(r.t, text) {
			var e struct {
				EventType string `json:"event_type"`
				Details   struct {
					CorrelationID string `json:"correlation_id"`
					AuditID       string `json:"audit_id"`
				} `json:"details"`
			}
			if err := json.Unmarshal(line, &e); err != nil {
				r.t.Fatalf("%s: %v", line, err)
			}
			entries[e.Details.AuditID]++
			if e.EventType == "workflow_event" {
				delete(r.answered, e.Details.CorrelationID)
			}
		}
		for id, n := range entries {
			if n > 1 {
				r.t.Errorf("%s is in the file of process %d %d times", id, i, n)
			}
		}
		if i == 0 {
			first = slices.Sorted(maps.Keys(entries))
		} else if got := slices.Sorted(maps.Keys(entries)); !slices.Equal(got, first) {
			r.t.Errorf("the file of process %d has %d lines, that of the first %d", i, len(got), len(first))
		}
	}
	if len(r.answered) > 0 {
		r.t.Errorf("%d answers are in no file", len(r.answered))
	}
}

// lines are the lines of a text.
func lines(t *testing.T, text []byte) func(yield func([]byte) bool) {
	t.Helper()
	return func(yield func([]byte) bool) {
		in := bufio.NewScanner(bytes.NewReader(text))
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			if !yield(in.Bytes()) {
				return
			}
		}
	}
}
