// Package schema checks data against JSON Schema (draft 2020-12), with limits: a schema stands in a graph that
// anybody may register, and is asked while others wait for the same commit. It is not for the contracts of
// package api. A schema refers to nothing, so a check ends after work that its size and that of the data bound.
package schema

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"renga.dev/renga/internal/platform/fault"
)

// The limits.
const (
	MaxBytes    = 16 << 10 // of a schema as canonical JSON
	MaxDepth    = 32       // of schemas inside each other
	MaxProblems = 20       // that one answer names

	maxWeight = 32 << 10 // bytes of a schema and instructions of its patterns
	maxWork   = 64 << 20 // weight of a schema times bytes of the data
	maxChecks = 200_000  // schemas in a schema times values in the data
)

// Schema is a compiled schema.
type Schema struct {
	compiled *jsonschema.Schema
	weight   int
	parts    int // schemas in it, and itself
}

// Compiler compiles the schemas of one graph.
type Compiler struct {
	lib  *jsonschema.Compiler
	made map[string]*Schema // by text
}

// New is an empty compiler.
func New() *Compiler {
	lib := jsonschema.NewCompiler()
	lib.DefaultDraft(jsonschema.Draft2020)
	lib.AssertFormat()
	return &Compiler{lib: lib, made: map[string]*Schema{}}
}

// Compile makes a schema of its text; equal texts give one.
func (c *Compiler) Compile(text []byte) (*Schema, error) {
	if s := c.made[string(text)]; s != nil {
		return s, nil
	}
	if len(text) > MaxBytes {
		return nil, invalid("has %d bytes; at most %d are allowed", len(text), MaxBytes)
	}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, invalid("is no JSON: %v", err)
	}
	if _, ok := doc.(map[string]any); !ok {
		return nil, invalid("must be an object: a JSON Schema")
	}
	s := &Schema{weight: len(text)}
	if err := s.walk(doc, "", 1); err != nil {
		return nil, err
	}
	if s.weight > maxWeight {
		return nil, invalid("has patterns that are too large together; shorten them, or their repetitions")
	}
	url := fmt.Sprintf("renga:schema/%d", len(c.made))
	if err := c.lib.AddResource(url, doc); err != nil {
		return nil, invalid("%v", err)
	}
	var err error
	if s.compiled, err = c.lib.Compile(url); err != nil {
		return nil, invalid("is no JSON Schema: %s", explainSchema(err))
	}
	c.made[string(text)] = s
	return s, nil
}

// Weight is how much memory the schema takes, in bytes of text.
func (s *Schema) Weight() int { return s.weight }

// Problem is a place in the data and what is wrong there.
type Problem struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Check is what is wrong with data, at most MaxProblems; none when it fits. Data of 0 bytes is an empty object. name
// is what its fields begin with.
func (s *Schema) Check(data []byte, name string) []Problem {
	if len(data) == 0 {
		data = []byte("{}")
	}
	if most := maxWork / s.weight; len(data) > most {
		return []Problem{{name, fmt.Sprintf("has %d bytes; its schema is too large for more than %d", len(data), most)}}
	}
	var value any
	if err := json.Unmarshal(data, &value, jsontext.AllowDuplicateNames(true)); err != nil {
		return []Problem{{name, "is no JSON"}}
	}
	if most := maxChecks / s.parts; count(value) > most {
		return []Problem{{name, fmt.Sprintf("has too many values; its schema is too large for more than %d", most)}}
	}
	err := s.compiled.Validate(value)
	if err == nil {
		return nil
	}
	invalid, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return []Problem{{name, err.Error()}}
	}
	return leaves(nil, invalid, name)
}

// count is how many values there are in one, itself included.
func count(value any) int {
	n := 1
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			n += count(item)
		}
	case map[string]any:
		for _, item := range value {
			n += count(item)
		}
	}
	return n
}

// leaves are the causes that have no cause of their own.
func leaves(all []Problem, e *jsonschema.ValidationError, name string) []Problem {
	for _, cause := range e.Causes {
		all = leaves(all, cause, name)
	}
	if len(e.Causes) > 0 || len(all) == MaxProblems {
		return all
	}
	return append(all, Problem{fieldOf(name, e.InstanceLocation), shorten(e.ErrorKind.LocalizedString(english))})
}

var english = message.NewPrinter(language.English)

func fieldOf(name string, at []string) string {
	for _, token := range at {
		if strings.Trim(token, "0123456789") == "" {
			name += "[" + token + "]"
		} else {
			name += "." + shorten(token)
		}
	}
	return shorten(name)
}

func shorten(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// explainSchema is the first thing that is wrong with a schema.
func explainSchema(err error) string {
	if broken, ok := err.(*jsonschema.SchemaValidationError); ok {
		if invalid, ok := broken.Err.(*jsonschema.ValidationError); ok {
			if all := leaves(nil, invalid, "schema"); len(all) > 0 {
				return all[0].Field + " " + all[0].Message
			}
		}
	}
	return shorten(err.Error())
}

func invalid(format string, args ...any) error {
	return fault.New(fault.Invalid, "", format, args...)
}

// holds is what stands below a keyword.
type holds uint8

const (
	value    holds = 1 + iota // data, which is no schema
	one                       // a schema
	list                      // schemas
	byName                    // schemas, by the names of members
	byRegexp                  // the same, by patterns
	regexp                    // a pattern
)

// keywords are those that a schema may have: none that refers to another schema, and none that does nothing.
var keywords = map[string]holds{
	"type": value, "enum": value, "const": value, "format": value, "pattern": regexp,
	"title": value, "description": value, "default": value, "examples": value, "deprecated": value, "$comment": value,
	"readOnly": value, "writeOnly": value, "$schema": value,
	"minLength": value, "maxLength": value, "minimum": value, "maximum": value, "exclusiveMinimum": value,
	"exclusiveMaximum": value, "multipleOf": value,
	"properties": byName, "patternProperties": byRegexp, "additionalProperties": one, "propertyNames": one,
	"required": value, "dependentRequired": value, "dependentSchemas": byName,
	"minProperties": value, "maxProperties": value,
	"items": one, "prefixItems": list, "contains": one, "minContains": value, "maxContains": value,
	"minItems": value, "maxItems": value, "uniqueItems": value,
	"allOf": list, "anyOf": list, "oneOf": list, "not": one, "if": one, "then": one, "else": one,
}

// walk refuses keywords that are not among those, and weighs patterns. What has the wrong type is left to the library.
func (s *Schema) walk(doc any, at string, depth int) error {
	s.parts++
	members, ok := doc.(map[string]any)
	switch {
	case !ok:
		return nil
	case depth > MaxDepth:
		return invalid("nests deeper than %d", MaxDepth)
	}
	for name, below := range members {
		place := strings.TrimPrefix(at+"."+shorten(name), ".")
		if err := s.walkKeyword(keywords[name], below, place, depth); err != nil {
			return err
		}
	}
	return nil
}

func (s *Schema) walkKeyword(is holds, below any, place string, depth int) error {
	switch is {
	case 0:
		return invalid("%s is not a keyword that a schema may have here; it may not refer to other schemas", place)
	case regexp:
		return s.weigh(below, place)
	case one:
		return s.walk(below, place, depth+1)
	case list:
		items, _ := below.([]any)
		for i, item := range items {
			if err := s.walk(item, fmt.Sprintf("%s[%d]", place, i), depth+1); err != nil {
				return err
			}
		}
	case byName, byRegexp:
		members, _ := below.(map[string]any)
		for name, item := range members {
			if is == byRegexp {
				if err := s.weigh(name, place); err != nil {
					return err
				}
			}
			if err := s.walk(item, place+"."+shorten(name), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// weigh adds the instructions of a pattern: {1000} takes a thousand times the room of what it repeats.
func (s *Schema) weigh(pattern any, place string) error {
	text, ok := pattern.(string)
	if !ok {
		return nil
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return invalid("%s is not a regular expression: %v", place, err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return invalid("%s is not a regular expression: %v", place, err)
	}
	s.weight += len(program.Inst)
	return nil
}
