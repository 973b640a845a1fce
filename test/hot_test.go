package test

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"renga.dev/renga/test/tier"
)

const (
	hotClients    = 32
	hotExecutions = 10
	mostRetries   = 5 // of 99 % of the jobs
)

// TestManyClientsOnAFewExecutions lets many clients write to the same few executions
// through two processes. These get in each other's way all the time, and no client may
// notice: every command is accepted, once, and hardly any has to be run again.
func TestManyClientsOnAFewExecutions(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	commands := int64(4_000)
	if long() {
		commands = 40_000
	}
	at := newSite(t)
	r := newRig(t, hotClients, at, at.beside(t))
	var ids []string
	for range hotExecutions {
		h := r.hands[0]
		h.diary = ""
		if err := h.write(t.Context()); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, h.diary)
	}
	r.hands[0].diary = ""
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(commands)
	for _, h := range r.hands {
		wg.Go(func() {
			for left.Add(-1) >= 0 && !t.Failed() {
				if err := h.press(t.Context(), ids); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := r.stress.unanswered.Load() + r.stress.refused.Load(); n > 0 {
		t.Errorf("%d requests were not served", n)
	}
	redone := map[int]int{}
	for _, server := range r.servers {
		for times, n := range jobsRedone(t, server) {
			redone[times] += n
		}
	}
	p99 := percentile(redone, 99)
	t.Logf("%d commands of %d clients on %d executions; database jobs by how often they were run again: %v", commands,
		hotClients, hotExecutions, redone)
	if p99 > mostRetries {
		t.Errorf("99 %% of the jobs were run again at most %d times, the limit is %d", p99, mostRetries)
	}
	for _, id := range ids {
		r.hands[0].held = append(r.hands[0].held, task{id, "a", 1})
	}
	r.clear()
	r.audit()
	r.end()
}

// press writes to any of the executions, or reads it.
func (h *hand) press(ctx context.Context, ids []string) error {
	id := ids[h.rand.IntN(len(ids))]
	if h.rand.IntN(8) == 0 {
		h.show(id)
		return nil
	}
	r, err := h.post(ctx, "ReportNodeProgress", id, "a", `"progress":%d`, h.rand.IntN(101))
	if err == nil && r.status != http.StatusAccepted {
		h.t.Errorf("%s: %d %s", r.path(), r.status, r.answer)
	}
	return err
}

var redoneLine = regexp.MustCompile(`(?m)^renga_db_jobs_total\{.*redone="(\d+)".*\} (\d+)$`)

// jobsRedone asks a server for its database jobs by how often they were run again.
func jobsRedone(t *testing.T, server *child) map[int]int {
	t.Helper()
	resp, err := http.Get(server.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	jobs := map[int]int{}
	for _, m := range redoneLine.FindAllStringSubmatch(string(text), -1) {
		times, _ := strconv.Atoi(m[1])
		jobs[times], _ = strconv.Atoi(m[2])
	}
	if len(jobs) == 0 {
		t.Fatalf("%s has no jobs of the database", server.url+"/metrics")
	}
	return jobs
}

// percentile is the value that so many percent of what was counted do not exceed.
func percentile(counted map[int]int, percent int) int {
	total, most := 0, 0
	for value, n := range counted {
		total += n
		most = max(most, value)
	}
	sum := 0
	for value := range most + 1 {
		if sum += counted[value]; sum*100 >= total*percent {
			return value
		}
	}
	return most
}
