// Package httpapi is the wire contract of the executions' surface, and nothing
// else: it reads bodies and queries, hands commands to the engine and renders
// what comes back. What a request means is decided in flow, who may send it in
// gate; the contract itself is api/openapi.yaml.
//
// One table (command.go) holds the commands. A command has one decoder, which
// its own endpoint and POST /commands share, so both accept the same bodies, and
// a key used on one is known on the other.
//
// The invariant: what is malformed never reaches the engine, and the body of an
// answer depends on nothing but the engine's Answer, so a replay is equal byte
// for byte.
package httpapi

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/fair"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Commands is where commands go. Submit answers every request, in order, after
// what it caused is durable; Claim waits for tasks until ctx ends or the time asked for is over.
type Commands interface {
	Submit(ctx context.Context, requests []engine.Request) []engine.Result
	Claim(ctx context.Context, request engine.ClaimRequest) (engine.Claimed, error)
}

// Reads is where executions are read. What it shows is durable; unknown things
// are fault.NotFound. Watch wakes after every commit that touched the execution,
// at least once after the last one.
type Reads interface {
	Execution(ctx context.Context, tenant string, id flow.ID, at uint64) (engine.View, error)
	ByKey(ctx context.Context, key engine.BusinessKey) (engine.View, error)
	Output(ctx context.Context, tenant string, id flow.ID, node string) (flow.Data, error)
	Head(ctx context.Context, tenant string, id flow.ID) (status flow.Status, last uint64, err error)
	Events(ctx context.Context, tenant string, id flow.ID, from uint64, limit int) ([]flow.Event, uint64, error)
	Commands(ctx context.Context, q engine.CommandQuery) ([]engine.Decided, int, error)
	OpenLog(ctx context.Context, tenant string, id flow.ID, after engine.LogPlace) (*engine.LogCursor, error)
	NowAt(ctx context.Context, tenant string, id flow.ID) ([]string, error)
	List(ctx context.Context, q engine.ListQuery) ([]engine.Head, int, error)
	Waits(ctx context.Context, q engine.WaitQuery) ([]engine.WaitRow, int, error)
	Counts(ctx context.Context, q engine.CountQuery) (groups []engine.Group, total int, more bool, err error)
	Histogram(ctx context.Context, q engine.HistogramQuery) (bars []engine.Bar, complete flow.Time, err error)
	Queues(ctx context.Context, q engine.QueueQuery) ([]engine.QueueRow, int, error)
	Lost(ctx context.Context, tenant string, tasks []engine.TaskRef) ([]engine.LostTask, error)
	Watch(id flow.ID) (wake <-chan struct{}, stop func())
	// Changes gathers what changes in a tenant from now on.
	Changes(ctx context.Context, tenant string) (changes *engine.Changes, stop func(), err error)
}

// Graphs keeps graphs. PutGraph and CheckGraph refuse a graph that cannot run (fault.Invalid).
type Graphs interface {
	PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
	CheckGraph(ctx context.Context, tenant, id string, g flow.Graph) (plan *flow.Plan, body []byte, err error)
	Graph(ctx context.Context, tenant, id string, version int) (engine.GraphRow, error)
	Graphs(ctx context.Context, tenant string, offset, limit int) ([]engine.GraphRow, int, error)
	Versions(ctx context.Context, tenant, id string, offset, limit int) ([]engine.GraphRow, int, error)
}

// Config is what the surface is made of. Zero values mean the documented default.
type Config struct {
	Commands  Commands
	Reads     Reads
	Graphs    Graphs
	Bulks     Bulks
	Log       *slog.Logger
	Heartbeat time.Duration // of a silent stream; default 15s
	// executions that task watches of one caller, and of all, look at; default MaxCallerWatched and MaxWatched
	Watched [2]int
	Stalled func() // called for a frame of a stream that was held up; nil: nobody counts

	Events      Events
	DeadLetters DeadLetters
	Replays     Replays
	Settings    EventSettings
	Audit       Audit

	Reserved func(queue string) bool // queues of the server itself, which no graph may name; nil: none
	// People adds what a user is called elsewhere, and its roles and groups; nil: there is no list of people
	People func(ctx context.Context, tenant, subject string, p *flow.Principal) error
	About  About
	Seals  *seal.Seals // of cursors and positions; nil: some that are good in this process alone
}

// API answers the calls of the executions' surface.
type API struct {
	cfg     Config
	watched *fair.Shares // executions that task watches look at
}

// New makes the surface.
func New(cfg Config) *API {
	if cfg.Reserved == nil {
		cfg.Reserved = func(string) bool { return false }
	}
	if cfg.Seals == nil {
		cfg.Seals = seal.Fixed(nil)
	}
	if cfg.About.Now == nil {
		cfg.About.Now = time.Now
	}
	cfg.About.Auth = cmp.Or(cfg.About.Auth, gate.ModeNone)
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Stalled == nil {
		cfg.Stalled = func() {}
	}
	cfg.Heartbeat = cmp.Or(cfg.Heartbeat, defaultHeartbeat)
	return &API{cfg: cfg, watched: fair.NewShares(
		cmp.Or(cfg.Watched[0], MaxCallerWatched), cmp.Or(cfg.Watched[1], MaxWatched),
	)}
}

// Routes is the route table of the surface.
func (a *API) Routes() []gate.Route {
	routes := []gate.Route{
		{Operation: "getCaller", Do: rest.NoQuery(a.me)},
		{Operation: "listExecutions", Heavy: true, Do: a.list},
		{Operation: "listWaits", Heavy: true, Do: a.waits},
		{Operation: "getExecution", Do: a.execution},
		{Operation: "getExecutionByKey", Do: rest.NoQuery(a.byKey)},
		{Operation: "getNodeOutput", Do: rest.NoQuery(a.output)},
		{Operation: "listEvents", Heavy: true, Do: a.events},
		{Operation: "getEvent", Do: rest.NoQuery(a.event)},
		{Operation: "listAttempts", Heavy: true, Do: rest.NoQuery(a.attempts)},
		{Operation: "countExecutions", Heavy: true, Do: a.counts},
		{Operation: "getHistogram", Heavy: true, Do: a.histogram},
		{Operation: "listCommands", Heavy: true, Do: a.decided},
		{Operation: "streamChanges", Open: gate.OpenStreams, Stream: true, Do: a.changes},
		{Operation: "streamEvents", Open: gate.OpenStreams, Stream: true, Do: a.stream},
		{Operation: "sendCommands", MaxBody: MaxBatchBody, Do: a.sendCommands},
	}
	tasks := &taskAPI{commands: a.cfg.Commands, reads: a.cfg.Reads, watched: a.watched, reserved: a.cfg.Reserved}
	graphs := &graphAPI{graphs: a.cfg.Graphs, reserved: a.cfg.Reserved}
	routes = slices.Concat(routes, tasks.routes(), graphs.routes(), (&bulkAPI{bulks: a.cfg.Bulks}).routes(),
		a.eventRoutes(), (&auditAPI{audit: a.cfg.Audit}).routes())
	for i := range commands {
		c := &commands[i]
		routes = append(routes, gate.Route{Operation: c.operation, MaxBody: MaxBody, Do: a.single(c)})
	}
	return rest.Routes(routes)
}
