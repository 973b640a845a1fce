package client

import (
	"context"
	"iter"
)

// Replays delivers past events to a consumer again.
type Replays struct{ *transport }

// ReplayOrder names a replay that is to be stopped.
type ReplayOrder struct {
	Key      string
	ReplayID string
}

// ReplayAnswer is the answer to a command about a replay: how it stood then.
type ReplayAnswer struct {
	AcceptedReplay
	Replay bool `json:"-"` // this key was answered before; nothing happened now
}

// Start delivers a range of time again to one consumer. What it has taken before
// has no second effect.
func (c Replays) Start(ctx context.Context, r StartReplay) (ReplayAnswer, error) {
	return c.command(ctx, "/events/replays", r.Key, r)
}

// Stop lets a replay end where it is.
func (c Replays) Stop(ctx context.Context, o ReplayOrder) (ReplayAnswer, error) {
	return c.command(ctx, pathOf("/events/replays/{replayId}/stop", o.ReplayID), o.Key, struct{}{})
}

func (c Replays) command(ctx context.Context, path, key string, body any) (ReplayAnswer, error) {
	a, replay, err := post[ReplayAnswer](ctx, c.transport, path, key, body)
	a.Replay = replay
	return a, err
}

// Get reads a replay.
func (c Replays) Get(ctx context.Context, id string) (*Replay, error) {
	return get[Replay](ctx, c.transport, pathOf("/events/replays/{replayId}", id), nil)
}

// List reads a page of replays, newest first.
func (c Replays) List(ctx context.Context, at Paging) (*Page[Replay], error) {
	return list[Replay](ctx, c.transport, "/events/replays", nil, at)
}

// All reads all replays, newest first, each once.
func (c Replays) All(ctx context.Context) iter.Seq2[Replay, error] {
	read := func(at Paging) (*Page[Replay], error) { return c.List(ctx, at) }
	return newestFirst(read, func(r *Replay) string { return r.ReplayID })
}
