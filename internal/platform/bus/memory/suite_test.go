package memory_test

import (
	"testing"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/bustest"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/events"
)

func TestTheSuiteOfCarriers(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bustest.System {
		t.Parallel()
		return &system{c: memory.New()}
	})
}

// system is the carrier in memory, as the suite wants it.
type system struct {
	c     *memory.Carrier
	saved uint64
}

func (s *system) Carrier() bus.Carrier                                 { return s.c }
func (s *system) Restart(*testing.T)                                   { s.c.Leave(); s.c.Return() }
func (s *system) Delete(_ *testing.T, st events.Stream)                { s.c.Lose(st) }
func (s *system) Expire(_ *testing.T, st events.Stream, before uint64) { s.c.Expire(st, before) }

func (s *system) Save(t *testing.T) bool {
	s.saved = ensure(t, s.c).Last
	return true
}

func (s *system) Restore(t *testing.T) bool {
	s.c.Truncate(events.Events, int(ensure(t, s.c).Last-s.saved))
	return true
}
