package httpapi

import (
	"context"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

// What is read of a log for one answer.
const (
	MaxEventPage     = 1_000   // events of a page
	MaxScannedEvents = 10_000  // events that one page with filters looks at
	MaxAttemptEvents = 200_000 // events that attempts are computed from
	MaxBriefBranches = 20      // of a list of branches in a brief payload

	eventChunk   = 1_000  // events that a page with filters reads at a time
	attemptChunk = 10_000 // those that attempts read: a commit with many events is parsed once
)

// logPage is a page of the log.
type logPage struct {
	rest.List[eventView]
	After uint64 `json:"nextAfter,omitzero"` // after which event the next page begins
}

// eventView is an event, and how long the lists are that a brief payload cuts.
type eventView struct {
	flow.Event
	Counts map[string]int
}

// MarshalJSON writes the event with one more member.
func (v eventView) MarshalJSON() ([]byte, error) {
	raw, err := flow.AppendEnvelope(nil, &v.Event)
	if err != nil || v.Counts == nil {
		return raw, err
	}
	counts, err := json.Marshal(v.Counts, json.Deterministic(true))
	return append(append(append(raw[:len(raw)-1], `,"counts":`...), counts...), '}'), err
}

// logQuery says which part of a log is asked for.
type logQuery struct {
	after  uint64
	size   int
	types  map[string]bool // nil: all
	node   string          // "": all
	brief  bool
	scans  int // events that it looks at, at most
	number int // of the page
}

func (lq *logQuery) wants(ev *flow.Event) bool {
	return (lq.types == nil || lq.types[ev.Type.String()]) && (lq.node == "" || lq.node == ev.Payload.Node())
}

// log reads which part of a log is asked for. The log has no gaps, so a page is a range of sequence numbers.
func (q query) log() logQuery {
	lq := logQuery{size: q.Int("page_size", 10, MaxEventPage, 50), number: 1, scans: MaxScannedEvents}
	page, after := q.Int("page", 1, rest.LastPage, 1), q.Int("after", 0, math.MaxInt, 0)
	if types := q.Words("type", flow.TypeNames()...); types != nil {
		lq.types = map[string]bool{}
		for _, name := range types {
			lq.types[name] = true
		}
	}
	lq.node = q.name("nodeId")
	if words := q.Words("payload", "brief", "full"); len(words) > 1 {
		q.Fail("payload", "payload must be brief or full")
	} else {
		lq.brief = len(words) == 1 && words[0] == "brief"
	}
	_, paged := q.Text("page")
	_, placed := q.Text("after")
	switch {
	case paged && (placed || lq.types != nil || lq.node != ""):
		q.Fail("page", "page does not go with after, type and nodeId: "+
			"turn pages with after, which is nextAfter of the page before")
	case placed:
		lq.after = uint64(after)
	default:
		lq.after, lq.number = uint64(page-1)*uint64(lq.size), page
	}
	return lq
}

// events answers GET /executions/{executionId}/events.
func (a *API) events(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := query{rest.ReadQuery(c, "page", "page_size", "after", "type", "nodeId", "payload")}
	lq := q.log()
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	id, err := executionID(c.Path("executionId"))
	if err != nil {
		return gate.Reply{}, err
	}
	page := logPage{List: rest.List[eventView]{Items: []eventView{}, Page: lq.number, Size: lq.size}}
	seen, last := lq.after, lq.after
	for looked := 0; looked < lq.scans && len(page.Items) < lq.size; {
		chunk := min(eventChunk, lq.scans-looked)
		if lq.types == nil && lq.node == "" {
			chunk = lq.size
		}
		var events []flow.Event
		if events, last, err = a.cfg.Reads.Events(ctx, c.Principal.Tenant, id, seen+1, chunk); err != nil {
			return gate.Reply{}, err
		}
		if len(events) == 0 {
			break
		}
		for i := range events {
			if len(page.Items) == lq.size {
				break
			}
			if seen = events[i].Seq; lq.wants(&events[i]) {
				page.Items = append(page.Items, showEvent(&events[i], lq.brief))
			}
		}
		looked += len(events)
	}
	if page.Total = int(last); seen < last {
		page.After = seen
	}
	return gate.Reply{Body: &page}, nil
}

// showEvent shows an event, briefly if asked for.
func showEvent(ev *flow.Event, brief bool) eventView {
	v := eventView{Event: *ev}
	if !brief {
		return v
	}
	cut := func(name string, list *[]string) {
		if n := len(*list); n > MaxBriefBranches {
			if v.Counts == nil {
				v.Counts = map[string]int{}
			}
			v.Counts[name], *list = n, (*list)[:MaxBriefBranches]
		}
	}
	switch p := ev.Payload.(type) {
	case *flow.ForkOpened:
		less := *p
		cut("branchIds", &less.BranchIDs)
		v.Payload = &less
	case *flow.JoinGateUpdated:
		less := *p
		cut("expectedBranches", &less.Expected)
		cut("completedBranches", &less.Completed)
		cut("failedBranches", &less.Failed)
		cut("canceledBranches", &less.Canceled)
		v.Payload = &less
	}
	return v
}

// event answers GET /executions/{executionId}/events/{seq}.
func (a *API) event(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id, err := executionID(c.Path("executionId"))
	if err != nil {
		return gate.Reply{}, err
	}
	text := c.Path("seq")
	seq, err := strconv.ParseUint(text, 10, 63)
	if err == nil && seq > 0 {
		events, _, err := a.cfg.Reads.Events(ctx, c.Principal.Tenant, id, seq, 1)
		if err != nil {
			return gate.Reply{}, err
		}
		if len(events) == 1 {
			return gate.Reply{Body: &events[0]}, nil
		}
	}
	return gate.Reply{}, fault.New(fault.NotFound, "EVENT_NOT_FOUND", "execution %v has no event %.32q", id, text)
}

// attemptsView are the attempts of the nodes of an execution.
type attemptsView struct {
	ExecutionID flow.ID             `json:"executionId"`
	Seq         uint64              `json:"seq"`
	Nodes       []flow.NodeAttempts `json:"nodes"`
	Complete    bool                `json:"complete"`
}

// attempts answers GET /executions/{executionId}/attempts.
func (a *API) attempts(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id, err := executionID(c.Path("executionId"))
	if err != nil {
		return gate.Reply{}, err
	}
	var all flow.Attempts
	out := attemptsView{ExecutionID: id}
	for last := uint64(1); out.Seq < last && out.Seq < MaxAttemptEvents; {
		var events []flow.Event
		events, last, err = a.cfg.Reads.Events(ctx, c.Principal.Tenant, id, out.Seq+1, attemptChunk)
		if err != nil {
			return gate.Reply{}, err
		}
		for i := range events {
			all.Add(&events[i])
			out.Seq = events[i].Seq
		}
		if out.Complete = out.Seq >= last; len(events) == 0 {
			break
		}
	}
	out.Nodes = all.Nodes()
	return gate.Reply{Body: &out}, nil
}
