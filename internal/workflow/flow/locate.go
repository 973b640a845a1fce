package flow

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"renga.dev/renga/internal/platform/fault"
)

// Place is a place in the text of a graph: line and column from 1, the column in bytes. The zero Place is none.
type Place struct{ Line, Column int }

// Locate says where in its text a graph breaks the rule that ParseGraph or Compile named: at the member that the
// error is about, else at the nearest one around it.
func Locate(source []byte, isYAML bool, e *fault.Error) Place {
	if isYAML {
		return locateYAML(source, e)
	}
	if at, broken := brokenAt(source); broken {
		return placeOf(source, at)
	}
	return placeOf(source, locateJSON(source, pathTo(e, nodeIDs(source))))
}

func placeOf(source []byte, offset int) Place {
	before := source[:min(offset, len(source))]
	return Place{bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')}
}

// pathTo are the members and indexes that lead to what an error is about.
func pathTo(e *fault.Error, nodes []string) []string {
	details, _ := e.Details.(map[string]any)
	field, _ := details["field"].(string)
	node, _ := details["nodeId"].(string)
	steps := strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	if node == "" || len(steps) > 1 && (steps[0] == "nodes" || steps[0] == "edges") {
		return steps
	}
	for i := len(nodes) - 1; i >= 0; i-- { // of two with one name the second is the mistake
		if nodes[i] == node {
			return append([]string{"nodes", strconv.Itoa(i)}, steps...)
		}
	}
	return nil
}

// nodeIDs are the names of the nodes in a graph as JSON.
func nodeIDs(data []byte) []string {
	var doc struct {
		Nodes []struct {
			NodeID any `json:"nodeId"`
		} `json:"nodes"`
	}
	_ = json.Unmarshal(data, &doc) // up to where it is not a graph
	ids := make([]string, len(doc.Nodes))
	for i := range doc.Nodes {
		ids[i], _ = doc.Nodes[i].NodeID.(string)
	}
	return ids
}

// brokenAt is where a text ceases to be JSON.
func brokenAt(source []byte) (offset int, broken bool) {
	d := jsontext.NewDecoder(bytes.NewReader(source))
	for {
		_, err := d.ReadToken()
		var syntax *jsontext.SyntacticError
		switch {
		case err == io.EOF:
			return 0, false
		case errors.Is(err, io.ErrUnexpectedEOF):
			return len(source), true
		case errors.As(err, &syntax):
			return int(syntax.ByteOffset), true
		case err != nil:
			return 0, false
		}
	}
}

// locateJSON goes along a path as far as it leads, and says where what it has found begins.
func locateJSON(source []byte, path []string) int {
	d := jsontext.NewDecoder(bytes.NewReader(source), jsontext.AllowDuplicateNames(true))
	at := begin(source, 0)
	for _, step := range path {
		opened, err := d.ReadToken()
		if err != nil {
			return at
		}
		index, _ := strconv.Atoi(step)
		found := false
		for i := 0; !found && d.PeekKind() != '}' && d.PeekKind() != ']'; i++ {
			start := begin(source, int(d.InputOffset()))
			found = opened.Kind() == '[' && i == index
			if opened.Kind() == '{' {
				name, err := d.ReadToken()
				if err != nil {
					return at
				}
				found = name.String() == step
			}
			if found {
				at = start
			} else if d.SkipValue() != nil {
				return at
			}
		}
		if !found {
			return at
		}
	}
	return at
}

// begin is where the next value begins.
func begin(source []byte, from int) int {
	return from + len(source[from:]) - len(bytes.TrimLeft(source[from:], " \t\r\n,:"))
}

// yamlLine finds the line in what the YAML reader, or the writer of JSON, says of a document.
var yamlLine = regexp.MustCompile(`^(?:malformed YAML: yaml: )?line (\d+):`)

func locateYAML(source []byte, e *fault.Error) Place {
	if said := yamlLine.FindStringSubmatch(e.Message); said != nil {
		line, _ := strconv.Atoi(said[1])
		return Place{line, 1}
	}
	doc, err := readYAML(source)
	if err != nil {
		return Place{}
	}
	at := Place{doc.Line, doc.Column}
	for _, step := range pathTo(e, yamlNodeIDs(doc)) {
		next, place := childOf(doc, step)
		if next == nil {
			break
		}
		doc, at = next, place
	}
	return at
}

// childOf is a member or an item of a node, and where it begins.
func childOf(n *yaml.Node, step string) (*yaml.Node, Place) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := len(n.Content) - 2; i >= 0; i -= 2 { // of two with one name the second is the mistake
			if key := n.Content[i]; key.Value == step {
				return n.Content[i+1], Place{key.Line, key.Column}
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(step); err == nil && i < len(n.Content) {
			return n.Content[i], Place{n.Content[i].Line, n.Content[i].Column}
		}
	}
	return nil, Place{}
}

func yamlNodeIDs(doc *yaml.Node) (ids []string) {
	nodes, _ := childOf(doc, "nodes")
	if nodes == nil || nodes.Kind != yaml.SequenceNode {
		return nil
	}
	for _, n := range nodes.Content {
		id := ""
		if name, _ := childOf(n, "nodeId"); name != nil {
			id = name.Value
		}
		ids = append(ids, id)
	}
	return ids
}
