package webhooks

import (
	"math/rand/v2"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/canonical"
)

// The waits of a delivery that the endpoint refused, one after each try, about three days in all. A try later it has
// FAILED.
var waits = [...]time.Duration{
	5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour,
	5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// MaxTries is how often a delivery is tried that the endpoint refuses.
const MaxTries = len(waits) + 1

// How an endpoint that fails is treated.
const (
	// ParkAfter is how many failures without a success among them park an endpoint: each is of another delivery, or
	// gave no usable answer.
	ParkAfter = 5
	// DisableAfter is how long an endpoint may be parked before its webhook is disabled.
	DisableAfter = 5 * 24 * time.Hour

	firstPause = time.Second
	mostPause  = time.Hour
)

// verdict is what an answer means for its delivery.
type verdict int

const (
	delivered verdict = iota // 2xx
	refused                  // the endpoint answered, and did not take this one
	away                     // no answer, or one that says that the endpoint cannot answer now
	gone                     // 410: the endpoint wants nothing any more
)

// verdictOf decides about an answer; status 0 is none.
func verdictOf(status int) verdict {
	switch {
	case status >= 200 && status < 300:
		return delivered
	case status == 410:
		return gone
	case status == 0, status < 200, status >= 300 && status < 400, // nothing is followed
		status == 408, status == 429, status == 502, status == 503, status == 504:
		return away
	}
	return refused
}

// State is what is done with the deliveries of a webhook. The numbers are stored.
type State int64

// The states.
const (
	Active   State = 1 // they are sent
	Parked   State = 2 // the endpoint is dead: one is sent now and then
	Paused   State = 3 // they wait, since a user said so
	Disabled State = 4 // none is planned any more: the endpoint was dead for DisableAfter, or said 410
)

var states = [...]string{Active: "ACTIVE", Parked: "PARKED", Paused: "PAUSED", Disabled: "DISABLED"}

func (s State) String() string { return states[s] }

// MarshalText writes the word.
func (s State) MarshalText() ([]byte, error) { return []byte(states[s]), nil }

// UnmarshalText reads the word, of a stored answer.
func (s *State) UnmarshalText(text []byte) error {
	*s = State(slices.Index(states[:], string(text)))
	return nil
}

// health is how an endpoint does.
type health struct {
	state   State
	reason  string          // of Parked, Paused and Disabled
	since   canonical.Stamp // of the state
	strikes int64           // rounds without a success since the last one with one
}

// result is what came of one try.
type result struct {
	verdict verdict
	first   bool // the delivery had not been refused before
	what    string
}

// settle is an endpoint after some tries at about the same time, and how long it is left alone.
func (h health) settle(results []result, now canonical.Stamp) (after health, pause time.Duration) {
	var ok, struck int64
	var last string
	var left, absent bool
	for _, r := range results {
		switch {
		case r.verdict == delivered:
			ok++
		case r.verdict == away, r.verdict == refused && (r.first || h.state == Parked):
			struck, last = struck+1, r.what
			absent = absent || r.verdict == away
		case r.verdict == gone:
			left = true
		}
	}
	after = h
	if h.state == Paused || h.state == Disabled {
		return after, 0
	}
	switch {
	case left:
		after.state, after.reason, after.since = Disabled, "the endpoint answered 410 Gone", now
		return after, 0
	case ok > 0:
		after.strikes = 0
		if after.state == Parked {
			after.state, after.reason, after.since = Active, "", now
		}
		if absent {
			pause = firstPause
		}
		return after, pause
	case struck == 0:
		return after, 0
	}
	after.strikes++
	switch {
	case after.state == Parked && now-after.since >= stamps(DisableAfter):
		after.state, after.since = Disabled, now
		after.reason = "the endpoint was dead for " + DisableAfter.String() + "; at last: " + last
	case after.state == Active && (struck >= ParkAfter || after.strikes >= ParkAfter):
		after.state, after.since, after.reason = Parked, now, last
	case after.state == Parked:
		after.reason = last
	}
	return after, pauseAfter(after.strikes)
}

// pauseAfter is how long an endpoint is left alone after some strikes, without jitter.
func pauseAfter(strikes int64) time.Duration {
	if strikes > 12 {
		return mostPause
	}
	return min(firstPause<<max(strikes-1, 0), mostPause)
}

// after is when a delivery that was refused so often is tried again; false: it is not.
func after(tries int64) (time.Duration, bool) {
	if tries < 1 || tries >= int64(MaxTries) {
		return 0, false
	}
	return waits[tries-1], true
}

// jitter is a duration, give or take a fifth.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(d/5*2)+1))
}

func stamps(d time.Duration) canonical.Stamp { return canonical.Stamp(d.Milliseconds()) }
