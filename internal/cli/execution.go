package cli

import (
	"context"
	"strings"

	"renga.dev/renga/client"
)

type executionCmd struct {
	Create  executionCreateCmd  `cmd:"" help:"Create an execution of a graph; --start starts it too."`
	Rerun   executionRerunCmd   `cmd:"" help:"Do an execution again: a new one, with its graph version and input."`
	Start   executionStartCmd   `cmd:"" help:"Start an execution."`
	Cancel  executionCancelCmd  `cmd:"" help:"Cancel an execution; cancel always wins."`
	Resume  executionResumeCmd  `cmd:"" help:"Resume a node that waits."`
	Archive executionArchiveCmd `cmd:"" help:"Archive an execution that has ended."`
	Show    executionShowCmd    `cmd:"" help:"Show an execution, now or as it was."`
	List    executionListCmd    `cmd:"" help:"List executions, newest first."`
	Watch   executionWatchCmd   `cmd:"" help:"Follow an execution until it ends."`
	Events  executionEventsCmd  `cmd:"" help:"Print the log of an execution."`
	Why     executionWhyCmd     `cmd:"" help:"Explain how an execution ended, or why it is where it is."`

	Attempts executionAttemptsCmd `cmd:"" help:"List the attempts of the nodes of an execution."`
	Counts   executionCountsCmd   `cmd:"" help:"Count executions by status and graph."`
}

// send sends a command and prints the answer: for people as they say.
func (r *remote) send(ctx context.Context, s *sending, cmd client.Command, people func(*printer, client.Answer)) error {
	return show(r, people)(r.Send(s.context(ctx), cmd))
}

// did says in a line what a command did to an execution, and whether that was before.
func did(format string) func(*printer, client.Answer) {
	return func(p *printer, got client.Answer) { p.line(format, got.ExecutionID, again(got)) }
}

// again says that an answer was given before.
func again(got client.Answer) string {
	if got.Replay {
		return " (this key was answered before; nothing happened now)"
	}
	return ""
}

// executionArg names an execution.
type executionArg struct {
	ID string `arg:"" help:"Id of the execution, or its graph and business key: order/A-17."`
}

// find asks for the id of an execution that was named by its business key.
func (a *executionArg) find(ctx context.Context, r *remote) error {
	graph, key, named := strings.Cut(a.ID, "/")
	if !named {
		return nil
	}
	e, err := r.Executions.ByKey(ctx, graph, key)
	if err == nil {
		a.ID = e.ExecutionID
	}
	return err
}

type executionCreateCmd struct {
	Graph        string            `arg:"" help:"Id of the graph; its newest version is used."`
	GraphVersion int               `placeholder:"N" help:"Use this version of the graph."`
	RerunOf      string            `placeholder:"ID" help:"The execution that this one does again."`
	Input        string            `placeholder:"JSON" help:"Input: a JSON object, @FILE or - for standard input."`
	Start        bool              `help:"Start it in the same commit."`
	BusinessKey  string            `placeholder:"KEY"`
	Label        map[string]string `placeholder:"NAME=VALUE" mapsep:"none"`
	Quiet        bool              `short:"q" help:"Print the id alone."`
	sending
}

func (executionCreateCmd) Help() string {
	return `Examples:
  renga execution create order --input '{"total":4200}' --start
  renga execution create order --input @order-17.json --start --idempotency-key order-17
  renga execution create order --start --business-key A-17 --label region=eu --label tier=gold
  id=$(renga execution create order --start -q); renga execution watch $id`
}

func (c *executionCreateCmd) Run(ctx context.Context, r *remote) error {
	input, err := r.object("--input", c.Input)
	if err != nil {
		return err
	}
	cmd := client.CreateExecution{
		Key: c.IdempotencyKey, GraphID: c.Graph, Input: input, Start: c.Start, BusinessKey: c.BusinessKey,
		Labels: c.Label, GraphVersion: c.GraphVersion, RerunOf: c.RerunOf,
	}
	return r.send(ctx, &c.sending, cmd, func(p *printer, got client.Answer) {
		switch {
		case c.Quiet:
			p.line("%s", got.ExecutionID)
		case c.Start:
			did("Created and started execution %s%s.")(p, got)
		default:
			did("Created execution %[1]s%[2]s. Start it with: renga execution start %[1]s")(p, got)
		}
	})
}

type executionRerunCmd struct {
	executionArg
	Quiet bool `short:"q" help:"Print the id of the new one alone."`
	sending
}

func (executionRerunCmd) Help() string {
	return `What has ended stays as it ended: this creates and starts a new execution with the graph version, input,
business key and labels of the one that it names. It is refused while that one is active and has a business key.

Examples:
  renga execution rerun 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27
  renga execution rerun order/A-17 --idempotency-key again-A-17`
}

func (c *executionRerunCmd) Run(ctx context.Context, r *remote) error {
	if err := c.find(ctx, r); err != nil {
		return err
	}
	e, err := r.Executions.Get(ctx, c.ID)
	if err != nil {
		return err
	}
	cmd := client.CreateExecution{
		Key: c.IdempotencyKey, GraphID: e.GraphID, GraphVersion: e.GraphVersion, BusinessKey: e.BusinessKey,
		Labels: e.Labels, RerunOf: e.ExecutionID, Start: true,
	}
	if e.Input != nil {
		cmd.Input = e.Input
	}
	return r.send(ctx, &c.sending, cmd, func(p *printer, got client.Answer) {
		if c.Quiet {
			p.line("%s", got.ExecutionID)
			return
		}
		p.line("Created and started execution %s, which does %s again%s.", got.ExecutionID, e.ExecutionID, again(got))
	})
}

type executionStartCmd struct {
	executionArg
	sending
}

func (executionStartCmd) Help() string {
	return `Examples:
  renga execution start 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27`
}

func (c *executionStartCmd) Run(ctx context.Context, r *remote) error {
	if err := c.find(ctx, r); err != nil {
		return err
	}
	cmd := client.StartExecution{Key: c.IdempotencyKey, ExecutionID: c.ID}
	return r.send(ctx, &c.sending, cmd, did("Started execution %s%s."))
}

type executionCancelCmd struct {
	executionArg
	Reason string `placeholder:"TEXT" help:"Why; it stands in the log."`
	sending
}

func (executionCancelCmd) Help() string {
	return `Accepted in every state that is not terminal, ahead of everything. The answer names the event where cancel
won: nothing after it moves the execution forward, whatever workers report. To cancel many, use renga bulk cancel.

Examples:
  renga execution cancel 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 --reason "the customer called"
  renga bulk cancel --graph order --status ACTIVE --created-from 24h`
}

func (c *executionCancelCmd) Run(ctx context.Context, r *remote) error {
	if err := c.find(ctx, r); err != nil {
		return err
	}
	cmd := client.CancelExecution{Key: c.IdempotencyKey, ExecutionID: c.ID, Reason: c.Reason}
	return r.send(ctx, &c.sending, cmd, func(p *printer, got client.Answer) {
		p.line("Cancelled execution %s: cancel won at event %d%s.", got.ExecutionID, got.CancelSeq, again(got))
	})
}

type executionResumeCmd struct {
	executionArg
	Node   string `arg:"" help:"Id of the node."`
	Key    string `placeholder:"KEY" help:"The wait key of the node, where it has one."`
	Output string `placeholder:"JSON" help:"What it is resumed with: a JSON object, @FILE or -."`
	sending
}

func (executionResumeCmd) Help() string {
	return `A Wait is done when it is resumed, and --output is its output; a Task that waits runs again and gets it.

Examples:
  renga execution resume 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 approve --output '{"ok":true}'
  renga execution resume 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 approve --key approval-123`
}

func (c *executionResumeCmd) Run(ctx context.Context, r *remote) error {
	if err := c.find(ctx, r); err != nil {
		return err
	}
	output, err := r.object("--output", c.Output)
	if err != nil {
		return err
	}
	cmd := client.ResumeNode{
		Key: c.IdempotencyKey, ExecutionID: c.ID, NodeID: c.Node, ResumeKey: c.Key, Output: output,
	}
	return r.send(ctx, &c.sending, cmd, func(p *printer, got client.Answer) {
		p.line("Resumed node %s of execution %s%s.", c.Node, got.ExecutionID, again(got))
	})
}

type executionArchiveCmd struct {
	executionArg
	Reason string `placeholder:"TEXT" help:"Why; it stands in the log."`
	sending
}

func (executionArchiveCmd) Help() string {
	return `Examples:
  renga execution archive 01a1e1d8-5dbe-7903-b04c-6ebbf6615a27 --reason settled`
}

func (c *executionArchiveCmd) Run(ctx context.Context, r *remote) error {
	if err := c.find(ctx, r); err != nil {
		return err
	}
	cmd := client.ArchiveExecution{Key: c.IdempotencyKey, ExecutionID: c.ID, Reason: c.Reason}
	return r.send(ctx, &c.sending, cmd, did("Archived execution %s%s."))
}
