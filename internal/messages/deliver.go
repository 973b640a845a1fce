package messages

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// errChanged says that what a delivery went by has changed: the nodes wait no longer, or somebody else has delivered
// the message.
var errChanged = errors.New("messages: what the delivery went by has changed")

// delivery is a message on its way to those who take it: nodes that wait or, where none does, graphs.
type delivery struct {
	Message
	m      *Messages
	tenant string
	fresh  bool // it is being sent: graphs may be started by it
	nodes  []engine.AwaitingNode
	graphs []string
}

// idle reports whether nobody takes the message.
func (d *delivery) idle() bool { return len(d.nodes)+len(d.graphs) == 0 }

// find reads who takes the message.
func (d *delivery) find(ctx context.Context, tx *sqldb.Tx) (err error) {
	d.nodes, err = d.m.cfg.Awaiting(ctx, tx, d.tenant, d.awaited(), MaxNodes)
	if err == nil && d.fresh && len(d.nodes) == 0 {
		d.graphs, err = d.m.cfg.Subscribed(ctx, tx, d.tenant, d.Name, MaxStarted)
	}
	return err
}

// commands are what the message does.
func (d *delivery) commands() (all []engine.Request) {
	actor := flow.Actor{Kind: flow.KindSystem, ID: "message:" + d.ID}
	for _, n := range d.nodes {
		all = append(all, engine.Request{
			Tenant: d.tenant, Execution: n.Execution, Actor: actor,
			Command: flow.Resume{
				Node: n.Node, Output: d.Payload, Message: &flow.Received{ID: d.ID, Awaited: d.awaited()},
			},
		})
	}
	for _, graph := range d.graphs {
		all = append(all, engine.Request{
			Tenant: d.tenant, GraphID: graph, Start: true, Command: flow.Create{Input: d.Payload}, Actor: actor,
			CorrelationID: d.CorrelationID,
		})
	}
	return all
}

// do runs the commands of a message and what stores it, in one transaction. What makes a graph refuse to start rejects
// the message.
func (d *delivery) do(ctx context.Context, store sqldb.Func) error {
	if d.idle() {
		return d.m.write(ctx, "keep", store)
	}
	_, err := d.m.cfg.Engine.Do(context.WithoutCancel(ctx), engine.Unit{
		Commands: d.commands(),
		After: func(ctx context.Context, tx *sqldb.Tx, results []engine.Result) error {
			now, err := d.m.now(ctx, tx)
			if err != nil {
				return err
			}
			if err := d.settle(results, now); err != nil {
				return err
			}
			return store(ctx, tx)
		},
	})
	if len(d.graphs) == 0 || errors.Is(err, errChanged) || !refused(err) {
		return fault.Wrap("messages.deliver", err)
	}
	d.State, d.DecidedAt, d.Deliveries, d.graphs = Rejected, d.ReceivedAt, nil, nil
	d.Reason = reasonOf(err)
	return d.m.write(ctx, "reject", store)
}

// refused reports whether an error is a fault of the message or of what it starts, not of the server.
func refused(err error) bool {
	kind := fault.KindOf(err)
	return err != nil && kind != fault.Internal && kind != fault.Conflict && !fault.Passes(err)
}

func reasonOf(err error) string {
	text := err.Error()
	if failure, ok := fault.As(err); ok {
		text = failure.Message
	}
	return clip(text)
}

// clip cuts a reason to what is stored.
func clip(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}

// settle says what became of the message by what its commands did. errChanged: nobody waits any more.
func (d *delivery) settle(results []engine.Result, now canonical.Stamp) error {
	d.State, d.DecidedAt, d.Deliveries, d.Reason = Rejected, now, nil, ""
	for i := range results {
		ans := &results[i].Answer
		to := Delivery{ExecutionID: ans.Execution.String()}
		if i < len(d.nodes) {
			to.NodeID = d.nodes[i].Node
		} else {
			to.GraphID = d.graphs[i-len(d.nodes)]
		}
		switch {
		case ans.Refused == nil && to.GraphID != "":
			d.State = Started
		case ans.Refused == nil:
			d.State = Resumed
		case ans.Refused.Guard == flow.GuardMessage:
			to.Reason = clip(ans.Refused.Reason)
			d.Reason = to.Reason
		default:
			continue // cancelled, resumed by somebody, timed out
		}
		d.Deliveries = append(d.Deliveries, to)
	}
	if len(d.Deliveries) == 0 {
		return errChanged
	}
	if d.State != Rejected {
		d.Reason = ""
	}
	return nil
}

// deliver delivers the messages that are kept for some nodes, the oldest first, as long as nodes wait for them.
func (m *Messages) deliver(ctx context.Context, of awaited) error {
	for range maxLooks {
		d, err := m.next(ctx, of)
		if err != nil || d == nil {
			return err
		}
		if err := d.do(ctx, d.taken); err != nil && !errors.Is(err, errChanged) {
			return err
		}
	}
	m.Awaits(of.tenant, of.Awaited) // others first
	return nil
}

// next is the oldest message that is kept for nodes which wait; nil when there is none, or no node.
func (m *Messages) next(ctx context.Context, of awaited) (d *delivery, err error) {
	err = m.read(ctx, "next", func(ctx context.Context, tx *sqldb.Tx) error {
		d = nil
		now, err := m.now(ctx, tx)
		if err != nil {
			return err
		}
		kept, err := oldest(ctx, tx, of.tenant, of.Awaited, now)
		if err != nil || kept == nil {
			return err
		}
		found := &delivery{Message: *kept, m: m, tenant: of.tenant}
		if err := found.find(ctx, tx); err != nil || found.idle() {
			return err
		}
		d = found
		return nil
	})
	return d, err
}

// oldest is the oldest message that is kept with a name and a key; nil: none is.
func oldest(
	ctx context.Context, tx *sqldb.Tx, tenant string, of flow.Awaited, now canonical.Stamp,
) (*Message, error) {
	kept, err := scanWhole(tx.Row(ctx, `SELECT `+columns+`, payload FROM messages_message
		WHERE tenant_id = $1 AND name = $2 AND key = $3 AND state = 1 AND expires_at > $4
		ORDER BY received_at, id LIMIT 1`, tenant, of.Name, of.Key, now))
	if errors.Is(err, sqldb.ErrNoRow) {
		return nil, nil
	}
	return &kept, err
}

// taken stores what became of a message that was kept, unless somebody else has.
func (d *delivery) taken(ctx context.Context, tx *sqldb.Tx) error {
	deliveries, err := d.outcome()
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `UPDATE messages_message SET state = $3, deliveries = $4, reason = $5, decided_at = $6
		WHERE tenant_id = $1 AND id = $2 AND state = 1 AND expires_at > $6`,
		d.tenant, d.ID, d.State, deliveries, d.Reason, d.DecidedAt)
	if err == nil && n == 0 {
		err = errChanged
	}
	return err
}

func fromJSON(raw []byte, into any) error { return json.Unmarshal(raw, into) }
