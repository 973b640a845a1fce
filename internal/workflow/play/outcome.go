package play

import (
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// Outcome is what happens to a node of a simulation.
type Outcome struct {
	Do      string         `json:"do"`
	After   *flow.Duration `json:"after"` // nil: the default of the simulation
	Output  jsontext.Value `json:"output"`
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Detail  jsontext.Value `json:"detail"`
	WaitKey string         `json:"waitKey"`
	Reason  string         `json:"reason"`
}

const (
	doSucceed = "succeed"
	doFail    = "fail"
	doFinal   = "final"   // it fails, and another attempt would fail again
	doTimeout = "timeout" // it takes longer than it may, and the worker is alive
	doLost    = "lost"    // the worker is never heard of again
	doResume  = "resume"
	doWait    = "wait" // a Task waits for somebody and is resumed
	doCancel  = "cancel"
)

var outcomesOf = map[flow.Kind][]string{
	flow.TaskKind: {doSucceed, doFail, doFinal, doTimeout, doLost, doWait, doCancel},
	flow.WaitKind: {doResume, doTimeout, doCancel},
}

// ParseOutcome reads NODE=WHAT, where WHAT is a verb, perhaps @DURATION, and what the verb goes with:
//
//	pay=fail:ERR_X:no money  pay=succeed@5m:{"receipt":"R-1"}  approve=resume:{"ok":true}  ship=lost
func ParseOutcome(text string) (node string, out Outcome, err error) {
	node, what, ok := strings.Cut(text, "=")
	if !ok || node == "" {
		return "", out, invalid("outcome %q: write NODE=WHAT, such as pay=fail:ERR_X", text)
	}
	verb, with, given := strings.Cut(what, ":")
	verb, after, delayed := strings.Cut(verb, "@")
	out.Do = verb
	if delayed {
		d, err := time.ParseDuration(after)
		if err != nil || d < 0 {
			return "", out, invalid("outcome %q: %q is not a duration: write it like 50ms, 2s or 24h", text, after)
		}
		out.After = (*flow.Duration)(&d)
	}
	switch verb {
	case doSucceed, doResume:
		if given {
			out.Output = jsontext.Value(with)
		}
	case doFail, doFinal:
		out.Code, out.Message, _ = strings.Cut(with, ":")
	case doWait:
		out.WaitKey = with
	case doCancel:
		out.Reason = with
	case doTimeout, doLost:
		if given || delayed {
			return "", out, invalid("outcome %q: %s goes with nothing", text, verb)
		}
	}
	return node, out, nil
}

func (o *Outcome) check(plan *flow.Plan, node string) error {
	i, ok := plan.Node(node)
	if !ok {
		return invalid("outcome of %q: the graph has no such node; those that can have one are %s", node,
			strings.Join(withOutcomes(plan), ", "))
	}
	kind := plan.Spec(i).Type
	can := outcomesOf[kind]
	switch {
	case can == nil:
		return invalid("outcome of %s: a %s has none; those that can have one are %s", node, kind,
			strings.Join(withOutcomes(plan), ", "))
	case !slices.Contains(can, o.Do):
		return invalid("outcome of %s: %q is nothing that a %s can do; it is one of %s", node, o.Do, kind,
			strings.Join(can, ", "))
	case o.Do == doTimeout && kind == flow.TaskKind && plan.Spec(i).Timeout == 0:
		return invalid("outcome of %s: the graph gives it no timeout; with %s=lost its worker is never heard of again",
			node, node)
	}
	for _, data := range []jsontext.Value{o.Output, o.Detail} {
		if data == nil {
			continue
		}
		if err := canonical.Check(data); err != nil || data.Kind() != jsontext.KindBeginObject {
			return invalid("outcome of %s: %.64q is not a JSON object", node, data)
		}
	}
	return nil
}

func withOutcomes(plan *flow.Plan) []string {
	var names []string
	for i := range plan.Graph.Nodes {
		if spec := plan.Spec(i); outcomesOf[spec.Type] != nil {
			names = append(names, spec.NodeID)
		}
	}
	return names
}

// Script is how a simulation goes, as a file has it.
type Script struct {
	Input       jsontext.Value      `json:"input"`
	Outcomes    map[string]Outcomes `json:"outcomes"`
	CancelAfter int                 `json:"cancelAfter"`
	TaskTime    *flow.Duration      `json:"taskTime"`
	Lease       *flow.Duration      `json:"lease"`
}

// Outcomes are those of one node: the first for its first attempt, and so on.
type Outcomes []Outcome

// UnmarshalJSONFrom reads one outcome or a list; an outcome is an object or, in short, what a flag says.
func (list *Outcomes) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() == jsontext.KindBeginArray {
		var many []oneOutcome
		if err := json.UnmarshalDecode(d, &many); err != nil {
			return err
		}
		for _, one := range many {
			*list = append(*list, Outcome(one))
		}
		return nil
	}
	var one oneOutcome
	if err := json.UnmarshalDecode(d, &one); err != nil {
		return err
	}
	*list = Outcomes{Outcome(one)}
	return nil
}

type oneOutcome Outcome

// UnmarshalJSONFrom reads an object, or a text as in a flag.
func (o *oneOutcome) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindString {
		return json.UnmarshalDecode(d, (*Outcome)(o))
	}
	var text string
	if err := json.UnmarshalDecode(d, &text); err != nil {
		return err
	}
	_, parsed, err := ParseOutcome("node=" + text)
	if e, ok := fault.As(err); ok {
		return e
	}
	*o = oneOutcome(parsed)
	return nil
}

// ParseScript reads a script from JSON.
func ParseScript(raw []byte) (Script, error) {
	var s Script
	if err := canonical.Decode(raw, &s); err != nil {
		return s, err
	}
	if s.CancelAfter < 0 {
		return s, invalid("cancelAfter must be the number of an event")
	}
	return s, nil
}
