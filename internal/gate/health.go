package gate

import (
	"context"
	"net/http"
	"time"
)

// probeTimeout is how long a readiness check may take.
const probeTimeout = 2 * time.Second

// Check is one thing that must work before the process is ready.
type Check struct {
	Name  string
	Probe func(ctx context.Context) error
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
		{Pattern: "GET /healthz", Public: true, Rate: rateServer, Do: healthy},
		{Pattern: "GET /readyz", Public: true, Rate: rateServer, Do: p.ready},
	}
	if p.Metrics != nil {
		routes = append(routes, Route{Pattern: "GET /metrics", Public: true, Rate: rateServer, Stream: true, Do: p.metrics})
	}
	if p.OpenAPI != nil {
		routes = append(routes, Route{Pattern: "GET /openapi.yaml", Public: true, Rate: rateServer, Do: p.openAPI})
	}
	return routes
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
		if out.Checks[name] = "ok"; err != nil {
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

func (p Pages) metrics(_ context.Context, c *Call) (Reply, error) {
	p.Metrics.ServeHTTP(c.Stream, c.Request)
	return Reply{}, nil
}

func (p Pages) openAPI(context.Context, *Call) (Reply, error) {
	return Reply{Raw: p.OpenAPI, Type: "application/yaml"}, nil
}
