package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/workflow/play"
)

// tasksCmd is `renga tasks`: the work of a worker, by hand.
type tasksCmd struct {
	Queues   tasksQueuesCmd   `cmd:"" help:"List the queues that have ready tasks."`
	Claim    tasksClaimCmd    `cmd:"" help:"Claim ready tasks; they are started for you."`
	Output   tasksOutputCmd   `cmd:"" help:"Show what a node has put out."`
	Progress tasksProgressCmd `cmd:"" help:"Report the progress of a task, and renew its lease."`
	Complete tasksCompleteCmd `cmd:"" help:"Complete a task."`
	Fail     tasksFailCmd     `cmd:"" help:"Report that a task failed."`
	Wait     tasksWaitCmd     `cmd:"" help:"Let a task wait until somebody resumes it."`
}

// working are the flags of commands on a task. The worker must be the same from the
// claim to the end, so its default is the same for one person on one machine.
type working struct {
	ID      string `arg:"" help:"Id of the execution."`
	Node    string `arg:"" help:"Id of the node."`
	Attempt int    `placeholder:"N" help:"The attempt that this is about; checked when it is given."`
	Worker  string `placeholder:"NAME" help:"The worker that claimed it; default: ${worker}."`
	sending
}

// person is the default name of a worker: whoever sits at the terminal.
func person() string {
	name, host := "somebody", "here"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

func orPerson(worker string) string { return cmp.Or(worker, person()) }

type tasksClaimCmd struct {
	Queue  []string      `placeholder:"NAME" help:"Queues, in their order (default)."`
	Max    int           `default:"1" placeholder:"N" help:"How many at most, 1 to 100 (${default})."`
	Wait   time.Duration `placeholder:"DURATION" help:"How long to wait for the first, up to 30s."`
	Lease  time.Duration `default:"60s" placeholder:"DURATION"`
	Worker string        `placeholder:"NAME" help:"Your name as a worker; default: ${worker}."`
	sending
}

func (tasksClaimCmd) Help() string {
	return `Every task in the answer is started for you and stays yours for the lease; progress renews it. Report
the result with renga tasks complete or fail before the lease runs out. Of data beyond 200 bytes the table has the size;
-o json and renga tasks output have all of it.

Examples:
  renga tasks claim --queue mail --wait 30s --lease 10m
  renga tasks complete 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 send --output '{"sent":true}'`
}

func (c *tasksClaimCmd) Run(ctx context.Context, r *remote) error {
	switch {
	case c.Max < 1 || c.Max > 100:
		return usage("--max must be 1 to 100")
	case c.Wait < 0 || c.Wait > 30*time.Second || c.Wait%time.Second != 0:
		return usage("--wait must be whole seconds, up to 30s")
	}
	if err := play.CheckLease(c.Lease); err != nil {
		return err
	}
	tasks, err := r.Tasks.Claim(c.context(ctx), client.Claim{
		Key: c.IdempotencyKey, WorkerID: orPerson(c.Worker), Queues: c.Queue, Max: c.Max, Wait: c.Wait, Lease: c.Lease,
	})
	if err == nil && len(tasks) == 0 && r.Output != "json" {
		r.say("no task is ready; --wait 30s waits for one")
	}
	return show(r, printTasks)(tasks, err)
}

// maxCell is how many bytes of data a table of tasks shows.
const maxCell = 200

// inCell is data as a table shows it; -o json has all of it.
func inCell(data json.RawMessage) string {
	if len(data) > maxCell {
		return fmt.Sprintf("(%d bytes)", len(data))
	}
	return string(data)
}

func printTasks(p *printer, tasks []client.Task) {
	columns("EXECUTION, NODE, ATTEMPT, GRAPH, QUEUE, LEASE UNTIL, INPUT, ERROR, OUTPUTS", func(t *client.Task) []any {
		var outputs []string
		for node, output := range t.Outputs {
			outputs = append(outputs, node+"="+inCell(output))
		}
		for node, ref := range t.OutputRefs {
			outputs = append(outputs, fmt.Sprintf("%s=(%d bytes)", node, ref.Size))
		}
		slices.Sort(outputs)
		failed := ""
		if t.Error != nil {
			failed = failure(t.Error)
		}
		return []any{
			t.ExecutionID, t.NodeID, t.Attempt, t.GraphID, t.Queue, t.LeaseUntil, inCell(t.Input), failed,
			strings.Join(outputs, " "),
		}
	}).print(p, tasks)
}

type tasksOutputCmd struct {
	ID   string `arg:"" help:"Id of the execution."`
	Node string `arg:"" help:"Id of the node."`
}

func (tasksOutputCmd) Help() string {
	return `A claim shows the outputs of the nodes before a task, and of large ones only how many bytes they have.

Examples:
  renga tasks output 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 quote`
}

func (c *tasksOutputCmd) Run(ctx context.Context, r *remote) error {
	return show(r, func(p *printer, output json.RawMessage) { p.line("%s", output) })(r.Tasks.Output(ctx, c.ID, c.Node))
}

type tasksCompleteCmd struct {
	working
	Output string `placeholder:"JSON" help:"What it put out: a JSON object, @FILE or -."`
	Next   bool   `help:"Take a task of the same execution that this makes ready."`
}

func (tasksCompleteCmd) Help() string {
	return `Examples:
  renga tasks complete 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 charge --output '{"receipt":"R-1"}'
  renga tasks complete 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 charge --attempt 2 --next`
}

func (c *tasksCompleteCmd) Run(ctx context.Context, r *remote) error {
	output, err := r.object("--output", c.Output)
	if err != nil {
		return err
	}
	return r.send(ctx, &c.sending, client.SucceedNode{
		Key: c.IdempotencyKey, ExecutionID: c.ID, NodeID: c.Node, Attempt: c.Attempt, WorkerID: orPerson(c.Worker),
		Output: output, Next: c.Next,
	}, c.reported("Completed"))
}

// reported says what was reported of the task, and shows the one that follows.
func (w *working) reported(verb string) func(*printer, client.Answer) {
	return func(p *printer, got client.Answer) {
		p.line("%s node %s of execution %s%s.", verb, w.Node, got.ExecutionID, again(got))
		if got.Task != nil {
			p.line("Next:")
			printTasks(p, []client.Task{*got.Task})
		}
	}
}

type tasksFailCmd struct {
	working
	Code    string `placeholder:"CODE" help:"What kind of failure."`
	Message string `placeholder:"TEXT" help:"What happened."`
	Detail  string `placeholder:"JSON" help:"More: a JSON object, @FILE or -."`
	Final   bool   `help:"Another attempt would fail again: there is none."`
}

func (tasksFailCmd) Help() string {
	return `The retry policy of the node decides what follows; after a --final failure there is no other attempt.

Examples:
  renga tasks fail 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 charge --code NO_MONEY --message "the card was declined"
  renga tasks fail 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 charge --code NO_ACCOUNT --final`
}

func (c *tasksFailCmd) Run(ctx context.Context, r *remote) error {
	detail, err := r.object("--detail", c.Detail)
	if err != nil {
		return err
	}
	cmd := client.FailNode{
		Key: c.IdempotencyKey, ExecutionID: c.ID, NodeID: c.Node, Attempt: c.Attempt,
		WorkerID: orPerson(c.Worker),
	}
	if c.Code != "" || c.Message != "" || detail != nil || c.Final {
		cmd.Error = &client.NodeError{Code: c.Code, Message: c.Message, Detail: detail, Final: c.Final}
	}
	return r.send(ctx, &c.sending, cmd, c.reported("Reported the failure of"))
}

type tasksProgressCmd struct {
	working
	Percent *float64 `placeholder:"N" help:"How far it is, 0 to 100."`
	Message string   `placeholder:"TEXT" help:"What it is doing."`
	Metrics string   `placeholder:"JSON" help:"Figures: a JSON object, @FILE or -."`
}

func (tasksProgressCmd) Help() string {
	return `Examples:
  renga tasks progress 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 charge --percent 42 --message "asking the bank"`
}

func (c *tasksProgressCmd) Run(ctx context.Context, r *remote) error {
	metrics, err := r.object("--metrics", c.Metrics)
	if err != nil {
		return err
	}
	return r.send(ctx, &c.sending, client.ReportNodeProgress{
		Key: c.IdempotencyKey, ExecutionID: c.ID, NodeID: c.Node, Attempt: c.Attempt, WorkerID: orPerson(c.Worker),
		Progress: c.Percent, Message: c.Message, Metrics: metrics,
	}, c.reported("Reported the progress of"))
}

type tasksWaitCmd struct {
	working
	Key    string `placeholder:"KEY" help:"Wait key: who resumes the node must give the same."`
	Prompt string `placeholder:"JSON" help:"What is asked: a JSON object, @FILE or -."`
}

func (tasksWaitCmd) Help() string {
	return `The clocks of the task stop until somebody resumes it (renga execution resume).

Examples:
  renga tasks wait 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 charge --prompt '{"question":"which card?"}'`
}

func (c *tasksWaitCmd) Run(ctx context.Context, r *remote) error {
	prompt, err := r.object("--prompt", c.Prompt)
	if err != nil {
		return err
	}
	return r.send(ctx, &c.sending, client.PutNodeWaiting{
		Key: c.IdempotencyKey, ExecutionID: c.ID, NodeID: c.Node, Attempt: c.Attempt, WorkerID: orPerson(c.Worker),
		WaitKey: c.Key, Prompt: prompt,
	}, c.reported("Put to waiting:"))
}
