package contract

import (
	"maps"
	"strings"
)

// Schema is what is read of a schema: which members a value has, and of which schemas they are.
type Schema struct {
	Ref        string `yaml:"$ref"`
	Properties map[string]*Schema
	Items      *Schema
	Const      any       // the only value that there is; nil: there are others
	AllOf      []*Schema `yaml:"allOf"`
	AnyOf      []*Schema `yaml:"anyOf"`
	OneOf      []*Schema `yaml:"oneOf"`
}

// schemaOf is the schema of a message in JSON, nil when it has none.
func (d *Document) schemaOf(m message, named map[string]message) *Schema {
	if _, name, found := strings.Cut(m.Ref, "#/components/"); found {
		m = named[name[strings.LastIndexByte(name, '/')+1:]]
	}
	return m.Content["application/json"].Schema
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
		d.each(d.schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")], visit)
		return
	}
	visit(s)
	for _, parts := range [][]*Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, part := range parts {
			d.each(part, visit)
		}
	}
}
