package cli

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/client"
)

type dlqCmd struct {
	List    dlqListCmd    `cmd:"" help:"List dead letters, newest first."`
	Show    dlqShowCmd    `cmd:"" help:"Show a dead letter, its failures and the events that wait for it."`
	Redrive dlqRedriveCmd `cmd:"" help:"Redrive dead letters."`
	Skip    dlqSkipCmd    `cmd:"" help:"Skip dead letters."`
	Bulk    dlqBulkCmd    `cmd:"" help:"Redrive or skip many dead letters, and see the progress."`
}

type deadFilter struct {
	Consumer    string  `placeholder:"NAME" help:"Only dead letters of this consumer."`
	Type        string  `placeholder:"TYPE" help:"Only events of this type."`
	Key         string  `placeholder:"KEY"`
	ReasonClass *string `placeholder:"CLASS" enum:"${reason_classes}"`
	OlderThan   string  `placeholder:"TIME" help:"Died so long ago (24h), or before a time."`
	NewerThan   string  `placeholder:"TIME" help:"Died within so long (24h), or at or after a time."`
}

func (f *deadFilter) chooses() bool { return *f != deadFilter{} }

func (f *deadFilter) selection(a *App) (client.DeadLetterFilter, error) {
	out := client.DeadLetterFilter{Consumer: f.Consumer, EventType: f.Type, Key: f.Key}
	if f.ReasonClass != nil {
		out.ReasonClass = *f.ReasonClass
	}
	var err error
	out.DeadTo, out.DeadFrom, err = a.times("--older-than", f.OlderThan, "--newer-than", f.NewerThan)
	return out, err
}

type dlqListCmd struct {
	Status []client.DeadLetterStatus `placeholder:"STATUS" enum:"${dead_letter_statuses}"`
	Quiet  bool                      `short:"q" help:"Print the ids alone."`
	deadFilter
	paging
}

func (dlqListCmd) Help() string {
	return `Examples:
  renga dlq list
  renga dlq list --consumer search -q
  renga dlq list --consumer search --reason-class infra --older-than 1h
  renga dlq list --status APPLIED,SKIPPED --newer-than 24h -o json`
}

func (c *dlqListCmd) Run(ctx context.Context, r *remote) error {
	f, err := c.selection(r.App)
	if err != nil {
		return err
	}
	f.Status = c.Status
	page, err := r.DeadLetters.List(ctx, f, c.at())
	if err != nil || !c.Quiet {
		return tabulate(r, &c.paging, deadLetters)(page, err)
	}
	return r.answer(func(p *printer) {
		for i := range page.Items {
			p.line("%s", page.Items[i].DeadLetterID)
		}
	})
}

var deadLetters = columns(
	"DEAD LETTER, STATUS, CONSUMER, TYPE, KEY, CLASS, TRIES, DIED, ERROR", func(l *client.DeadLetter) []any {
		return []any{
			l.DeadLetterID, status(l.Status), l.Consumer, l.EventType, l.PartitionKey, l.ReasonClass, l.Attempts,
			l.DeadAt, l.Error,
		}
	},
)

type dlqShowCmd struct {
	ID string `arg:"" help:"Id of the dead letter."`
}

func (dlqShowCmd) Help() string {
	return `The verdict says what a redrive would make of it, if it were driven again alone and now:

  WILL_APPLY    it takes effect, unless it fails again
  STALE         nothing: a newer event of its key was taken       DUPLICATE  nothing: it was taken before
  BREAKS_ORDER  refused: an older event of its key is in front    CONFLICT   refused: another event holds its place

Examples:
  renga dlq show 0199c1a3-dead-7000-8000-000000000001
  renga dlq show 0199c1a3-dead-7000-8000-000000000001 -o json | jq .event.payload`
}

func (c *dlqShowCmd) Run(ctx context.Context, r *remote) error {
	return show(r, printDeadLetter)(r.DeadLetters.Get(ctx, c.ID))
}

func printDeadLetter(p *printer, l *client.DeadLetterDetails) {
	decided, reason := "", ""
	if d := l.Decision; d != nil {
		decided, reason = instant(d.At)+" by "+actor(d.By)+with(" in bulk ", d.BulkID), d.Reason
	}
	payload := "withheld: it does not fit its schema"
	if !l.PayloadWithheld {
		payload = payloadOf(l.Event)
	}
	waiting, skip := "", ""
	if l.Waiting.Count > 0 {
		waiting = count(l.Waiting.Count, "event", "events")
	}
	if n := l.SkipMakesStale; n > 0 {
		skip = "would make " + count(n, "older event of its key", "older events of its key") +
			" STALE; decide about them first"
	}
	p.pairs(
		"dead letter", l.DeadLetterID, "status", status(l.Status), "verdict", l.Verdict,
		"consumer", fmt.Sprintf("%s, partition %d", l.Consumer, l.Partition),
		"event", l.EventType+" "+l.EventID, "key", l.PartitionKey,
		"place", fmt.Sprintf("%s, index %d", instant(l.RecordVersion), l.Index),
		"payload", payload,
		"reason", fmt.Sprintf("%s %s, %s", l.ReasonClass, l.ReasonCode, l.RetryAdvice),
		"error", l.Error,
		"died", fmt.Sprintf("%s, first failed %s, %s", instant(l.DeadAt), instant(l.FirstFailedAt),
			count(l.Attempts, "try", "tries")),
		"redriven", l.RedriveAt, "decided", decided, "why", reason, "ended", l.EndedAt, "behind it", waiting,
		"a skip", skip,
	)
	columns("FAILED, TRY, ERROR", func(f *client.FailedTry) []any {
		return []any{f.At, f.Attempt, f.Error}
	}).section(p, l.Failures)
	columns("WAITING EVENT, TYPE, VERSION, INDEX, SINCE", func(w *client.WaitingEvent) []any {
		return []any{w.EventID, w.EventType, w.RecordVersion, w.Index, w.WaitingSince}
	}).section(p, l.Waiting.First)
}

func payloadOf(event []byte) string {
	var e struct {
		Payload jsontext.Value `json:"payload"`
	}
	if json.Unmarshal(event, &e) != nil {
		return ""
	}
	return members(e.Payload)
}
