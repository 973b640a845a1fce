package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Replays delivers past events to a consumer again.
type Replays struct{ *transport }

// ReplayStatus is the state of a replay.
type ReplayStatus string

// The states of a replay.
const (
	ReplayRunning ReplayStatus = "RUNNING"
	ReplayDone    ReplayStatus = "DONE"
	ReplayStopped ReplayStatus = "STOPPED"
)

// Replay is a range of time that one consumer gets again.
type Replay struct {
	ReplayID  string       `json:"replayId"`
	Consumer  string       `json:"consumer"`
	From      time.Time    `json:"from"`
	To        time.Time    `json:"to"`
	Status    ReplayStatus `json:"status"`
	Counts    TakenCounts  `json:"counts"`
	CreatedBy Actor        `json:"createdBy"`
	CreatedAt time.Time    `json:"createdAt"`
	EndedAt   time.Time    `json:"endedAt,omitzero"`
}

// StartReplay asks for a replay.
type StartReplay struct {
	Key      string    `json:"-"`
	Consumer string    `json:"consumer"`
	From     time.Time `json:"from"`        // announced at or after
	To       time.Time `json:"to,omitzero"` // before; zero: up to now
}

// ReplayOrder names a replay that is to be stopped.
type ReplayOrder struct {
	Key      string
	ReplayID string
}

// ReplayAnswer is the answer to a command about a replay: how it stood then.
type ReplayAnswer struct {
	ReplayID      string       `json:"replayId"`
	Status        ReplayStatus `json:"status"`
	CorrelationID string       `json:"correlationId"`
	Key           string       `json:"idempotencyKey"`
	Replay        bool         `json:"-"` // this key was answered before; nothing happened now
}

// Start delivers a range of time again to one consumer. What it has taken before
// has no second effect.
func (c Replays) Start(ctx context.Context, r StartReplay) (ReplayAnswer, error) {
	return c.ask(ctx, "/events/replays", r.Key, r)
}

// Stop lets a replay end where it is.
func (c Replays) Stop(ctx context.Context, o ReplayOrder) (ReplayAnswer, error) {
	if o.ReplayID == "" {
		return ReplayAnswer{}, errNoReplay
	}
	return c.ask(ctx, "/events/replays/"+url.PathEscape(o.ReplayID)+"/stop", o.Key, struct{}{})
}

var errNoReplay = errors.New("client: a replay's id is required")

func (c Replays) ask(ctx context.Context, path, key string, body any) (ReplayAnswer, error) {
	var a ReplayAnswer
	status, err := c.command(ctx, path, key, body, &a)
	a.Replay = status == http.StatusOK
	return a, err
}

// Get reads a replay.
func (c Replays) Get(ctx context.Context, id string) (*Replay, error) {
	if id == "" {
		return nil, errNoReplay
	}
	r := new(Replay)
	if err := c.read(ctx, "/events/replays/"+url.PathEscape(id), nil, r); err != nil {
		return nil, err
	}
	return r, nil
}

// List reads a page of replays, newest first.
func (c Replays) List(ctx context.Context, at Paging) (*Page[Replay], error) {
	return list[Replay](ctx, c.transport, "/events/replays", url.Values{}, at)
}

// All reads all replays, newest first, each once.
func (c Replays) All(ctx context.Context) iter.Seq2[Replay, error] {
	read := func(at Paging) (*Page[Replay], error) { return c.List(ctx, at) }
	return newestFirst(read, func(r *Replay) string { return r.ReplayID })
}
