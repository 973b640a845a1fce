package httpapi

import (
	"time"

	"renga.dev/renga/internal/workflow/flow"
)

// slowFrame is how long a frame of a stream may take from the wake to the client until the log
// says why.
const slowFrame = time.Second

// pace is where the time of one round of a stream went.
type pace struct {
	idle   time.Time // since when it waited to be woken
	began  time.Time // when it was woken; zero: it catches up with what was there before
	read   time.Duration
	wrote  time.Duration
	oldest flow.Time // the first event that was sent; 0: none
}

// held is what held up the events of a round: reading them, the client, or a wake that came late
// after the decision; "" when nothing did.
func (p pace) held(now time.Time) string {
	switch {
	case p.oldest == 0 || p.began.IsZero():
		return ""
	case p.began.Sub(p.oldest.Std()) > slowFrame && p.began.Sub(p.idle) > slowFrame:
		return "wake"
	case now.Sub(p.began) <= slowFrame:
		return ""
	case p.read > p.wrote:
		return "read"
	}
	return "client"
}

// explain counts and logs a round whose events were held up.
func (s *follower) explain() {
	now := time.Now()
	reason := s.pace.held(now)
	if reason == "" {
		return
	}
	s.stalled()
	log := s.log
	if s.id != (flow.ID{}) { // else it carries the events of a tenant
		log = log.With("executionId", s.id.String())
	}
	log.Warn("a stream frame was held up", "reason", reason, "ms", now.Sub(s.pace.began).Milliseconds(),
		"tenant", s.tenant, "readMs", s.pace.read.Milliseconds(), "clientMs", s.pace.wrote.Milliseconds())
}
