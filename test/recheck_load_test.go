package test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestRequestsAreAcceptedQuicklyWhileAirflowIsSlow sends 100 requests a second to a server
// whose Airflow takes 10 seconds for an answer: acceptance does not wait for it.
func TestRequestsAreAcceptedQuicklyWhileAirflowIsSlow(t *testing.T) {
	if !long() {
		t.Skip("SKIP: it measures; RENGA_LONG=1 runs it")
	}
	const (
		rate  = 100
		lasts = 30 * time.Second
		most  = 20 * time.Millisecond
	)
	over := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-time.After(10 * time.Second):
		case <-over:
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer slow.Close()
	defer close(over)
	at := newSite(t)
	at.env = []string{
		"RENGA_RATES=pdca.recheck=unlimited", "RENGA_AIRFLOW_URL=" + slow.URL, "RENGA_AIRFLOW_DAG=recheck",
		"RENGA_AIRFLOW_USER=renga",
		"RENGA_AIRFLOW_PASSWORD=secret", "RENGA_AIRFLOW_READ_TIMEOUT=60s", "RENGA_AIRFLOW_FAILURES=1000",
	}
	s := serve(t, at)
	// Clients that stay connect once.
	caller := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * rate}}
	send := func(method, path, body string) (int, string) {
		req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", uuid.NewString())
		resp, err := caller.Do(req)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer resp.Body.Close()
		answer, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(answer)
	}
	for i := range 50 {
		if status, answer := send("PUT", fmt.Sprintf("/pdca/strategies/s%02d", i),
			`{"name":"n"}`); status != http.StatusCreated {
			t.Fatalf("%d %s", status, answer)
		}
	}
	var mu sync.Mutex
	var took, idle []time.Duration // idle is what a request takes that does nothing: the machine's own share
	var all sync.WaitGroup
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	for n := range int(lasts / time.Second * rate) {
		due := <-tick.C
		all.Go(func() {
			send("GET", "/healthz", "")
			d := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			idle = append(idle, d)
		})
		all.Go(func() {
			body := fmt.Sprintf(`{"strategies":["s%02d","s%02d"],"window":{"lookback_days":7},"reason":"load"}`, n%50,
				(n+7)%50)
			status, answer := send("POST", "/pdca/recheck", body)
			d := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if took = append(took, d); status != http.StatusAccepted {
				t.Errorf("request %d was answered %d %s", n, status, answer)
			}
		})
	}
	all.Wait()
	slices.Sort(took)
	slices.Sort(idle)
	at99 := took[len(took)*99/100]
	t.Logf("%d requests at %d/s: median %v, p99 %v, most %v; of /healthz beside them: median %v, p99 %v",
		len(took), rate, took[len(took)/2], at99, took[len(took)-1], idle[len(idle)/2], idle[len(idle)*99/100])
	if at99 > most {
		t.Errorf("p99 is %v, want at most %v", at99, most)
	}
}
