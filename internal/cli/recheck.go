package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/client"
)

// recheckCmd is `renga recheck`.
type recheckCmd struct {
	Run    recheckRunCmd    `cmd:"" help:"Re-check some strategies."`
	All    recheckAllCmd    `cmd:"" help:"Re-check all strategies that match a filter."`
	Show   recheckShowCmd   `cmd:"" help:"Show a request and its progress."`
	Watch  recheckWatchCmd  `cmd:"" help:"Follow a request until it has ended."`
	Cancel recheckCancelCmd `cmd:"" help:"Cancel a request."`
}

// recheckOrder is what both kinds of requests ask for.
type recheckOrder struct {
	Lookback  int    `default:"0" placeholder:"DAYS" help:"Look so many days back, 1 to 180."`
	From      string `placeholder:"TIME" help:"Look from this time on, in RFC 3339; with --to, in place of --lookback."`
	To        string `placeholder:"TIME" help:"And up to this one."`
	Reason    string `required:"" placeholder:"TEXT" help:"Why, at most 64 characters."`
	DryRun    bool   `help:"Put the plan down and run nothing."`
	Params    string `placeholder:"JSON" help:"Parameters for the workers: a JSON object, @FILE or -."`
	BatchSize int    `default:"0" placeholder:"N" help:"So many strategies are checked at a time, 1 to 100 (25)."`
	TraceID   string `placeholder:"ID" help:"A name for your logs."`
	Wait      bool   `short:"w" help:"Follow it until it has ended."`
	Quiet     bool   `help:"Print the id of the request alone."`
	sending
}

// order is the request as the client sends it.
func (o *recheckOrder) order(a *App) (client.RecheckOrder, error) {
	out := client.RecheckOrder{
		Key: o.IdempotencyKey, Reason: o.Reason, DryRun: o.DryRun, BatchSize: o.BatchSize, TraceID: o.TraceID,
		Window: client.RecheckWindow{LookbackDays: o.Lookback},
	}
	if o.Lookback == 0 && o.From == "" && o.To == "" {
		return out, usage("say which time it looks at: --lookback DAYS, or --from and --to")
	}
	for _, given := range []struct {
		flag, text string
		into       **time.Time
	}{{"--from", o.From, &out.Window.From}, {"--to", o.To, &out.Window.To}} {
		if given.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, given.text)
		if err != nil {
			return out, usage("%s must be an RFC 3339 time, such as 2026-01-05T09:00:00Z", given.flag)
		}
		*given.into = &at
	}
	params, err := a.object("--params", o.Params)
	out.Params = []byte(params)
	return out, err
}

// recheckRunCmd is `renga recheck run`.
type recheckRunCmd struct {
	Strategies []string `arg:"" help:"Ids of the strategies, at most 50."`
	recheckOrder
}

// Help shows examples.
func (recheckRunCmd) Help() string {
	return `The strategies are checked by workers of the queue pdca.recheck. With --auth jwt this needs a token of the audience pdca with the
scope pdca:recheck. With --wait the exit code is 1 when a strategy failed or was cancelled.

Examples:
  renga recheck run strat.meanrev.m1 strat.momentum.h1 --lookback 14 --reason manual --wait
  renga recheck run strat.meanrev.m1 --from 2026-01-01T00:00:00Z --to 2026-01-05T00:00:00Z --reason audit --dry-run`
}

// Run asks for it.
func (c *recheckRunCmd) Run(ctx context.Context, a *App) error {
	return c.ask(ctx, a, func(ctx context.Context, r *remote, o client.RecheckOrder) (*client.RecheckAccepted, error) {
		return r.Rechecks.Request(ctx, c.Strategies, o)
	})
}

// recheckAllCmd is `renga recheck all`.
type recheckAllCmd struct {
	Text   string          `name:"text" short:"q" placeholder:"TEXT" help:"Part of the id or the name."`
	Tag    []string        `placeholder:"TAG" help:"Has one of these tags."`
	Health []client.Health `enum:"healthy,degraded,unknown" placeholder:"HEALTH" help:"Is one of these: healthy, degraded, unknown."`
	recheckOrder
}

// Help shows examples.
func (recheckAllCmd) Help() string {
	return `Without a filter all strategies are checked again, at most 5,000. With --auth jwt this needs a token of the audience pdca with the
scope pdca:recheck_all.

Examples:
  renga recheck all --tag daily --health unknown --lookback 7 --reason daily-bulk --wait
  renga recheck all --lookback 30 --reason month-end --batch-size 50 --dry-run`
}

// Run asks for it.
func (c *recheckAllCmd) Run(ctx context.Context, a *App) error {
	return c.ask(ctx, a, func(ctx context.Context, r *remote, o client.RecheckOrder) (*client.RecheckAccepted, error) {
		return r.Rechecks.RequestAll(ctx, client.RecheckFilter{Text: c.Text, TagsAny: c.Tag, Health: c.Health}, o)
	})
}

// ask sends a request and, if that is wanted, follows it.
func (o *recheckOrder) ask(
	ctx context.Context, a *App, send func(context.Context, *remote, client.RecheckOrder) (*client.RecheckAccepted,
		error),
) error {
	order, err := o.order(a)
	if err != nil {
		return err
	}
	r, err := a.connect(retryFor)
	if err != nil {
		return err
	}
	ctx = o.context(ctx)
	got, err := send(ctx, r, order)
	if err != nil {
		return err
	}
	if o.Wait {
		return r.followRecheck(ctx, got.RequestID)
	}
	return r.answer(func() error {
		if o.Quiet {
			return a.line("%s", got.RequestID)
		}
		return a.line("Request %s is %s, with %s. See how far it is: renga recheck watch %s",
			got.RequestID, got.Status, count(got.Total, "strategy", "strategies"), got.RequestID)
	})
}

// recheckShowCmd is `renga recheck show`.
type recheckShowCmd struct {
	ID     string   `arg:"" help:"Id of the request."`
	Status []string `enum:"queued,running,succeeded,failed,canceled,planned" placeholder:"STATUS" help:"Only strategies in one of these: queued, running, succeeded, failed, canceled, planned."`
	paging
}

// Help shows examples.
func (recheckShowCmd) Help() string {
	return `Examples:
  renga recheck show 01KA6C0V9E6XK2Y5W8R4T7N3QZ
  renga recheck show 01KA6C0V9E6XK2Y5W8R4T7N3QZ --status failed -o json | jq -r '.items[].strategy'`
}

// Run shows the request and a page of its strategies.
func (c *recheckShowCmd) Run(ctx context.Context, a *App, r *remote) error {
	p, err := r.Rechecks.Get(ctx, c.ID, c.at(), c.Status...)
	if err != nil {
		return err
	}
	return r.answer(func() error {
		err := a.showRecheck(p)
		a.more(&c.paging, len(p.Items), p.Matching)
		return err
	})
}

// recheckWatchCmd is `renga recheck watch`.
type recheckWatchCmd struct {
	ID string `arg:"" help:"Id of the request."`
}

// Help says how it ends.
func (recheckWatchCmd) Help() string {
	return `The exit code is 1 when a strategy failed or was cancelled. To stop watching does not cancel it.

Examples:
  renga recheck watch 01KA6C0V9E6XK2Y5W8R4T7N3QZ`
}

// Run follows the request.
func (c *recheckWatchCmd) Run(ctx context.Context, a *App) error {
	r, err := a.connect(watchPatience)
	if err != nil {
		return err
	}
	return r.followRecheck(ctx, c.ID)
}

// recheckCancelCmd is `renga recheck cancel`.
type recheckCancelCmd struct {
	ID     string `arg:"" help:"Id of the request."`
	Reason string `placeholder:"TEXT" help:"Why, at most 64 characters."`
	sending
}

// Help says what stays.
func (recheckCancelCmd) Help() string {
	return `What has its result keeps it; nothing else is checked any more. A request that has ended stays as it is.

Examples:
  renga recheck cancel 01KA6C0V9E6XK2Y5W8R4T7N3QZ --reason "wrong window"`
}

// Run cancels the request.
func (c *recheckCancelCmd) Run(ctx context.Context, a *App, r *remote) error {
	got, err := r.Rechecks.Cancel(c.context(ctx), c.ID, c.Reason, c.IdempotencyKey)
	if err != nil {
		return err
	}
	return r.answer(func() error { return a.line("Request %s is %s.", got.RequestID, got.Status) })
}

// How often a request is looked at while it is under way: less and less, so that several
// may be followed within the limit of reads.
const (
	recheckPoll     = 200 * time.Millisecond
	mostRecheckPoll = 3 * time.Second
)

// followRecheck shows how far a request is until it has ended, and then its results.
func (r *remote) followRecheck(ctx context.Context, id string) error {
	a := r.app
	p, err := r.untilEnded(ctx, id)
	if ctx.Err() != nil {
		a.say("the server goes on; look with: renga recheck show %s; cancel with: renga recheck cancel %s", id, id)
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	err = r.answer(func() error {
		err := a.showRecheck(p)
		if len(p.Items) < p.Total {
			a.say("all strategies: renga recheck show %s --page 2 --page-size 100", id)
		}
		return err
	})
	if err != nil {
		return err
	}
	if p.Counts.Failed > 0 || p.Counts.Canceled > 0 {
		return ended(exitFailure)
	}
	return nil
}

// untilEnded looks at a request until it has ended.
func (r *remote) untilEnded(ctx context.Context, id string) (*client.RecheckProgress, error) {
	var bar *Bar
	defer func() {
		if bar != nil {
			bar.End()
		}
	}()
	for pause := recheckPoll; ; pause = min(pause*5/4, mostRecheckPoll) {
		p, err := r.Rechecks.Get(ctx, id, client.Paging{Size: client.MaxPageSize})
		if err != nil || p.Status.Ended() && p.Counts.Queued+p.Counts.Running == 0 {
			return p, err
		}
		if bar == nil {
			bar = r.app.Bar("strategies", p.Total)
		}
		bar.Set(p.Counts.Succeeded + p.Counts.Failed + p.Counts.Canceled)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return p, ctx.Err()
		}
	}
}

func (a *App) showRecheck(p *client.RecheckProgress) error {
	c := &p.Counts
	counts := fmt.Sprintf("%d: %d queued, %d running, %d succeeded, %d failed, %d canceled", p.Total, c.Queued,
		c.Running, c.Succeeded, c.Failed, c.Canceled)
	if p.DryRun {
		counts = fmt.Sprintf("%d planned", c.Planned)
	}
	err := a.pairs(
		[2]string{"request", p.RequestID},
		[2]string{"status", a.screen.status(string(p.Status))},
		[2]string{"window", inLine(p.Window)},
		[2]string{"reason", clean(p.Reason)},
		[2]string{"trace", clean(p.TraceID)},
		[2]string{"created", instant(p.CreatedAt)},
		[2]string{"updated", instant(p.UpdatedAt)},
		[2]string{"strategies", counts},
	)
	if err != nil || len(p.Items) == 0 {
		return err
	}
	if err := a.line(""); err != nil {
		return err
	}
	var rows [][]string
	for _, item := range p.Items {
		what := ""
		if item.Result != nil {
			what = members(jsontext.Value(item.Result))
		}
		if item.Error != nil {
			what = clean(item.Error.Error())
		}
		rows = append(rows, []string{item.Strategy, a.screen.status(item.Status), what})
	}
	return a.grid([]string{"STRATEGY", "STATUS", "WHAT"}, rows)
}
