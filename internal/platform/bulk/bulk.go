// Package bulk applies one operation to many items: to a frozen set that can be inspected first, with a result per
// item.
//
// Only the kind knows the items and the operation. A bulk freezes its set (FREEZING, then PREVIEW), processes it in
// order once started (RUNNING), pauses when stopped (STOPPED) and ends DONE. Freezing and working go in chunks: each
// is done under a lease and stored in one transaction with the counts and the next position.
//
// The invariants: every item has one result, counted once, through any number of crashes; nothing created after the
// bulk is in its set; a process that lost its lease stores nothing (the epoch). A chunk that was done but not stored
// is done again, so a kind must repeat its results.
//
// Run works in every process. The package knows nothing of HTTP and the engine.
package bulk

import (
	"context"
	"slices"
	"time"
)

const (
	MaxItems = 1_000_000 // items of one bulk
	MaxOpen  = 100       // of one tenant, not DONE
)

// Kind is what a bulk does to its items, with parameters of its own (Bulk.Spec). After an Unavailable error the call
// is repeated soon, after any other a little later.
type Kind interface {
	// Count is how many items Select returns in all.
	Count(ctx context.Context, b *Bulk) (int, error)
	// Select returns up to limit names of the set after a place in the kind's own order ("": the beginning), and the
	// place of the last. Fewer than limit are the end. The set holds nothing newer than b.CreatedAt.
	Select(ctx context.Context, b *Bulk, after string, limit int) (names []string, last string, err error)
	// Do returns the result of each item, in order. Repeated for the same items, it returns the same results.
	Do(ctx context.Context, b *Bulk, names []string) ([]Result, error)
}

// Foreseer is a Kind that can preview Do.
type Foreseer interface {
	// Foresee returns a JSON object for each item; nil: no preview.
	Foresee(ctx context.Context, b *Bulk, names []string) ([][]byte, error)
}

type Bulk struct {
	ID            string
	Tenant        string
	Kind          string
	Spec          []byte // JSON of the kind
	Status        Status
	Total         int // items; while FREEZING, so far
	Counts        Counts
	CreatedBy     string // "": unknown
	StartedBy     string // last
	CorrelationID string
	CreatedAt     time.Time
	StartedAt     time.Time // first
	EndedAt       time.Time

	num   int64
	place string // of Kind.Select, where freezing continues
	epoch int64  // of the lease
}

type Counts struct{ Applied, Already, Refused, Failed int }

func (c Counts) Settled() int { return c.Applied + c.Already + c.Refused + c.Failed }

func (c *Counts) add(o Outcome) {
	switch o {
	case Applied:
		c.Applied++
	case Already:
		c.Already++
	case Refused:
		c.Refused++
	default:
		c.Failed++
	}
}

// Of is how many of total items have an outcome.
func (c Counts) Of(o Outcome, total int) int {
	return [...]int{total - c.Settled(), c.Applied, c.Already, c.Refused, c.Failed}[o]
}

// Status is the state of a bulk. Run works on the first two. The values are stored.
type Status uint8

const (
	Freezing Status = iota // its set is being selected
	Running
	Preview  // its set is frozen; nothing was done
	Stopped  // by an operator; it can be started again
	Done     // every item has a result
	TooLarge // more than MaxItems; nothing was done
	gone     // expired and being deleted; invisible
)

var statusNames = [...]string{"FREEZING", "RUNNING", "PREVIEW", "STOPPED", "DONE", "TOO_LARGE", "GONE"}

func (s Status) String() string { return statusNames[s] }

// Outcome is the result of an item. The values are stored.
type Outcome uint8

const (
	Pending Outcome = iota // not processed yet
	Applied
	Already // nothing was left to do
	Refused // by the item's state
	Failed
)

var outcomeNames = [...]string{"PENDING", "APPLIED", "ALREADY", "REFUSED", "FAILED"}

func (o Outcome) String() string { return outcomeNames[o] }

func Outcomes() []string { return outcomeNames[:] }

func ParseOutcome(name string) (Outcome, bool) {
	i := slices.Index(outcomeNames[:], name)
	return Outcome(max(i, 0)), i >= 0
}

type Result struct {
	Outcome Outcome
	Detail  []byte // a JSON object of the kind; nil: none
}

type Item struct {
	Name string // of Kind.Select
	Result
	Foreseen []byte // preview of a pending item; nil: none
}
