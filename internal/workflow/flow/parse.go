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

// How deep JSON may nest, and how many values and brackets it may have: the largest graph
// with every member has fewer.
const (
	maxDepth  = 64
	maxTokens = 100 * MaxNodes
)

// CodeInvalidGraph is the code of every error about a graph.
const CodeInvalidGraph = "INVALID_GRAPH"

// ParseGraph reads a graph from JSON or YAML. Whatever is not part of a graph is
// refused: unknown and repeated members, wrong types, null, trailing data. Whether
// the graph can run is for Compile to say.
func ParseGraph(data []byte, yaml bool) (Graph, error) {
	if yaml {
		converted, err := yamlToJSON(data)
		if err != nil {
			return Graph{}, err
		}
		data = converted
	}
	if err := checkJSON(data); err != nil {
		return Graph{}, err
	}
	var doc graphDoc
	if err := json.Unmarshal(data, &doc, json.RejectUnknownMembers(true)); err != nil {
		return Graph{}, nameNode(data, explainJSON(err), pointerOf(err))
	}
	return doc.graph(), nil
}

// pointerOf is the place of an error about the meaning of a document.
func pointerOf(err error) jsontext.Pointer {
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		return semantic.JSONPointer
	}
	return ""
}

// nameNode adds the id of the node that an error stands in: its author knows the
// node by its name, not by its place in the list.
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

// checkJSON refuses what is not exactly one well-formed value.
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
			return checkEnd(d)
		}
	}
}

func checkEnd(d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != io.EOF {
		return invalidGraph("", "there is something after the end of the graph")
	}
	return nil
}

// explainJSON says which member is wrong, and how.
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

// The documents are a graph as it is written, with types that refuse what the plain
// ones would let through.
type (
	graphDoc struct {
		Nodes nodeDocs `json:"nodes"`
		Edges edgeDocs `json:"edges"`
	}
	nodeDoc struct {
		NodeID     word     `json:"nodeId"`
		Type       kindWord `json:"type"`
		Queue      word     `json:"queue"`
		Retry      retryDoc `json:"retry"`
		Timeout    timeout  `json:"timeout"`
		WaitKey    word     `json:"waitKey"`
		Policy     word     `json:"policy"`
		Expression word     `json:"expression"`
	}
	retryDoc struct {
		MaxAttempts     attempts `json:"maxAttempts"`
		InitialInterval span     `json:"initialInterval"`
		Backoff         factor   `json:"backoff"`
		MaxInterval     span     `json:"maxInterval"`
		written         bool
	}
	edgeDoc struct {
		From word `json:"from"`
		To   word `json:"to"`
		On   word `json:"on"`
		When word `json:"when"`
	}

	nodeDocs []nodeDoc
	edgeDocs []edgeDoc
	word     string
	kindWord Kind
	span     Duration
	timeout  Duration
	attempts int
	factor   float64
)

func (g graphDoc) graph() Graph {
	out := Graph{Nodes: make([]NodeSpec, len(g.Nodes)), Edges: make([]Edge, len(g.Edges))}
	for i, n := range g.Nodes {
		out.Nodes[i] = NodeSpec{
			NodeID: string(n.NodeID), Type: Kind(n.Type), Queue: string(n.Queue), Timeout: Duration(n.Timeout),
			WaitKey: string(n.WaitKey), Policy: Policy(n.Policy), Expression: string(n.Expression),
		}
		if r := n.Retry; r.written {
			out.Nodes[i].Retry = &Retry{
				MaxAttempts: int(r.MaxAttempts), InitialInterval: Duration(r.InitialInterval),
				Backoff: float64(r.Backoff), MaxInterval: Duration(r.MaxInterval),
			}
		}
	}
	for i, e := range g.Edges {
		out.Edges[i] = Edge{From: string(e.From), To: string(e.To), On: Outcome(e.On), When: string(e.When)}
	}
	return out
}

// UnmarshalJSONFrom reads an object.
func (g *graphDoc) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain graphDoc
	return readObject(d, (*plain)(g))
}

// UnmarshalJSONFrom reads an object.
func (n *nodeDoc) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain nodeDoc
	return readObject(d, (*plain)(n))
}

// UnmarshalJSONFrom reads an object.
func (e *edgeDoc) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain edgeDoc
	return readObject(d, (*plain)(e))
}

// UnmarshalJSONFrom reads an object on top of the defaults.
func (r *retryDoc) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	type plain retryDoc
	def := defaultRetry()
	*r = retryDoc{
		attempts(def.MaxAttempts), span(def.InitialInterval), factor(def.Backoff), span(def.MaxInterval),
		true,
	}
	return readObject(d, (*plain)(r))
}

// UnmarshalJSONFrom reads as many nodes as a graph may have.
func (l *nodeDocs) UnmarshalJSONFrom(d *jsontext.Decoder) (err error) {
	*l, err = readList[nodeDoc](d, MaxNodes, "nodes")
	return err
}

// UnmarshalJSONFrom reads as many edges as a graph may have.
func (l *edgeDocs) UnmarshalJSONFrom(d *jsontext.Decoder) (err error) {
	*l, err = readList[edgeDoc](d, MaxEdges, "edges")
	return err
}

// UnmarshalJSONFrom reads text of at least one character.
func (w *word) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s, err := readText(d, "must be text")
	if err == nil && s == "" {
		err = errors.New("must not be empty")
	}
	*w = word(s)
	return err
}

// UnmarshalJSONFrom reads the name of a type of node.
func (k *kindWord) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	s, err := readText(d, "must be text")
	if err != nil {
		return err
	}
	return (*Kind)(k).UnmarshalText([]byte(s))
}

// UnmarshalJSONFrom reads a duration.
func (s *span) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	text, err := readText(d, "must be a duration like 50ms, 2s or 24h")
	if err != nil {
		return err
	}
	return (*Duration)(s).UnmarshalText([]byte(text))
}

// UnmarshalJSONFrom reads a duration that is more than nothing.
func (t *timeout) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if err := (*span)(t).UnmarshalJSONFrom(d); err != nil {
		return err
	}
	if *t <= 0 {
		return errors.New("must be more than 0s")
	}
	return nil
}

// UnmarshalJSONFrom reads a number of attempts; 3.0 is an integer.
func (a *attempts) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	f, err := readNumber(d, "must be an integer")
	if err != nil {
		return err
	}
	if f != math.Trunc(f) {
		return errors.New("must be an integer")
	}
	if f < 1 || f > MaxAttempts {
		return fmt.Errorf("must be 1 to %d", MaxAttempts)
	}
	*a = attempts(f)
	return nil
}

// UnmarshalJSONFrom reads the factor of a backoff.
func (f *factor) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	got, err := readNumber(d, "must be a number")
	if err != nil {
		return err
	}
	if got < 1 || got > MaxBackoff {
		return fmt.Errorf("must be 1 to %d", MaxBackoff)
	}
	*f = factor(got)
	return nil
}

// readList reads an array, up to a number of items: they take more memory than their text.
func readList[T any](d *jsontext.Decoder, most int, what string) ([]T, error) {
	if d.PeekKind() != '[' {
		return nil, refuseValue(d, "must be a list")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	list := []T{}
	for d.PeekKind() != ']' {
		if len(list) == most {
			return nil, fmt.Errorf("the graph has more than %d %s", most, what)
		}
		var item T
		if err := json.UnmarshalDecode(d, &item); err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := d.ReadToken()
	return list, err
}

func readObject(d *jsontext.Decoder, into any) error {
	if d.PeekKind() != '{' {
		return refuseValue(d, "must be an object")
	}
	return json.UnmarshalDecode(d, into)
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
