package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/client"
)

type eventCmd struct {
	Send    eventSendCmd    `cmd:"" help:"Send a workflow event, which starts a run of its template once."`
	Summary eventSummaryCmd `cmd:"" help:"Summarize the workflow events of a month."`
}

// eventAccess is the flag of commands about workflow events and templates.
type eventAccess struct {
	EventToken string `env:"AX_WORKFLOW_EVENT_TOKEN" placeholder:"TOKEN" group:"server"`
}

type eventSendCmd struct {
	Template      string `placeholder:"ID" help:"Id of the template."`
	Event         string `placeholder:"NAME"`
	Key           string `placeholder:"KEY"`
	Year          string `placeholder:"YYYY" help:"Year; default: the template's."`
	Month         string `placeholder:"MM" help:"Month; default: the template's."`
	Source        string `placeholder:"NAME" help:"Where the event comes from."`
	MFCloudURL    string `name:"mfcloud-url" placeholder:"URL" help:"URL for the run; default: the template's."`
	Notes         string `placeholder:"TEXT" help:"Notes for the run; default: the template's."`
	File          string `short:"f" placeholder:"FILE"`
	CorrelationID string `placeholder:"ID"`
	eventAccess
}

func (eventSendCmd) Help() string {
	return `However often an event is sent under one key, one run starts, and every answer names it. What is printed
is the answer and, when it was refused, whether sending it again can help. The exit code is 0 when a run was started
and 13 when the key had started it before; a refusal has the code of its kind (2, 3, 4), and 5 means: try again later.

Examples:
  renga event send --template expense-close --key bank-2026-01 --source bank
  renga event send --event mf_reconcile --year 2026 --month 1
  renga event send --key bank-2026-01 -f event.json
  curl -s https://bank.example/statement | renga event send -f -`
}

func (c *eventSendCmd) Run(ctx context.Context, r *remote) error {
	e, err := c.event(r.App)
	if err != nil {
		return err
	}
	s := sending{CorrelationID: c.CorrelationID}
	if err := s.Validate(); err != nil {
		return usage("%v", err)
	}
	answer, err := r.WorkflowEvents.Send(s.context(ctx), e)
	if err != nil {
		return r.unsent(e.Key, err)
	}
	if err := r.answer(func(p *printer) { printDelivered(p, &answer) }); err != nil {
		return err
	}
	if answer.Duplicate {
		return ended(exitDuplicate)
	}
	return nil
}

// unsent reports an event that got no answer, or was refused. It names the key of one
// that may have arrived, so that sending it again is safe.
func (a *App) unsent(key string, err error) error {
	var failure *client.Error
	if errors.As(err, &failure) && failure.Status == 0 {
		return usage("%s", failure.Message)
	}
	if key != "" && errors.Is(err, client.ErrUnavailable) {
		a.say("the event may have arrived; it is safe to send it again with --key %s", key)
	}
	return err
}

// event is what is sent. Year and month go as they were typed: the server says what it
// takes, and tells.
func (c *eventSendCmd) event(a *App) (client.WorkflowEvent, error) {
	members := map[string]string{
		"template_id": c.Template, "event_name": c.Event, "source": c.Source, "mfcloud_url": c.MFCloudURL,
		"notes": c.Notes, "year": c.Year, "month": c.Month,
	}
	maps.DeleteFunc(members, func(_, value string) bool { return value == "" })
	e := client.WorkflowEvent{Key: cmp.Or(c.Key, rand.Text())}
	if c.File == "" {
		raw, err := json.Marshal(members, json.Deterministic(true))
		e.Raw = raw
		return e, err
	}
	if len(members) > 0 {
		return e, usage("--file is the whole body: it goes with --key only, not with other members of the event")
	}
	raw, err := a.read(c.File)
	if err != nil {
		return e, err
	}
	e.Raw = raw
	if own := keyIn(raw); own != "" {
		if c.Key != "" && c.Key != own {
			return e, usage("the event has the key %q, which goes before --key: leave one of them out", own)
		}
		e.Key = own
	}
	return e, nil
}

// keyIn is the key in the body of an event, the first that is not empty of those that
// the server looks at. What cannot be read is the server's to refuse.
func keyIn(raw []byte) string {
	var b struct {
		Key          jsontext.Value `json:"idempotency_key"`
		KeyCamel     jsontext.Value `json:"idempotencyKey"`
		EventID      jsontext.Value `json:"event_id"`
		EventIDCamel jsontext.Value `json:"eventId"`
	}
	if json.Unmarshal(raw, &b) != nil {
		return ""
	}
	for _, value := range []jsontext.Value{b.Key, b.KeyCamel, b.EventID, b.EventIDCamel} {
		var key string
		if json.Unmarshal(value, &key) == nil && key != "" {
			return key
		}
	}
	return ""
}

func printDelivered(p *printer, d *client.WorkflowAnswer) {
	what, advice := "started", ""
	if d.Duplicate {
		what, advice = "duplicate: the key had started this run before", "do_not_retry: "+adviceWords["do_not_retry"]
	}
	p.pairs(
		"event", what, "run", d.RunID, "template", d.TemplateID+" ("+d.TemplateName+")", "action", d.ActionKey,
		"key", d.Key, "advice", advice,
	)
}

// adviceWords say what a retry advice means.
var adviceWords = map[string]string{
	"do_not_retry":       "sending it again changes nothing",
	"retry_after_fix":    "put right what the message says, then send it again",
	"retry_with_backoff": "send it again later",
}

type eventSummaryCmd struct {
	Month string `placeholder:"YYYY-MM" help:"Month of the deliveries, in UTC; default: the present one."`
	Limit int    `default:"20" placeholder:"N"`
	eventAccess
}

func (eventSummaryCmd) Help() string {
	return `Counts what started, what was a duplicate, what was refused and why, and whether sending again would help.

Examples:
  renga event summary --month 2026-01
  renga event summary --limit 200 -o json | jq '.by_reason_code'`
}

func (c *eventSummaryCmd) Run(ctx context.Context, r *remote) error {
	if c.Limit < 1 {
		return usage("--limit must be 1 to 200")
	}
	month := cmp.Or(c.Month, r.now().UTC().Format("2006-01"))
	return show(r, printSummary)(r.WorkflowEvents.Summary(ctx, month, c.Limit))
}

func printSummary(p *printer, s *client.WorkflowSummary) {
	p.pairs(
		"month", s.Month, "events", s.Total, "status", counts(s.ByStatus), "class", counts(s.ByReasonClass),
		"code", counts(s.ByReasonCode), "advice", counts(s.ByRetryAdvice),
		"keys", fmt.Sprintf("%d at most, for %s", s.Retention.MaxReceipts, count(s.Retention.TTLDays, "day", "days")),
	)
	columns("TIME, STATUS, TEMPLATE, SOURCE, KEY, CODE, ADVICE, RUN, REASON", func(e *client.DeliveredEvent) []any {
		return []any{
			e.At, e.Status, e.TemplateID, e.Source, e.Key, e.ReasonCode, e.RetryAdvice, e.RunID, e.Reason,
		}
	}).section(p, s.Recent)
}

// counts are numbers by name, the largest first; those of nothing are left out.
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		if of[name] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of[name], name))
		}
	}
	return strings.Join(parts, ", ")
}
