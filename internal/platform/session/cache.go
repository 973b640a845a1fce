package session

import (
	"sync"
	"time"
)

// The cache of sessions.
const (
	cacheFor  = 2 * time.Second // so long a process may take a session that another has ended
	maxCached = 10_000
)

// cache holds sessions that were looked up a moment ago. The zero value is empty.
type cache struct {
	mu   sync.Mutex
	rows map[key]cached
}

type cached struct {
	found
	until time.Time
}

func (c *cache) get(k key, now time.Time) (found, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.rows[k]
	left := r.until.Sub(now)
	fresh := ok && left > 0 && left <= cacheFor && now.Before(r.ends) && (r.due.IsZero() || now.Before(r.due))
	return r.found, fresh
}

func (c *cache) put(k key, f found, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil || len(c.rows) >= maxCached {
		c.rows = map[key]cached{}
	}
	c.rows[k] = cached{f, now.Add(cacheFor)}
}

func (c *cache) drop(k key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.rows, k)
}
