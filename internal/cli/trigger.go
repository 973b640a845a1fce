package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"time"

	"renga.dev/renga/client"
)

type triggerCmd struct {
	Apply  triggerApplyCmd  `cmd:"" help:"Store triggers."`
	List   triggerListCmd   `cmd:"" help:"List triggers."`
	Show   triggerShowCmd   `cmd:"" help:"Show a trigger, without its secret."`
	Send   triggerSendCmd   `cmd:"" help:"Post an event to a trigger, which starts an execution once."`
	Delete triggerDeleteCmd `cmd:"" help:"Delete a trigger; its executions go on."`
}

type triggerApplyCmd struct {
	Files []string `name:"file" short:"f" required:"" placeholder:"FILE"`
	ID    string   `                                  placeholder:"NAME" help:"Id of the trigger; ${file_id}"`
}

func (triggerApplyCmd) Help() string {
	return `A trigger starts an execution of the newest version of a graph for each event that is posted to it.

  {"graph": "order", "when": "body.type == \"placed\"", "key": "body.id", "once": "key",
   "input": {"orderId": "body.order.id", "total": "body.order.total"}, "secret": "at least 16 characters"}

graph is required. Expressions see the event: body and headers. when says which events count, input what the execution
gets (by default the body), key what makes two events the same one (by default the idempotency key of the header), once
how long that holds: key (as long as the key is remembered), day or month. Senders show the secret; without the member
it stays as it is, and null takes it away.

Examples:
  renga trigger apply -f orders.json
  renga trigger apply --id orders -f - < trigger.json`
}

func (c *triggerApplyCmd) Run(ctx context.Context, r *remote) error {
	t := columns("TRIGGER, CHANGE, GRAPH, ONCE, SECRET", func(d *appliedFile[client.StoredTrigger]) []any {
		return []any{d.Stored.ID, d.Change, d.Stored.Graph, d.Stored.Once, secretOf(d.Stored)}
	})
	return applyFiles(ctx, r, "trigger", c.Files, c.ID, r.Triggers, t, func(s *client.StoredTrigger) time.Time {
		return s.UpdatedAt
	})
}

// secretOf says whether a trigger has a secret.
func secretOf(t *client.StoredTrigger) string {
	if t.HasSecret {
		return "yes"
	}
	return "no"
}

type triggerListCmd struct{ paging }

func (triggerListCmd) Help() string {
	return `Examples:
  renga trigger list
  renga trigger list -o json | jq -r '.items[] | select(.hasSecret | not) | .id'`
}

func (c *triggerListCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, columns("TRIGGER, GRAPH, WHEN, KEY, ONCE, SECRET, CHANGED",
		func(t *client.StoredTrigger) []any {
			return []any{t.ID, t.Graph, t.When, t.Key, t.Once, secretOf(t), t.UpdatedAt}
		}))(r.Triggers.List(ctx, c.at()))
}

type triggerID struct {
	ID string `arg:"" help:"Id of the trigger."`
}

type triggerShowCmd struct{ triggerID }

func (triggerShowCmd) Help() string {
	return `Examples:
  renga trigger show orders
  renga trigger show orders -o json`
}

func (c *triggerShowCmd) Run(ctx context.Context, r *remote) error {
	return show(r, func(p *printer, t *client.StoredTrigger) {
		input := "the body"
		if len(t.Input) > 0 {
			var members []string
			for _, name := range slices.Sorted(maps.Keys(t.Input)) {
				members = append(members, name+"="+t.Input[name])
			}
			input = strings.Join(members, " ")
		}
		p.pairs(
			"trigger", t.ID, "graph", t.Graph, "when", t.When, "input", input,
			"key", cmp.Or(t.Key, "that of the header"), "once", t.Once, "secret", secretOf(t), "created", t.CreatedAt,
			"changed", t.UpdatedAt,
		)
	})(r.Triggers.Get(ctx, c.ID))
}

type triggerSendCmd struct {
	triggerID
	File          string `short:"f" required:"" placeholder:"FILE"`
	Key           string `                      placeholder:"KEY" xor:"key"`
	NoKey         bool   `                                        xor:"key"`
	Secret        string `                      placeholder:"SECRET" env:"RENGA_TRIGGER_SECRET"`
	CorrelationID string `                      placeholder:"ID"`
}

func (triggerSendCmd) Help() string {
	return `However often an event is sent under one key, one execution starts, and every answer names it. The exit
code is 0 when one was started or the condition of the trigger does not hold, and 13 when the key had started it before.
A trigger with once day or month and without keys of its own wants --no-key: then the first event of each starts one.

Examples:
  renga trigger send orders -f event.json
  echo '{"id": "evt-1", "type": "placed"}' | RENGA_TRIGGER_SECRET=… renga trigger send orders -f -`
}

func (c *triggerSendCmd) Run(ctx context.Context, r *remote) error {
	raw, err := r.read(c.File)
	if err != nil {
		return err
	}
	s := sending{IdempotencyKey: c.Key, CorrelationID: c.CorrelationID}
	if err := s.Validate(); err != nil {
		return usage("%v", err)
	}
	event := client.TriggerEvent{Body: raw, Key: c.Key, NoKey: c.NoKey, Secret: c.Secret}
	if !c.NoKey {
		event.Key = cmp.Or(c.Key, rand.Text())
	}
	answer, err := r.Triggers.Send(s.context(ctx), c.ID, event)
	if err != nil {
		return r.unsent(event.Key, err)
	}
	err = r.answer(func(p *printer) {
		what := "started"
		switch {
		case answer.Duplicate && answer.Key == "":
			what = "duplicate: another event had started this execution before"
		case answer.Duplicate:
			what = "duplicate: the key had started this execution before"
		case !answer.Triggered:
			what = "not asked for: the condition of the trigger does not hold"
		}
		p.pairs(
			"event", what, "execution", answer.ExecutionID, "trigger", answer.TriggerID, "graph", answer.GraphID,
			"key", answer.Key,
		)
	})
	if err == nil && answer.Duplicate {
		return ended(exitDuplicate)
	}
	return err
}

type triggerDeleteCmd struct{ triggerID }

func (triggerDeleteCmd) Help() string {
	return `Its executions go on, and its keys are remembered as long as before.

Examples:
  renga trigger delete orders`
}

func (c *triggerDeleteCmd) Run(ctx context.Context, r *remote) error {
	if err := r.Triggers.Delete(ctx, c.ID); err != nil {
		return err
	}
	return r.did(map[string]any{"id": c.ID, "deleted": true}, "Deleted trigger %s.", c.ID)
}
