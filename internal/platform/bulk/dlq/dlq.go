// Package dlq redrives or skips, as a bulk, the dead letters of a tenant that match a filter and were open at its
// creation.
//
// A bulk stores the same decisions as an operator does one by one, then waits until the readers have carried them
// out. Dead letters of one key are redriven in turn, so that one that dies again blocks those after it and is not
// overtaken.
package dlq

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

const (
	Redrive = "dlq.redrive"
	Skip    = "dlq.skip"
)

func Names() []string { return []string{Redrive, Skip} }

type Bus interface {
	DeadLetters(ctx context.Context, tenant string, f bus.DeadFilter, offset, limit int) ([]bus.DeadLetter, int, error)
	WalkDead(ctx context.Context, tenant string, f bus.DeadFilter, after int64, limit int) ([]bus.DeadLetter, error)
	DeadLettersOf(ctx context.Context, tenant string, ids []string) ([]bus.DeadLetter, error)
	ForeseeDead(ctx context.Context, tenant string, f *bus.DeadFilter, ids []string) ([]bus.Foreseen, error)
	DecideMany(ctx context.Context, d bus.Decision, ids []string) ([]bus.Decided, error)
}

type Spec struct {
	Filter Filter `json:"filter"`
	Reason string `json:"reason,omitempty"`
}

// Filter selects open dead letters.
type Filter struct {
	Consumer    string            `json:"consumer,omitempty"`
	EventType   string            `json:"eventType,omitempty"`
	Key         string            `json:"key,omitempty"`
	ReasonClass fault.ReasonClass `json:"reasonClass,omitempty"`
	DeadFrom    canonical.Stamp   `json:"deadFrom,omitzero"` // inclusive
	DeadTo      canonical.Stamp   `json:"deadTo,omitzero"`   // exclusive
}

type Kind struct {
	bus  Bus
	skip bool

	patience time.Duration // with readers, in one call of Do
	giveUp   time.Duration // on a decision that is not carried out

	mu      sync.Mutex
	waiting map[string]time.Time // dead letters, and since when
}

var (
	_ bulk.Kind     = (*Kind)(nil)
	_ bulk.Foreseer = (*Kind)(nil)
)

func Kinds(b Bus) map[string]bulk.Kind {
	return map[string]bulk.Kind{Redrive: newKind(b, false), Skip: newKind(b, true)}
}

func newKind(b Bus, skip bool) *Kind {
	return &Kind{
		bus: b, skip: skip, patience: 3 * time.Second, giveUp: 2 * time.Minute,
		waiting: map[string]time.Time{},
	}
}

func Parse(b *bulk.Bulk) (Spec, error) {
	var s Spec
	return s, fault.Wrap("dlq.spec", json.Unmarshal(b.Spec, &s))
}

// filter selects what is open and had died when the bulk was created.
func filter(b *bulk.Bulk) (bus.DeadFilter, error) {
	s, err := Parse(b)
	f := bus.DeadFilter{
		Consumer: s.Filter.Consumer, EventType: s.Filter.EventType, Key: s.Filter.Key,
		ReasonClass: s.Filter.ReasonClass,
		DeadFrom:    s.Filter.DeadFrom, DeadTo: canonical.Stamp(b.CreatedAt.UnixMilli()) + 1,
	}
	if s.Filter.DeadTo != 0 {
		f.DeadTo = min(f.DeadTo, s.Filter.DeadTo)
	}
	return f, err
}

// Count implements bulk.Kind.
func (k *Kind) Count(ctx context.Context, b *bulk.Bulk) (int, error) {
	f, err := filter(b)
	if err != nil {
		return 0, err
	}
	_, total, err := k.bus.DeadLetters(ctx, b.Tenant, f, 0, 1)
	return total, err
}

// Select returns dead letters in the order in which they first died.
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

// Foresee previews a redrive of the whole set. A skip has no preview.
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
