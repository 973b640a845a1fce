package automation

import "context"

// Step does some of what there is to do, for tests.
func (s *Automation) Step(ctx context.Context) (worked bool, err error) { return s.step(ctx) }

// Retain deletes what was kept long enough, for tests.
func (s *Automation) Retain(ctx context.Context) error { return s.retain(ctx) }

// SetChunk is how many records of a job are done in one transaction, for tests.
func (s *Automation) SetChunk(n int) { s.cfg.chunk = n }
