package airflow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Engine is where tasks are claimed and ended. What it answers is durable. Lost gives
// those of the tasks that their attempts do not hold any more.
type Engine interface {
	Claim(ctx context.Context, request engine.ClaimRequest) (engine.Claimed, error)
	Submit(ctx context.Context, requests []engine.Request) []engine.Result
	Lost(ctx context.Context, tenant string, tasks []engine.TaskRef) ([]engine.LostTask, error)
}

// Check is what a task asks for.
type Check struct {
	RequestID string         `json:"request_id"`
	Strategy  string         `json:"strategy"`
	Window    jsontext.Value `json:"window,omitzero"`
	Reason    string         `json:"reason"`
	Params    jsontext.Value `json:"params,omitzero"`
	TraceID   string         `json:"trace_id,omitempty"`
}

// Ports are what an Adapter works with. Meter and Tracer may be nil.
type Ports struct {
	Engine  Engine
	Queue   string
	Worker  string                                            // tells this process from others
	Tenants func(ctx context.Context) ([]string, error)       // that may have tasks, in order
	Parse   func(node string, input flow.Data) (Check, error) // what a task asks for
	Meter   metric.Meter
	Tracer  trace.Tracer
	Log     *slog.Logger
}

// Adapter has Airflow do the checks of one queue.
type Adapter struct {
	cfg     Config
	ports   Ports
	log     *slog.Logger
	client  *client
	circuit *circuit
	line    line
	served  string // the tenant whose tasks were claimed last; claim's alone

	mu          sync.Mutex
	lastTrouble string // the last trouble that was logged, so that it is logged once
}

// New makes an Adapter. It does no I/O. An error is in the words of the flags.
func New(cfg Config, ports Ports) (*Adapter, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if ports.Engine == nil || ports.Tenants == nil || ports.Parse == nil || ports.Log == nil || ports.Queue == "" ||
		ports.Worker == "" {
		return nil, errors.New("airflow: a port is missing")
	}
	a := &Adapter{cfg: cfg, ports: ports, log: ports.Log}
	a.line.init()
	a.circuit = newCircuit(cfg.Failures, cfg.Probe, a.turned)
	tell, err := newTeller(ports.Meter, ports.Tracer, a.circuit.state, a.line.count)
	if err != nil {
		return nil, fmt.Errorf("airflow: metrics: %w", err)
	}
	a.client, err = newClient(cfg, a.circuit, tell)
	return a, err
}

// Down reports that Airflow does not answer, so that requests which need it are
// refused at once.
func (a *Adapter) Down() bool { return a.circuit.state() != Closed }

// turned is called when the circuit opens and when it closes.
func (a *Adapter) turned(to State) {
	if to == Closed {
		a.mu.Lock()
		a.lastTrouble = ""
		a.mu.Unlock()
		a.log.Info("Airflow answers again")
		a.line.signal()
		return
	}
	a.client.unlearn()
	a.mu.Lock()
	last := a.lastTrouble
	a.mu.Unlock()
	a.log.Warn("Airflow is taken for dead: checks under way wait, new ones are refused", "error", last)
}

// trouble logs what went wrong, once until something else does.
func (a *Adapter) trouble(message string, err error) {
	text := err.Error()
	a.mu.Lock()
	same := a.lastTrouble == text
	a.lastTrouble = text
	a.mu.Unlock()
	if !same {
		a.log.Warn(message, "error", text)
	}
}

// Run works until ctx ends. What is under way then stays as it is: whoever claims the
// tasks when their leases have run out finds the runs.
func (a *Adapter) Run(ctx context.Context) {
	defer a.client.close()
	var all sync.WaitGroup
	defer all.Wait()
	work := make(chan *job)
	for range a.cfg.Calls {
		all.Go(func() {
			for j := range work {
				a.work(ctx, j)
			}
		})
	}
	all.Go(func() {
		defer close(work)
		a.line.feed(ctx, work, func() bool { return a.circuit.state() == Closed })
	})
	all.Go(func() { every(ctx, a.cfg.claimEvery, a.claim) })
	all.Go(func() { every(ctx, a.cfg.watchEvery, a.watch) })
	all.Go(func() { every(ctx, min(a.cfg.retryFirst, a.cfg.Probe), a.probe) })
	all.Go(func() { every(ctx, a.cfg.sweepEvery, a.sweep) })
}

// every does something at once and then again and again, until ctx ends.
func every(ctx context.Context, pause time.Duration, do func(ctx context.Context)) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for ctx.Err() == nil {
		do(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// probe asks for Airflow's health when the circuit may be tried, and when nothing has
// been heard for a while: a dead Airflow is known before somebody asks for a check.
func (a *Adapter) probe(ctx context.Context) {
	since, failing := a.circuit.silent()
	idle := a.cfg.Probe
	if failing {
		idle = a.cfg.retryFirst
	}
	if !a.circuit.due() && (a.Down() || since < idle) {
		return
	}
	paused, err := a.client.dag(ctx)
	switch outcomeOf(err) {
	case abandoned:
	case ok:
		if paused {
			a.trouble("no check will be made", errors.New("the DAG "+a.cfg.DAG+" is paused in Airflow"))
		}
	case notFound:
		a.trouble("no check can be made", errors.New("Airflow has no DAG "+a.cfg.DAG))
	default:
		a.trouble("Airflow cannot be asked", err)
	}
}
