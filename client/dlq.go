package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// DeadLetters reads events that a consumer could not apply, and redrives or skips them.
type DeadLetters struct{ *transport }

// DeadLetterStatus is the state of a dead letter.
type DeadLetterStatus string

// The states of a dead letter. The last four are the end of it.
const (
	DeadLetterOpen      DeadLetterStatus = "OPEN"      // nobody has decided
	DeadLetterRedriving DeadLetterStatus = "REDRIVING" // decided, and about to be carried out
	DeadLetterSkipping  DeadLetterStatus = "SKIPPING"  // decided, and about to be carried out
	DeadLetterApplied   DeadLetterStatus = "APPLIED"   // driven again, it took effect
	DeadLetterSkipped   DeadLetterStatus = "SKIPPED"   // given up
	DeadLetterStale     DeadLetterStatus = "STALE"     // driven again, it came after a newer event of its key
	DeadLetterDuplicate DeadLetterStatus = "DUPLICATE" // driven again, it turned out to have been taken before
)

// Ended reports whether nothing happens to the letter any more.
func (s DeadLetterStatus) Ended() bool {
	return s == DeadLetterApplied || s == DeadLetterSkipped || s == DeadLetterStale || s == DeadLetterDuplicate
}

// Verdict is what becomes of a dead letter that is driven again.
type Verdict string

// The verdicts. The last two are refused.
const (
	VerdictWillApply   Verdict = "WILL_APPLY"   // it takes effect, unless it fails again
	VerdictStale       Verdict = "STALE"        // a newer event of its key was taken
	VerdictDuplicate   Verdict = "DUPLICATE"    // it was taken before
	VerdictConflict    Verdict = "CONFLICT"     // another event holds its place
	VerdictBreaksOrder Verdict = "BREAKS_ORDER" // an older event of its key is still open or waits
)

// DeadLetter is an event that a consumer could not take.
type DeadLetter struct {
	DeadLetterID  string           `json:"deadLetterId"`
	Status        DeadLetterStatus `json:"status"`
	Consumer      string           `json:"consumer"`
	Partition     int              `json:"partition"`
	PartitionKey  string           `json:"partitionKey"`
	EventID       string           `json:"eventId"`
	EventType     string           `json:"eventType"`
	RecordVersion time.Time        `json:"recordVersion,omitzero"`
	Index         int              `json:"index"`
	ReasonClass   string           `json:"reasonClass"`
	ReasonCode    string           `json:"reasonCode"`
	RetryAdvice   string           `json:"retryAdvice"`
	Error         string           `json:"error"` // of the last try
	Attempts      int              `json:"attempts"`
	FirstFailedAt time.Time        `json:"firstFailedAt"`
	DeadAt        time.Time        `json:"deadAt"`
	RedriveAt     time.Time        `json:"redriveAt,omitzero"` // when it is driven again by itself
	Decision      *Decision        `json:"decision,omitempty"`
	EndedAt       time.Time        `json:"endedAt,omitzero"`
	// Verdict is what would become of one that is OPEN: in a list with Foresee, if all
	// that are selected were driven again; read alone, if it were driven again alone.
	Verdict Verdict `json:"verdict,omitempty"`
}

// Decision is the last one about a dead letter.
type Decision struct {
	By     Actor     `json:"by"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	BulkID string    `json:"bulkId,omitempty"`
}

// DeadLetterDetails is a dead letter with all that is known of it.
type DeadLetterDetails struct {
	DeadLetter
	Failures []FailedTry `json:"failures"` // the newest 20, oldest first
	// without sensitive fields; none when what came is no event
	Event           json.RawMessage `json:"event,omitempty"`
	PayloadWithheld bool            `json:"payloadWithheld"`
	Waiting         Waiting         `json:"waiting"`
	// SkipMakesStale is how many older events of its key a skip would make STALE: what is
	// skipped counts as taken. Redrive those first.
	SkipMakesStale int `json:"skipMakesStale,omitempty"`
}

// FailedTry is a try that failed.
type FailedTry struct {
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
	Error   string    `json:"error"`
}

// Waiting is what waits behind the key of a dead letter.
type Waiting struct {
	Count int            `json:"count"` // counted up to 10,000
	First []WaitingEvent `json:"first"` // 100 of them
}

// WaitingEvent is an event that waits behind its key.
type WaitingEvent struct {
	EventID       string    `json:"eventId"`
	EventType     string    `json:"eventType"`
	RecordVersion time.Time `json:"recordVersion,omitzero"`
	Index         int       `json:"index"`
	WaitingSince  time.Time `json:"waitingSince"`
}

// DeadLetterFilter selects dead letters; the zero value those that are OPEN.
type DeadLetterFilter struct {
	Status      []DeadLetterStatus `json:"-"` // any of; of no use in a bulk, which takes those that are OPEN
	Consumer    string             `json:"consumer,omitempty"`
	EventType   string             `json:"eventType,omitempty"`
	Key         string             `json:"key,omitempty"`
	ReasonClass string             `json:"reasonClass,omitempty"`
	DeadFrom    time.Time          `json:"deadFrom,omitzero"` // at or after
	DeadTo      time.Time          `json:"deadTo,omitzero"`   // before
	Foresee     bool               `json:"-"`                 // say what would become of each
}

func (f *DeadLetterFilter) query() url.Values {
	words := make([]string, len(f.Status))
	for i, s := range f.Status {
		words[i] = string(s)
	}
	foresee := ""
	if f.Foresee {
		foresee = "true"
	}
	return given(map[string]string{
		"foresee": foresee, "status": strings.Join(words, ","), "consumer": f.Consumer, "eventType": f.EventType,
		"key": f.Key, "reasonClass": f.ReasonClass,
		"deadFrom": instant(f.DeadFrom), "deadTo": instant(f.DeadTo),
	})
}

// given is a query of the values that are not empty.
func given(values map[string]string) url.Values {
	query := url.Values{}
	for name, value := range values {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// List reads a page of dead letters, newest first.
func (c DeadLetters) List(ctx context.Context, f DeadLetterFilter, at Paging) (*Page[DeadLetter], error) {
	return list[DeadLetter](ctx, c.transport, "/events/dlq", f.query(), at)
}

// All reads all dead letters that a filter selects, newest first, each once.
// One that leaves the filter meanwhile can make it pass over another.
func (c DeadLetters) All(ctx context.Context, f DeadLetterFilter) iter.Seq2[DeadLetter, error] {
	return newestFirst(func(at Paging) (*Page[DeadLetter], error) { return c.List(ctx, f, at) },
		func(l *DeadLetter) string { return l.DeadLetterID })
}

// newestFirst reads all pages of a list that grows at its beginning; what moved to a
// later page meanwhile comes once.
func newestFirst[T any](page func(Paging) (*Page[T], error), id func(*T) string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		seen := map[string]bool{}
		for at := (Paging{1, MaxPageSize}); ; at.Page++ {
			p, err := page(at)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for i := range p.Items {
				if name := id(&p.Items[i]); !seen[name] {
					seen[name] = true
					if !yield(p.Items[i], nil) {
						return
					}
				}
			}
			if len(p.Items) == 0 || at.Page*MaxPageSize >= p.Total {
				return
			}
		}
	}
}

var errNoDeadLetter = errors.New("client: a dead letter's id is required")

// Get reads a dead letter with all that is known of it.
func (c DeadLetters) Get(ctx context.Context, id string) (*DeadLetterDetails, error) {
	if id == "" {
		return nil, errNoDeadLetter
	}
	l := new(DeadLetterDetails)
	if err := c.read(ctx, "/events/dlq/"+url.PathEscape(id), nil, l); err != nil {
		return nil, err
	}
	return l, nil
}

// DeadLetterOrder is a decision about a dead letter.
type DeadLetterOrder struct {
	Key          string `json:"-"`
	DeadLetterID string `json:"-"`
	Reason       string `json:"reason,omitempty"` // a skip needs one
}

// DecisionAnswer is the answer to a decision: how the dead letter stood then.
type DecisionAnswer struct {
	DeadLetterID string           `json:"deadLetterId"`
	Status       DeadLetterStatus `json:"status"`
	Verdict      Verdict          `json:"verdict,omitempty"` // of a redrive that was decided now
	// by a skip that was decided now: older events of its key
	MakesStale    int    `json:"makesStale,omitempty"`
	CorrelationID string `json:"correlationId"`
	Key           string `json:"idempotencyKey"`
	Replay        bool   `json:"-"` // this key was answered before; nothing happened now
}

// Redrive drives a dead letter again. It is refused when that would break the order of
// its key, or when it was decided otherwise before.
func (c DeadLetters) Redrive(ctx context.Context, o DeadLetterOrder) (DecisionAnswer, error) {
	return c.decide(ctx, o, "/redrive")
}

// Skip gives a dead letter up.
func (c DeadLetters) Skip(ctx context.Context, o DeadLetterOrder) (DecisionAnswer, error) {
	return c.decide(ctx, o, "/skip")
}

func (c DeadLetters) decide(ctx context.Context, o DeadLetterOrder, action string) (DecisionAnswer, error) {
	var a DecisionAnswer
	if o.DeadLetterID == "" {
		return a, errNoDeadLetter
	}
	status, err := c.command(ctx, "/events/dlq/"+url.PathEscape(o.DeadLetterID)+action, o.Key, o, &a)
	a.Replay = status == http.StatusOK
	return a, err
}

// command sends a POST with a key, its own or a new one, and reads the answer.
func (c *transport) command(ctx context.Context, path, key string, body, answer any) (status int, err error) {
	if key == "" {
		key = newKey()
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, fmt.Errorf("client: POST %s: %w", path, err)
	}
	r, err := c.do(ctx, call{method: http.MethodPost, path: path, key: key, body: raw})
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(r.body, answer); err != nil {
		return 0, fmt.Errorf("client: the answer to POST %s: %w", path, err)
	}
	return r.status, nil
}

// Foreseen is what would become of a dead letter.
type Foreseen struct {
	Status  DeadLetterStatus `json:"status"`
	Verdict Verdict          `json:"verdict,omitempty"` // only of one that is OPEN
}

// ForeseeRedrive says what a redrive would do, and does nothing.
func (c DeadLetters) ForeseeRedrive(ctx context.Context, id string) (Foreseen, error) {
	var f Foreseen
	if id == "" {
		return f, errNoDeadLetter
	}
	_, err := c.command(ctx, "/events/dlq/"+url.PathEscape(id)+"/redrive", "", map[string]bool{"dryRun": true}, &f)
	return f, err
}
