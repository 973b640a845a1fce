package cli

import (
	"context"
	"errors"

	"renga.dev/renga/client"
)

// deciding are the arguments and flags of a decision about dead letters.
type deciding struct {
	ID []string `arg:"" optional:"" help:"Ids of dead letters; without any, flags choose them."`
	deadFilter
	All    bool `help:"All dead letters of the tenant that are OPEN."`
	Yes    bool `short:"y" help:"Do not ask, start at once."`
	NoWait bool `help:"Do not wait until it is done."`
	sending
}

// which reads the flags that choose. It refuses what names nothing, or names it twice.
func (d *deciding) which(a *App) (f client.DeadLetterFilter, err error) {
	switch {
	case len(d.ID) > 0 && (d.All || d.chooses()):
		return f, usage("ids do not go with --all and with flags that choose")
	case d.All && d.chooses():
		return f, usage("--all does not go with flags that choose")
	case len(d.ID) == 0 && !d.All && !d.chooses():
		return f, usage("which dead letters? Name their ids, choose with --consumer, --type, --key, --reason-class, " +
			"--older-than or --newer-than, or say --all")
	}
	return d.selection(a)
}

type dlqRedriveCmd struct {
	deciding
	DryRun bool   `help:"Only report what would happen."`
	Reason string `placeholder:"TEXT" help:"Why; it stands in the audit log."`
}

func (dlqRedriveCmd) Help() string {
	return `Lets the consumer try the events again, and then what waits behind their keys. One that would break the
order of its key, or take a place that another event holds, is refused. Flags instead of ids choose a set: it is
frozen and shown with what would become of each, and after a question all are driven again, those of one key in turn.
The server does the work; it goes on when this program is interrupted. The exit code is 1 when one died again, and 4
when one was refused.

Examples:
  renga dlq redrive 0199c1a3-dead-7000-8000-000000000001 --dry-run
  renga dlq redrive 0199c1a3-dead-7000-8000-000000000001 --reason "the index is back"
  renga dlq redrive --consumer search --older-than 1h
  renga dlq redrive --all --yes`
}

func (c *dlqRedriveCmd) Run(ctx context.Context, r *remote) error {
	f, err := c.which(r.App)
	if err != nil {
		return err
	}
	r, ctx = r.patient(), c.context(ctx)
	switch {
	case len(c.ID) > 0 && c.DryRun:
		return r.foresee(ctx, c.ID)
	case len(c.ID) > 0:
		return r.decide(ctx, &c.deciding, func(id string) error {
			order := client.DeadLetterOrder{Key: c.IdempotencyKey, DeadLetterID: id, Reason: c.Reason}
			_, err := r.DeadLetters.Redrive(ctx, order)
			return err
		})
	case c.DryRun:
		return r.foreseeAll(ctx, f)
	}
	order := client.RedriveBulk{Key: c.IdempotencyKey, Filter: f, Reason: c.Reason}
	made, err := r.DeadLetterBulks.CreateRedrive(ctx, order)
	if err != nil {
		return err
	}
	return r.decideMany(ctx, made.BulkID, "Drive %s again?", &c.deciding)
}

type dlqSkipCmd struct {
	deciding
	Reason string `required:"" placeholder:"TEXT" help:"Why; it stands in the audit log."`
}

func (dlqSkipCmd) Help() string {
	return `The events count as taken without any effect, and what waits behind their keys goes on. Older ones of a
key that are still open, of a consumer that continues, are STALE from then on: renga dlq show lists them. Flags
instead of ids choose a set, as in renga dlq redrive.

Examples:
  renga dlq skip 0199c1a3-dead-7000-8000-000000000001 --reason "merged by hand"
  renga dlq skip --consumer search --type RecordDeleted --older-than 72h --reason "the index was rebuilt"`
}

func (c *dlqSkipCmd) Run(ctx context.Context, r *remote) error {
	f, err := c.which(r.App)
	if err != nil {
		return err
	}
	r, ctx = r.patient(), c.context(ctx)
	if len(c.ID) > 0 {
		return r.decide(ctx, &c.deciding, func(id string) error {
			order := client.DeadLetterOrder{Key: c.IdempotencyKey, DeadLetterID: id, Reason: c.Reason}
			ans, err := r.DeadLetters.Skip(ctx, order)
			if ans.MakesStale > 0 {
				r.say("%s of the key of %s can take no effect any more: a skipped event counts as taken",
					count(ans.MakesStale, "older event", "older events"), id)
			}
			return err
		})
	}
	made, err := r.DeadLetterBulks.CreateSkip(ctx, client.SkipBulk{Key: c.IdempotencyKey, Filter: f, Reason: c.Reason})
	if err != nil {
		return err
	}
	return r.decideMany(ctx, made.BulkID, "Skip %s?", &c.deciding)
}

type foreseen struct {
	DeadLetterID string `json:"deadLetterId"`
	client.Foreseen
}

// foresee says what a redrive would make of dead letters, each alone.
func (r *remote) foresee(ctx context.Context, ids []string) error {
	var letters []foreseen
	for _, id := range ids {
		f, err := r.DeadLetters.ForeseeRedrive(ctx, id)
		if err != nil {
			return err
		}
		letters = append(letters, foreseen{id, f})
	}
	return printItems(r.App, letters, columns("DEAD LETTER, STATUS, VERDICT", func(f *foreseen) []any {
		return []any{f.DeadLetterID, status(f.Status), f.Verdict}
	}))
}

// foreseeAll says what a redrive would make of all dead letters that a filter selects.
func (r *remote) foreseeAll(ctx context.Context, f client.DeadLetterFilter) error {
	f.Foresee = true
	letters := []client.DeadLetter{}
	counts := map[client.Verdict]int{}
	for l, err := range r.DeadLetters.All(ctx, f) {
		if err != nil {
			return err
		}
		letters = append(letters, l)
		counts[l.Verdict]++
	}
	for _, v := range []client.Verdict{
		client.VerdictWillApply, client.VerdictStale, client.VerdictDuplicate, client.VerdictConflict,
		client.VerdictBreaksOrder,
	} {
		if counts[v] > 0 && r.Output != "json" {
			r.say("%d %s", counts[v], v)
		}
	}
	return printItems(r.App, letters, columns(
		"DEAD LETTER, VERDICT, CONSUMER, TYPE, KEY", func(l *client.DeadLetter) []any {
			return []any{l.DeadLetterID, l.Verdict, l.Consumer, l.EventType, l.PartitionKey}
		},
	))
}

// decide decides about dead letters one by one, waits for what becomes of them and shows that. A refusal of one does
// not keep the others from being decided.
func (r *remote) decide(ctx context.Context, d *deciding, do func(id string) error) error {
	var refused error
	for _, id := range d.ID {
		switch err := do(id); {
		case errors.Is(err, client.ErrRefused) && len(d.ID) > 1:
			r.report(err)
			refused = ended(exitRefused)
		case err != nil:
			return err
		}
	}
	var letters []client.DeadLetter
	died := false
	for _, id := range d.ID {
		l, err := r.awaitDead(ctx, id, d.NoWait)
		if err != nil {
			return err
		}
		died = died || l.Status == client.DeadLetterOpen
		letters = append(letters, l.DeadLetter)
	}
	err := printItems(r.App, letters, deadLetters)
	switch {
	case err != nil || refused != nil:
		return errors.Join(err, refused)
	case died:
		r.say("what is OPEN died again; see why: renga dlq show ID")
		return ended(exitFailure)
	}
	return nil
}

// awaitDead waits until a decision about a dead letter is carried out: it has ended, or died again.
func (r *remote) awaitDead(ctx context.Context, id string, noWait bool) (*client.DeadLetterDetails, error) {
	l, err := poll(ctx, r.App, polling[*client.DeadLetterDetails]{
		most: pollEvery,
		read: func() (*client.DeadLetterDetails, error) { return r.DeadLetters.Get(ctx, id) },
		far: func(l *client.DeadLetterDetails) (done, total int, ended bool) {
			return 0, 0, noWait || l.Status.Ended() || l.Status == client.DeadLetterOpen
		},
	})
	if l != nil && ctx.Err() != nil {
		r.say("it was decided and will be carried out; look with: renga dlq show %s", id)
	}
	return l, err
}
