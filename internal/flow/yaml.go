package flow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// maxValues is how many values a YAML document may become when its aliases are
// written out: a few lines can stand for billions.
const maxValues = 64 * MaxNodes

// maxReason is how much is repeated of what the YAML reader says: it quotes the document.
const maxReason = 256

// yamlToJSON writes a YAML document as JSON. Repeated keys stay, for the JSON side
// to refuse: one set of rules, one set of messages.
func yamlToJSON(data []byte) ([]byte, error) {
	doc, err := readYAML(data)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := yamlWriter{json: jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true))}
	if err := w.write(doc, 1); err != nil {
		return nil, invalidGraph("", "%v", err)
	}
	return out.Bytes(), nil
}

// readYAML reads exactly one document.
func readYAML(data []byte) (*yaml.Node, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, invalidGraph("", "there is no graph: the document is empty")
	case err != nil:
		return nil, invalidGraph("", "malformed YAML: %s", clip(err.Error(), maxReason))
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, invalidGraph("", "there is something after the end of the graph")
	}
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		return doc.Content[0], nil
	}
	return &doc, nil
}

// yamlWriter writes YAML nodes as JSON.
type yamlWriter struct {
	json   *jsontext.Encoder
	values int
}

func (w *yamlWriter) write(n *yaml.Node, depth int) error {
	if w.values++; w.values > maxValues {
		return fmt.Errorf("the document stands for more than %d values", maxValues)
	}
	if depth > maxDepth {
		return fmt.Errorf("the document nests deeper than %d", maxDepth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return w.write(n.Alias, depth+1)
	case yaml.SequenceNode:
		return w.writeList(n, depth)
	case yaml.MappingNode:
		return w.writeObject(n, depth)
	}
	return w.writeScalar(n)
}

func (w *yamlWriter) writeList(n *yaml.Node, depth int) error {
	if err := w.json.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, item := range n.Content {
		if err := w.write(item, depth+1); err != nil {
			return err
		}
	}
	return w.json.WriteToken(jsontext.EndArray)
}

func (w *yamlWriter) writeObject(n *yaml.Node, depth int) error {
	if err := w.json.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			return fmt.Errorf("line %d: the key of a member must be plain text", key.Line)
		}
		if err := w.json.WriteToken(jsontext.String(key.Value)); err != nil {
			return err
		}
		if err := w.write(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	return w.json.WriteToken(jsontext.EndObject)
}

func (w *yamlWriter) writeScalar(n *yaml.Node) error {
	switch tag := n.ShortTag(); tag {
	case "!!str", "!!timestamp":
		return w.json.WriteToken(jsontext.String(n.Value))
	case "!!null":
		return w.json.WriteToken(jsontext.Null)
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return fmt.Errorf("line %d: %q is not true or false", n.Line, shorten(n.Value))
		}
		return w.json.WriteToken(jsontext.Bool(b))
	case "!!int", "!!float":
		var f float64
		if err := n.Decode(&f); err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("line %d: %q is not a number", n.Line, shorten(n.Value))
		}
		return w.json.WriteToken(jsontext.Float(f))
	default:
		return fmt.Errorf("line %d: the tag %s is not supported", n.Line, shorten(tag))
	}
}
