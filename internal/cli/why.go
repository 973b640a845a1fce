package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/workflow/flow"
)

type executionWhyCmd struct {
	executionArg
}

func (executionWhyCmd) Help() string {
	return `Tells how an execution ended, or why it is where it is: the command that decided, who sent it, what came
before and after it, in order, which rule refused what came too late, and what was reported all the same.

Examples:
  renga execution why 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27
  renga execution why 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 -o json | jq -r '.explanation[]'`
}

func (c *executionWhyCmd) Run(ctx context.Context, r *remote) error {
	if err := c.find(ctx, r); err != nil {
		return err
	}
	if _, err := r.Executions.Get(ctx, c.ID); err != nil {
		return err
	}
	accepted, more, err := r.lastDecided(ctx, c.ID, true)
	if err != nil {
		return err
	}
	refused, refusals, err := r.lastDecided(ctx, c.ID, false)
	if err != nil {
		return err
	}
	e, err := r.Executions.Get(ctx, c.ID) // not older than the commands
	if err != nil {
		return err
	}
	timers, err := r.timers(ctx, e)
	if err != nil {
		return err
	}
	w := explainExecution(e, accepted, refused, timers, r.now())
	w.Total = more + refusals
	w.explainRefusals(e, refused, refusals)
	return r.print(w, w.print)
}

// why is the explanation of an execution.
type why struct {
	ExecutionID string              `json:"executionId"`
	Status      client.Status       `json:"status"`
	Explanation []string            `json:"explanation"`       // sentences
	Decisive    *logged             `json:"decisive,omitzero"` // the command that ended it
	Commands    []logged            `json:"commands"`          // around the end, in order
	Total       int                 `json:"total"`             // commands in all
	LateResults []client.LateResult `json:"lateResults,omitzero"`

	timers []string // nodes
}

// How many commands are shown: the accepted ones up to the decisive one, and of the refused the first after it and the
// last.
const (
	toldAccepted = 6
	toldRefused  = 20
)

// timers are the nodes that wait for nobody, but for a time, as the graph says.
func (r *remote) timers(ctx context.Context, e *client.Execution) (names []string, err error) {
	if !slices.ContainsFunc(e.Nodes, mayBeTimer) {
		return nil, nil
	}
	g, err := r.Graphs.Get(ctx, e.GraphID, e.GraphVersion)
	if err != nil {
		return nil, err
	}
	for _, n := range g.Nodes {
		if node := e.Node(n.NodeID); n.For != "" && node != nil && mayBeTimer(*node) {
			names = append(names, n.NodeID)
		}
	}
	return names, nil
}

func mayBeTimer(n client.Node) bool {
	return n.Type == "Wait" && n.Status == client.NodeWaiting && n.Awaits == nil && !n.WaitUntil.IsZero()
}

func explainExecution(e *client.Execution, accepted, refused []logged, timers []string, now time.Time) *why {
	w := &why{ExecutionID: e.ExecutionID, Status: e.Status, LateResults: e.LateResults, timers: timers}
	decisive := -1
	for i, d := range accepted {
		if d.LastSeq > 0 && d.Command != "ArchiveExecution" {
			decisive = i
		}
	}
	if e.Status.Terminal() && decisive >= 0 {
		w.Decisive = &accepted[decisive]
	}
	from := max(0, decisive+1-toldAccepted)
	if from == 1 { // to say that one is left out takes as much place
		from = 0
	}
	w.Commands = inOrder(accepted[from:], around(refused, w.Decisive))
	w.explain(e, now)
	return w
}

// around are the refused commands to show: all, or the first after the decisive one and the last of all.
func around(refused []logged, decisive *logged) []logged {
	if len(refused) <= toldRefused+1 {
		return refused
	}
	last := refused[len(refused)-toldRefused/2:]
	if decisive == nil {
		return last
	}
	after, _ := slices.BinarySearchFunc(refused, decisive.Number, func(t logged, n int) int { return t.Number - n })
	after = min(after, len(refused)-toldRefused)
	return slices.Concat(refused[after:after+toldRefused/2], last)
}

func (w *why) add(format string, args ...any) {
	w.Explanation = append(w.Explanation, fmt.Sprintf(format, args...))
}

func (w *why) explain(e *client.Execution, now time.Time) {
	switch e.Status {
	case client.Canceled:
		w.explainCancel(e)
	case client.Completed:
		w.add("It COMPLETED at %s: a Success node was reached%s%s.", instant(e.EndedAt), with(", outcome ", e.Outcome),
			w.through())
	case client.Failed:
		w.explainFailure(e)
	default:
		w.explainActive(e, now)
	}
	if !e.ArchivedAt.IsZero() {
		w.add("It was archived at %s.", instant(e.ArchivedAt))
	}
}

// through names the decisive command and its sender.
func (w *why) through() string {
	if w.Decisive == nil {
		return ""
	}
	return fmt.Sprintf(", through command %d, %s, from %s", w.Decisive.Number, w.Decisive.what(), w.Decisive.sender())
}

func (t *logged) what() string { return t.Command + with(" of node ", t.NodeID) }

// bulk is the bulk that sent a command, "" for none: its key names it.
func (t *logged) bulk() string {
	id, ok := strings.CutPrefix(t.Key, "bulk:")
	if _, err := flow.ParseID(id); !ok || err != nil || t.Command != "CancelExecution" {
		return ""
	}
	return id
}

// sender is who sent a command: the actor, the worker, the bulk, the correlation id.
func (t *logged) sender() string {
	worker := t.WorkerID
	if worker == t.Actor.ID {
		worker = ""
	}
	return listed(actor(t.Actor), with("worker ", clean(worker)), with("bulk ", t.bulk()),
		with("correlation ", clean(t.CorrelationID)))
}

func (w *why) explainCancel(e *client.Execution) {
	because := ""
	if w.Decisive != nil && w.Decisive.Command != "CancelExecution" {
		because = " because a Canceled node was reached"
	}
	w.add("It was CANCELED at %s%s%s.", instant(e.EndedAt), because, w.through())
	if e.Cancel == nil {
		return
	}
	if e.Cancel.Reason != "" {
		w.add("The reason given: %s.", strings.TrimSuffix(e.Cancel.Reason, "."))
	}
	w.add("Cancel won at event %d. From there on the rule cancel_fence refuses whatever would move the execution "+
		"forward, in whatever order it comes.", e.Cancel.Seq)
	if e.Cancel.CompensationID != "" {
		w.add("In the same commit the cancel started execution %s, which cleans up.", e.Cancel.CompensationID)
	}
}

func (w *why) explainFailure(e *client.Execution) {
	w.add("It FAILED at %s%s.", instant(e.EndedAt), w.through())
	text := "without a reason"
	if e.Error != nil {
		text = strings.TrimSuffix(failure(e.Error), ".")
	}
	n, reached, uncaught := e.Node(e.FailedNodeID), reachedFailed(e), ""
	if reached == "" {
		uncaught = ", and nothing caught it"
	}
	switch {
	case n == nil:
		w.add("The failure: %s.", text)
	case n.Type == "Failed":
		w.add("The Failed node %s was reached: %s.", n.NodeID, text)
	case n.Status == client.NodeCanceled && reached == "":
		w.add("Node %s was cancelled by itself, and no failure edge caught that: %s.", n.NodeID, text)
	case n.Status == client.NodeCanceled:
		w.add("Node %s was cancelled by itself: %s.", n.NodeID, text)
	case n.Attempt > 0:
		w.add("Node %s failed for good in attempt %d%s: %s.", n.NodeID, n.Attempt, uncaught, text)
	default:
		w.add("Node %s failed%s: %s.", n.NodeID, uncaught, text)
	}
	if n != nil && n.Type != "Failed" && reached != "" {
		through := ""
		if nodes := afterFailure(e, n.NodeID); nodes != "" {
			through = " through " + nodes
		}
		w.add("Its failure edge led%s to the Failed node %s, which ended the execution.", through, reached)
	}
	if n != nil && n.FailedNodeID != "" {
		if first := e.Node(n.FailedNodeID); first != nil && first.Error != nil {
			w.add("Before that, node %s had failed: %s.", first.NodeID, strings.TrimSuffix(failure(first.Error), "."))
		}
	}
}

// afterFailure names the nodes that did their work since a node had failed.
func afterFailure(e *client.Execution, failed string) string {
	var names []string
	for _, n := range e.Nodes {
		if n.FailedNodeID == failed && (n.Type == "Task" || n.Type == "Wait") {
			names = append(names, n.NodeID)
		}
	}
	return strings.Join(names, ", ")
}

// reachedFailed is the Failed node that ended an execution; "" when none did.
func reachedFailed(e *client.Execution) string {
	for _, n := range e.Nodes {
		if n.Type == "Failed" && n.Status == client.NodeSucceeded {
			return n.NodeID
		}
	}
	return ""
}

func (w *why) explainActive(e *client.Execution, now time.Time) {
	if e.StartedAt.IsZero() {
		w.add("It was created at %s and not started. Start it with: renga execution start %s", instant(e.CreatedAt),
			e.ExecutionID)
		return
	}
	w.add("It is ACTIVE, started %s ago.", span(now.Sub(e.StartedAt)))
	for i := range e.Nodes {
		if n := &e.Nodes[i]; slices.Contains(w.timers, n.NodeID) {
			w.add("Node %s is a timer and goes on by itself at %s; to go on sooner: renga execution resume %s %s.",
				n.NodeID, instant(n.WaitUntil), e.ExecutionID, n.NodeID)
		} else if text := waitsFor(e, n); text != "" {
			w.add("Node %s %s.", e.Nodes[i].NodeID, text)
		}
	}
}

// reminded is how often there was a reminder of a wait, and when the next one comes.
func reminded(times int, next time.Time) string {
	text := ""
	if times > 0 {
		text = "reminded " + count(times, "time", "times")
	}
	return joined(", ", text, with("next reminder at ", instant(next)))
}

// waitsFor is what a node needs to go on.
func waitsFor(e *client.Execution, n *client.Node) string {
	switch {
	case !n.RetryAt.IsZero():
		text := fmt.Sprintf("waits until %s for attempt %d", instant(n.RetryAt), n.NextAttempt)
		if n.Error != nil {
			text += "; the last one failed: " + strings.TrimSuffix(failure(n.Error), ".")
		}
		return text
	case n.Status == client.NodeReady:
		return "is READY: no worker of its queue has taken it yet"
	case n.Status == client.NodeRunning:
		return fmt.Sprintf("is RUNNING, attempt %d", n.Attempt) + with(", with worker ", n.WorkerID) +
			with(", which must be heard of before ", instant(n.LeaseUntil))
	case n.Status == client.NodeWaiting:
		return awaits(e, n)
	case n.Gate != nil && !n.Gate.Passed && !nodeEnded(n.Status):
		g := n.Gate
		arrived := slices.Concat(g.CompletedBranches, g.FailedBranches, g.CanceledBranches)
		rest := slices.DeleteFunc(slices.Clone(g.ExpectedBranches), func(branch string) bool {
			return slices.Contains(arrived, branch)
		})
		return fmt.Sprintf("joins %d branches and waits for %s", len(g.ExpectedBranches), strings.Join(rest, ", "))
	}
	return ""
}

// awaits is what a node that is WAITING waits for, of whom, and until when.
func awaits(e *client.Execution, n *client.Node) string {
	text := "waits to be resumed" + with(" by ", assignees(n.Assignees)) + ": renga execution resume " + e.ExecutionID +
		" " + n.NodeID
	if n.WaitKey != "" {
		text += " --key " + quoted(n.WaitKey)
	}
	if n.Awaits != nil {
		text = "waits for a message: renga message send " + n.Awaits.Name
		if n.Awaits.Key != "" {
			text += " --key " + quoted(n.Awaits.Key)
		}
	}
	return text + with("; until ", instant(n.WaitUntil)) + with("; ", reminded(n.Reminders, n.NextReminderAt))
}

// quoted is a text as a shell takes it.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func nodeEnded(s client.NodeStatus) bool {
	return s == client.NodeSucceeded || s == client.NodeFailed || s == client.NodeCanceled
}

// explainRefusals says what each rule refused, and whether results were kept.
func (w *why) explainRefusals(e *client.Execution, list []logged, total int) {
	refused := map[string][]string{} // commands by the guard
	var order []string
	for _, t := range list {
		if refused[t.Guard] == nil {
			order = append(order, t.Guard)
		}
		refused[t.Guard] = append(refused[t.Guard], fmt.Sprintf("%d (%s)", t.Number, t.what()))
	}
	if total > len(list) {
		w.add("%d commands were refused; of the last %d:", total, len(list))
	}
	for _, guard := range order {
		names, all := refused[guard], len(refused[guard])
		if all > 5 {
			names = append(names[:5], fmt.Sprintf("%d more", all-5))
		}
		w.add("The rule %s (%s) refused %s: %s.", guard, guardWords[guard], count(all, "command", "commands"),
			listed(names...))
	}
	switch n := len(e.LateResults); {
	case n == 1:
		w.add("A result that did not count is kept as evidence.")
	case n > 1:
		w.add("%d results that did not count are kept as evidence.", n)
	}
}

func (w *why) print(p *printer) {
	p.line("Execution %s", coloured{bold, w.ExecutionID})
	for _, sentence := range w.Explanation {
		p.line("%s", sentence)
	}
	columns("#, TIME, COMMAND, NODE, FROM, OUTCOME", func(t *logged) []any {
		return []any{t.Number, t.DecidedAt, t.Command, t.NodeID, t.sender(), w.outcome(p, t)}
	}).section(p, w.Commands)
	if left := w.Total - len(w.Commands); left > 0 {
		p.line("%s", coloured{faint, fmt.Sprintf("Left out: %s.", count(left, "other command", "other commands"))})
	}
	printLate(p, w.LateResults)
}

// outcome is what followed from a command.
func (w *why) outcome(p *printer, t *logged) painted {
	came := "accepted; it changed nothing"
	switch {
	case !t.Accepted:
		came = p.paint(yellow, "refused by "+t.Guard)
	case t.LastSeq > t.FirstSeq:
		came = fmt.Sprintf("events %d to %d", t.FirstSeq, t.LastSeq)
	case t.LastSeq > 0:
		came = fmt.Sprintf("event %d", t.FirstSeq)
	}
	if w.Decisive != nil && w.Decisive.Number == t.Number {
		came += p.paint(bold, ", and that decided")
	}
	return painted(came)
}
