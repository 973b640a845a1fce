package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// DeadLetterBulks redrives or skips many dead letters at once.
type DeadLetterBulks struct{ *transport }

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

// CreateRedrive freezes the set of a bulk and does nothing to it yet:
// Start does.
func (c DeadLetterBulks) CreateRedrive(ctx context.Context, b RedriveBulk) (BulkAnswer, error) {
	return c.create(ctx, "dlq.redrive", b.Key, b.Filter, b.Reason)
}

// CreateSkip freezes the set of a bulk and does nothing to it yet:
// Start does.
func (c DeadLetterBulks) CreateSkip(ctx context.Context, b SkipBulk) (BulkAnswer, error) {
	return c.create(ctx, "dlq.skip", b.Key, b.Filter, b.Reason)
}

func (c DeadLetterBulks) create(
	ctx context.Context, command, key string, f DeadLetterFilter, reason string) (BulkAnswer, error,
) {
	return c.ask(ctx, "/events/bulks", key, struct {
		Command string           `json:"command"`
		Filter  DeadLetterFilter `json:"filter"`
		Reason  string           `json:"reason,omitempty"`
	}{command, f, reason})
}

func (c DeadLetterBulks) ask(ctx context.Context, path, key string, body any) (BulkAnswer, error) {
	var a BulkAnswer
	status, err := c.command(ctx, path, key, body, &a)
	a.Replay = status == http.StatusOK
	return a, err
}

// Start starts a bulk, or goes on with one that was stopped.
func (c DeadLetterBulks) Start(ctx context.Context, o BulkOrder) (BulkAnswer, error) {
	return c.order(ctx, o, "/start")
}

// Stop stops a bulk. What is pending stays so until it is started again.
func (c DeadLetterBulks) Stop(ctx context.Context, o BulkOrder) (BulkAnswer, error) {
	return c.order(ctx, o, "/stop")
}

func (c DeadLetterBulks) order(ctx context.Context, o BulkOrder, action string) (BulkAnswer, error) {
	if o.BulkID == "" {
		return BulkAnswer{}, errNoBulk
	}
	return c.ask(ctx, "/events/bulks/"+url.PathEscape(o.BulkID)+action, o.Key, struct{}{})
}

// Get reads a bulk about dead letters.
func (c DeadLetterBulks) Get(ctx context.Context, id string) (*DeadLetterBulk, error) {
	if id == "" {
		return nil, errNoBulk
	}
	b := new(DeadLetterBulk)
	if err := c.read(ctx, "/events/bulks/"+url.PathEscape(id), nil, b); err != nil {
		return nil, err
	}
	return b, nil
}

// List reads a page of bulks about dead letters, newest first.
func (c DeadLetterBulks) List(ctx context.Context, at Paging) (*Page[DeadLetterBulk], error) {
	return list[DeadLetterBulk](ctx, c.transport, "/events/bulks", url.Values{}, at)
}

// ListItems reads a page of a bulk's items: all, or those of one status.
func (c DeadLetterBulks) ListItems(
	ctx context.Context, id string, only BulkItemStatus, at Paging) (*Page[DeadLetterBulkItem], error,
) {
	if id == "" {
		return nil, errNoBulk
	}
	query := given(map[string]string{"status": string(only)})
	return list[DeadLetterBulkItem](ctx, c.transport, "/events/bulks/"+url.PathEscape(id)+"/items", query, at)
}

// Items reads all items of a bulk, in the order in which they died.
func (c DeadLetterBulks) Items(ctx context.Context, id string) iter.Seq2[DeadLetterBulkItem, error] {
	return all[DeadLetterBulkItem](ctx, c.transport, "/events/bulks/"+url.PathEscape(id)+"/items", 1)
}
