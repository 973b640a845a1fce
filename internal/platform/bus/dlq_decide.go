package bus

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

type Guard string

// The guards of dead letters and replays name the rule that a refused decision breaks.
const (
	GuardDeadOpen  Guard = "dead_letter_open" // no decision yet
	GuardPlaceFree Guard = "place_free"       // no other event has its version
	GuardKeyOrder  Guard = "key_order"        // no older event of its key is open or parked
	GuardReplayRun Guard = "replay_running"   // the replay has not ended
)

type Decision struct {
	Tenant        string
	Skip          bool   // else redrive
	Reason        string // required for a skip
	Actor         string // "": unknown
	CorrelationID string
	Bulk          string // that decides; "": none
}

// Action is the name in the audit log.
func (d *Decision) Action() string {
	if d.Skip {
		return "dlq.skip"
	}
	return "dlq.redrive"
}

// DeadAnswer accepts a decision, or refuses it by a guard. It is stored with the idempotency key.
type DeadAnswer struct {
	Replay        bool    `json:"-"` // a stored answer; nothing happened now
	ID            string  `json:"id"`
	Status        Status  `json:"status"`
	Verdict       Verdict `json:"verdict,omitempty"` // of a redrive decided now
	CorrelationID string  `json:"corr"`
	Key           string  `json:"key"`
	Refused       Guard   `json:"refused,omitempty"` // "": accepted
	// MakesStale is how many older events of the key a skip decided now makes stale; not set in a bulk, which may
	// decide about those too.
	MakesStale int `json:"makesStale,omitzero"`
}

// decide is the effect of a decision. Repeating one changes nothing.
func (s Status) decide(skip bool, v Verdict) (Status, Guard) {
	skipped := s == Skipping || s == Skipped
	switch {
	case s != Open && skipped == skip:
		return s, ""
	case s != Open:
		return s, GuardDeadOpen
	case skip:
		return Skipping, ""
	case v == IsConflict:
		return s, GuardPlaceFree
	case v == BreaksOrder:
		return s, GuardKeyOrder
	}
	return Redriving, ""
}

// DecideDead stores a decision and its audit entry; the reader of the partition carries it out.
func (b *Bus) DecideDead(
	ctx context.Context,
	d Decision,
	id string,
	key canonical.IdempotencyKey,
) (ans DeadAnswer, err error) {
	var l DeadLetter
	ans, replay, err := once(ctx, b, "bus.decide", d.Tenant, &key,
		func(ctx context.Context, tx *sqldb.Tx, now canonical.Stamp) (ans DeadAnswer, err error) {
			one, err := d.decide(ctx, tx, []string{id}, now)
			if err == nil && one[0].ID == "" {
				err = deadNotFound(id)
			}
			if err != nil {
				return ans, err
			}
			l, ans = one[0].DeadLetter, one[0].Answer
			ans.CorrelationID, ans.Key = d.CorrelationID, key.Key
			return ans, nil
		})
	ans.Replay = replay
	if err == nil && l.ID != "" {
		b.wakes.wake(readerAssignment(l.Consumer, l.Part))
	}
	return ans, err
}

// decide decides about each dead letter on its own and returns them as they were before.
func (d *Decision) decide(ctx context.Context, tx *sqldb.Tx, ids []string, now canonical.Stamp) ([]Decided, error) {
	seen, err := foresee(ctx, tx, d.Tenant, nil, ids, true)
	if err != nil {
		return nil, err
	}
	out := make([]Decided, len(ids))
	var stmts []sqldb.Stmt
	for i := range seen {
		l := &seen[i].DeadLetter
		out[i].DeadLetter = *l
		out[i].Answer = DeadAnswer{ID: l.ID, Status: l.Status}
		if l.ID == "" || d.Bulk != "" && d.Bulk == l.DecidedIn { // a bulk decides once
			continue
		}
		ans := &out[i].Answer
		if !d.Skip {
			ans.Verdict = seen[i].Verdict
		}
		ans.Status, ans.Refused = l.Status.decide(d.Skip, ans.Verdict)
		if ans.Status == l.Status && ans.Refused == "" {
			continue
		}
		if d.Skip && d.Bulk == "" && ans.Refused == "" {
			ans.MakesStale = seen[i].SkipMakesStale
		}
		if ans.Refused == "" {
			stmts = append(stmts, sqldb.Stmt{
				Query: `UPDATE bus_dead SET status = $3, decided_by = $4, decided_at = $5, reason = $6, decided_in = $7
					WHERE id = $1 AND tenant_id = $2 AND status = 0`,
				Args: []any{l.ID, l.Tenant, int64(ans.Status), d.Actor, now, d.Reason, d.Bulk},
			})
		}
		entry, err := audit.Stmt(d.entry(l, ans, now))
		if err != nil {
			return nil, err
		}
		stmts = append(stmts, entry)
	}
	return out, tx.Batch(ctx, stmts...)
}

func (d *Decision) entry(l *DeadLetter, ans *DeadAnswer, now canonical.Stamp) audit.Entry {
	detail, _ := json.Marshal(struct { // cannot fail
		Consumer  string  `json:"consumer"`
		EventType string  `json:"eventType"`
		EventID   string  `json:"eventId"`
		Key       string  `json:"partitionKey"`
		Status    string  `json:"status"` // before
		Verdict   Verdict `json:"verdict,omitempty"`
		Bulk      string  `json:"bulkId,omitempty"`
	}{l.Consumer, l.EventType, l.EventID, l.Key, l.Status.String(), ans.Verdict, d.Bulk})
	e := audit.Entry{
		At: now, Tenant: d.Tenant, Actor: d.Actor, Action: d.Action(), Subject: l.ID, CorrelationID: d.CorrelationID,
		Outcome: audit.Accepted, Reason: d.Reason, Detail: detail,
	}
	ans.Refused.refuse(&e)
	return e
}

// refuse makes an entry that of a refusal; no guard: it was accepted.
func (g Guard) refuse(e *audit.Entry) {
	if g != "" {
		e.Outcome, e.ReasonCode = audit.Refused, fault.ReasonCode(g)
		e.ReasonClass, e.RetryAdvice = g.Advice()
	}
}

// Advice says whether the decision may be accepted later: breaking the order of a key may, once the older event is
// done.
func (g Guard) Advice() (fault.ReasonClass, fault.RetryAdvice) {
	if g == GuardKeyOrder {
		return fault.ReasonRunConflict, fault.RetryAfterFix
	}
	return fault.ReasonRunConflict, fault.DoNotRetry
}

// Decided is a decision about one of many. A missing dead letter has no ID.
type Decided struct {
	DeadLetter // before
	Answer     DeadAnswer
}

// decideChunk is how many dead letters a transaction decides about.
const decideChunk = 20

// DecideMany stores decisions without an idempotency key. A bulk decides about a dead letter once, even if that dies
// again.
func (b *Bus) DecideMany(ctx context.Context, d Decision, ids []string) ([]Decided, error) {
	all := make([]Decided, 0, len(ids))
	for part := range slices.Chunk(ids, decideChunk) {
		var some []Decided
		err := b.write(ctx, "bus.decide", func(ctx context.Context, tx *sqldb.Tx) (err error) {
			now, err := b.now(ctx, tx)
			if err == nil {
				some, err = d.decide(ctx, tx, part, now)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	for i := range all {
		if all[i].ID != "" {
			b.wakes.wake(readerAssignment(all[i].Consumer, all[i].Part))
		}
	}
	return all, nil
}
