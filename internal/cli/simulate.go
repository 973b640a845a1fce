package cli

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/workflow/flow"
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
	if err := p.play(input); err != nil {
		return err
	}
	rows, err := p.rows()
	if err != nil {
		return err
	}
	err = a.print(p.report(), func(out *printer) {
		out.grid("TIME, COMMAND, SEQ, EVENT, NODE, WHAT", rows)
		out.line("\n%s", painted(p.verdict(out.screen)))
	})
	if err != nil {
		return err
	}
	return codeOf(p.state.Status.String())
}

// player combines the script and the flags.
func (c *simulateCmd) player(a *App, plan *flow.Plan) (*player, flow.Data, error) {
	var s script
	if c.Script != "" {
		raw, err := a.read(c.Script)
		if err != nil {
			return nil, nil, err
		}
		if s, err = parseScript(raw); err != nil {
			return nil, nil, inFile(c.Script, err)
		}
	}
	if s.Outcomes == nil {
		s.Outcomes = map[string]outcomes{}
	}
	given := map[string]outcomes{}
	for _, text := range c.Outcome {
		node, one, err := parseOutcome(text)
		if err != nil {
			return nil, nil, err
		}
		given[node] = append(given[node], one)
	}
	maps.Copy(s.Outcomes, given)
	if s.TaskTime == nil || c.TaskTime != defaultTaskTime {
		s.TaskTime = (*flow.Duration)(&c.TaskTime)
	}
	if s.Lease == nil || c.Lease != defaultLease {
		s.Lease = (*flow.Duration)(&c.Lease)
	}
	if c.CancelAfter != 0 {
		s.CancelAfter = c.CancelAfter
	}
	p, err := newPlayer(plan, &s)
	if err != nil {
		return nil, nil, err
	}
	input, err := a.object("--input", c.Input)
	if input != nil {
		s.Input = jsontext.Value(input)
	}
	return p, flow.Data(s.Input), err
}

// newPlayer plays a graph as a script says.
func newPlayer(plan *flow.Plan, s *script) (*player, error) {
	p := &player{
		plan: plan, outcomes: s.Outcomes, cancelAfter: uint64(max(s.CancelAfter, 0)),
		taskTime: defaultTaskTime, lease: defaultLease,
	}
	if s.TaskTime != nil {
		p.taskTime = time.Duration(*s.TaskTime)
	}
	if s.Lease != nil {
		p.lease = time.Duration(*s.Lease)
	}
	if p.taskTime < 0 || s.CancelAfter < 0 {
		return nil, usage("the time of a task and the event to cancel after cannot be negative")
	}
	if err := checkLease(p.lease); err != nil {
		return nil, err
	}
	for node, list := range p.outcomes {
		for i := range list {
			if err := list[i].check(plan, node); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// simulation is a play as scripts see it.
type simulation struct {
	Status       string       `json:"status"`
	GraphID      string       `json:"graphId"`
	GraphDigest  string       `json:"graphDigest"`
	Took         string       `json:"took"`
	Result       flow.Data    `json:"result,omitzero"`
	Outcome      string       `json:"outcome,omitzero"`
	Error        *flow.Error  `json:"error,omitzero"`
	FailedNodeID string       `json:"failedNodeId,omitzero"`
	CancelSeq    uint64       `json:"cancelSeq,omitzero"`
	Commands     []playedView `json:"commands"`
	Events       []flow.Event `json:"events"`
	// of an execution that is still ACTIVE, the nodes that would wait for ever
	WaitsFor []string `json:"waitsFor,omitzero"`
}

// playedView is a command of a play, as the server lists commands.
type playedView struct {
	Command  string     `json:"command"`
	NodeID   string     `json:"nodeId,omitzero"`
	At       flow.Time  `json:"decidedAt"`
	Actor    flow.Actor `json:"actor"`
	Accepted bool       `json:"accepted"`
	FirstSeq uint64     `json:"firstSeq,omitzero"`
	LastSeq  uint64     `json:"lastSeq,omitzero"`
	Error    *problem   `json:"error,omitzero"`
}

func (p *player) report() *simulation {
	s := &p.state
	out := &simulation{
		Status: s.Status.String(), GraphID: s.GraphID, GraphDigest: s.GraphDigest, Took: p.took().String(),
		Outcome: s.Outcome,
		Error:   s.Error, FailedNodeID: s.FailedNode, CancelSeq: s.CancelSeq, Events: p.log, WaitsFor: p.stuck(),
	}
	for _, d := range p.decisions {
		v := playedView{
			Command: d.command.Name(), NodeID: d.command.Target(), At: d.at, Actor: actorOf(d.command),
			Accepted: d.refused == nil,
		}
		if len(d.events) > 0 {
			v.Actor, v.FirstSeq, v.LastSeq = d.events[0].Actor, d.events[0].Seq, d.events[len(d.events)-1].Seq
		}
		if r := d.refused; r != nil {
			v.Error = &problem{"COMMAND_REJECTED", r.Error(), map[string]any{"guard": r.Guard}}
		}
		out.Commands = append(out.Commands, v)
	}
	if ev := p.last(); ev != nil {
		out.Result = flow.DataOf(ev.Payload)
	}
	return out
}

func (p *player) last() *flow.Event {
	for i := range p.log {
		if p.log[i].Type == flow.ExecutionCompletedType {
			return &p.log[i]
		}
	}
	return nil
}

func (p *player) took() time.Duration {
	return cmp.Or(p.state.EndedAt, p.now).Sub(beginning)
}

// stuck are the nodes that nothing will ever happen to.
func (p *player) stuck() []string {
	if p.state.Status.Terminal() {
		return nil
	}
	var names []string
	for _, n := range p.state.Nodes {
		if n.Status == flow.NodeIsWaiting {
			names = append(names, n.ID)
		}
	}
	return names
}

// rows are the commands and the events that followed. Of many renewals in a row they have the first.
func (p *player) rows() (rows [][]any, err error) {
	for i := 0; i < len(p.decisions); i++ {
		more, err := p.decisions[i].rows()
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
		if run := renewals(p.decisions[i:]); run > 2 {
			i += run - 1
			what := fmt.Sprintf("%d more renewals, the last at +%v", run-1, p.decisions[i].at.Sub(beginning))
			rows = append(rows, []any{"", "", "", "…", "", what})
		}
	}
	return rows, nil
}

// renewals is how many commands renew leases before another one comes.
func renewals(list []decision) int {
	for i, d := range list {
		if _, ok := d.command.(flow.Progress); !ok {
			return i
		}
	}
	return len(list)
}

func (d *decision) rows() (rows [][]any, err error) {
	at, name := "+"+d.at.Sub(beginning).String(), d.command.Name()
	if d.refused != nil {
		why := fmt.Sprintf("%s: %s", d.refused.Guard, d.refused.Reason)
		return [][]any{{at, name, "", coloured{yellow, "refused"}, d.command.Target(), why}}, nil
	}
	for i := range d.events {
		ev := &d.events[i]
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

func (p *player) verdict(on screen) string {
	s, status := &p.state, on.cell(status(p.state.Status.String()))
	tail := fmt.Sprintf("after %v and %s", p.took(), count(len(p.log), "event", "events"))
	switch s.Status {
	case flow.Completed:
		if s.Outcome != "" {
			tail += ", outcome " + s.Outcome
		}
		if result := flow.DataOf(p.last().Payload); result != nil {
			return fmt.Sprintf("%s %s, with %s", status, tail, clean(string(result)))
		}
	case flow.Failed:
		return fmt.Sprintf("%s %s: node %s, %s", status, tail, s.FailedNode, clean(describeError(s.Error)))
	case flow.Canceled:
		return fmt.Sprintf("%s %s: cancel won at event %d", status, tail, s.CancelSeq)
	case flow.Active:
		return fmt.Sprintf("%s for ever: %s waits, without a timeout, and nobody resumes it", status,
			strings.Join(p.stuck(), ", "))
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
