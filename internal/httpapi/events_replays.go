package httpapi

import (
	"context"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

// Replays is where replays are kept. What it answers is durable; unknown ones are
// fault.NotFound.
type Replays interface {
	StartReplay(ctx context.Context, r bus.ReplayRequest) (bus.ReplayAnswer, error)
	StopReplay(ctx context.Context, o bus.ReplayOrder) (bus.ReplayAnswer, error)
	Replay(ctx context.Context, tenant, id string) (bus.Replay, error)
	Replays(ctx context.Context, tenant string, offset, limit int) ([]bus.Replay, int, error)
}

func (a *API) startReplay(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := c.IdempotencyKey()
	if err != nil {
		return gate.Reply{}, err
	}
	var b struct {
		Consumer string     `json:"consumer"`
		From     *flow.Time `json:"from"`
		To       *flow.Time `json:"to"`
	}
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	from, err := someInstant("from", b.From)
	if err != nil {
		return gate.Reply{}, err
	}
	to, err := someInstant("to", b.To)
	switch {
	case err != nil:
		return gate.Reply{}, err
	case !canonical.Name(b.Consumer):
		return gate.Reply{}, rest.Invalid("consumer", "consumer must be the name of a consumer")
	case b.From == nil:
		return gate.Reply{}, rest.Invalid(
			"from",
			"from is required: the instant from which events are delivered again",
		)
	case to != 0 && to <= from:
		return gate.Reply{}, rest.Invalid("to", "to must be after from")
	}
	ans, err := a.cfg.Replays.StartReplay(ctx, bus.ReplayRequest{
		Tenant: c.Principal.Tenant, Consumer: b.Consumer, From: canonical.Stamp(from), To: canonical.Stamp(to),
		Actor: c.Principal.Subject, CorrelationID: c.CorrelationID, Idempotency: key,
	})
	if err != nil {
		return gate.Reply{}, err
	}
	return replayReply(&ans)
}

func replayID(c *gate.Call) (string, error) {
	return pathID(c, "replayId", "REPLAY_NOT_FOUND", "replay")
}

func (a *API) stopReplay(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id, err := replayID(c)
	if err != nil {
		return gate.Reply{}, err
	}
	key, err := canonical.ParseIdempotencyKey(c.Key, "POST /events/replays/"+id+"/stop", c.Body)
	if err != nil {
		return gate.Reply{}, err
	}
	if err := c.Decode(&struct{}{}); err != nil {
		return gate.Reply{}, err
	}
	ans, err := a.cfg.Replays.StopReplay(ctx, bus.ReplayOrder{
		Tenant: c.Principal.Tenant, ID: id, Actor: c.Principal.Subject,
		CorrelationID: c.CorrelationID, Idempotency: key,
	})
	if err != nil {
		return gate.Reply{}, err
	}
	return replayReply(&ans)
}

// replayAnswer is the body of an accepted command about a replay.
type replayAnswer struct {
	ReplayID       string `json:"replayId"`
	Accepted       bool   `json:"accepted"`
	Status         string `json:"status"`
	CorrelationID  string `json:"correlationId"`
	IdempotencyKey string `json:"idempotencyKey"`
}

// replayReply shows an answer. It depends on nothing else, so a replay is equal.
func replayReply(ans *bus.ReplayAnswer) (gate.Reply, error) {
	if ans.Refused != "" {
		return gate.Reply{}, refusedBy("StopReplay", "the replay is "+ans.Status.String(), ans.Refused,
			map[string]any{"replay": ans.Status.String()})
	}
	return gate.Reply{Status: acceptedStatus(ans.Replay), Body: replayAnswer{
		ReplayID: ans.ID, Accepted: true, Status: ans.Status.String(), CorrelationID: ans.CorrelationID,
		IdempotencyKey: ans.Key,
	}}, nil
}

func (a *API) replay(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	id, err := replayID(c)
	if err != nil {
		return gate.Reply{}, err
	}
	found, err := a.cfg.Replays.Replay(ctx, c.Principal.Tenant, id)
	return gate.Reply{Body: showReplay(&found)}, err
}
