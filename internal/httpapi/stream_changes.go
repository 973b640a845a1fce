package httpapi

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// changesEvery is how often changes are sent: of one execution, at most four times a second.
const changesEvery = 250 * time.Millisecond

// maxSent is of how many executions a stream of changes remembers what it sent last.
const maxSent = 10_000

// changeView is what became of an execution.
type changeView struct {
	ExecutionID flow.ID `json:"executionId"`
	GraphID     string  `json:"graphId"`
	Status      string  `json:"status"`
	Waiting     bool    `json:"waiting"`
	Seq         uint64  `json:"seq"`
}

// changes answers GET /executions/stream: what changes in the tenant from now on, for as long as the client stays.
func (a *API) changes(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q := query{rest.ReadQuery(c, "status", "graphId")}
	s := &changer{statuses: q.statuses("status"), graph: q.graph("graphId"), sent: map[flow.ID]engine.Change{}}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	var feed *engine.Changes
	var stop func()
	err := c.Turn(ctx, func() (err error) {
		feed, stop, err = a.cfg.Reads.Changes(ctx, c.Principal.Tenant)
		return err
	})
	if err != nil {
		return gate.Reply{}, err
	}
	defer stop()
	sendEvents(c)
	s.follower = follower{
		out: c.Stream, control: http.NewResponseController(c.Stream), heartbeat: a.cfg.Heartbeat,
		tenant: c.Principal.Tenant, log: a.cfg.Log, stalled: a.cfg.Stalled, turn: c.Turn,
	}
	return gate.Reply{}, s.run(ctx, feed)
}

// changer sends what changes in a tenant to one client.
type changer struct {
	follower
	statuses []flow.Status // only these; none: all
	graph    string        // only of this one; "": all
	sent     map[flow.ID]engine.Change
}

// run sends until the client has gone or ctx ends. What changes while it sends, or between two rounds, is put together.
func (s *changer) run(ctx context.Context, feed *engine.Changes) error {
	if err := s.write([]byte("event: begin\ndata: {}\n\n")); err != nil {
		return nil
	}
	beat, round := time.NewTicker(s.heartbeat), time.NewTicker(changesEvery)
	defer beat.Stop()
	defer round.Stop()
	for {
		s.frame = s.frame[:0]
		select {
		case <-feed.Wake():
			if err := s.round(feed.Take()); err != nil {
				return gone(ctx, err)
			}
		case <-beat.C:
			s.frame = append(s.frame, heartbeatFrame...)
		case <-ctx.Done():
			return nil
		}
		if len(s.frame) == 0 {
			continue
		}
		if err := s.write(s.frame); err != nil {
			return nil
		}
		beat.Reset(s.heartbeat)
		round.Reset(changesEvery)
		select {
		case <-round.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// round makes the frame of what has changed.
func (s *changer) round(all []engine.Change, behind bool) error {
	if behind {
		clear(s.sent)
		s.frame = append(s.frame, "event: behind\ndata: {}\n\n"...)
	}
	if len(s.sent) > maxSent {
		clear(s.sent)
	}
	for i := range all {
		one := &all[i]
		last, known := s.sent[one.ID]
		if !s.wants(one) || known && (last == *one || last.Seq > one.Seq) {
			continue
		}
		s.sent[one.ID] = *one
		data, err := json.Marshal(changeView{one.ID, one.GraphID, one.Status.String(), one.Waiting, one.Seq})
		if err != nil {
			return err
		}
		s.frame = append(append(append(s.frame, "event: execution\ndata: "...), data...), "\n\n"...)
	}
	return nil
}

func (s *changer) wants(one *engine.Change) bool {
	return (s.graph == "" || s.graph == one.GraphID) &&
		(len(s.statuses) == 0 || slices.Contains(s.statuses, one.Status))
}
