package gate

import (
	"sync"
	"time"
)

// maxClients is how many clients a limiter remembers at a time.
const maxClients = 100_000

// Rate is a limit per client: Limit calls per Per, all of them at once if need be.
type Rate struct {
	Limit int
	Per   time.Duration
}

func (r Rate) interval() time.Duration { return r.Per / time.Duration(r.Limit) }

// full is the time that a quota takes to fill.
func (r Rate) full() time.Duration { return r.interval() * time.Duration(r.Limit) }

// limit holds the rate of a class.
type limit interface {
	// admit asks for one call of a client.
	admit(client string, now time.Time) allowance
	limits() Rate
}

// limiter is GCRA: a client's theoretical arrival time moves on by one interval
// per call and may be at most a full quota ahead of now.
type limiter struct {
	rate     Rate
	interval time.Duration
	mu       sync.Mutex
	arrivals map[string]time.Time
}

// allowance is what a limiter says about one call.
type allowance struct {
	ok        bool
	remaining int           // calls left now
	reset     time.Duration // until the full quota is there again
	retry     time.Duration // until the next call is let in; with !ok
}

func newLimiter(rate Rate) *limiter {
	return &limiter{rate: rate, interval: rate.interval(), arrivals: map[string]time.Time{}}
}

func (l *limiter) limits() Rate { return l.rate }

// admit asks for one call of a client.
func (l *limiter) admit(client string, now time.Time) allowance {
	l.mu.Lock()
	defer l.mu.Unlock()
	arrival := l.arrivals[client]
	if arrival.Before(now) {
		arrival = now
	}
	full := l.interval * time.Duration(l.rate.Limit)
	next := arrival.Add(l.interval)
	if ahead := next.Sub(now); ahead > full {
		return allowance{reset: arrival.Sub(now), retry: ahead - full}
	}
	if _, known := l.arrivals[client]; !known && len(l.arrivals) >= maxClients {
		l.dropIdle(now)
	}
	l.arrivals[client] = next
	ahead := next.Sub(now)
	return allowance{ok: true, remaining: int((full - ahead) / l.interval), reset: ahead}
}

// raise moves a client's arrival up to a time, if it is earlier: so much of the quota
// was used elsewhere.
func (l *limiter) raise(client string, arrival time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.arrivals[client]; ok && known.Before(arrival) || !ok && len(l.arrivals) < maxClients {
		l.arrivals[client] = arrival
	}
}

// dropIdle drops the clients that have their full quota again and, when there are
// none, an arbitrary tenth.
func (l *limiter) dropIdle(now time.Time) {
	for client, arrival := range l.arrivals {
		if !arrival.After(now) {
			delete(l.arrivals, client)
		}
	}
	for client := range l.arrivals {
		if len(l.arrivals) < maxClients*9/10 {
			return
		}
		delete(l.arrivals, client)
	}
}
