package inbound

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// MaxSteps is how many steps a template may have.
const MaxSteps = 100

// FirstYear is the first year that a run can be for.
const FirstYear = 2000

// Kind is what makes a step of a template begin.
type Kind string

// The kinds.
const (
	ExternalEvent Kind = "external_event" // a delivery; the first step alone
	AfterPrevious Kind = "after_previous" // the end of the step before
	Manual        Kind = "manual"         // somebody who resumes the Wait in front of it
)

// Template is what a delivery starts: steps one after the other, and what a delivery
// that does not say otherwise is for.
type Template struct {
	Name       string `json:"name"`
	Year       *int64 `json:"year,omitzero"`
	Month      *int64 `json:"month,omitzero"`
	MFCloudURL string `json:"mfcloud_url,omitempty"`
	Notes      string `json:"notes,omitempty"`
	Steps      []Step `json:"steps"`
}

// Step is one thing to be done: a Task in the queue that is named as its action.
type Step struct {
	Action  string        `json:"action"`
	Kind    Kind          `json:"trigger_kind"`
	Title   string        `json:"title,omitempty"`
	Timeout flow.Duration `json:"timeout,omitzero"`
	Retry   *flow.Retry   `json:"retry,omitempty"`
}

// The documents are a template as it is written.
type (
	templateDoc struct {
		Template
		Steps []stepDoc `json:"steps"`
	}
	stepDoc struct {
		Step
		Timeout jsontext.Value `json:"timeout"`
		Retry   jsontext.Value `json:"retry"`
	}
)

// ParseTemplate reads a template, strictly, and makes sure that it can be compiled. The
// error is fault.Invalid, and its message names the member.
func ParseTemplate(data []byte) (Template, error) {
	var doc templateDoc
	if err := canonical.Decode(data, &doc); err != nil {
		return Template{}, err
	}
	tpl := doc.Template
	for i := range doc.Steps {
		step, err := doc.Steps[i].step(i)
		if err != nil {
			return Template{}, err
		}
		tpl.Steps = append(tpl.Steps, step)
	}
	if err := tpl.check(); err != nil {
		return Template{}, err
	}
	if _, err := tpl.graph().Compile(graphID("x"), 1); err != nil {
		return Template{}, unfit("%s", messageOf(err))
	}
	return tpl, nil
}

// check says what is wrong with a template whose members have the right types.
func (t *Template) check() error {
	switch {
	case t.Year != nil && *t.Year < FirstYear:
		return unfit("year must be %d or later", FirstYear)
	case t.Month != nil && !validMonth(*t.Month):
		return unfit("month must be 1 to 12")
	case t.Name == "":
		return unfit("name is missing")
	case !canonical.OneLine(t.Name, 1, MaxText):
		return unfit("name must be 1 to %d characters on one line", MaxText)
	case utf8.RuneCountInString(t.MFCloudURL) > MaxURL:
		return unfit("mfcloud_url is longer than %d characters", MaxURL)
	case len(t.Notes) > MaxNotes:
		return unfit("notes are longer than %d bytes", MaxNotes)
	case len(t.Steps) < 1 || len(t.Steps) > MaxSteps:
		return unfit("steps must be 1 to %d", MaxSteps)
	}
	for i := range t.Steps {
		if err := t.Steps[i].check(i); err != nil {
			return err
		}
	}
	return nil
}

func (s *Step) check(i int) error {
	switch {
	case s.Action == "":
		return unfit("steps[%d].action is missing", i)
	case !canonical.Name(s.Action):
		return unfit("steps[%d].action must be 1 to %d of A-Z a-z 0-9 . _ -", i, canonical.MaxName)
	case s.Kind == "":
		return unfit("steps[%d].trigger_kind is missing", i)
	case s.Kind != ExternalEvent && s.Kind != AfterPrevious && s.Kind != Manual:
		return unfit("steps[%d].trigger_kind must be %s, %s or %s", i, ExternalEvent, AfterPrevious, Manual)
	case s.Kind == ExternalEvent && i > 0:
		return unfit("steps[%d].trigger_kind: only the first step can be %s", i, ExternalEvent)
	case !canonical.OneLine(s.Title, 0, MaxText):
		return unfit("steps[%d].title must be at most %d characters on one line", i, MaxText)
	}
	return nil
}

// step reads timeout and retry as those of a Task in a graph are read.
func (d *stepDoc) step(i int) (Step, error) {
	s := d.Step
	if d.Timeout == nil && d.Retry == nil {
		return s, nil
	}
	task, err := json.Marshal(map[string]any{"nodes": []any{struct {
		Type    string         `json:"type"`
		Timeout jsontext.Value `json:"timeout,omitzero"`
		Retry   jsontext.Value `json:"retry,omitzero"`
	}{"Task", d.Timeout, d.Retry}}})
	if err != nil {
		return s, fault.Wrap("inbound.template", err)
	}
	g, err := flow.ParseGraph(task, false)
	if err != nil {
		return s, unfit("%s", strings.Replace(messageOf(err), "nodes[0]", fmt.Sprintf("steps[%d]", i), 1))
	}
	s.Timeout, s.Retry = g.Nodes[0].Timeout, g.Nodes[0].Retry
	return s, nil
}

// graph is what the template compiles to: a Task for each step, in their order, and a
// Wait in front of one that somebody must let begin. The wait key is the Task's name.
func (t *Template) graph() flow.Graph {
	const start, end = "start", "end"
	g := flow.Graph{Nodes: []flow.NodeSpec{{NodeID: start, Type: flow.StartKind}}}
	last := start
	add := func(n flow.NodeSpec) {
		g.Nodes = append(g.Nodes, n)
		g.Edges = append(g.Edges, flow.Edge{From: last, To: n.NodeID})
		last = n.NodeID
	}
	for i, s := range t.Steps {
		name := fmt.Sprintf("step-%d", i+1)
		if s.Kind == Manual {
			add(flow.NodeSpec{NodeID: name + "-wait", Type: flow.WaitKind, WaitKey: name})
		}
		add(flow.NodeSpec{NodeID: name, Type: flow.TaskKind, Queue: s.Action, Timeout: s.Timeout, Retry: s.Retry})
	}
	add(flow.NodeSpec{NodeID: end, Type: flow.SuccessKind})
	return g
}

// GraphPrefix begins the id of a template's graph. Names that users give have no colon,
// so the graph is the template's alone.
const GraphPrefix = "template:"

func graphID(template string) string { return GraphPrefix + template }

func validMonth(month int64) bool { return month >= 1 && month <= 12 }

func unfit(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...)
}

// messageOf is what a caller may see of an error.
func messageOf(err error) string {
	if failure, ok := fault.As(err); ok && failure.Message != "" && failure.Kind != fault.Internal {
		return failure.Message
	}
	return msgInternal
}

const msgInternal = "internal error"
