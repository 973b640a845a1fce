package cli

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/play"
)

type simulateCmd struct {
	File        string        `arg:"" help:"Graph in YAML or JSON; - is standard input."`
	Input       string        `placeholder:"JSON" help:"Input of the execution: JSON, @FILE or -."`
	Outcome     []string      `sep:"none" placeholder:"NODE=WHAT"`
	Script      string        `placeholder:"FILE"`
	CancelAfter int           `placeholder:"N" help:"Cancel the execution as soon as its log has event N."`
	TaskTime    time.Duration `default:"1s" placeholder:"DURATION"`
	Lease       time.Duration `default:"60s" placeholder:"DURATION"`
	ID          string        `placeholder:"NAME" help:"Id of the graph; ${file_id}"`
}

func (simulateCmd) Help() string {
	return `Plays an execution with the very code that decides on a server, and prints the events that it would emit.
Every Task is claimed by a worker at once, as POST /tasks/claim does it, with the default lease of 60s. A worker that
is alive renews it three times in its time, as the Go client does; one table row may stand for many renewals. Every
Task succeeds and every Wait is resumed, unless an outcome says otherwise:

  succeed[:OUTPUT]        Task: it succeeds
  fail[:CODE[:MESSAGE]]   Task: the attempt fails; the retry policy of the node decides what follows
  final[:CODE[:MESSAGE]]  Task: the attempt fails, and there is no other one, whatever the retry policy says
  timeout                 its timeout passes: of a Task while its worker is alive, of a Wait while nobody resumes it
  lost                    Task: its worker is never heard of again; the lease, or an earlier timeout, runs out
  wait[:KEY]              Task: it waits for somebody, is resumed, and its next outcome follows
  resume[:OUTPUT]         Wait: it is resumed
  cancel[:REASON]         this node alone is cancelled

With @DURATION behind the verb it takes so long. When a node has more attempts than outcomes its last outcome
is that of all others. Time is virtual and begins at 2000-01-01T00:00:00Z, so the same graph and outcomes
always give the same events. A script holds the same as JSON.

Examples:
  renga graph simulate order.yaml
  renga graph simulate order.yaml --input '{"total":4200}' --outcome charge=fail:NO_MONEY --outcome charge=succeed
  renga graph simulate order.yaml --outcome 'approve=resume@2h:{"ok":true}' --outcome ship=lost
  renga graph simulate order.yaml --cancel-after 9
  renga graph simulate order.yaml --script race.json -o json`
}

func (c *simulateCmd) Run(a *App) error {
	file, err := a.graph(c.File, c.ID)
	if err != nil {
		return err
	}
	plan, err := file.graph.Compile(file.id, 1)
	if err != nil {
		return inFile(c.File, err)
	}
	p, input, err := c.player(a, plan)
	if err != nil {
		return err
	}
	if err := p.Run(input); err != nil {
		return err
	}
	rows, err := rows(p)
	if err != nil {
		return err
	}
	err = a.print(p.Report(), func(out *printer) {
		out.grid("TIME, COMMAND, SEQ, EVENT, NODE, WHAT", rows)
		out.line("\n%s", painted(verdict(p, out.screen)))
	})
	if err != nil {
		return err
	}
	return codeOf(p.State.Status.String())
}

// player combines the script and the flags.
func (c *simulateCmd) player(a *App, plan *flow.Plan) (*play.Play, flow.Data, error) {
	var s play.Script
	if c.Script != "" {
		raw, err := a.read(c.Script)
		if err != nil {
			return nil, nil, err
		}
		if s, err = play.ParseScript(raw); err != nil {
			return nil, nil, inFile(c.Script, err)
		}
	}
	if s.Outcomes == nil {
		s.Outcomes = map[string]play.Outcomes{}
	}
	given := map[string]play.Outcomes{}
	for _, text := range c.Outcome {
		node, one, err := play.ParseOutcome(text)
		if err != nil {
			return nil, nil, err
		}
		given[node] = append(given[node], one)
	}
	maps.Copy(s.Outcomes, given)
	if s.TaskTime == nil || c.TaskTime != play.DefaultTaskTime {
		s.TaskTime = (*flow.Duration)(&c.TaskTime)
	}
	if s.Lease == nil || c.Lease != play.DefaultLease {
		s.Lease = (*flow.Duration)(&c.Lease)
	}
	if c.CancelAfter != 0 {
		s.CancelAfter = c.CancelAfter
	}
	p, err := play.New(plan, &s, play.Limits{})
	if err != nil {
		return nil, nil, err
	}
	input, err := a.object("--input", c.Input)
	if input != nil {
		s.Input = jsontext.Value(input)
	}
	return p, flow.Data(s.Input), err
}

// rows are the commands and the events that followed. Of many renewals in a row they have the first.
func rows(p *play.Play) (rows [][]any, err error) {
	for i := 0; i < len(p.Decisions); i++ {
		more, err := rowsOf(&p.Decisions[i])
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
		if run := renewals(p.Decisions[i:]); run > 2 {
			i += run - 1
			what := fmt.Sprintf("%d more renewals, the last at +%v", run-1, p.Decisions[i].At.Sub(play.Beginning))
			rows = append(rows, []any{"", "", "", "…", "", what})
		}
	}
	return rows, nil
}

// renewals is how many commands renew leases before another one comes.
func renewals(list []play.Decision) int {
	for i, d := range list {
		if _, ok := d.Command.(flow.Progress); !ok {
			return i
		}
	}
	return len(list)
}

func rowsOf(d *play.Decision) (rows [][]any, err error) {
	at, name := "+"+d.At.Sub(play.Beginning).String(), d.Command.Name()
	if d.Refused != nil {
		why := fmt.Sprintf("%s: %s", d.Refused.Guard, d.Refused.Reason)
		return [][]any{{at, name, "", coloured{yellow, "refused"}, d.Command.Target(), why}}, nil
	}
	for i := range d.Events {
		ev := &d.Events[i]
		if i > 0 {
			at, name = "", ""
		}
		payload, err := flow.AppendPayload(nil, ev.Payload)
		if err != nil {
			return nil, err
		}
		rows = append(rows, []any{
			at, name, ev.Seq, eventType(ev.Type.String()), ev.Payload.Node(), members(payload, "nodeId", "graphDigest"),
		})
	}
	return rows, nil
}

func verdict(p *play.Play, on screen) string {
	s, status := &p.State, on.cell(status(p.State.Status.String()))
	tail := fmt.Sprintf("after %v and %s", p.Took(), count(len(p.Log), "event", "events"))
	switch s.Status {
	case flow.Completed:
		if s.Outcome != "" {
			tail += ", outcome " + s.Outcome
		}
		if result := p.Result(); result != nil {
			return fmt.Sprintf("%s %s, with %s", status, tail, clean(string(result)))
		}
	case flow.Failed:
		return fmt.Sprintf("%s %s: node %s, %s", status, tail, s.FailedNode, clean(describeError(s.Error)))
	case flow.Canceled:
		return fmt.Sprintf("%s %s: cancel won at event %d", status, tail, s.CancelSeq) +
			with(", and it started a cleanup by graph ", p.Cleanup())
	case flow.Active:
		return fmt.Sprintf("%s for ever: %s waits, without a timeout, and nobody resumes it", status,
			strings.Join(p.Stuck(), ", "))
	}
	return status + " " + tail
}

func describeError(e *flow.Error) string {
	if e == nil {
		return "without a reason"
	}
	return joined(": ", e.Code, e.Message)
}

// eventType is the type of an event, coloured by what it tells.
func eventType(name string) coloured {
	var c colour
	switch {
	case strings.HasSuffix(name, "_COMPLETED"), strings.HasSuffix(name, "_SUCCEEDED"),
		strings.HasSuffix(name, "_PASSED"):
		c = green
	case strings.HasSuffix(name, "_FAILED"), strings.Contains(name, "_FAIL_"):
		c = red
	case strings.Contains(name, "CANCEL"), strings.Contains(name, "INTERRUPT"):
		c = yellow
	case strings.HasSuffix(name, "_CREATED"):
		c = faint
	}
	return coloured{c, name}
}
