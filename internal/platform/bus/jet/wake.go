package jet

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"renga.dev/renga/internal/platform/fault"
)

// wakeSubject prefixes the subjects, one per tenant, where processes announce ready tasks: plain messages, not
// stored. Polling finds tasks whose message was lost.
const wakeSubject = "renga.ready."

// Wake tells other processes, without waiting, that n tasks of a queue are ready.
func (s *Server) Wake(tenant, queue string, n int) {
	_ = s.conn.Publish(wakeSubject+tenant, fmt.Appendf(nil, "%s %s %d", s.name, queue, n))
}

// OnWake calls fn for each Wake of other processes, one at a time.
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
