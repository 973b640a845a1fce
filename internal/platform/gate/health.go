package gate

import (
	"bytes"
	"context"
	"net/http"
	"time"
)

// probeTimeout is how long a readiness check may take.
const probeTimeout = 2 * time.Second

// Check is one thing that must work before the process is ready.
type Check struct {
	Name     string
	Probe    func(ctx context.Context) error
	Optional bool // its failure is shown, and the process is ready all the same
}

// Pages is what a process shows about itself without a token.
type Pages struct {
	Checks  []Check
	Metrics http.Handler // nil: no /metrics
	OpenAPI []byte       // nil: no /openapi.yaml
}

// Routes are /healthz (the process answers), /readyz (it can do its work), /metrics
// and /openapi.yaml.
func (p Pages) Routes() []Route {
	routes := []Route{
		{Operation: "health", Public: true, Do: healthy},
		{Operation: "readiness", Public: true, Do: p.ready},
	}
	if p.Metrics != nil {
		routes = append(routes, Route{Operation: "metrics", Public: true, Do: p.metrics})
	}
	if p.OpenAPI != nil {
		routes = append(routes, Route{Operation: "contract", Public: true, Do: p.openAPI})
	}
	return FromContract(routes)
}

func healthy(context.Context, *Call) (Reply, error) {
	return Reply{Body: map[string]string{"status": "ok"}}, nil
}

// readiness is the answer of /readyz. It says which check failed, not why: that is
// in the log.
type readiness struct {
	Status string            `json:"status"`
	Checks map[string]string `json:"checks"`
}

func (p Pages) ready(ctx context.Context, c *Call) (Reply, error) {
	out, reply := readiness{"ready", map[string]string{}}, Reply{Status: http.StatusOK}
	fail := func(name string) {
		out.Status, out.Checks[name] = "not ready", "failed"
		reply.Status, reply.Header = http.StatusServiceUnavailable, http.Header{"Retry-After": {seconds(minRetryAfter)}}
	}
	if c.gate.draining.Err() != nil {
		fail("draining")
	}
	for i, err := range p.probe(ctx) {
		name := p.Checks[i].Name
		switch out.Checks[name] = "ok"; {
		case err != nil && p.Checks[i].Optional:
			out.Checks[name] = "failed"
			c.gate.log.Warn("ready without something", keyCheck, name, keyError, err)
		case err != nil:
			fail(name)
			c.gate.log.Warn("not ready", keyCheck, name, keyError, err)
		}
	}
	reply.Body = out
	return reply, nil
}

// probe makes all checks at once. One that does not end in time has failed, whether it
// heeds its context or not.
func (p Pages) probe(ctx context.Context) []error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	errs, ended := make([]error, len(p.Checks)), make([]chan error, len(p.Checks))
	for i, check := range p.Checks {
		ended[i] = make(chan error, 1)
		go func() { ended[i] <- check.Probe(ctx) }()
	}
	for i := range p.Checks {
		select {
		case errs[i] = <-ended[i]:
		case <-ctx.Done():
			select {
			case errs[i] = <-ended[i]: // it was in time, another was not
			default:
				errs[i] = ctx.Err()
			}
		}
	}
	return errs
}

// metrics renders the page before any of it is sent: whoever reads it slowly, without a token,
// has the time of every plain answer and keeps nothing of the handler busy.
func (p Pages) metrics(_ context.Context, c *Call) (Reply, error) {
	page := rendered{header: http.Header{}}
	p.Metrics.ServeHTTP(&page, c.Request)
	return Reply{Status: page.status, Header: page.header, Type: page.header.Get("Content-Type"), Raw: page.Bytes()},
		nil
}

// rendered is what a handler wrote.
type rendered struct {
	bytes.Buffer
	header http.Header
	status int
}

func (r *rendered) Header() http.Header { return r.header }

func (r *rendered) WriteHeader(status int) { r.status = status }

func (p Pages) openAPI(context.Context, *Call) (Reply, error) {
	return Reply{Raw: p.OpenAPI, Type: "application/yaml"}, nil
}
