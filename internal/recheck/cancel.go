package recheck

import (
	"context"
	"errors"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// maxLooks is how often a cancel looks for the batch that runs because the one that it
// knew has ended meanwhile.
const maxLooks = 16

// Ending is what a cancel led to.
type Ending struct {
	Answer
	Changed bool `json:"changed"` // false: it had ended before
}

// ParseCancel reads the reason of a cancel, "" when none is given, strictly.
func ParseCancel(body []byte) (string, error) {
	var doc struct {
		Reason *string `json:"reason"`
	}
	if len(body) == 0 {
		return "", nil
	}
	if err := decodeCanonical(body, &doc); err != nil {
		return "", err
	}
	return phrase("reason", doc.Reason, MaxReason)
}

// Cancel ends a request: in one transaction its execution is cancelled, and no other
// follows. What strategies had results before keep them; what comes later does not count.
// A request that has ended stays as it is, and the answer says how it did.
func (r *Rechecks) Cancel(
	ctx context.Context,
	call Caller,
	id, reason string,
	key canonical.IdempotencyKey,
) (Ending, error) {
	c := &canceling{r: r, call: call, id: id, reason: reason, key: key}
	for range maxLooks {
		err := c.do(ctx)
		switch {
		case errors.Is(err, errMoved):
			continue
		case errors.Is(err, errKnown):
			err = nil
		}
		return c.answer, fault.Wrap("recheck.cancel", err)
	}
	return Ending{}, fault.Wrap("recheck.cancel", fault.New(fault.Unavailable, "STORAGE_BUSY",
		"batches ended all the time; nothing was done, send it again"))
}

// canceling is a cancel under way. Its parts may run more than once.
type canceling struct {
	r         *Rechecks
	call      Caller
	id        string
	reason    string
	key       canonical.IdempotencyKey
	execution string // that is to be cancelled; "": none is
	answer    Ending
}

func (c *canceling) do(ctx context.Context) error {
	err := c.r.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		q, err := find(ctx, tx, c.call.Tenant, c.id, "")
		if c.execution = q.execution; q.status.Ended() {
			c.execution = ""
		}
		return err
	})
	if err != nil {
		return err
	}
	if c.execution == "" {
		return c.r.write(ctx, "recheck.cancel", c.save)
	}
	execution, err := flow.ParseID(c.execution)
	if err != nil {
		return err
	}
	// The answer is waited for: what began may have happened. An execution that has just
	// ended refuses, and that is fine: its results came before.
	_, err = c.r.cfg.Engine.Do(context.WithoutCancel(ctx), engine.Unit{
		Before: c.save,
		Commands: []engine.Request{{
			Tenant: c.call.Tenant, Execution: execution, Command: flow.Cancel{Reason: c.reason},
			Actor: c.call.actor(), CorrelationID: c.call.CorrelationID,
		}},
	})
	return err
}

// save cancels the request, unless it has ended, and remembers the answer with the key.
// The execution is held before the request, as by all who hold both.
func (c *canceling) save(ctx context.Context, tx *sqldb.Tx) error {
	now, err := c.r.now(ctx, tx)
	if err != nil {
		return err
	}
	r := idempotency.Request{Tenant: c.call.Tenant, Key: &c.key, At: now}
	answer, known, err := idempotency.DoJSON(ctx, tx, c.r.keys, r, func() (ans Ending, err error) {
		q, err := find(ctx, tx, c.call.Tenant, c.id, forUpdate(tx))
		if err != nil {
			return ans, err
		}
		ended := q.status.Ended()
		if !ended && q.execution != c.execution || ended && c.execution != "" {
			return ans, errMoved
		}
		if !ended {
			q.status, q.updatedAt = Canceled, now
			_, high := q.span()
			if err := cancelRest(ctx, tx, c.call.Tenant, q.id, high); err != nil {
				return ans, err
			}
			if err := tx.Batch(ctx, q.update(c.call.Tenant)); err != nil {
				return ans, err
			}
		}
		return Ending{Answer{q.id, q.status, q.dryRun, q.total}, !ended}, nil
	})
	if err != nil {
		return explain(err)
	}
	if c.answer = answer; known {
		return errKnown
	}
	return nil
}
