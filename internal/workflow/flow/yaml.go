package flow

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"renga.dev/renga/internal/platform/fault"
)

// The YAML reader makes a node of 240 bytes of every value, in about a microsecond, so a document
// is bounded more closely than one in JSON; and aliases let a few lines stand for gigabytes.
const (
	MaxYAML        = 1 << 20 // bytes of a graph in YAML
	MaxYAMLValues  = 110_000 // its values, aliases written out
	MaxYAMLWritten = 8 << 20 // its bytes as JSON, aliases written out
)

// maxReason is how much is repeated of what the YAML reader says: it quotes the document.
const maxReason = 256

// YAMLToJSON writes a YAML document as JSON. Repeated keys stay, for the JSON side to refuse.
func YAMLToJSON(data []byte) ([]byte, error) {
	if len(data) > MaxYAML {
		const why = "a graph in YAML may have %d bytes; send a larger one as JSON"
		return nil, fault.New(fault.TooLarge, "", why, MaxYAML)
	}
	if leastValues(data) > MaxYAMLValues {
		return nil, tooManyValues()
	}
	doc, err := readYAML(data)
	if err != nil {
		return nil, err
	}
	var size yamlSize
	if err := size.add(doc, 1); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := yamlWriter{jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true))}
	if err := w.write(doc); err != nil {
		return nil, invalidGraph("", "%v", err)
	}
	return out.Bytes(), nil
}

func tooManyValues() error {
	return invalidGraph("", "the document stands for more than %d values; send a larger graph as JSON", MaxYAMLValues)
}

// leastValues is about how many values a document has, without reading it: each stands after a
// comma, a bracket, or one of the marks of a list or a member.
func leastValues(data []byte) int {
	n := 0
	for i, c := range data {
		switch c {
		case ',', ':', '[', '{':
			n++
		case '-', '?':
			if i+1 == len(data) || !wordByte(data[i+1]) {
				n++
			}
		}
	}
	return n
}

func wordByte(c byte) bool {
	return c == '-' || c == '.' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

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

type yamlSize struct{ values, bytes int }

// add counts a node and what is in it, and refuses what is too much.
func (s *yamlSize) add(n *yaml.Node, depth int) error {
	s.values++
	s.bytes += written(n.Value)
	switch {
	case s.values > MaxYAMLValues:
		return tooManyValues()
	case s.bytes > MaxYAMLWritten:
		const why = "the document stands for more than %d bytes when its aliases are written out"
		return invalidGraph("", why, MaxYAMLWritten)
	case depth > maxDepth:
		return invalidGraph("", "the document nests deeper than %d", maxDepth)
	case n.Kind == yaml.AliasNode:
		return s.add(n.Alias, depth+1)
	}
	for _, item := range n.Content {
		if err := s.add(item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func written(text string) int {
	n := len(text) + 3
	for i := range len(text) {
		switch c := text[i]; {
		case c < 0x20:
			n += len(`\u0001`) - 1
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}

type yamlWriter struct{ json *jsontext.Encoder }

func (w *yamlWriter) write(n *yaml.Node) error {
	switch n.Kind {
	case yaml.AliasNode:
		return w.write(n.Alias)
	case yaml.SequenceNode:
		return w.writeList(n)
	case yaml.MappingNode:
		return w.writeObject(n)
	}
	return w.writeScalar(n)
}

func (w *yamlWriter) writeList(n *yaml.Node) error {
	if err := w.json.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for _, item := range n.Content {
		if err := w.write(item); err != nil {
			return err
		}
	}
	return w.json.WriteToken(jsontext.EndArray)
}

func (w *yamlWriter) writeObject(n *yaml.Node) error {
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
		if err := w.write(n.Content[i+1]); err != nil {
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
