package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Bulks cancels many executions at once.
type Bulks struct{ *transport }

// BulkStatus is the state of a bulk.
type BulkStatus string

// The states of a bulk.
const (
	BulkFreezing BulkStatus = "FREEZING"  // its set is being put together
	BulkPreview  BulkStatus = "PREVIEW"   // its set is frozen, nothing was done
	BulkRunning  BulkStatus = "RUNNING"   //
	BulkStopped  BulkStatus = "STOPPED"   //
	BulkDone     BulkStatus = "DONE"      // every item has a result
	BulkTooLarge BulkStatus = "TOO_LARGE" // its set turned out larger than a bulk may be; nothing was done
)

// Bulk is one command on a frozen set of executions.
type Bulk struct {
	BulkID        string          `json:"bulkId"`
	Command       string          `json:"command"` // cancel
	Filter        ExecutionFilter `json:"filter"`
	Reason        string          `json:"reason,omitempty"`
	Status        BulkStatus      `json:"status"`
	Total         int             `json:"total"` // items; while it is FREEZING, so far
	Counts        BulkCounts      `json:"counts"`
	CreatedBy     Actor           `json:"createdBy"`
	StartedBy     *Actor          `json:"startedBy,omitempty"`
	CorrelationID string          `json:"correlationId"`
	CreatedAt     time.Time       `json:"createdAt"`
	StartedAt     time.Time       `json:"startedAt,omitzero"`
	EndedAt       time.Time       `json:"endedAt,omitzero"`
}

// BulkCounts is how many items of a bulk have which status.
type BulkCounts struct {
	Pending int `json:"pending"`
	Applied int `json:"applied"`
	Already int `json:"already"`
	Refused int `json:"refused"`
	Failed  int `json:"failed"`
}

// Settled is how many items have a result.
func (c BulkCounts) Settled() int { return c.Applied + c.Already + c.Refused + c.Failed }

// BulkItemStatus is the state of one execution of a bulk.
type BulkItemStatus string

// The states of an item.
const (
	ItemPending BulkItemStatus = "PENDING" // its turn has not come
	ItemApplied BulkItemStatus = "APPLIED" // this bulk cancelled it
	ItemAlready BulkItemStatus = "ALREADY" // it was CANCELED before its turn came
	ItemRefused BulkItemStatus = "REFUSED" // it ended otherwise before its turn came
	ItemFailed  BulkItemStatus = "FAILED"  // the command could not be decided
)

// BulkItem is one execution of a bulk and its result.
type BulkItem struct {
	ExecutionID string         `json:"executionId"`
	Status      BulkItemStatus `json:"status"`
	Result      *BulkResult    `json:"result,omitempty"` // none while it is PENDING
}

// BulkResult is what the command of a bulk was answered.
type BulkResult struct {
	CancelSeq uint64        `json:"cancelSeq,omitempty"`
	Guard     string        `json:"guard,omitempty"`
	State     *RefusedState `json:"state,omitempty"`
	Code      string        `json:"code,omitempty"`
	Message   string        `json:"message,omitempty"`
}

// BulkAnswer is the answer to a command on a bulk: how the bulk stood then.
type BulkAnswer struct {
	BulkID        string     `json:"bulkId"`
	Status        BulkStatus `json:"status"`
	Total         int        `json:"total"`
	CorrelationID string     `json:"correlationId"`
	Key           string     `json:"idempotencyKey"`
	Replay        bool       `json:"-"` // this key was answered before; nothing happened now
}

// CancelBulk asks for a bulk that cancels all executions which the filter selects
// and which have not ended.
type CancelBulk struct {
	Key    string
	Filter ExecutionFilter
	Reason string
}

// Create freezes the set of a bulk and does nothing to it yet: Start does.
func (c Bulks) Create(ctx context.Context, b CancelBulk) (BulkAnswer, error) {
	body, err := json.Marshal(struct {
		Command string          `json:"command"`
		Filter  ExecutionFilter `json:"filter"`
		Reason  string          `json:"reason,omitempty"`
	}{"cancel", b.Filter, b.Reason})
	if err != nil {
		return BulkAnswer{}, fmt.Errorf("client: bulk: %w", err)
	}
	return c.ask(ctx, "/bulks", b.Key, body)
}

// BulkOrder names a bulk that is to be started or stopped.
type BulkOrder struct {
	Key    string
	BulkID string
}

// Start starts a bulk, or goes on with one that was stopped.
func (c Bulks) Start(ctx context.Context, o BulkOrder) (BulkAnswer, error) {
	return c.order(ctx, o, "/start")
}

// Stop stops a bulk. What is pending stays so until it is started again.
func (c Bulks) Stop(ctx context.Context, o BulkOrder) (BulkAnswer, error) {
	return c.order(ctx, o, "/stop")
}

func (c Bulks) order(ctx context.Context, o BulkOrder, action string) (BulkAnswer, error) {
	if o.BulkID == "" {
		return BulkAnswer{}, errNoBulk
	}
	return c.ask(ctx, "/bulks/"+url.PathEscape(o.BulkID)+action, o.Key, []byte("{}"))
}

var errNoBulk = errors.New("client: a bulk id is required")

func (c Bulks) ask(ctx context.Context, path, key string, body []byte) (BulkAnswer, error) {
	if key == "" {
		key = newKey()
	}
	r, err := c.do(ctx, call{method: http.MethodPost, path: path, key: key, body: body})
	if err != nil {
		return BulkAnswer{}, err
	}
	a := BulkAnswer{Replay: r.status == http.StatusOK}
	if err := json.Unmarshal(r.body, &a); err != nil {
		return BulkAnswer{}, fmt.Errorf("client: the answer to POST %s: %w", path, err)
	}
	return a, nil
}

// Get reads a bulk.
func (c Bulks) Get(ctx context.Context, id string) (*Bulk, error) {
	if id == "" {
		return nil, errNoBulk
	}
	b := new(Bulk)
	if err := c.read(ctx, "/bulks/"+url.PathEscape(id), nil, b); err != nil {
		return nil, err
	}
	return b, nil
}

// List reads a page of bulks, newest first.
func (c Bulks) List(ctx context.Context, at Paging) (*Page[Bulk], error) {
	return list[Bulk](ctx, c.transport, "/bulks", url.Values{}, at)
}

// ListItems reads a page of a bulk's items, oldest execution first: all, or
// those of one status.
func (c Bulks) ListItems(ctx context.Context, id string, only BulkItemStatus, at Paging) (*Page[BulkItem], error) {
	if id == "" {
		return nil, errNoBulk
	}
	query := url.Values{}
	if only != "" {
		query.Set("status", string(only))
	}
	return list[BulkItem](ctx, c.transport, "/bulks/"+url.PathEscape(id)+"/items", query, at)
}

// Items reads all items of a bulk, oldest execution first.
func (c Bulks) Items(ctx context.Context, id string) iter.Seq2[BulkItem, error] {
	return all[BulkItem](ctx, c.transport, "/bulks/"+url.PathEscape(id)+"/items", 1)
}
