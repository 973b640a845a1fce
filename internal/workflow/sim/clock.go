package sim

import (
	"sync"
	"time"
)

// Clock is a clock that moves when it is told to, also back.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that shows an instant.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Move turns the clock forward, or back when d is negative.
func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// wrong is a clock that is off by some time, as those of other machines are.
type wrong struct {
	right *Clock
	by    time.Duration
}

// Now is what the wrong clock shows.
func (c wrong) Now() time.Time { return c.right.Now().Add(c.by) }
