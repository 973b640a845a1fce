package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// DeadLetterBulk is one decision about a frozen set of dead letters.
type DeadLetterBulk struct {
	BulkID        string           `json:"bulkId"`
	Command       string           `json:"command"` // dlq.redrive or dlq.skip
	Filter        DeadLetterFilter `json:"filter"`
	Reason        string           `json:"reason,omitempty"`
	Status        BulkStatus       `json:"status"`
	Total         int              `json:"total"` // items; while it is FREEZING, so far
	Counts        BulkCounts       `json:"counts"`
	CreatedBy     Actor            `json:"createdBy"`
	StartedBy     *Actor           `json:"startedBy,omitempty"`
	CorrelationID string           `json:"correlationId"`
	CreatedAt     time.Time        `json:"createdAt"`
	StartedAt     time.Time        `json:"startedAt,omitzero"`
	EndedAt       time.Time        `json:"endedAt,omitzero"`
}

// DeadLetterBulkItem is one dead letter of a bulk: what is to be expected while it is
// PENDING, and then its result.
type DeadLetterBulkItem struct {
	DeadLetterID string            `json:"deadLetterId"`
	Status       BulkItemStatus    `json:"status"`
	Foreseen     *Foreseen         `json:"foreseen,omitempty"`
	Result       *DeadLetterResult `json:"result,omitempty"`
}

// DeadLetterResult is what became of one dead letter of a bulk.
type DeadLetterResult struct {
	Verdict Verdict          `json:"verdict,omitempty"`
	Status  DeadLetterStatus `json:"status,omitempty"` // of the letter
	Guard   string           `json:"guard,omitempty"`  // that refused it
	Code    string           `json:"code,omitempty"`   // of one that failed
	Message string           `json:"message,omitempty"`
}

// RedriveBulk and SkipBulk ask for a bulk that drives again, or skips, all dead letters
// which the filter selects and which are OPEN.
type (
	RedriveBulk struct {
		Key    string
		Filter DeadLetterFilter
		Reason string
	}
	SkipBulk struct {
		Key    string
		Filter DeadLetterFilter
		Reason string // it needs one
	}
)

// CreateRedriveBulk freezes the set of a bulk and does nothing to it yet:
// StartDeadLetterBulk does.
func (c *Client) CreateRedriveBulk(ctx context.Context, b RedriveBulk) (BulkAnswer, error) {
	return c.createDeadLetterBulk(ctx, "dlq.redrive", b.Key, b.Filter, b.Reason)
}

// CreateSkipBulk freezes the set of a bulk and does nothing to it yet:
// StartDeadLetterBulk does.
func (c *Client) CreateSkipBulk(ctx context.Context, b SkipBulk) (BulkAnswer, error) {
	return c.createDeadLetterBulk(ctx, "dlq.skip", b.Key, b.Filter, b.Reason)
}

func (c *Client) createDeadLetterBulk(ctx context.Context, command, key string, f DeadLetterFilter, reason string) (BulkAnswer, error) {
	return c.deadLetterBulkCommand(ctx, "/events/bulks", key, struct {
		Command string           `json:"command"`
		Filter  DeadLetterFilter `json:"filter"`
		Reason  string           `json:"reason,omitempty"`
	}{command, f, reason})
}

func (c *Client) deadLetterBulkCommand(ctx context.Context, path, key string, body any) (BulkAnswer, error) {
	var a BulkAnswer
	status, err := c.command(ctx, path, key, body, &a)
	a.Replay = status == http.StatusOK
	return a, err
}

// StartDeadLetterBulk starts a bulk, or goes on with one that was stopped.
func (c *Client) StartDeadLetterBulk(ctx context.Context, o BulkOrder) (BulkAnswer, error) {
	return c.orderDeadLetterBulk(ctx, o, "/start")
}

// StopDeadLetterBulk stops a bulk. What is pending stays so until it is started again.
func (c *Client) StopDeadLetterBulk(ctx context.Context, o BulkOrder) (BulkAnswer, error) {
	return c.orderDeadLetterBulk(ctx, o, "/stop")
}

func (c *Client) orderDeadLetterBulk(ctx context.Context, o BulkOrder, action string) (BulkAnswer, error) {
	if o.BulkID == "" {
		return BulkAnswer{}, errNoBulk
	}
	return c.deadLetterBulkCommand(ctx, "/events/bulks/"+url.PathEscape(o.BulkID)+action, o.Key, struct{}{})
}

// DeadLetterBulk reads a bulk about dead letters.
func (c *Client) DeadLetterBulk(ctx context.Context, id string) (*DeadLetterBulk, error) {
	if id == "" {
		return nil, errNoBulk
	}
	b := new(DeadLetterBulk)
	if err := c.read(ctx, "/events/bulks/"+url.PathEscape(id), nil, b); err != nil {
		return nil, err
	}
	return b, nil
}

// ListDeadLetterBulks reads a page of bulks about dead letters, newest first.
func (c *Client) ListDeadLetterBulks(ctx context.Context, at Paging) (*Page[DeadLetterBulk], error) {
	return list[DeadLetterBulk](ctx, c, "/events/bulks", url.Values{}, at)
}

// ListDeadLetterBulkItems reads a page of a bulk's items: all, or those of one status.
func (c *Client) ListDeadLetterBulkItems(ctx context.Context, id string, only BulkItemStatus, at Paging) (*Page[DeadLetterBulkItem], error) {
	if id == "" {
		return nil, errNoBulk
	}
	return list[DeadLetterBulkItem](ctx, c, "/events/bulks/"+url.PathEscape(id)+"/items", given(map[string]string{"status": string(only)}), at)
}

// DeadLetterBulkItems reads all items of a bulk, in the order in which they died.
func (c *Client) DeadLetterBulkItems(ctx context.Context, id string) iter.Seq2[DeadLetterBulkItem, error] {
	return all[DeadLetterBulkItem](ctx, c, "/events/bulks/"+url.PathEscape(id)+"/items", 1)
}
