package contract

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const schemas = "#/components/schemas/" // how a reference to a schema begins

// Schema is what is read of a schema. The members x-go-… say how the client's types differ from
// what the schema gives by itself.
type Schema struct {
	Ref         string `yaml:"$ref"`
	Description string
	Format      string
	Enum        []any
	Properties  map[string]*Schema
	Required    []string
	Items       *Schema
	Const       any       // the only value that there is; nil: there are others
	AllOf       []*Schema `yaml:"allOf"`
	AnyOf       []*Schema `yaml:"anyOf"`
	OneOf       []*Schema `yaml:"oneOf"`

	GoType  string   `yaml:"x-go-type"`       // the name of its type, or a type that there is
	GoName  string   `yaml:"x-go-name"`       // the name of the field that has it
	GoKeyed bool     `yaml:"x-go-keyed"`      // its type has the idempotency key, too
	GoOmit  *bool    `yaml:"x-omitempty"`     // false: what is empty is not left out
	GoEmbed string   `yaml:"x-go-embed"`      // a schema whose members come from an embedded struct
	GoEnum  []string `yaml:"x-enum-varnames"` // the names of the constants of Enum

	Values   *Schema  `yaml:"-"` // of a map; nil: it is none, or they are free
	Kind     string   `yaml:"-"` // the type; of several the first that is not null
	Nullable bool     `yaml:"-"`
	Order    []string `yaml:"-"` // of the Properties
}

// UnmarshalYAML keeps the order of the properties, and reads what has more than one form.
func (s *Schema) UnmarshalYAML(node *yaml.Node) error {
	type plain Schema
	if err := node.Decode((*plain)(s)); err != nil {
		return err
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		value := node.Content[i+1]
		switch node.Content[i].Value {
		case "type": // a word or a list of words
			for _, word := range append(value.Content, value) {
				if word.Value == "null" {
					s.Nullable = true
				} else {
					s.Kind = cmp.Or(s.Kind, word.Value)
				}
			}
		case "properties":
			for j := 0; j < len(value.Content); j += 2 {
				s.Order = append(s.Order, value.Content[j].Value)
			}
		case "additionalProperties":
			if value.Kind == yaml.MappingNode {
				if err := value.Decode(&s.Values); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Alternatives are the schemas of which a value has one; of a schema with properties they only narrow it.
func (s *Schema) Alternatives() []*Schema {
	if len(s.Properties) > 0 {
		return nil
	}
	return slices.Concat(s.AnyOf, s.OneOf)
}

// schemaOf is the schema of a message in JSON, nil when it has none.
func (d *Document) schemaOf(m message, named map[string]message) *Schema {
	if _, name, found := strings.Cut(m.Ref, "#/components/"); found {
		m = named[name[strings.LastIndexByte(name, '/')+1:]]
	}
	return m.Content["application/json"].Schema
}

// Referred is the schema that a schema refers to, nil when it does not.
func (d *Document) Referred(s *Schema) *Schema {
	return d.Schemas[strings.TrimPrefix(s.Ref, schemas)]
}

// Members are the members that a value of a schema may have, through references and alternatives.
func (d *Document) Members(s *Schema) map[string]*Schema {
	all := map[string]*Schema{}
	d.each(s, func(s *Schema) { maps.Copy(all, s.Properties) })
	return all
}

// Items is the schema of the items of a list, nil when it is none.
func (d *Document) Items(s *Schema) (items *Schema) {
	d.each(s, func(s *Schema) {
		if s.Items != nil {
			items = s.Items
		}
	})
	return items
}

// each visits a schema and what it consists of.
func (d *Document) each(s *Schema, visit func(*Schema)) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		d.each(d.Referred(s), visit)
		return
	}
	visit(s)
	for _, parts := range [][]*Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, part := range parts {
			d.each(part, visit)
		}
	}
}
