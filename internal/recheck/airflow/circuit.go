package airflow

import (
	"errors"
	"sync"
	"time"
)

// errOpen is the answer to a call that is not made, since the circuit is open.
var errOpen = errors.New("airflow: not asked: the circuit is open")

// circuit is a breaker that many may use.
type circuit struct {
	mu      sync.Mutex
	breaker breaker
	last    time.Time // when something was last heard of Airflow, good or bad
	now     func() time.Time
	changed func(State) // told of every change between closed and not
}

// ask begins a call; end takes how it went. Without leave the error is errOpen.
func (c *circuit) ask() (end func(heard), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	era, ok := c.breaker.allow(c.now())
	if !ok {
		return nil, errOpen
	}
	return func(h heard) { c.end(era, h) }, nil
}

// heard is what a call says of Airflow's health.
type heard int

const (
	nothing heard = iota // the caller went away
	alive                // it answered, whatever it said
	dead                 // it did not answer, or nothing that makes sense
)

func (c *circuit) end(era int, h heard) {
	c.mu.Lock()
	now, before := c.now(), c.breaker.state
	if h == nothing {
		c.breaker.abandon(era, now)
	} else {
		c.last = now
		c.breaker.done(era, now, h == alive)
	}
	after := c.breaker.state
	c.mu.Unlock()
	if before != after && (before == Closed || after == Closed) {
		c.changed(after)
	}
}

func (c *circuit) state() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.breaker.state
}

// silent is how long nothing has been heard, and whether a failure came last.
func (c *circuit) silent() (since time.Duration, failing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now().Sub(c.last), c.breaker.failed > 0
}

// due says whether the circuit is open and may be probed now.
func (c *circuit) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.breaker.state == Open && !c.now().Before(c.breaker.until)
}
