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
