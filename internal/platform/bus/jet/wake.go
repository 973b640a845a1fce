package jet

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"renga.dev/renga/internal/platform/fault"
)

// wakeSubject is where processes tell each other of ready tasks: plain messages
// that nobody stores, one subject per tenant. Who misses one finds the task by
// looking for it.
const wakeSubject = "renga.ready."

// Wake tells other processes that n tasks of a queue became ready. It does not wait,
// and nobody learns whether it arrived.
func (s *Server) Wake(tenant, queue string, n int) {
	_ = s.conn.Publish(wakeSubject+tenant, fmt.Appendf(nil, "%s %s %d", s.name, queue, n))
}

// OnWake calls fn, one call at a time, for what other processes tell with Wake.
func (s *Server) OnWake(fn func(tenant, queue string, n int)) error {
	_, err := s.conn.Subscribe(wakeSubject+"*", func(m *nats.Msg) {
		var from, queue string
		var n int
		if _, err := fmt.Sscanf(string(m.Data), "%s %s %d", &from, &queue, &n); err != nil || from == s.name || n < 1 {
			return
		}
		fn(m.Subject[len(wakeSubject):], queue, n)
	})
	return fault.Wrap("jet.wake", err)
}
