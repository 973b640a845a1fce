package airflow

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"renga.dev/renga/internal/recheck/airflow/airflowtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func text(s string) Secret { return func() (string, error) { return s, nil } }

// quick is a configuration for an Airflow of the tests, with short pauses.
func quick(s *airflowtest.Server) Config {
	return Config{
		URL: s.URL(), DAG: "recheck", API: Auto, User: "renga", Password: text("airflow-pass"), ResultTask: "report",
		ConnectTimeout: 10 * time.Second, ReadTimeout: 20 * time.Second, Probe: 50 * time.Millisecond,
		pollFirst: 5 * time.Millisecond, pollMost: 20 * time.Millisecond, retryFirst: 5 * time.Millisecond,
		retryMost:  20 * time.Millisecond,
		claimEvery: 10 * time.Millisecond, watchEvery: 20 * time.Millisecond, sweepEvery: 50 * time.Millisecond,
	}
}

// dial is a client of its own circuit.
func dial(t *testing.T, cfg Config) *client {
	t.Helper()
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		t.Fatal(err)
	}
	var c *client
	circuit := newCircuit(cfg.Failures, cfg.Probe, func(s State) {
		if s == Open {
			c.unlearn()
		}
	})
	tell, err := newTeller(nil, nil, circuit.state, func() int { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	if c, err = newClient(cfg, circuit, tell); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	return c
}

var runConf = conf{
	Check: Check{
		RequestID: "01J8TPZ7YJ1E1X4C5N9ZP3M3QJ", Strategy: "strat.a",
		Window: jsontext.Value(`{"lookback_days":14}`), Reason: "manual",
	},
	Tenant: "default", Node: "s1",
}

func TestARunIsTriggeredOnceFollowedAndRead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cfg   airflowtest.Config
		api   string
		value any
		want  string
	}{
		{"v1", airflowtest.Config{API: "v1"}, V1, map[string]any{"health": "healthy"}, `{"health":"healthy"}`},
		{"v2", airflowtest.Config{API: "v2"}, V2, map[string]any{"health": "healthy"}, `{"health":"healthy"}`},
		{"v1 found out", airflowtest.Config{API: "v1"}, Auto, map[string]any{"n": 1}, `{"n":1}`},
		{"v2 found out", airflowtest.Config{API: "v2"}, Auto, map[string]any{"n": 1}, `{"n":1}`},
		{
			"v1 before 2.10, JSON in a text",
			airflowtest.Config{API: "v1", Old: true},
			V1, `{"health":"degraded"}`,
			`{"health":"degraded"}`,
		},
		{
			"v1 before 2.10, a dictionary",
			airflowtest.Config{API: "v1", Old: true},
			V1,
			map[string]any{"n": 1},
			`{"return_value":"map[n:1]"}`,
		},
		{"a number", airflowtest.Config{API: "v2"}, V2, 7, `{"return_value":7}`},
		{"a text", airflowtest.Config{API: "v2"}, V2, "fine", `{"return_value":"fine"}`},
		{"nothing", airflowtest.Config{API: "v2"}, V2, nil, ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := airflowtest.New(t, tt.cfg)
			cfg := quick(server)
			cfg.API = tt.api
			c := dial(t, cfg)
			id := runID(runConf.RequestID, runConf.Strategy)
			if got, err := c.trigger(t.Context(), id, runConf); err != nil || got.State != "queued" {
				t.Fatalf("got %+v, %v", got, err)
			}
			if _, err := c.trigger(t.Context(), id, runConf); outcomeOf(err) != conflict {
				t.Errorf("a second trigger: %v", err)
			}
			if runs := server.Runs(); len(runs) != 1 || runs[0].Conf["strategy"] != "strat.a" ||
				runs[0].Conf["tenant"] != "default" {
				t.Errorf("got %+v", runs)
			}
			if got, _, err := c.active(t.Context(), 0); err != nil || len(got) != 1 || got[0].ID != id {
				t.Errorf("active: %+v, %v", got, err)
			}
			server.End(id, "success", tt.value)
			if got, err := c.run(t.Context(), id); err != nil || got.State != runSucceeded {
				t.Errorf("got %+v, %v", got, err)
			}
			if got, err := c.result(t.Context(), id); err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
			if paused, err := c.dag(t.Context()); err != nil || paused {
				t.Errorf("dag: %t, %v", paused, err)
			}
			if _, err := c.run(t.Context(), "renga__none"); outcomeOf(err) != notFound {
				t.Errorf("a run that is not there: %v", err)
			}
			if err := c.cancel(t.Context(), id); err != nil {
				t.Error(err)
			}
			if r, _ := server.Run(id); r.State != runFailed {
				t.Errorf("cancelled: %+v", r)
			}
		})
	}
}

// TestARefusedResultIsNotTakenForAnOldAirflow holds a busy Airflow apart from one that does
// not know a parameter: the results of an old one are texts, and say nothing of health.
func TestARefusedResultIsNotTakenForAnOldAirflow(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusTooManyRequests} {
		server := airflowtest.New(t, airflowtest.Config{API: "v1"})
		cfg := quick(server)
		cfg.API = V1
		c := dial(t, cfg)
		id := runID(runConf.RequestID, runConf.Strategy)
		if _, err := c.trigger(t.Context(), id, runConf); err != nil {
			t.Fatal(err)
		}
		server.End(id, "success", map[string]any{"health": "healthy"})
		server.Ail(airflowtest.Trouble{Status: status})
		if _, err := c.result(t.Context(), id); outcomeOf(err) != refused {
			t.Errorf("%d: got %v", status, err)
		}
		server.Ail(airflowtest.Trouble{})
		if got, err := c.result(t.Context(), id); err != nil || string(got) != `{"health":"healthy"}` {
			t.Errorf("after %d: got %s, %v", status, got, err)
		}
	}
}

func TestTokensAreRenewedWhenRefusedAndBeforeTheyExpire(t *testing.T) {
	server := airflowtest.New(t, airflowtest.Config{API: "v2"})
	c := dial(t, quick(server))
	for range 3 {
		if _, err := c.dag(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := server.Calls("token"); n != 1 {
		t.Errorf("%d logins for three calls", n)
	}
	server.Expire()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := c.dag(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := server.Calls("token"); n < 2 || n > 9 {
		t.Errorf("%d logins", n)
	}
	before := server.Calls("token")
	p := <-c.login
	p.renewAt = time.Now()
	c.login <- p
	if _, err := c.dag(t.Context()); err != nil {
		t.Error(err)
	}
	if n := server.Calls("token"); n != before+1 {
		t.Errorf("%d logins, want %d", n, before+1)
	}
}

func TestRenewalComesBeforeTheEnd(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for token, want := range map[string]time.Time{
		"e30.eyJleHAiOjEwMDAxMDB9.x": time.Unix(1_000_090, 0), // 100 s: a tenth before
		"e30.eyJleHAiOjEwMDM2MDB9.x": time.Unix(1_003_540, 0), // an hour: a minute before
		"e30.eyJzdWIiOiJhIn0.x":      {},                      // no exp
		"opaque":                     {},
		"a.%.c":                      {},
	} {
		if got := renewal(token, now); !got.Equal(want) {
			t.Errorf("%s: got %v, want %v", token, got, want)
		}
	}
}

func TestAPasswordThatChangesIsReadAgain(t *testing.T) {
	for _, api := range []string{V1, V2} {
		server := airflowtest.New(t, airflowtest.Config{API: api})
		cfg := quick(server)
		current := "airflow-pass"
		cfg.Password = func() (string, error) { return current, nil }
		c := dial(t, cfg)
		if _, err := c.dag(t.Context()); err != nil {
			t.Fatal(err)
		}
		server.Password("another")
		server.Expire()
		if _, err := c.dag(t.Context()); outcomeOf(err) != unauthorized {
			t.Errorf("%s: got %v", api, err)
		}
		current = "another\n"
		if _, err := c.dag(t.Context()); err != nil {
			t.Errorf("%s: %v", api, err)
		}
	}
}

func TestATokenOfTheOperatorIsUsedAsItIs(t *testing.T) {
	server := airflowtest.New(t, airflowtest.Config{Token: "fixed-token"})
	cfg := quick(server)
	cfg.User, cfg.Password, cfg.Token = "", nil, text("fixed-token\n")
	if _, err := dial(t, cfg).dag(t.Context()); err != nil || server.Calls("token") != 0 {
		t.Errorf("%v after %d logins", err, server.Calls("token"))
	}
	cfg.Token = func() (string, error) { return "", errors.New("permission denied: hunter2") }
	if _, err := dial(t, cfg).dag(t.Context()); outcomeOf(err) != unauthorized ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

// TestFailuresAreClassified gives every kind of trouble its outcome, and none a
// credential in its text.
func TestFailuresAreClassified(t *testing.T) {
	for _, tt := range []struct {
		name    string
		trouble airflowtest.Trouble
		want    outcome
	}{
		{"a fault", airflowtest.Trouble{Status: 500, Body: "Internal Server Error"}, failed},
		{"a proxy without a server", airflowtest.Trouble{Status: 502}, failed},
		{"a proxy that knows no server", airflowtest.Trouble{Status: 404, Body: "default backend - 404"}, badAnswer},
		{"a run that is not there", airflowtest.Trouble{
			Status: 404, Body: `{"detail":"no"}`,
			Media: "application/problem+json",
		}, notFound},
		{"a page", airflowtest.Trouble{Status: 200, Body: "<html>login</html>"}, badAnswer},
		{"no JSON", airflowtest.Trouble{Status: 200, Body: `{"dag_run_id":`, Media: "application/json"}, badAnswer},
		{"another document", airflowtest.Trouble{Status: 200, Body: `[]`, Media: "application/json"}, badAnswer},
		{"another run", airflowtest.Trouble{
			Status: 200,
			Body:   `{"dag_run_id":"x","dag_id":"recheck","state":"success"}`, Media: "application/json",
		}, badAnswer},
		{"a redirect", airflowtest.Trouble{Status: 302, Body: "/login"}, badAnswer},
		{
			"a refusal",
			airflowtest.Trouble{
				Status: 422,
				Body: `{"detail":[{"loc":["body","conf"],"msg":"no",` +
					`"input":"airflow-pass"}]}`, Media: "application/json",
			},
			refused,
		},
		{"too many", airflowtest.Trouble{Status: 429}, refused},
		{"too much", airflowtest.Trouble{
			Status: 200, Body: strings.Repeat(" ", MaxAnswer+1),
			Media: "application/json",
		}, tooLarge},
		{"no answer", airflowtest.Trouble{Delay: time.Minute}, timedOut},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := airflowtest.New(t, airflowtest.Config{API: "v1"})
			cfg := quick(server)
			cfg.API = V1
			if tt.want == timedOut {
				cfg.ConnectTimeout, cfg.ReadTimeout = 50*time.Millisecond, 250*time.Millisecond
			}
			c := dial(t, cfg)
			server.Ail(tt.trouble)
			_, err := c.run(t.Context(), "renga__x__y")
			if outcomeOf(err) != tt.want {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), "airflow-pass") {
				t.Errorf("a credential in %v", err)
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		server := airflowtest.New(t, airflowtest.Config{})
		c := dial(t, quick(server))
		server.Stop()
		if _, err := c.dag(t.Context()); outcomeOf(err) != unreachable {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the caller goes away", func(t *testing.T) {
		server := airflowtest.New(t, airflowtest.Config{})
		c := dial(t, quick(server))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.dag(ctx); outcomeOf(err) != abandoned {
			t.Errorf("got %v", err)
		}
	})
	t.Run("something else", func(t *testing.T) {
		server := httptest.NewServer(http.NotFoundHandler())
		defer server.Close()
		if _, err := dial(t, Config{URL: server.URL, DAG: "recheck", ConnectTimeout: 30 * time.Second}).dag(
			t.Context()); outcomeOf(err) != badAnswer || !strings.Contains(err.Error(), "--airflow-url") {
			t.Errorf("got %v", err)
		}
	})
}

func TestCredentialsDoNotFollowRedirects(t *testing.T) {
	var seen string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = r.Header.Get("Authorization") + " asked"
	}))
	defer other.Close()
	server := airflowtest.New(t, airflowtest.Config{API: "v1"})
	cfg := quick(server)
	cfg.API = V1
	server.Ail(airflowtest.Trouble{Status: 307, Body: other.URL})
	if _, err := dial(t, cfg).dag(t.Context()); outcomeOf(err) != badAnswer || seen != "" {
		t.Errorf("got %v; the other server saw %q", err, seen)
	}
}

func TestAnUntrustedCertificateIsRefused(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	cfg := Config{
		URL: server.URL, DAG: "recheck", User: "renga", Password: text("airflow-pass"),
		ConnectTimeout: 30 * time.Second,
	}
	if _, err := dial(t, cfg).dag(t.Context()); outcomeOf(err) != unreachable ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
}

func TestTheCircuitStopsCallsAndLetsAProbeThrough(t *testing.T) {
	server := airflowtest.New(t, airflowtest.Config{API: "v1"})
	cfg := quick(server)
	cfg.API = V1
	c := dial(t, cfg)
	server.Ail(airflowtest.Trouble{Status: 503})
	for range DefaultFailures {
		if _, err := c.dag(t.Context()); outcomeOf(err) != failed {
			t.Fatal(err)
		}
	}
	if _, err := c.dag(t.Context()); err != errOpen || server.Calls("dag") != DefaultFailures {
		t.Fatalf("got %v after %d calls", err, server.Calls("dag"))
	}
	server.Ail(airflowtest.Trouble{})
	wait(t, "a probe", func() bool { _, err := c.dag(t.Context()); return err == nil })
	if c.circuit.state() != Closed {
		t.Errorf("the circuit is %v", c.circuit.state())
	}
}

// wait polls until something holds.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("still waiting for %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	sound := Config{
		URL: "https://airflow.example.com/prefix/", DAG: "recheck", User: "u",
		Password: text("p"),
	}.withDefaults()
	if err := sound.check(); err != nil || sound.Exposed() {
		t.Fatal(err)
	}
	for want, change := range map[string]func(c *Config){
		"must not hold credentials": func(c *Config) { c.URL = "http://u:hunter2@airflow" },
		"must be http":              func(c *Config) { c.URL = "airflow:8080" },
		"must end before /api":      func(c *Config) { c.URL = "http://airflow/api/v1/" },
		"query":                     func(c *Config) { c.URL = "http://airflow/?token=hunter2" },
		"is not a URL":              func(c *Config) { c.URL = "http://hunter2 \x7f" },
		"--airflow-dag":             func(c *Config) { c.DAG = "" },
		"--airflow-result-task":     func(c *Config) { c.ResultTask = "a/b" },
		"--airflow-api":             func(c *Config) { c.API = "v3" },
		"exclude each other":        func(c *Config) { c.Token = text("t") },
		"needs a password":          func(c *Config) { c.Password = nil },
		"needs --airflow-user":      func(c *Config) { c.User = "" },
		"--airflow-connect-timeout": func(c *Config) { c.ConnectTimeout = time.Hour },
		"--airflow-failures":        func(c *Config) { c.Failures = -1 },
		"--airflow-probe":           func(c *Config) { c.Probe = 2 * time.Hour },
		"--airflow-runs":            func(c *Config) { c.Runs = MaxRuns + 1 },
		"--airflow-calls":           func(c *Config) { c.Calls = MaxCalls + 1 },
	} {
		c := sound
		change(&c)
		err := c.check()
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v", want, err)
		}
	}
	for url, exposed := range map[string]bool{
		"http://airflow:8080": true, "http://10.0.0.1": true,
		"http://127.0.0.1:8080": false, "http://localhost": false, "https://airflow": false,
	} {
		c := sound
		if c.URL = url; c.Exposed() != exposed {
			t.Errorf("%s: exposed is %t", url, !exposed)
		}
	}
}
