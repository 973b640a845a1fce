package flow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/fault"
)

// The largest graph with every member has fewer values and brackets.
const (
	maxDepth  = 64
	maxTokens = 100 * MaxNodes
)

// CodeInvalidGraph is the code of every error about a graph.
const CodeInvalidGraph = "INVALID_GRAPH"

// ParseGraph reads a graph from JSON or YAML and refuses whatever is not part of one: unknown and
// repeated members, wrong types, null, trailing data. Whether it can run is for Compile to say.
func ParseGraph(data []byte, yaml bool) (Graph, error) {
	if yaml {
		converted, err := YAMLToJSON(data)
		if err != nil {
			return Graph{}, err
		}
		data = converted
	}
	if err := checkJSON(data); err != nil {
		return Graph{}, err
	}
	g := Graph{Nodes: []NodeSpec{}, Edges: []Edge{}}
	if err := json.Unmarshal(data, &g, strictly, json.RejectUnknownMembers(true)); err != nil {
		var at jsontext.Pointer
		if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
			at = semantic.JSONPointer
		}
		return Graph{}, nameNode(data, explainJSON(err), at)
	}
	return g, nil
}

func nameNode(data []byte, e *fault.Error, p jsontext.Pointer) *fault.Error {
	rest, ok := strings.CutPrefix(string(p), "/nodes/")
	place, _, _ := strings.Cut(rest, "/")
	i, err := strconv.Atoi(place)
	var doc struct {
		Nodes []struct {
			NodeID any `json:"nodeId"`
		} `json:"nodes"`
	}
	if !ok || err != nil || json.Unmarshal(data, &doc) != nil || i >= len(doc.Nodes) {
		return e
	}
	id, ok := doc.Nodes[i].NodeID.(string)
	if !ok || !ValidName(id) {
		return e
	}
	e.Message += fmt.Sprintf(" (node %q)", id)
	if details, ok := e.Details.(map[string]any); ok {
		details["nodeId"] = id
	}
	return e
}

func checkJSON(data []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for n := 1; ; n++ {
		_, err := d.ReadToken()
		switch {
		case err == io.EOF:
			return invalidGraph("", "there is no graph: the document is empty")
		case err != nil:
			return explainJSON(err)
		case d.StackDepth() > maxDepth:
			return invalidGraph("", "the document nests deeper than %d", maxDepth)
		case n > maxTokens:
			return invalidGraph("", "the document has more than %d values", maxTokens)
		case d.StackDepth() == 0:
			if _, err := d.ReadToken(); err != io.EOF {
				return invalidGraph("", "there is something after the end of the graph")
			}
			return nil
		}
	}
}

func explainJSON(err error) *fault.Error {
	var syntax *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return invalidGraph(fieldOf(syntax.JSONPointer), "is there twice")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return invalidGraph("", "the document ends too early")
	case errors.As(err, &syntax):
		return invalidGraph(fieldOf(syntax.JSONPointer), "malformed JSON at byte %d: %v", syntax.ByteOffset, syntax.Err)
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &semantic):
		return invalidGraph(fieldOf(semantic.JSONPointer), "is not a member that exists here")
	case errors.As(err, &semantic) && semantic.Err != nil && semantic.JSONPointer == "":
		return invalidGraph("", "the graph %v", semantic.Err)
	case errors.As(err, &semantic) && semantic.Err != nil:
		return invalidGraph(fieldOf(semantic.JSONPointer), "%v", semantic.Err)
	}
	return invalidGraph("", "%v", err)
}

// invalidGraph is an error about one member of a graph, or about the whole.
func invalidGraph(field, format string, args ...any) *fault.Error {
	e := fault.New(fault.Invalid, CodeInvalidGraph, format, args...)
	if field != "" {
		e.Message = field + ": " + e.Message
		return e.With(map[string]any{"field": field})
	}
	return e
}

// fieldOf writes a JSON pointer the way people do: nodes[3].retry.maxAttempts
func fieldOf(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil && b.Len() > 0 {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(shorten(token))
	}
	return b.String()
}

// strictly refuses, member by member, what the types of a graph would let through by themselves.
var strictly = json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, _ *Graph) error { return wantObject(d) }),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, _ *NodeSpec) error { return wantObject(d) }),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, _ *Edge) error { return wantObject(d) }),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, p **Prompt) error {
		*p = new(Prompt)
		return wantObject(d)
	}),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, _ *Assignees) error { return wantObject(d) }),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, m **Message) error {
		*m = new(Message)
		return wantObject(d)
	}),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, r **Remind) error {
		*r = new(Remind)
		return wantObject(d)
	}),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, c **OnCancel) error {
		*c = new(OnCancel)
		return wantObject(d)
	}),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, r **Retry) error {
		def := defaultRetry() // what is written goes on top
		*r = &def
		return wantObject(d)
	}),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, l *[]NodeSpec) error { return readList(d, l, MaxNodes, "nodes") }),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, l *[]Edge) error { return readList(d, l, MaxEdges, "edges") }),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, l *[]string) error {
		if d.StackPointer().LastToken() == "except" {
			return readList(d, l, MaxExcept, "codes in one retry.except")
		}
		return readList(d, l, MaxAssignees, "names in one list of assignees")
	}),
	json.UnmarshalFromFunc(readMembers),
	json.UnmarshalFromFunc(readWord[string]),
	json.UnmarshalFromFunc(readWord[Policy]),
	json.UnmarshalFromFunc(readWord[Outcome]),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, k *Kind) error {
		s, err := readText(d, "must be text")
		if err != nil {
			return err
		}
		return k.UnmarshalText([]byte(s))
	}),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, span *Duration) error {
		s, err := readText(d, "must be a duration like 50ms, 2s or 24h")
		if err != nil {
			return err
		}
		err = span.UnmarshalText([]byte(s))
		switch d.StackPointer().LastToken() {
		case "timeout", "for", "after", "every":
			if err == nil && *span <= 0 {
				err = errors.New("must be more than 0s")
			}
		}
		return err
	}),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, attempts *int) error {
		f, err := readNumber(d, "must be an integer")
		switch {
		case err != nil:
			return err
		case f != math.Trunc(f): // 3.0 is an integer
			return errors.New("must be an integer")
		case f < 1 || f > MaxAttempts:
			return fmt.Errorf("must be 1 to %d", MaxAttempts)
		}
		*attempts = int(f)
		return nil
	}),
	json.UnmarshalFromFunc(func(d *jsontext.Decoder, backoff *float64) (err error) {
		*backoff, err = readNumber(d, "must be a number")
		if err == nil && (*backoff < 1 || *backoff > MaxBackoff) {
			err = fmt.Errorf("must be 1 to %d", MaxBackoff)
		}
		return err
	}),
))

func readWord[T ~string](d *jsontext.Decoder, w *T) error {
	s, err := readText(d, "must be text")
	if err == nil && s == "" {
		err = errors.New("must not be empty")
	}
	*w = T(s)
	return err
}

// readList reads an array, up to a number of items: they take more memory than their text.
func readList[T any](d *jsontext.Decoder, into *[]T, most int, what string) error {
	if d.PeekKind() != '[' {
		return refuseValue(d, "must be a list")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	list := []T{}
	for d.PeekKind() != ']' {
		if len(list) == most {
			return fmt.Errorf("the graph has more than %d %s", most, what)
		}
		var item T
		if err := json.UnmarshalDecode(d, &item); err != nil {
			return err
		}
		list = append(list, item)
	}
	_, err := d.ReadToken()
	*into = list
	return err
}

// readMembers reads the input of a Task, or the fields of a prompt.
func readMembers(d *jsontext.Decoder, into *map[string]string) error {
	if d.PeekKind() != '{' {
		return refuseValue(d, "must be an object, each member with an expression")
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	members := map[string]string{}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		member := name.String()
		var source string
		switch {
		case !ValidName(member):
			return fmt.Errorf("%q is not a name: use 1 to %d of A-Z a-z 0-9 . _ -", shorten(member), MaxName)
		case len(members) == MaxInputs:
			return fmt.Errorf("has more than %d members", MaxInputs)
		}
		if err := json.UnmarshalDecode(d, &source); err != nil {
			return err
		}
		members[member] = source
	}
	_, err := d.ReadToken()
	if err == nil && len(members) == 0 {
		err = errors.New("has no members; leave it out instead")
	}
	*into = members
	return err
}

// wantObject leaves an object to JSON's own reader.
func wantObject(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return refuseValue(d, "must be an object")
	}
	return errors.ErrUnsupported
}

func readText(d *jsontext.Decoder, otherwise string) (string, error) {
	if d.PeekKind() != '"' {
		return "", refuseValue(d, otherwise)
	}
	token, err := d.ReadToken()
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

func readNumber(d *jsontext.Decoder, otherwise string) (float64, error) {
	if d.PeekKind() != '0' {
		return 0, refuseValue(d, otherwise)
	}
	value, err := d.ReadValue()
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return 0, errors.New(otherwise)
	}
	return f, nil
}

// refuseValue skips a value of the wrong kind, so that the error points at it.
func refuseValue(d *jsontext.Decoder, why string) error {
	if err := d.SkipValue(); err != nil {
		return err
	}
	return errors.New(why)
}
