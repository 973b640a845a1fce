// Package dlq is the bulks that decide about dead letters: those of a tenant that match
// a filter and were open when it was asked for are driven again, or skipped.
//
// A bulk writes the same decisions as somebody who decides about one letter after the
// other, and then waits for what the readers make of them. Letters of one key are
// driven again in turn, each when the one before has ended, so that one that dies
// again holds up those behind it instead of being overtaken.
package dlq

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/wire"
)

// The names of the kinds.
const (
	Redrive = "dlq.redrive"
	Skip    = "dlq.skip"
)

// Names are the names of all kinds.
func Names() []string { return []string{Redrive, Skip} }

// Bus is where dead letters are found and decided about.
type Bus interface {
	DeadLetters(ctx context.Context, tenant string, f bus.DeadFilter, offset, limit int) ([]bus.DeadLetter, int, error)
	WalkDead(ctx context.Context, tenant string, f bus.DeadFilter, after int64, limit int) ([]bus.DeadLetter, error)
	DeadLettersOf(ctx context.Context, tenant string, ids []string) ([]bus.DeadLetter, error)
	ForeseeDead(ctx context.Context, tenant string, f *bus.DeadFilter, ids []string) ([]bus.Foreseen, error)
	DecideMany(ctx context.Context, d bus.Decision, ids []string) ([]bus.Decided, error)
}

// Spec is which dead letters a bulk decides about, and why.
type Spec struct {
	Filter Filter `json:"filter"`
	Reason string `json:"reason,omitempty"`
}

// Filter selects dead letters. Those that are not open are left out whatever it says.
type Filter struct {
	Consumer    string            `json:"consumer,omitempty"`
	EventType   string            `json:"eventType,omitempty"`
	Key         string            `json:"key,omitempty"`
	ReasonClass fault.ReasonClass `json:"reasonClass,omitempty"`
	DeadFrom    wire.Stamp        `json:"deadFrom,omitzero"` // inclusive
	DeadTo      wire.Stamp        `json:"deadTo,omitzero"`   // exclusive
}

// Kind decides about dead letters.
type Kind struct {
	bus  Bus
	skip bool

	patience time.Duration // for readers, in one call of Do
	giveUp   time.Duration // of a decision that is not carried out

	mu      sync.Mutex
	waiting map[string]time.Time // dead letters that are waited for, and since when
}

var (
	_ bulk.Kind     = (*Kind)(nil)
	_ bulk.Foreseer = (*Kind)(nil)
)

// Kinds makes both kinds.
func Kinds(b Bus) map[string]bulk.Kind {
	return map[string]bulk.Kind{Redrive: newKind(b, false), Skip: newKind(b, true)}
}

func newKind(b Bus, skip bool) *Kind {
	return &Kind{
		bus: b, skip: skip, patience: 3 * time.Second, giveUp: 2 * time.Minute,
		waiting: map[string]time.Time{},
	}
}

// Parse reads the parameters of a bulk.
func Parse(b *bulk.Bulk) (Spec, error) {
	var s Spec
	return s, fault.Wrap("dlq.spec", json.Unmarshal(b.Spec, &s))
}

// filter selects the set of a bulk: what was open, of what had died then.
func filter(b *bulk.Bulk) (bus.DeadFilter, error) {
	s, err := Parse(b)
	f := bus.DeadFilter{
		Consumer: s.Filter.Consumer, EventType: s.Filter.EventType, Key: s.Filter.Key,
		ReasonClass: s.Filter.ReasonClass,
		DeadFrom:    s.Filter.DeadFrom, DeadTo: wire.Stamp(b.CreatedAt.UnixMilli()) + 1,
	}
	if s.Filter.DeadTo != 0 {
		f.DeadTo = min(f.DeadTo, s.Filter.DeadTo)
	}
	return f, err
}

// Count is how many dead letters match now.
func (k *Kind) Count(ctx context.Context, b *bulk.Bulk) (int, error) {
	f, err := filter(b)
	if err != nil {
		return 0, err
	}
	_, total, err := k.bus.DeadLetters(ctx, b.Tenant, f, 0, 1)
	return total, err
}

// Select lists the dead letters in the order in which they first died.
func (k *Kind) Select(
	ctx context.Context, b *bulk.Bulk, after string, limit int,
) (names []string, last string, err error) {
	f, err := filter(b)
	if err != nil {
		return nil, "", err
	}
	var place int64
	if after != "" {
		if place, err = strconv.ParseInt(after, 10, 64); err != nil {
			return nil, "", fault.Wrap("dlq.place", err)
		}
	}
	letters, err := k.bus.WalkDead(ctx, b.Tenant, f, place, limit)
	if err != nil || len(letters) == 0 {
		return nil, after, err
	}
	for i := range letters {
		names = append(names, letters[i].ID)
	}
	return names, strconv.FormatInt(letters[len(letters)-1].Num, 10), nil
}

// Foresee previews what a redrive of the whole set would do to some of its dead letters. A skip has no preview.
func (k *Kind) Foresee(ctx context.Context, b *bulk.Bulk, names []string) ([][]byte, error) {
	f, err := filter(b)
	if err != nil {
		return nil, err
	}
	seen, err := k.bus.ForeseeDead(ctx, b.Tenant, &f, names)
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(names))
	for i := range seen {
		if seen[i].ID == "" {
			continue
		}
		d := Detail{Status: seen[i].Status.String(), Verdict: seen[i].Verdict}
		if k.skip {
			d.Verdict = ""
		}
		if out[i], err = json.Marshal(&d); err != nil {
			return nil, fault.Wrap("dlq.foresee", err)
		}
	}
	return out, nil
}
