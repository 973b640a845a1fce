package bulk

import (
	"context"
	"time"
)

// Named maxima of bulks.
const (
	MaxItems = 1_000_000 // items of one bulk
	MaxOpen  = 100       // bulks of one tenant that are not DONE
)

// Kind is what a bulk does to its items. A bulk carries the kind's own parameters
// (Bulk.Spec). An error that is Unavailable makes the same call again soon, any
// other a little later.
type Kind interface {
	// Count is how many items Select gives in all.
	Count(ctx context.Context, b *Bulk) (int, error)
	// Select gives the names of up to limit items of the set after a place in the
	// kind's own order ("": from its beginning), and the place of the last. Fewer than
	// limit are the end. What came into being after b.CreatedAt is not in the set.
	Select(ctx context.Context, b *Bulk, after string, limit int) (names []string, last string, err error)
	// Do does it to items and says in their order how each ended. It may be called again
	// for items that it was called for before, and then gives the same results.
	Do(ctx context.Context, b *Bulk, names []string) ([]Result, error)
}

// Foreseer is a Kind that can say beforehand what Do would make of items that are
// pending.
type Foreseer interface {
	// Foresee gives a JSON object of the kind's own for each item, nil for none.
	Foresee(ctx context.Context, b *Bulk, names []string) ([][]byte, error)
}

// Bulk is one thing that is done to many items.
type Bulk struct {
	ID            string
	Tenant        string
	Kind          string
	Spec          []byte // JSON; what it means is up to the kind
	Status        Status
	Total         int // items of the set; while FREEZING, so far
	Counts        Counts
	CreatedBy     string // who asked for it; "": not known
	StartedBy     string // who started it last
	CorrelationID string // of its creation
	CreatedAt     time.Time
	StartedAt     time.Time // the first time
	EndedAt       time.Time

	num   int64
	place string // of the kind: where freezing goes on
	epoch int64  // of the lease under which it was read
}

// Counts says how many items ended how.
type Counts struct{ Applied, Already, Refused, Failed int }

// Settled is how many items have a result.
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

// Of is how many of total items are where o says.
func (c Counts) Of(o Outcome, total int) int {
	return [...]int{total - c.Settled(), c.Applied, c.Already, c.Refused, c.Failed}[o]
}

// Status is where a bulk stands. The first two are those that Run works on; the
// values are stored.
type Status uint8

// The statuses of a bulk.
const (
	Freezing Status = iota // its set is being put together
	Running                // its items are worked through
	Preview                // its set is frozen; nothing was done yet
	Stopped                // somebody stopped it; it can be started again
	Done                   // every item has a result
	TooLarge               // its set turned out larger than MaxItems; nothing was done
	gone                   // past its retention and on the way out; nobody sees it
)

var statusNames = [...]string{"FREEZING", "RUNNING", "PREVIEW", "STOPPED", "DONE", "TOO_LARGE", "GONE"}

func (s Status) String() string { return statusNames[s] }

// Outcome is how an item ended. The values are stored.
type Outcome uint8

// The outcomes.
const (
	Pending Outcome = iota // its turn has not come
	Applied                // it was done
	Already                // there was nothing left to do
	Refused                // the item's state refuses it
	Failed                 // it could not be decided
)

var outcomeNames = [...]string{"PENDING", "APPLIED", "ALREADY", "REFUSED", "FAILED"}

func (o Outcome) String() string { return outcomeNames[o] }

// Outcomes are the names of all outcomes.
func Outcomes() []string { return outcomeNames[:] }

// ParseOutcome finds an outcome by its name.
func ParseOutcome(name string) (Outcome, bool) {
	for i, n := range outcomeNames {
		if n == name {
			return Outcome(i), true
		}
	}
	return 0, false
}

// Result is how an item ended.
type Result struct {
	Outcome Outcome
	Detail  []byte // a JSON object of the kind's own; nil: none
}

// Item is one item of a bulk.
type Item struct {
	Name string // as the kind calls it
	Result
	Foreseen []byte // of one that is pending, what the kind expects; nil: it does not say
}
