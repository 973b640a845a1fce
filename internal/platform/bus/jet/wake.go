package jet

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"renga.dev/renga/internal/platform/fault"
)

// wakeSubject is where processes notify each other of ready tasks: plain messages that are not stored, one subject per
// tenant. A process that misses one finds the task by polling.
const wakeSubject = "renga.ready."

// Wake notifies other processes that n tasks of a queue became ready. It does not wait, and does not learn whether it
// arrived.
func (s *Server) Wake(tenant, queue string, n int) {
	_ = s.conn.Publish(wakeSubject+tenant, fmt.Appendf(nil, "%s %s %d", s.name, queue, n))
}

// OnWake calls fn, one call at a time, for the notifications of other processes.
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
