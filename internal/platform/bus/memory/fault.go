package memory

import (
	"slices"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
)

// Lose deletes a stream; the next Ensure makes an empty one.
func (c *Carrier) Lose(s events.Stream) {
	c.change(func() { delete(c.streams, s) })
}

// Truncate loses the newest n messages, like a server that crashes before a sync. Sequences are reused; Connections
// rises.
func (c *Carrier) Truncate(s events.Stream, n int) {
	c.change(func() {
		c.connections++
		st := c.streams[s]
		keep := max(0, len(st.msgs)-n)
		for _, m := range st.msgs[keep:] {
			delete(st.ids, id{m.ID, m.Relay.Epoch})
			st.last = min(st.last, m.Seq-1)
		}
		st.msgs = st.msgs[:keep:keep]
		st.cuts = append(st.cuts, st.last)
	})
}

// Expire drops the messages before a sequence, like age.
func (c *Carrier) Expire(s events.Stream, before uint64) {
	c.change(func() {
		st := c.streams[s]
		st.first = max(st.first, min(before, st.last+1))
		st.msgs = slices.DeleteFunc(st.msgs, func(m bus.Message) bool { return m.Seq < st.first })
	})
}

// EndDedupeWindow makes a stream store duplicates.
func (c *Carrier) EndDedupeWindow(s events.Stream) {
	c.change(func() { clear(c.streams[s].ids) })
}

// Leave makes everything Unavailable until Return.
func (c *Carrier) Leave() {
	c.change(func() { c.away = true })
}

// Return ends Leave. Connections rises.
func (c *Carrier) Return() {
	c.change(func() { c.away = false; c.connections++ })
}

func (c *Carrier) change(fn func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fn()
	c.broadcast()
}
