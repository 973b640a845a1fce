package messages

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// LateResult is the name of the messages that hand late results of a cancelled execution to the one which cleans up.
// Their key is the id of the cancelled one. Nobody else sends messages of this name.
const LateResult = "late-result"

// Late keeps a late result as a message, in the transaction that records it; the first of an attempt, if it is
// reported several times. committed is to be called after the commit.
func (m *Messages) Late(l *engine.Late) (stmt sqldb.Stmt, committed func(), err error) {
	payload, err := json.Marshal(l, json.Deterministic(true))
	if err != nil {
		return stmt, nil, fault.Wrap("messages.late", err)
	}
	of := flow.Awaited{Name: LateResult, Key: l.Execution.String()}
	late := Message{
		ID:   fmt.Sprintf("late:%s:%s:%d", of.Key, l.NodeID, l.Attempt),
		Name: of.Name, Key: of.Key, State: Kept, CorrelationID: l.CorrelationID, ReceivedAt: canonical.Stamp(l.At),
		ExpiresAt: canonical.Stamp(l.At) + canonical.Stamp(MaxTTL.Milliseconds()), Payload: payload,
	}
	return late.row(l.Tenant, "[]"), func() { m.Awaits(l.Tenant, of) }, nil
}
