package bus

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// Guard is the rule that refused a decision.
type Guard string

// The guards of dead letters and replays.
const (
	GuardDeadOpen  Guard = "dead_letter_open" // there is no decision about the dead letter
	GuardPlaceFree Guard = "place_free"       // no other event has its version
	GuardKeyOrder  Guard = "key_order"        // no older event of its key is open or parked
	GuardReplayRun Guard = "replay_running"   // the replay has not ended
)

// Decision is a decision about dead letters.
type Decision struct {
	Tenant        string
	Skip          bool   // skip it; else redrive it
	Reason        string // a skip has one
	Actor         string // "": not known
	CorrelationID string
	Bulk          string // the bulk that carries it out; "": none
}

// Action is what the audit log calls it.
func (d *Decision) Action() string {
	if d.Skip {
		return "dlq.skip"
	}
	return "dlq.redrive"
}

// DeadAnswer is the answer to a decision: accepted, or refused by a guard. It is stored under the idempotency key, so a
// repetition gets an equal one.
type DeadAnswer struct {
	Replay        bool    `json:"-"` // a stored answer; nothing happened now
	ID            string  `json:"id"`
	Status        Status  `json:"status"`
	Verdict       Verdict `json:"verdict,omitempty"` // of a redrive that was decided now
	CorrelationID string  `json:"corr"`
	Key           string  `json:"key"`
	Refused       Guard   `json:"refused,omitempty"` // "" when accepted
	// MakesStale is how many older events of the key a skip that was decided now makes
	// stale. Of one in a bulk, which may decide about those too, nothing is said.
	MakesStale int `json:"makesStale,omitzero"`
}

// decide is the effect of a decision on a dead letter. Repeating a decision changes nothing.
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

// DecideDead stores a decision about a dead letter with its audit entry; the reader of its partition carries it out.
func (b *Bus) DecideDead(ctx context.Context, d Decision, id string, once wire.Once) (ans DeadAnswer, err error) {
	var l DeadLetter
	err = b.write(ctx, "bus.decide", func(ctx context.Context, tx *sqldb.Tx) error {
		var replay bool
		ans, replay, err = answerIdempotent(ctx, b, tx, idempotentRequest{d.Tenant, &once},
			func(now wire.Stamp) (ans DeadAnswer, err error) {
				one, err := d.decide(ctx, tx, []string{id}, now)
				if err == nil && one[0].ID == "" {
					err = deadNotFound(id)
				}
				if err != nil {
					return ans, err
				}
				l, ans = one[0].DeadLetter, one[0].Answer
				ans.CorrelationID, ans.Key = d.CorrelationID, once.Key
				return ans, nil
			})
		ans.Replay = replay
		return err
	})
	if err == nil && l.ID != "" {
		b.wakes.wake(readerAssignment(l.Consumer, l.Part))
	}
	return ans, err
}

// decide decides about dead letters in a transaction, each independently of the others, and gives them as they were
// before.
func (d *Decision) decide(ctx context.Context, tx *sqldb.Tx, ids []string, now wire.Stamp) ([]Decided, error) {
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
		if l.ID == "" || d.Bulk != "" && d.Bulk == l.DecidedIn { // a bulk has one turn
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

// entry is the audit entry of a decision.
func (d *Decision) entry(l *DeadLetter, ans *DeadAnswer, now wire.Stamp) audit.Entry {
	detail, _ := json.Marshal(struct { // strings and numbers can always be written
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
	if ans.Refused != "" {
		e.Outcome, e.ReasonCode = audit.Refused, fault.ReasonCode(ans.Refused)
		e.ReasonClass, e.RetryAdvice = ans.Refused.Advice()
	}
	return e
}

// Advice says whether the same decision can be accepted later: one that breaks the order of a key can, when the older
// event is out of the way.
func (g Guard) Advice() (fault.ReasonClass, fault.RetryAdvice) {
	if g == GuardKeyOrder {
		return fault.ReasonRunConflict, fault.RetryAfterFix
	}
	return fault.ReasonRunConflict, fault.DoNotRetry
}

// Decided is the outcome of a decision about one of many dead letters. One that does not exist has no ID.
type Decided struct {
	DeadLetter // as it was before
	Answer     DeadAnswer
}

// decideChunk is how many dead letters one transaction decides about.
const decideChunk = 20

// DecideMany stores a decision about several dead letters, without an idempotency key. A bulk decides about a dead
// letter once: one that died again after that stays as it is.
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
