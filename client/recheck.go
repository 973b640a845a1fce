package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
)

// Rechecks asks for strategies to be checked again.
type Rechecks struct{ *transport }

// RecheckQueue is where workers find the strategies that are to be checked again.
const RecheckQueue = "pdca.recheck"

// Ended reports whether nothing will change any more.
func (s RecheckStatus) Ended() bool { return s != RecheckQueued && s != RecheckRunning }

// RecheckOrder is what is asked of a check. Window and Reason are required.
type RecheckOrder struct {
	Key       string          `json:"-"` // a ULID or a UUID; default: a new one
	Window    RecheckWindow   `json:"window"`
	Reason    string          `json:"reason"`
	DryRun    bool            `json:"dry_run,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`     // an object
	BatchSize int             `json:"batch_size,omitempty"` // 1..100; default 25
	TraceID   string          `json:"trace_id,omitempty"`
}

// Request asks for some strategies, at most 50, to be checked again. It needs a token of
// the audience pdca with the scope pdca:recheck.
func (c Rechecks) Request(ctx context.Context, strategies []string, o RecheckOrder) (*RecheckAccepted, error) {
	return c.command(ctx, "/pdca/recheck", o.Key, struct {
		Strategies []string `json:"strategies"`
		RecheckOrder
	}{strategies, o})
}

// RequestAll asks for all strategies that a filter matches now, at most 5,000, to be
// checked again. It needs a token of the audience pdca with the scope pdca:recheck_all.
func (c Rechecks) RequestAll(ctx context.Context, f RecheckFilter, o RecheckOrder) (*RecheckAccepted, error) {
	return c.command(ctx, "/pdca/recheck_all", o.Key, struct {
		Filter RecheckFilter `json:"filter"`
		RecheckOrder
	}{f, o})
}

// Cancel cancels a request. One that has ended stays as it is, and the answer says
// how it did. reason may be "".
func (c Rechecks) Cancel(ctx context.Context, requestID, reason, key string) (*RecheckAccepted, error) {
	return c.command(ctx, pathOf("/pdca/recheck/{request_id}/cancel", requestID), key, recheckCancel{reason})
}

func (c Rechecks) command(ctx context.Context, path, key string, body any) (*RecheckAccepted, error) {
	a, _, err := post[*RecheckAccepted](ctx, c.transport, path, cmp.Or(key, newUUID()), body)
	return a, err
}

// newUUID makes an idempotency key for those who want a UUID.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (f *RecheckFailure) Error() string { return f.Code + ": " + f.Message }

// Get reads a request with a page of its items, of those in some statuses if any
// are given.
func (c Rechecks) Get(ctx context.Context, requestID string, at Paging, status ...string) (*RecheckProgress, error) {
	query := given(map[string]string{"status": strings.Join(status, ",")})
	return get[RecheckProgress](ctx, c.transport, pathOf("/pdca/recheck/{request_id}", requestID), at.query(query))
}

// ArtifactURL makes a way to an artifact, for some minutes. It needs a token with the scope
// pdca:download.
func (c Rechecks) ArtifactURL(ctx context.Context, artifactID string) (*ArtifactURL, error) {
	path := pathOf("/pdca/artifacts/{artifact_id}/download_url", artifactID)
	got, err := get[ArtifactURL](ctx, c.transport, path, nil)
	if err == nil && strings.HasPrefix(got.URL, "/") {
		server, _ := c.server()
		got.URL = server + got.URL
	}
	return got, err
}

// RecheckTask is one strategy that a worker of RecheckQueue is to check.
type RecheckTask struct {
	RequestID string
	Batch     int
	Strategy  string
	Window    RecheckWindow
	Reason    string
	Params    json.RawMessage // an object
	TraceID   string
}

// RecheckOf reads which strategy a Task of RecheckQueue is about.
func RecheckOf(t *Task) (RecheckTask, error) {
	var in struct {
		RequestID  string            `json:"request_id"`
		Batch      int               `json:"batch"`
		Strategies map[string]string `json:"strategies"`
		Window     RecheckWindow     `json:"window"`
		Reason     string            `json:"reason"`
		Params     json.RawMessage   `json:"params"`
		TraceID    string            `json:"trace_id"`
	}
	if err := t.DecodeInput(&in); err != nil {
		return RecheckTask{}, err
	}
	r := RecheckTask{in.RequestID, in.Batch, in.Strategies[t.NodeID], in.Window, in.Reason, in.Params, in.TraceID}
	if r.Strategy == "" {
		return r, fmt.Errorf("client: node %s of execution %s checks no strategy", t.NodeID, t.ExecutionID)
	}
	return r, nil
}

// RecheckResult is what a worker returns of a strategy that it has checked. What is left
// out stays as it is. With Error the check came to its end and failed: it is not tried
// again, while an error that the handler returns is.
type RecheckResult struct {
	Health    Health            `json:"health,omitempty"`
	Metrics   map[string]any    `json:"metrics,omitempty"`
	Artifacts []RecheckArtifact `json:"artifacts,omitempty"`
	Error     *RecheckFailure   `json:"error,omitempty"`
}

// RecheckArtifact is a file that a check leaves, at most 256 KiB.
type RecheckArtifact struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Content   []byte `json:"content"`
}

// RecheckHandler makes a Worker's Handle of a function that checks one strategy. Give the
// worker the queue RecheckQueue.
func RecheckHandler(
	check func(ctx context.Context, r RecheckTask) (*RecheckResult, error)) func(context.Context, *Task) (any, error,
) {
	return func(ctx context.Context, t *Task) (any, error) {
		r, err := RecheckOf(t)
		if err != nil {
			return nil, err
		}
		found, err := check(ctx, r)
		if err != nil || found == nil {
			return nil, err
		}
		return found, nil
	}
}
