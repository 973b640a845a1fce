package airflow

import "time"

// State is what a circuit breaker does with calls.
type State int

// The states.
const (
	Closed   State = iota // calls go through
	Open                  // calls are refused
	HalfOpen              // one call, the probe, is under way; the others are refused
)

func (s State) String() string { return [...]string{"closed", "open", "half-open"}[s] }

// breaker decides which calls go through. It opens after so many failures in a row,
// lets one probe through when it has been open for a while, and closes when that
// succeeds. It has no clock and no lock of its own.
type breaker struct {
	most  int           // failures in a row that open it
	pause time.Duration // from opening to the probe

	state  State
	failed int       // in a row, while closed
	until  time.Time // while open: when a probe may be made
	era    int       // counts the changes of state
}

// allow says whether a call may be made now. Its outcome is told to done, with era.
func (b *breaker) allow(now time.Time) (era int, ok bool) {
	if b.state == Open && !now.Before(b.until) {
		b.turn(HalfOpen)
		return b.era, true
	}
	return b.era, b.state == Closed
}

// done takes the outcome of a call that was allowed in an era. Of an era that is over
// it means nothing any more: a success that was long under way does not close what has
// been opened since, and of many failures at once only the first ones count.
func (b *breaker) done(era int, now time.Time, ok bool) {
	switch {
	case era != b.era:
	case ok:
		b.failed = 0
		if b.state != Closed {
			b.turn(Closed)
		}
	case b.state == HalfOpen:
		b.open(now)
	default:
		if b.failed++; b.failed >= b.most {
			b.open(now)
		}
	}
}

// abandon takes back a call that was allowed and came to no outcome, since its caller
// went away. A probe may then be made again at once.
func (b *breaker) abandon(era int, now time.Time) {
	if era == b.era && b.state == HalfOpen {
		b.turn(Open)
		b.until = now
	}
}

func (b *breaker) open(now time.Time) {
	b.turn(Open)
	b.until = now.Add(b.pause)
}

func (b *breaker) turn(to State) {
	b.state, b.failed = to, 0
	b.era++
}
