package airflow

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// The versions of the REST API.
const (
	V1   = "v1"   // of Airflow 2.x, with basic authentication
	V2   = "v2"   // of Airflow 3.x, with tokens
	Auto = "auto" // whichever answers
)

// Defaults and limits of an Adapter.
const (
	DefaultConnectTimeout = 3 * time.Second
	DefaultReadTimeout    = 10 * time.Second
	DefaultFailures       = 5 // in a row, that open the circuit
	DefaultProbe          = 10 * time.Second
	DefaultRuns           = 500
	DefaultCalls          = 8
	DefaultLease          = time.Minute

	MaxRuns   = 10_000  // that one process follows at a time
	MaxCalls  = 64      // to Airflow at a time
	MaxAnswer = 4 << 20 // bytes of an answer of Airflow
	MaxSecret = 8 << 10 // bytes of a password or token
)

// Secret gives a password or a token. It is called when one is needed and again when
// Airflow refuses the last one, so a file can be replaced while the server runs.
type Secret func() (string, error)

// Config is what an operator chooses. Zero values mean the defaults.
type Config struct {
	URL        string // of the webserver (2.x) or API server (3.x), without /api
	DAG        string // the DAG that checks a strategy
	API        string // V1, V2 or Auto
	User       string
	Password   Secret // with User
	Token      Secret // in place of User and Password
	ResultTask string // the task whose return value is the result; "": results are empty

	ConnectTimeout time.Duration
	ReadTimeout    time.Duration // from the connection to the last byte
	Failures       int           // in a row, that open the circuit
	Probe          time.Duration // from opening to the first probe, and between probes
	Runs           int           // followed at a time
	Calls          int           // to Airflow at a time
	Lease          time.Duration // of a task; whole seconds

	// Between polls of a run, and between tries of what fails: first and most.
	pollFirst, pollMost, retryFirst, retryMost time.Duration
	claimEvery, watchEvery, sweepEvery         time.Duration
}

func (c Config) withDefaults() Config {
	c.API = cmp.Or(c.API, Auto)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, DefaultConnectTimeout)
	c.ReadTimeout = cmp.Or(c.ReadTimeout, DefaultReadTimeout)
	c.Failures = cmp.Or(c.Failures, DefaultFailures)
	c.Probe = cmp.Or(c.Probe, DefaultProbe)
	c.Runs = cmp.Or(c.Runs, DefaultRuns)
	c.Calls = cmp.Or(c.Calls, DefaultCalls)
	c.Lease = cmp.Or(c.Lease, DefaultLease)
	c.pollFirst, c.pollMost = cmp.Or(c.pollFirst, time.Second), cmp.Or(c.pollMost, 15*time.Second)
	c.retryFirst, c.retryMost = cmp.Or(c.retryFirst, time.Second), cmp.Or(c.retryMost, 30*time.Second)
	c.claimEvery, c.watchEvery = cmp.Or(c.claimEvery, 500*time.Millisecond), cmp.Or(c.watchEvery, time.Second)
	c.sweepEvery = cmp.Or(c.sweepEvery, time.Minute)
	return c
}

// Check says what cannot work, in the words of the flags.
func (c Config) Check() error { return c.withDefaults().check() }

func (c Config) check() error {
	if _, err := parseBase(c.URL); err != nil {
		return err
	}
	switch {
	case c.DAG == "" || strings.ContainsAny(c.DAG, "/?#%~ "):
		return errors.New("--airflow-dag must be the id of the DAG that checks a strategy")
	case strings.ContainsAny(c.ResultTask, "/?#%~ "):
		return errors.New("--airflow-result-task must be the id of a task")
	case c.API != V1 && c.API != V2 && c.API != Auto:
		return errors.New("--airflow-api must be v1, v2 or auto")
	case c.User != "" && c.Token != nil:
		return errors.New("--airflow-user and a token exclude each other: leave one of them out")
	case c.User != "" && c.Password == nil:
		return errors.New("--airflow-user needs a password: --airflow-password-file or RENGA_AIRFLOW_PASSWORD")
	case c.User == "" && c.Password != nil:
		return errors.New("a password for Airflow needs --airflow-user")
	case c.ConnectTimeout < 0 || c.ReadTimeout < 0 || c.ConnectTimeout > time.Minute || c.ReadTimeout > 5*time.Minute:
		return errors.New("--airflow-connect-timeout must be at most 1m and --airflow-read-timeout at most 5m")
	case c.Failures < 1 || c.Failures > 1000:
		return errors.New("--airflow-failures must be between 1 and 1000")
	case c.Probe < 10*time.Millisecond || c.Probe > time.Hour:
		return errors.New("--airflow-probe must be between 10ms and 1h")
	case c.Runs < 1 || c.Runs > MaxRuns:
		return fmt.Errorf("--airflow-runs must be between 1 and %d", MaxRuns)
	case c.Calls < 1 || c.Calls > MaxCalls:
		return fmt.Errorf("--airflow-calls must be between 1 and %d", MaxCalls)
	case c.Lease < time.Second || c.Lease%time.Second != 0 || c.Lease > time.Hour:
		return errors.New("--airflow-lease must be whole seconds between 1s and 1h")
	}
	return nil
}

// parseBase reads the URL of Airflow. Credentials do not belong into it: it is logged.
func parseBase(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil: // the cause would repeat the text
		return nil, errors.New("--airflow-url is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("--airflow-url must be http://HOST:PORT or https://HOST")
	case u.User != nil:
		return nil, errors.New("--airflow-url must not hold credentials: use --airflow-user with " +
			"--airflow-password-file, or a token")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("--airflow-url must not have a query or a fragment")
	}
	if u.Path = strings.TrimSuffix(u.Path, "/"); strings.HasSuffix(u.Path, "/api/v1") ||
		strings.HasSuffix(u.Path, "/api/v2") {
		return nil, errors.New("--airflow-url must end before /api")
	}
	return u, nil
}

// Exposed says that credentials would go over a network in the clear.
func (c Config) Exposed() bool {
	u, err := parseBase(c.URL)
	if err != nil || u.Scheme != "http" || c.User == "" && c.Token == nil || u.Hostname() == "localhost" {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err != nil || !addr.IsLoopback()
}
