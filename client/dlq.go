package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// DeadLetters reads events that a consumer could not apply, and redrives or skips them.
type DeadLetters struct{ *transport }

// Ended reports whether nothing happens to the letter any more.
func (s DeadLetterStatus) Ended() bool {
	return s == DeadLetterApplied || s == DeadLetterSkipped || s == DeadLetterStale || s == DeadLetterDuplicate
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
	return given(map[string]string{
		"foresee": when(f.Foresee, "true"), "status": joined(f.Status), "consumer": f.Consumer,
		"eventType": f.EventType, "key": f.Key, "reasonClass": f.ReasonClass,
		"deadFrom": instant(f.DeadFrom), "deadTo": instant(f.DeadTo),
	})
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
		for at := (Paging{Page: 1, Size: MaxPageSize}); ; at.Page++ {
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

// Get reads a dead letter with all that is known of it.
func (c DeadLetters) Get(ctx context.Context, id string) (*DeadLetterDetails, error) {
	return get[DeadLetterDetails](ctx, c.transport, pathOf("/events/dlq/{deadLetterId}", id), nil)
}

// DeadLetterOrder is a decision about a dead letter.
type DeadLetterOrder struct {
	Key          string `json:"-"`
	DeadLetterID string `json:"-"`
	Reason       string `json:"reason,omitempty"` // a skip needs one
}

// DecisionAnswer is the answer to a decision: how the dead letter stood then.
type DecisionAnswer struct {
	AcceptedDecision
	Replay bool `json:"-"` // this key was answered before; nothing happened now
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
	path := pathOf("/events/dlq/{deadLetterId}", o.DeadLetterID) + action
	a, replay, err := post[DecisionAnswer](ctx, c.transport, path, o.Key, o)
	a.Replay = replay
	return a, err
}

// ForeseeRedrive says what a redrive would do, and does nothing.
func (c DeadLetters) ForeseeRedrive(ctx context.Context, id string) (Foreseen, error) {
	path := pathOf("/events/dlq/{deadLetterId}/redrive", id)
	f, _, err := post[Foreseen](ctx, c.transport, path, "", map[string]bool{"dryRun": true})
	return f, err
}
