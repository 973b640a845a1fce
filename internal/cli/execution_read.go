package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"renga.dev/renga/client"
)

type executionShowCmd struct {
	executionArg
	At uint64 `placeholder:"N" help:"Show it as it was after event N."`
}

func (executionShowCmd) Help() string {
	return `Examples:
  renga execution show 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27
  renga execution show 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 --at 9
  renga execution show 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 -o json | jq .result`
}

func (c *executionShowCmd) Run(ctx context.Context, r *remote) error {
	if err := c.find(ctx, r); err != nil {
		return err
	}
	return show(r, printExecution)(r.Executions.At(ctx, c.ID, c.At))
}

func printExecution(p *printer, e *client.Execution) {
	var failed, cancel, cleanup string
	if e.Error != nil {
		failed = failure(e.Error)
	}
	if c := e.Cancel; c != nil {
		cancel = fmt.Sprintf("won at event %d", c.Seq)
		if c.RequestedBy != nil {
			cancel += ", asked for by " + actor(*c.RequestedBy)
		}
		cancel += with(": ", c.Reason)
		cleanup = c.CompensationID
	}
	p.pairs(
		"execution", e.ExecutionID, "graph", fmt.Sprintf("%s version %d", e.GraphID, e.GraphVersion),
		"status", status(e.Status), "business key", e.BusinessKey, "labels", labels(e.Labels),
		"rerun of", e.RerunOf, "correlation", e.CorrelationID, "created", e.CreatedAt, "started", e.StartedAt,
		"ended", e.EndedAt, "archived", e.ArchivedAt, "events", e.Seq, "input", data(e.Input, nil),
		"outcome", e.Outcome, "result", data(e.Result, e.ResultRef), "error", failed, "failed node", e.FailedNodeID,
		"cancel", cancel, "cleanup", cleanup,
	)
	columns("NODE, TYPE, STATUS, ATTEMPT, WORKER, WHAT", func(n *client.Node) []any {
		return []any{n.NodeID, n.Type, status(n.Status), number(n.Attempt), n.WorkerID, aboutNode(n)}
	}).section(p, e.Nodes)
	printLate(p, e.LateResults)
}

// labels are labels as people write them, in the order of their names.
func labels(of map[string]string) string {
	all := make([]string, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, name+"="+clean(of[name]))
	}
	return strings.Join(all, " ")
}

// aboutNode is what is worth knowing of a node in its status.
func aboutNode(n *client.Node) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case !n.RetryAt.IsZero():
		add("attempt %d at %s", n.NextAttempt, instant(n.RetryAt))
	case n.Status == client.NodeWaiting && n.WaitKey != "":
		add("waits for key %s", n.WaitKey)
	}
	if n.Status == client.NodeRunning {
		if n.Progress != nil {
			add("%v%%", *n.Progress)
		}
		add("%s", n.Message)
	}
	if n.Status == client.NodeWaiting {
		add("%s", with("asks ", data(n.Prompt, n.PromptRef)))
	}
	add("%s", with("lease until ", instant(n.LeaseUntil)))
	add("%s", with("times out at ", instant(n.TimeoutAt)))
	add("%s", with("waits until ", instant(n.WaitUntil)))
	add("%s", reminded(n.Reminders, n.NextReminderAt))
	if n.Gate != nil && !n.Gate.Passed {
		g := n.Gate
		add("%d of %d branches completed, %d failed, %d canceled", len(g.CompletedBranches), len(g.ExpectedBranches),
			len(g.FailedBranches), len(g.CanceledBranches))
	}
	if n.Error != nil {
		add("%s", failure(n.Error))
	}
	add("%s", with("input ", data(n.Input, n.InputRef)))
	return listed(append(parts, n.Reason, data(n.Output, n.OutputRef))...)
}

func failure(f *client.Failure) string {
	return joined(": ", f.Code, f.Message) + with(" ", string(f.Detail))
}

func data(inline json.RawMessage, ref *client.DataRef) string {
	if ref != nil {
		return fmt.Sprintf("%d bytes, in event %d", ref.Size, ref.Seq)
	}
	return clean(string(inline))
}

func actor(by client.Actor) string {
	return by.Kind + with(" ", clean(by.ID))
}

func printLate(p *printer, late []client.LateResult) {
	if len(late) == 0 {
		return
	}
	var rows [][]any
	for _, l := range late {
		what := data(l.Output, nil)
		if l.Error != nil {
			what = failure(l.Error)
		}
		if l.Size > 0 {
			what = fmt.Sprintf("%d bytes, too many to keep", l.Size)
		}
		rows = append(rows, []any{l.ReceivedAt, l.Command, l.NodeID, number(l.Attempt), l.WorkerID, l.Guard, what})
	}
	p.line("\n%s", coloured{bold, "Results that did not count, kept as evidence:"})
	p.grid("RECEIVED, COMMAND, NODE, ATTEMPT, WORKER, REFUSED BY, WHAT", rows)
}

type executionListCmd struct {
	filter
	CorrelationID string `placeholder:"ID"`
	Outcome       string `placeholder:"NAME" help:"Ended at a Success with this outcome."`
	ErrorCode     string `placeholder:"CODE" help:"Failed with this code."`
	EndedFrom     string `placeholder:"TIME" help:"Ended at or after."`
	EndedTo       string `placeholder:"TIME" help:"Ended before."`
	Archived      bool   `xor:"archive" help:"Only executions that are archived."`
	Unarchived    bool   `xor:"archive" help:"Only executions that are not archived."`
	NowAt         bool   `help:"Show at which nodes executions are that are ACTIVE."`
	Cursor        string `placeholder:"TEXT" help:"Where the page begins: next of the page before."`
	paging
}

type filter struct {
	Status      []client.Status   `placeholder:"STATUS" enum:"ACTIVE,COMPLETED,FAILED,CANCELED"`
	Graph       string            `placeholder:"ID" help:"Only executions of this graph."`
	BusinessKey string            `placeholder:"KEY" help:"With this business key, of whatever graph."`
	Label       map[string]string `placeholder:"NAME=VALUE" mapsep:"none"`
	Waiting     bool              `help:"Only executions of which a node waits for somebody."`
	Node        string            `placeholder:"NODE" help:"Only executions of which this node waits for somebody."`
	CreatedFrom string            `placeholder:"TIME" help:"Created at or after: ${time}."`
	CreatedTo   string            `placeholder:"TIME" help:"Created before."`
}

// chooses reports whether a filter leaves out any that have not ended.
func (f *filter) chooses() bool {
	return f.Graph != "" || f.BusinessKey != "" || len(f.Label) > 0 || f.Waiting || f.Node != "" ||
		f.CreatedFrom != "" || f.CreatedTo != ""
}

func (f *filter) selection(a *App) (client.BulkFilter, error) {
	out := client.BulkFilter{
		GraphID: f.Graph, Status: f.Status, BusinessKey: f.BusinessKey, Labels: f.Label, Waiting: f.Waiting,
		NodeID: f.Node,
	}
	var err error
	out.CreatedFrom, out.CreatedTo, err = a.times("--created-from", f.CreatedFrom, "--created-to", f.CreatedTo)
	return out, err
}

func (c *executionListCmd) selection(a *App) (client.ExecutionFilter, error) {
	f, err := c.filter.selection(a)
	if err != nil {
		return client.ExecutionFilter{}, err
	}
	out := client.ExecutionFilter{
		Status: f.Status, GraphID: f.GraphID, CorrelationID: c.CorrelationID, BusinessKey: f.BusinessKey,
		Labels: f.Labels, Waiting: f.Waiting, NodeID: f.NodeID, Outcome: c.Outcome, ErrorCode: c.ErrorCode,
		CreatedFrom: f.CreatedFrom, CreatedTo: f.CreatedTo,
	}
	if c.Archived || c.Unarchived {
		out.Archived = &c.Archived
	}
	out.NowAt = c.NowAt
	out.EndedFrom, out.EndedTo, err = a.times("--ended-from", c.EndedFrom, "--ended-to", c.EndedTo)
	return out, err
}

// times is time for two flags.
func (a *App) times(flag1, text1, flag2, text2 string) (t1, t2 time.Time, err error) {
	if t1, err = a.time(flag1, text1); err == nil {
		t2, err = a.time(flag2, text2)
	}
	return t1, t2, err
}

// time reads an instant: RFC 3339, a date (its beginning in UTC), or how long ago.
func (a *App) time(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return a.now().Add(-ago), nil
	}
	return time.Time{}, usage("%s: %q is no time: write it like 2026-01-05T09:00:00Z, 2026-01-05, or 24h for a day ago",
		flag, text)
}

func (executionListCmd) Help() string {
	return `Examples:
  renga execution list --status FAILED,CANCELED --created-from 24h
  renga execution list --graph order --page 2 --page-size 100
  renga execution list --label region=eu --label tier=gold --ended-from 2026-01-05
  renga execution list --graph expense --waiting --node approve
  renga execution list --status FAILED --unarchived
  renga execution list --status ACTIVE --now-at
  renga execution list --status ACTIVE -o json | jq -r '.items[].executionId'`
}

func (c *executionListCmd) Run(ctx context.Context, r *remote) error {
	selected, err := c.selection(r.App)
	if err != nil {
		return err
	}
	page, err := r.Executions.List(ctx, selected, c.at())
	if err == nil {
		c.Page = page.Page
	}
	head := "EXECUTION, STATUS, GRAPH, VERSION, CREATED, TOOK, ARCHIVED, OUTCOME, KEY, LABELS"
	if c.NowAt {
		head += ", NOW AT"
	}
	return tabulate(r, &c.paging, columns(head, func(e *client.ExecutionSummary) []any {
		row := []any{
			e.ExecutionID, status(e.Status), e.GraphID, e.GraphVersion, e.CreatedAt, took(e.CreatedAt, e.EndedAt),
			e.ArchivedAt != nil, e.Outcome + e.ErrorCode, e.BusinessKey, labels(e.Labels),
		}
		if c.NowAt {
			row = append(row, strings.Join(e.NowAt, " "))
		}
		return row
	}))(page, err)
}

// Validate is that of the page, which a cursor names too.
func (c *executionListCmd) Validate() error {
	if c.Cursor != "" && c.Page != 1 {
		return errors.New("--page does not go with --cursor, which says where the page begins")
	}
	return c.paging.Validate()
}

func (c *executionListCmd) at() client.Paging {
	if c.Cursor != "" {
		return client.Paging{Size: c.PageSize, Cursor: c.Cursor}
	}
	return c.paging.at()
}

// took is how long something took; nothing when it has not ended.
func took(from time.Time, to *time.Time) string {
	if to == nil {
		return ""
	}
	return span(to.Sub(from))
}

// span is a duration as people say it: three digits are enough.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

type executionEventsCmd struct {
	executionArg
	From     uint64 `default:"1" placeholder:"N" help:"Begin with event N (${default})."`
	Follow   bool   `short:"f"`
	Commands bool   `help:"With --follow: also commands that were refused or changed nothing, and go on after the end."`
	Count    int    `short:"n" placeholder:"N" help:"With --commands: stop after so many lines."`
}

func (c *executionEventsCmd) Validate() error {
	if c.Commands && !c.Follow || c.Count != 0 && !c.Commands {
		return errors.New("--commands goes with --follow, and --count with --commands")
	}
	return nil
}

func (executionEventsCmd) Help() string {
	return `Examples:
  renga execution events 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27
  renga execution events 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 --from 20 --follow
  renga execution events 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 --follow --commands
  renga execution events 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 -o json | jq '.items[] | select(.type == "NODE_FAILED")'`
}

func (c *executionEventsCmd) Run(ctx context.Context, r *remote) error {
	if err := c.find(ctx, r); err != nil {
		return err
	}
	if c.Commands {
		return c.followCommands(ctx, r)
	}
	if c.Follow {
		_, err := r.follow(ctx, c.ID, max(c.From, 1)-1, r.printEvent)
		return err
	}
	items := []client.Event{}
	for ev, err := range r.Executions.Events(ctx, c.ID, c.From) {
		if err != nil {
			return err
		}
		items = append(items, ev)
	}
	return printItems(r.App, items, columns("SEQ, TIME, EVENT, NODE, BY, WHAT", eventRow))
}

// followCommands prints events, and commands that led to none, until it is interrupted or has printed --count.
func (c *executionEventsCmd) followCommands(ctx context.Context, r *remote) error {
	n, after := 0, strconv.FormatUint(max(c.From, 1)-1, 10)
	for entry, err := range r.patient().Executions.StreamCommands(ctx, c.ID, after) {
		if err != nil {
			return err
		}
		err := r.printEach(entry, []int{7, 24, 26, 16, 16, 0}, entryRow(&entry))
		if n++; err != nil || n == c.Count {
			return err
		}
	}
	return nil
}

func entryRow(entry *client.LogEntry) []any {
	if entry.Event != nil {
		return append([]any{entry.Place}, eventRow(entry.Event)[1:]...)
	}
	d := entry.Command
	what := "changed nothing"
	switch {
	case entry.Late != nil:
		what = "refused by " + guardOf(d.Error) + ", its result is kept"
	case d.Error != nil:
		what = "refused by " + guardOf(d.Error)
	}
	return []any{entry.Place, d.DecidedAt, d.Command, d.NodeID, d.Actor, what}
}

func eventRow(ev *client.Event) []any {
	return []any{
		ev.Seq, ev.OccurredAt, eventType(ev.Type), ev.NodeID(), ev.Actor,
		members(ev.Payload, "nodeId", "graphDigest"),
	}
}

func (r *remote) printEvent(ev *client.Event) error {
	return r.printEach(ev, []int{5, 24, 26, 16, 16, 0}, eventRow(ev))
}
