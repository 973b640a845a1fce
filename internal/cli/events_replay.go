package cli

import (
	"context"
	"fmt"
	"time"

	"renga.dev/renga/client"
)

// eventsReplayCmd is `renga events replay`.
type eventsReplayCmd struct {
	Consumer string `required:"" placeholder:"NAME" help:"The consumer that gets the events again."`
	From     string `required:"" placeholder:"TIME" help:"Announced at or after: an RFC 3339 time, a date, or how long ago (24h)."`
	To       string `placeholder:"TIME" help:"Announced before; without it, up to now."`
	NoWait   bool   `help:"Do not wait until it is done."`
	sending
}

// Help says what it is good for.
func (eventsReplayCmd) Help() string {
	return `Gives the tenant's events of a range of time to one consumer once more, from the outbox. What it has taken before has no second effect
(duplicate), and neither has what is older than the newest that it took of a key (stale): only what it never took is applied. The server
does the work; it goes on when this program is interrupted.

Examples:
  renga events replay --consumer search --from 24h
  renga events replay --consumer search --from 2026-01-05T09:00:00Z --to 2026-01-05T10:00:00Z --no-wait`
}

// Run asks for the replay and waits for its end.
func (c *eventsReplayCmd) Run(ctx context.Context, a *App) error {
	from, err := a.time("--from", c.From)
	if err != nil {
		return err
	}
	to, err := a.time("--to", c.To)
	if err != nil {
		return err
	}
	r, err := a.connect(watchPatience)
	if err != nil {
		return err
	}
	made, err := r.Replays.Start(c.context(ctx), client.StartReplay{
		Key: c.IdempotencyKey, Consumer: c.Consumer,
		From: from, To: to,
	})
	if err != nil {
		return err
	}
	if c.NoWait {
		return r.answer(func() error {
			return a.line("Started replay %s. See how far it is: renga events replays", made.ReplayID)
		})
	}
	bar := a.Bar("events", 0)
	defer bar.End()
	for {
		replay, err := r.Replays.Get(ctx, made.ReplayID)
		if err != nil {
			return err
		}
		n := replay.Counts
		bar.Set(n.Applied + n.Duplicate + n.Stale + n.Failed)
		if replay.Status != client.ReplayRunning {
			return r.answer(func() error { return a.showReplays([]client.Replay{*replay}) })
		}
		select {
		case <-time.After(bulkPoll):
		case <-ctx.Done():
			a.say("the server goes on; stop it with: renga events stop-replay %s", made.ReplayID)
			return ctx.Err()
		}
	}
}

func (a *App) showReplays(replays []client.Replay) error {
	var rows [][]string
	for i := range replays {
		p := &replays[i]
		n := &p.Counts
		rows = append(rows, []string{
			p.ReplayID, clean(p.Consumer), a.screen.status(string(p.Status)), instant(p.From), instant(p.To),
			fmt.Sprint(n.Applied), fmt.Sprint(n.Duplicate), fmt.Sprint(n.Stale), fmt.Sprint(n.Failed),
			actor(p.CreatedBy), instant(p.CreatedAt), instant(p.EndedAt),
		})
	}
	return a.grid([]string{
		"REPLAY", "CONSUMER", "STATUS", "FROM", "TO", "APPLIED", "DUPLICATE", "STALE", "FAILED",
		"BY", "CREATED", "ENDED",
	}, rows)
}

// eventsReplaysCmd is `renga events replays`.
type eventsReplaysCmd struct{ paging }

// Help shows an example.
func (eventsReplaysCmd) Help() string {
	return `Examples:
  renga events replays
  renga events replays -o json | jq '.items[] | select(.status == "RUNNING")'`
}

// Run prints a page.
func (c *eventsReplaysCmd) Run(ctx context.Context, a *App, r *remote) error {
	page, err := r.Replays.List(ctx, c.at())
	if err != nil {
		return err
	}
	return r.answer(func() error {
		err := a.showReplays(page.Items)
		a.more(&c.paging, len(page.Items), page.Total)
		return err
	})
}

// eventsStopReplayCmd is `renga events stop-replay`.
type eventsStopReplayCmd struct {
	ID string `arg:"" help:"Id of the replay."`
	sending
}

// Help shows an example.
func (eventsStopReplayCmd) Help() string {
	return `What was delivered stays so; the rest is not delivered.

Examples:
  renga events stop-replay 0199c1a3-5e5e-7000-8000-000000000001`
}

// Run stops it.
func (c *eventsStopReplayCmd) Run(ctx context.Context, a *App, r *remote) error {
	if _, err := r.Replays.Stop(c.context(ctx), client.ReplayOrder{Key: c.IdempotencyKey, ReplayID: c.ID}); err != nil {
		return err
	}
	replay, err := r.Replays.Get(ctx, c.ID)
	if err != nil {
		return err
	}
	return r.answer(func() error { return a.showReplays([]client.Replay{*replay}) })
}
