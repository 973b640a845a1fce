package cli

import (
	"context"
	"time"

	"renga.dev/renga/client"
)

type messageCmd struct {
	Send messageSendCmd `cmd:"" help:"Send a message to the nodes that wait for it."`
	List messageListCmd `cmd:"" help:"List messages, and what became of them."`
	Show messageShowCmd `cmd:"" help:"Show a message, and what became of it."`
}

type messageSendCmd struct {
	Name    string `arg:"" help:"Name of the message, such as paid."`
	Key     string `placeholder:"KEY" help:"What it is about, such as the id of an order."`
	ID      string `placeholder:"ID" help:"Id of the message, for which it is delivered once; a new one unless given."`
	Payload string `placeholder:"JSON" help:"Payload: a JSON object, @FILE or - for standard input."`

	TTL time.Duration `name:"ttl" placeholder:"DURATION" help:"How long it is kept when nobody waits (24h)."`
	sending
}

func (messageSendCmd) Help() string {
	return `Every node that waits for the name and key is resumed, with the payload as its output. Where none waits, the
graphs whose Start asks for the name are started. Else the message is kept for nodes to come.

Examples:
  renga message send paid --key A-17 --id pay-4711 --payload '{"amount": 4200}'
  renga message send ordered --payload @order.json --ttl 72h`
}

func (c *messageSendCmd) Run(ctx context.Context, r *remote) error {
	payload, err := r.object("--payload", c.Payload)
	if err != nil {
		return err
	}
	m := client.SendMessage{Key: c.IdempotencyKey, MessageID: c.ID, Name: c.Name, MessageKey: c.Key}
	if payload != nil {
		m.Payload = payload
	}
	if c.TTL != 0 {
		m.TTL = c.TTL.String()
	}
	return show(r, printMessage)(r.Messages.Send(c.context(ctx), m))
}

func printMessage(p *printer, m *client.StoredMessage) {
	duplicate := ""
	if m.Duplicate {
		duplicate = "yes: this is what became of the first one"
	}
	p.pairs(
		"message", m.MessageID, "name", m.Name, "key", m.Key, "payload", inLine(m.Payload), "duplicate", duplicate,
		"state", status(m.State), "reason", m.Reason, "sender", m.Sender, "correlation", m.CorrelationID,
		"received", m.ReceivedAt, "expires", m.ExpiresAt, "decided", m.DecidedAt,
	)
	if len(m.Deliveries) > 0 {
		columns("EXECUTION, NODE, GRAPH, REFUSED", func(d *client.MessageDelivery) []any {
			return []any{d.ExecutionID, d.NodeID, d.GraphID, d.Reason}
		}).section(p, m.Deliveries)
	}
}

type messageListCmd struct {
	Name  string `placeholder:"NAME" help:"Only those of this name."`
	Key   string `placeholder:"KEY" help:"Only those of this key."`
	State string `placeholder:"STATE" help:"Only those in this state: KEPT, RESUMED, STARTED, REJECTED or EXPIRED."`
	paging
}

func (messageListCmd) Help() string {
	return `The newest come first. KEPT: nobody waited for it yet. REJECTED: no node that waited took its payload; show
says why. EXPIRED: its time to live ended first.

Examples:
  renga message list --state KEPT
  renga message list --name paid --key A-17`
}

func (c *messageListCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns(
		"MESSAGE, NAME, KEY, STATE, EXECUTIONS, RECEIVED, EXPIRES, DECIDED", func(m *client.StoredMessage) []any {
			n := 0
			for i := range m.Deliveries {
				if m.Deliveries[i].Reason == "" {
					n++
				}
			}
			return []any{
				m.MessageID, m.Name, m.Key, status(m.State), number(n), m.ReceivedAt, m.ExpiresAt, m.DecidedAt,
			}
		},
	))(r.Messages.List(ctx, client.MessageFilter{
		Name: c.Name, Key: c.Key, State: client.MessageState(c.State),
	}, c.at()))
}

type messageShowCmd struct {
	ID string `arg:"" help:"Id of the message."`
}

func (messageShowCmd) Help() string {
	return `Examples:
  renga message show pay-4711
  renga message show pay-4711 -o json | jq .deliveries`
}

func (c *messageShowCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printMessage)(r.Messages.Get(ctx, c.ID))
}
