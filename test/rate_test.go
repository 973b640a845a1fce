package test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"renga.dev/renga/test/tier"
)

// TestServersHoldTheRatesOfTheirOperator asks one server, on PostgreSQL three, more
// often than a limit allows; on PostgreSQL they hold it together.
//
// When PostgreSQL does not answer in time, servers keep to their own parts for a while, and
// say so; then new ones are asked.
func TestServersHoldTheRatesOfTheirOperator(t *testing.T) {
	tier.System(t)
	const tries = 5
	for try := 1; try <= tries; try++ {
		together := false
		t.Run(strconv.Itoa(try), func(t *testing.T) { together = holdRates(t) })
		if together || t.Failed() {
			return
		}
	}
	t.Errorf("PostgreSQL did not answer servers in time, %d times", tries)
}

// holdRates says whether the servers held the limit together, and checks it when they did.
func holdRates(t *testing.T) (together bool) {
	at := newSite(t)
	at.env = []string{"RENGA_RATES=executions.read=30/h,server=unlimited"}
	servers := []*child{serve(t, at)}
	if postgres() {
		servers = append(servers, serve(t, at.beside(t)), serve(t, at.beside(t)))
	}
	ask := func(server *child, path string) *http.Response {
		t.Helper()
		resp, err := http.Get(server.url + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp
	}
	let := 0
	for i := range 60 {
		resp := ask(servers[i%len(servers)], "/executions")
		switch {
		case resp.StatusCode == http.StatusOK && resp.Header.Get("X-RateLimit-Limit") == "30":
			let++
		case resp.StatusCode == http.StatusTooManyRequests && resp.Header.Get("Retry-After") != "":
		default:
			t.Errorf("got %d with the headers %v", resp.StatusCode, resp.Header)
		}
	}
	if slices.ContainsFunc(servers, func(c *child) bool { return c.log.has("keeps to its own part") }) {
		return false
	}
	if let != 30 {
		t.Errorf("let in %d of 60, want 30", let)
	}
	for _, server := range servers {
		if resp := ask(server, "/graphs"); resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("another route of the class: got %d", resp.StatusCode)
		}
		if resp := ask(server, "/healthz"); resp.StatusCode != http.StatusOK ||
			resp.Header.Get("X-RateLimit-Limit") != "" {
			t.Errorf("a class without a limit: got %d %v", resp.StatusCode, resp.Header)
		}
	}
	return true
}
