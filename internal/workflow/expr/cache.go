package expr

import (
	"sync"

	"cel.dev/cel-go/cel"

	"renga.dev/renga/internal/platform/fault"
)

// maxCached is how many programs of one kind are kept, at least the half of them the
// most recently used ones.
const maxCached = 2_048

var whenCache, gateCache cache

// cache keeps compiled programs by their source: thousands of graphs share a few
// expressions. It has two generations; when the young one is full the old one goes.
type cache struct {
	values     bool // of its programs are of any type, not true or false alone
	mu         sync.Mutex
	young, old map[string]*Program
}

// get gives the program of a source and compiles it when it is not known. Two that
// ask at the same time may both compile.
func (c *cache) get(src string, env func() (*cel.Env, error)) (*Program, error) {
	if p := c.find(src); p != nil {
		return p, nil
	}
	e, err := env()
	if err != nil {
		return nil, fault.Wrap("expr.env", err)
	}
	p, err := compile(src, e, c.values)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(src, p)
	return p, nil
}

func (c *cache) find(src string) *Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.young[src]; p != nil {
		return p
	}
	p := c.old[src]
	if p != nil {
		c.put(src, p)
	}
	return p
}

func (c *cache) put(src string, p *Program) {
	if len(c.young) >= maxCached/2 {
		c.old, c.young = c.young, nil
	}
	if c.young == nil {
		c.young = make(map[string]*Program)
	}
	c.young[src] = p
}
