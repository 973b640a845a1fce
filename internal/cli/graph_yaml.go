package cli

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"renga.dev/renga/internal/workflow/flow"
)

// asYAML is the form of an answer that is a file to apply.
const asYAML = "yaml"

// yamlLine is how long the YAML of a node or an edge may be to stand on one line.
const yamlLine = 100

// graphYAML writes a stored graph as its author would: without defaults, and a node or an edge a line.
func graphYAML(stored []byte) ([]byte, error) {
	var only struct {
		Nodes jsontext.Value `json:"nodes"`
		Edges jsontext.Value `json:"edges"`

		OnCancel jsontext.Value `json:"onCancel,omitzero"`
	}
	if err := json.Unmarshal(stored, &only); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(&only)
	if err != nil {
		return nil, err
	}
	graph, err := flow.ParseGraph(raw, false)
	if err != nil {
		return nil, err
	}
	raw, err = json.Marshal(graph.WithoutDefaults(), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	root, err := yamlOf(jsontext.NewDecoder(bytes.NewReader(raw)))
	if err != nil {
		return nil, err
	}
	for i := 1; i < len(root.Content); i += 2 {
		for _, item := range root.Content[i].Content {
			asWritten(item)
			if line, err := onOneLine(item); err != nil {
				return nil, err
			} else if len(line) <= yamlLine {
				item.Style = yaml.FlowStyle
			}
		}
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err = e.Encode(root)
	return out.Bytes(), err
}

// asWritten makes the times of a node short, and its policies of retries and reminders without defaults.
func asWritten(n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return
	}
	var kept []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		switch name {
		case "retry", "remind":
			asWritten(value)
		case "timeout", "for", "initialInterval", "maxInterval", "after", "every":
			value.Value = shortTime(value.Value)
		}
		if value.Kind != yaml.ScalarNode || value.Value != retryDefaults[name] {
			kept = append(kept, n.Content[i], value)
		}
	}
	n.Content = kept
}

// retryDefaults are what nobody need write, by the member of a retry.
var retryDefaults = map[string]string{"initialInterval": "1s", "backoff": "2", "maxInterval": "1h"}

// shortTime is a time as people write it: 48h, not 48h0m0s.
func shortTime(text string) string {
	if short, cut := strings.CutSuffix(text, "m0s"); cut {
		text = short + "m"
	}
	if short, cut := strings.CutSuffix(text, "h0m"); cut {
		text = short + "h"
	}
	return text
}

func onOneLine(n *yaml.Node) ([]byte, error) {
	flat := *n
	flat.Style = yaml.FlowStyle
	return yaml.Marshal(&flat)
}

// yamlOf reads a JSON value; members keep their order.
func yamlOf(d *jsontext.Decoder) (*yaml.Node, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case jsontext.KindBeginObject:
		return yamlList(d, &yaml.Node{Kind: yaml.MappingNode})
	case jsontext.KindBeginArray:
		return yamlList(d, &yaml.Node{Kind: yaml.SequenceNode})
	case jsontext.KindString:
		n := &yaml.Node{}
		n.SetString(token.String())
		return n, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: token.String()}, nil
}

func yamlList(d *jsontext.Decoder, n *yaml.Node) (*yaml.Node, error) {
	for d.PeekKind() != jsontext.KindEndObject && d.PeekKind() != jsontext.KindEndArray {
		item, err := yamlOf(d)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, item)
	}
	_, err := d.ReadToken()
	return n, err
}
