package cli

import (
	"context"
	"fmt"
	"time"

	"renga.dev/renga/client"
)

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
		into       *time.Time
	}{{"--from", o.From, &out.Window.From}, {"--to", o.To, &out.Window.To}} {
		if given.text == "" {
			continue
		}
		var err error
		if *given.into, err = time.Parse(time.RFC3339, given.text); err != nil {
			return out, usage("%s must be an RFC 3339 time, such as 2026-01-05T09:00:00Z", given.flag)
		}
	}
	params, err := a.object("--params", o.Params)
	out.Params = []byte(params)
	return out, err
}

type recheckRunCmd struct {
	Strategies []string `arg:"" help:"Ids of the strategies, at most 50."`
	recheckOrder
}

func (recheckRunCmd) Help() string {
	return `The strategies are checked by workers of the queue pdca.recheck. With --auth jwt this needs a token of the
audience pdca with the scope pdca:recheck. With --wait the exit code is 1 when a strategy failed or was cancelled.

Examples:
  renga recheck run strat.meanrev.m1 strat.momentum.h1 --lookback 14 --reason manual --wait
  renga recheck run strat.meanrev.m1 --from 2026-01-01T00:00:00Z --to 2026-01-05T00:00:00Z --reason audit --dry-run`
}

func (c *recheckRunCmd) Run(ctx context.Context, r *remote) error {
	return c.ask(ctx, r, func(ctx context.Context, o client.RecheckOrder) (*client.RecheckAccepted, error) {
		return r.Rechecks.Request(ctx, c.Strategies, o)
	})
}

type recheckAllCmd struct {
	Text   string          `name:"text" short:"q" placeholder:"TEXT" help:"Part of the id or the name."`
	Tag    []string        `placeholder:"TAG" help:"Has one of these tags."`
	Health []client.Health `enum:"healthy,degraded,unknown" placeholder:"HEALTH"`
	recheckOrder
}

func (recheckAllCmd) Help() string {
	return `Without a filter all strategies are checked again, at most 5,000. With --auth jwt this needs a token of
the audience pdca with the scope pdca:recheck_all.

Examples:
  renga recheck all --tag daily --health unknown --lookback 7 --reason daily-bulk --wait
  renga recheck all --lookback 30 --reason month-end --batch-size 50 --dry-run`
}

func (c *recheckAllCmd) Run(ctx context.Context, r *remote) error {
	return c.ask(ctx, r, func(ctx context.Context, o client.RecheckOrder) (*client.RecheckAccepted, error) {
		return r.Rechecks.RequestAll(ctx, client.RecheckFilter{Text: c.Text, TagsAny: c.Tag, Health: c.Health}, o)
	})
}

// ask sends a request and, if that is wanted, follows it.
func (o *recheckOrder) ask(
	ctx context.Context, r *remote, send func(context.Context, client.RecheckOrder) (*client.RecheckAccepted, error),
) error {
	order, err := o.order(r.App)
	if err != nil {
		return err
	}
	ctx = o.context(ctx)
	got, err := send(ctx, order)
	if err == nil && o.Wait {
		return r.followRecheck(ctx, got.RequestID)
	}
	return show(r, func(p *printer, got *client.RecheckAccepted) {
		if o.Quiet {
			p.line("%s", got.RequestID)
			return
		}
		p.line("Request %s is %s, with %s. See how far it is: renga recheck watch %s",
			got.RequestID, got.Status, count(got.Total, "strategy", "strategies"), got.RequestID)
	})(got, err)
}

type recheckShowCmd struct {
	ID     string   `arg:"" help:"Id of the request."`
	Status []string `enum:"${recheck_statuses}" placeholder:"STATUS"`
	paging
}

func (recheckShowCmd) Help() string {
	return `Examples:
  renga recheck show 01KA6C0V9E6XK2Y5W8R4T7N3QZ
  renga recheck show 01KA6C0V9E6XK2Y5W8R4T7N3QZ --status failed -o json | jq -r '.items[].strategy'`
}

func (c *recheckShowCmd) Run(ctx context.Context, r *remote) error {
	return show(r, func(p *printer, got *client.RecheckProgress) {
		printRecheck(p, got)
		r.more(&c.paging, len(got.Items), got.Matching)
	})(r.Rechecks.Get(ctx, c.ID, c.at(), c.Status...))
}

type recheckWatchCmd struct {
	ID string `arg:"" help:"Id of the request."`
}

func (recheckWatchCmd) Help() string {
	return `The exit code is 1 when a strategy failed or was cancelled. To stop watching does not cancel it.

Examples:
  renga recheck watch 01KA6C0V9E6XK2Y5W8R4T7N3QZ`
}

func (c *recheckWatchCmd) Run(ctx context.Context, r *remote) error {
	return r.patient().followRecheck(ctx, c.ID)
}

type recheckCancelCmd struct {
	ID     string `arg:"" help:"Id of the request."`
	Reason string `placeholder:"TEXT" help:"Why, at most 64 characters."`
	sending
}

func (recheckCancelCmd) Help() string {
	return `What has its result keeps it; nothing else is checked any more. A request that has ended stays as it is.

Examples:
  renga recheck cancel 01KA6C0V9E6XK2Y5W8R4T7N3QZ --reason "wrong window"`
}

func (c *recheckCancelCmd) Run(ctx context.Context, r *remote) error {
	return show(r, func(p *printer, got *client.RecheckAccepted) {
		p.line("Request %s is %s.", got.RequestID, got.Status)
	})(r.Rechecks.Cancel(c.context(ctx), c.ID, c.Reason, c.IdempotencyKey))
}

// mostRecheckPoll is how seldom a request is looked at in the end, so that several may be followed within the limit of
// reads.
const mostRecheckPoll = 3 * time.Second

// followRecheck shows how far a request is until it has ended, and then its results.
func (r *remote) followRecheck(ctx context.Context, id string) error {
	got, err := poll(ctx, r.App, polling[*client.RecheckProgress]{
		what: "strategies", most: mostRecheckPoll,
		read: func() (*client.RecheckProgress, error) {
			return r.Rechecks.Get(ctx, id, client.Paging{Size: client.MaxPageSize})
		},
		far: func(p *client.RecheckProgress) (done, total int, ended bool) {
			c := &p.Counts
			return c.Succeeded + c.Failed + c.Canceled, p.Total, p.Status.Ended() && c.Queued+c.Running == 0
		},
	})
	if ctx.Err() != nil {
		r.say("the server goes on; look with: renga recheck show %s; cancel with: renga recheck cancel %s", id, id)
		return ctx.Err()
	}
	err = show(r, func(p *printer, got *client.RecheckProgress) {
		printRecheck(p, got)
		if len(got.Items) < got.Total {
			r.say("all strategies: renga recheck show %s --page 2 --page-size 100", id)
		}
	})(got, err)
	if err == nil && got.Counts.Failed+got.Counts.Canceled > 0 {
		return ended(exitFailure)
	}
	return err
}

func printRecheck(p *printer, got *client.RecheckProgress) {
	c := &got.Counts
	counts := fmt.Sprintf("%d: %d queued, %d running, %d succeeded, %d failed, %d canceled", got.Total, c.Queued,
		c.Running, c.Succeeded, c.Failed, c.Canceled)
	if got.DryRun {
		counts = fmt.Sprintf("%d planned", c.Planned)
	}
	p.pairs(
		"request", got.RequestID, "status", status(got.Status), "window", inLine(got.Window), "reason", got.Reason,
		"trace", got.TraceID, "created", got.CreatedAt, "updated", got.UpdatedAt, "strategies", counts,
	)
	columns("STRATEGY, STATUS, WHAT", func(item *client.RecheckItem) []any {
		what := ""
		if item.Result != nil {
			what = members(item.Result)
		}
		if item.Error != nil {
			what = item.Error.Error()
		}
		return []any{item.Strategy, status(item.Status), what}
	}).section(p, got.Items)
}
