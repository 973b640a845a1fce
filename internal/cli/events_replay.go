package cli

import (
	"context"

	"renga.dev/renga/client"
)

type eventsReplayCmd struct {
	Consumer string `required:"" placeholder:"NAME" help:"The consumer that gets the events again."`
	From     string `required:"" placeholder:"TIME" help:"Announced at or after: ${time}."`
	To       string `placeholder:"TIME" help:"Announced before; without it, up to now."`
	NoWait   bool   `help:"Do not wait until it is done."`
	sending
}

func (eventsReplayCmd) Help() string {
	return `Gives the tenant's events of a range of time to one consumer once more, from the outbox. What it has taken
before has no second effect (duplicate), and neither has what is older than the newest that it took of a key (stale):
only what it never took is applied. The server does the work; it goes on when this program is interrupted.

Examples:
  renga events replay --consumer search --from 24h
  renga events replay --consumer search --from 2026-01-05T09:00:00Z --to 2026-01-05T10:00:00Z --no-wait`
}

func (c *eventsReplayCmd) Run(ctx context.Context, r *remote) error {
	from, to, err := r.times("--from", c.From, "--to", c.To)
	if err != nil {
		return err
	}
	r = r.patient()
	order := client.StartReplay{Key: c.IdempotencyKey, Consumer: c.Consumer, From: from, To: to}
	made, err := r.Replays.Start(c.context(ctx), order)
	if err != nil {
		return err
	}
	if c.NoWait {
		return r.answer(func(p *printer) {
			p.line("Started replay %s. See how far it is: renga events replays", made.ReplayID)
		})
	}
	replay, err := poll(ctx, r.App, polling[*client.Replay]{
		what: "events", most: pollEvery,
		read: func() (*client.Replay, error) { return r.Replays.Get(ctx, made.ReplayID) },
		far: func(one *client.Replay) (done, total int, ended bool) {
			n := one.Counts
			return n.Applied + n.Duplicate + n.Stale + n.Failed, 0, one.Status != client.ReplayRunning
		},
	})
	if replay != nil && ctx.Err() != nil {
		r.say("the server goes on; stop it with: renga events stop-replay %s", made.ReplayID)
	}
	return show(r, printReplay)(replay, err)
}

var replays = columns(
	"REPLAY, CONSUMER, STATUS, FROM, TO, APPLIED, DUPLICATE, STALE, FAILED, BY, CREATED, ENDED",
	func(one *client.Replay) []any {
		n := &one.Counts
		return []any{
			one.ReplayID, one.Consumer, status(one.Status), one.From, one.To, n.Applied, n.Duplicate, n.Stale, n.Failed,
			one.CreatedBy, one.CreatedAt, one.EndedAt,
		}
	},
)

func printReplay(p *printer, one *client.Replay) { replays.print(p, []client.Replay{*one}) }

type eventsReplaysCmd struct{ paging }

func (eventsReplaysCmd) Help() string {
	return `Examples:
  renga events replays
  renga events replays -o json | jq '.items[] | select(.status == "RUNNING")'`
}

func (c *eventsReplaysCmd) Run(ctx context.Context, r *remote) error {
	return tabulate(r, &c.paging, replays)(r.Replays.List(ctx, c.at()))
}

type eventsStopReplayCmd struct {
	ID string `arg:"" help:"Id of the replay."`
	sending
}

func (eventsStopReplayCmd) Help() string {
	return `What was delivered stays so; the rest is not delivered.

Examples:
  renga events stop-replay 0199c1a3-5e5e-7000-8000-000000000001`
}

func (c *eventsStopReplayCmd) Run(ctx context.Context, r *remote) error {
	if _, err := r.Replays.Stop(c.context(ctx), client.ReplayOrder{Key: c.IdempotencyKey, ReplayID: c.ID}); err != nil {
		return err
	}
	return show(r, printReplay)(r.Replays.Get(ctx, c.ID))
}
