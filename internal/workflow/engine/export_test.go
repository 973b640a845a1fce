package engine

import "renga.dev/renga/internal/workflow/flow"

// Spare is the engine of costly tenants.
func (s *Shards) Spare() *Engine { return s.all[s.own] }

// NewChanges gathers what is added.
func NewChanges() *Changes {
	return &Changes{wake: make(chan struct{}, 1), pending: map[flow.ID]Change{}}
}

// Add adds a change.
func (c *Changes) Add(one *Change) { c.add(one) }
