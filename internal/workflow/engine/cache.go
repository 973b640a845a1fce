package engine

import "renga.dev/renga/internal/workflow/flow"

// cache holds the entries that were used last, up to a number of bytes. Only the loop touches it. An
// entry equals the committed log, except while a commit that changes it is in the making.
type cache struct {
	byID  map[flow.ID]*entry
	byNum map[int64]*entry
	list  entry // ring: list.next is the most, list.prev the least recently used
	bytes int
	max   int
}

func newCache(max int) *cache {
	c := &cache{byID: map[flow.ID]*entry{}, byNum: map[int64]*entry{}, max: max}
	c.list.next, c.list.prev = &c.list, &c.list
	return c
}

func (c *cache) get(id flow.ID) *entry { return c.byID[id] }

// keep puts an entry in front after a commit and makes room for it.
func (c *cache) keep(e *entry) {
	id := e.state.Execution
	if old := c.byID[id]; old != nil {
		c.drop(id)
	}
	e.size, e.plan = e.weight(), nil // plans are kept elsewhere, and may be large
	c.bytes += e.size
	c.byID[id], c.byNum[e.num] = e, e
	e.prev, e.next = &c.list, c.list.next
	e.prev.next, e.next.prev = e, e
	for c.bytes > c.max && c.list.prev != e {
		c.drop(c.list.prev.state.Execution)
	}
}

func (c *cache) drop(id flow.ID) {
	e := c.byID[id]
	if e == nil {
		return
	}
	delete(c.byID, id)
	delete(c.byNum, e.num)
	c.bytes -= e.size
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
}
