package test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reading is what an expression of PromQL reads: metrics, and the labels that it picks
// series by or groups them by.
type reading struct {
	metrics []string
	labels  map[string][]string // of a metric
	groups  []string
}

// What an expression may call, and the words of the language.
var (
	functions = []string{
		"rate",
		"increase",
		"deriv",
		"sum",
		"max",
		"min",
		"avg",
		"count",
		"topk",
		"histogram_quantile",
	}
	grouping  = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
	operators = []string{"and", "or", "unless", "offset", "bool"}

	aToken = regexp.MustCompile(
		`"(?:[^"\\]|\\.)*"|[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9]+(?:\.[0-9]+)?(?:[smhdwy])?|` +
			`=~|!~|==|!=|<=|>=|[-+*/%^(){}\[\],=<>]|\S`,
	)
	aName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
)

// readPromQL reads an expression. It knows as much of the language as our files use, and
// refuses the rest.
func readPromQL(expr string) (reading, error) {
	r := promReader{
		tokens:  aToken.FindAllString(strings.ReplaceAll(expr, "$__rate_interval", "5m"), -1),
		reading: reading{labels: map[string][]string{}},
	}
	for len(r.tokens) > 0 {
		if err := r.next(); err != nil {
			return r.reading, fmt.Errorf("%s: %w", expr, err)
		}
	}
	if len(r.open) > 0 {
		return r.reading, fmt.Errorf("%s: %s is not closed", expr, r.open)
	}
	return r.reading, nil
}

type promReader struct {
	tokens []string
	open   []string
	metric string // that was read last
	reading
}

func (r *promReader) take() string {
	if len(r.tokens) == 0 {
		return ""
	}
	t := r.tokens[0]
	r.tokens = r.tokens[1:]
	return t
}

func (r *promReader) peek() string {
	if len(r.tokens) == 0 {
		return ""
	}
	return r.tokens[0]
}

// next reads a token and what belongs to it.
func (r *promReader) next() error {
	closes := map[string]string{")": "(", "]": "["}
	switch t := r.take(); {
	case t == "(" || t == "[":
		r.open = append(r.open, t)
	case closes[t] != "":
		if len(r.open) == 0 || r.open[len(r.open)-1] != closes[t] {
			return fmt.Errorf("%s closes nothing", t)
		}
		r.open = r.open[:len(r.open)-1]
	case t == "{":
		return r.selector()
	case slices.Contains(grouping, t):
		return r.group()
	case slices.Contains(operators, t), strings.Contains("+-*/%^,<>", t),
		slices.Contains([]string{"==", "!=", "<=", ">="}, t), t[0] >= '0' && t[0] <= '9':
	case aName.MatchString(t) && r.peek() == "(", aName.MatchString(t) && slices.Contains(grouping, r.peek()):
		if !slices.Contains(functions, t) {
			return fmt.Errorf("the function %s is not known", t)
		}
	case aName.MatchString(t):
		r.metric = t
		r.metrics = append(r.metrics, t)
	default:
		return fmt.Errorf("%q was not expected", t)
	}
	return nil
}

// selector reads the labels of a metric.
func (r *promReader) selector() error {
	for {
		name, op, value := r.take(), r.take(), r.take()
		if !aName.MatchString(name) || !slices.Contains([]string{"=", "!=", "=~", "!~"}, op) ||
			!strings.HasPrefix(value, `"`) || r.metric == "" {
			return fmt.Errorf("%s%s%s picks nothing", name, op, value)
		}
		if strings.HasSuffix(op, "~") {
			if _, err := regexp.Compile(strings.Trim(value, `"`)); err != nil {
				return err
			}
		}
		r.labels[r.metric] = append(r.labels[r.metric], name)
		switch end := r.take(); end {
		case "}":
			return nil
		case ",":
		default:
			return fmt.Errorf("%q was not expected among labels", end)
		}
	}
}

// group reads the labels of by and its like.
func (r *promReader) group() error {
	if r.take() != "(" {
		return fmt.Errorf("there are no labels to group by")
	}
	for {
		name, end := r.take(), r.take()
		if !aName.MatchString(name) || end != "," && end != ")" {
			return fmt.Errorf("%s%s is no label to group by", name, end)
		}
		r.groups = append(r.groups, name)
		if end == ")" {
			return nil
		}
	}
}

func TestExpressionsOfPromQLAreRead(t *testing.T) {
	got, err := readPromQL(
		`histogram_quantile(0.99, sum by (le, route) (rate(a_bucket{x="1",y=~"a|b"}[$__rate_interval]))) > 1 ` +
			`and max(b) == 0`,
	)
	if err != nil || !slices.Equal(got.metrics, []string{"a_bucket", "b"}) ||
		!slices.Equal(got.groups, []string{"le", "route"}) || !slices.Equal(got.labels["a_bucket"],
		[]string{"x", "y"}) {
		t.Errorf("got %+v (%v)", got, err)
	}
	for _, wrong := range []string{
		`sum(a`, `a)`, `rate(a[5m)`, `a{x}`, `a{x="1"`, `raet(a[5m])`, `sum by () (a)`,
		`a{x=~"("}`, `a ? b`,
	} {
		if got, err := readPromQL(wrong); err == nil {
			t.Errorf("%s was read as %+v", wrong, got)
		}
	}
}
