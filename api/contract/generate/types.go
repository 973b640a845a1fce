package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"renga.dev/renga/api/contract"
)

// types are the sources of the client's types of bodies and answers, by the name of their file. A
// type is generated when the hand-written code in a folder mentions it, or another of them does, and
// it is not declared there.
func types(d *contract.Document, dir string) (map[string][]byte, error) {
	g := &typeMaker{
		doc: d, requests: map[*contract.Schema]*contract.Operation{},
		mentioned: map[string]bool{}, made: map[string]bool{}, visited: map[*contract.Schema]bool{},
	}
	for i, op := range d.Operations {
		if op.Body == nil {
			continue
		}
		if body := d.Referred(op.Body); body != nil && body.GoType == goName(op.ID) {
			g.requests[body] = &d.Operations[i]
		}
	}
	if err := g.read(dir); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, tag := range d.Tags {
		g.out.Reset()
		for _, op := range d.Operations {
			if op.Tag == tag {
				g.visit(op.Body)
				for _, s := range op.Answers {
					g.visit(s)
				}
			}
		}
		if g.out.Len() == 0 {
			continue
		}
		imports := ""
		for _, path := range []string{"encoding/json", "time"} {
			if strings.Contains(g.out.String(), path[strings.LastIndexByte(path, '/')+1:]+".") {
				imports += fmt.Sprintf("%q\n", path)
			}
		}
		if imports != "" {
			imports = "import (\n" + imports + ")\n"
		}
		name := filepath.Join(dir, "types_"+strings.NewReplacer(" ", "", "-", "").Replace(tag)+"_gen.go")
		source, err := format.Source([]byte(generated + "package client\n\n" + imports + g.out.String()))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files[name] = source
	}
	return files, errors.Join(g.errs...)
}

// typeMaker makes types of schemas.
type typeMaker struct {
	doc       *contract.Document
	requests  map[*contract.Schema]*contract.Operation // bodies called like their operation, whose parameters they have
	mentioned map[string]bool                          // identifiers of hand-written code
	made      map[string]bool                          // names of types that are declared
	visited   map[*contract.Schema]bool
	out       bytes.Buffer
	errs      []error
}

// read finds the identifiers of the hand-written code in a folder.
func (g *typeMaker) read(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_gen.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			return err
		}
		g.scan(file)
	}
	return nil
}

// scan notes the types that a file declares, and the identifiers that may be types: not the names of fields and
// methods, nor what is in other packages.
func (g *typeMaker) scan(file *ast.File) {
	others := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			g.made[n.Name.Name] = true
		case *ast.FuncDecl:
			others[n.Name] = true
		case *ast.Field:
			for _, name := range n.Names {
				others[name] = true
			}
		case *ast.SelectorExpr:
			others[n.Sel] = true
		case *ast.KeyValueExpr:
			others[n.Key] = true
		case *ast.Ident:
			g.mentioned[n.Name] = g.mentioned[n.Name] || !others[n]
		}
		return true
	})
}

// visit makes the types that are mentioned of a schema and of what it consists of.
func (g *typeMaker) visit(s *contract.Schema) {
	if s == nil || g.visited[s] {
		return
	}
	g.visited[s] = true
	if g.mentioned[s.GoType] || g.isCommand(s) {
		g.typeOf(s)
	}
	for _, name := range s.Order {
		g.visit(s.Properties[name])
	}
	parts := []*contract.Schema{g.doc.Referred(s), s.Items, s.Values}
	for _, part := range slices.Concat(parts, s.AllOf, s.Alternatives()) {
		g.visit(part)
	}
}

// typeOf is the type of the values of a schema.
func (g *typeMaker) typeOf(s *contract.Schema) string {
	switch {
	case s.GoType != "":
		if len(s.GoEnum) > 0 || g.isStruct(s) {
			g.define(s)
		}
		return s.GoType
	case s.Ref != "":
		return g.typeOf(g.doc.Referred(s))
	case len(s.AllOf) > 0:
		return g.typeOf(s.AllOf[0])
	case len(s.Properties) > 0:
		g.errs = append(g.errs, fmt.Errorf("the object with %q has no x-go-type", s.Order))
		return "any"
	case s.Items != nil:
		return "[]" + g.typeOf(s.Items)
	case s.Values != nil:
		return "map[string]" + g.typeOf(s.Values)
	case s.Format == "date-time" && s.Nullable:
		return "*time.Time"
	case s.Format == "date-time":
		return "time.Time"
	default:
		return cmp.Or(goKinds[s.Kind], freeForm)
	}
}

// freeForm is the type of what may be anything in an answer.
const freeForm = "json.RawMessage"

// goKinds are the types of plain values.
var goKinds = map[string]string{"string": "string", "integer": "int", "number": "float64", "boolean": "bool"}

// define makes the type of a schema, once.
func (g *typeMaker) define(s *contract.Schema) {
	if g.made[s.GoType] {
		return
	}
	g.made[s.GoType] = true
	var b strings.Builder
	if s.Description == "" {
		g.errs = append(g.errs, fmt.Errorf("the schema of %s has no description", s.GoType))
	}
	b.WriteString("\n" + comment(s.GoType+": "+lower(s.Description)))
	if len(s.GoEnum) > 0 {
		fmt.Fprintf(&b, "type %s string\n\n// The values of %s.\nconst (\n", s.GoType, s.GoType)
		for i, name := range s.GoEnum {
			fmt.Fprintf(&b, "%s %s = %q\n", name, s.GoType, s.Enum[i])
		}
		b.WriteString(")\n")
	} else {
		fmt.Fprintf(&b, "type %s struct {\n", s.GoType)
		g.fields(&b, s)
		b.WriteString("}\n")
	}
	if g.isCommand(s) {
		g.command(&b, s, g.requests[s])
	}
	g.out.WriteString(b.String())
}

// isCommand reports whether a schema is the body of a command.
func (g *typeMaker) isCommand(s *contract.Schema) bool {
	return g.requests[s] != nil && slices.Contains(g.doc.Schemas["CommandName"].Enum, any(s.GoType))
}

// command writes the method of a command that says where it goes.
func (g *typeMaker) command(b *strings.Builder, s *contract.Schema, op *contract.Operation) {
	fmt.Fprintf(b, "\nfunc (c %s) parts() parts {\n", s.GoType)
	for _, name := range s.Order {
		if g.typeOf(s.Properties[name]) == freeForm {
			fmt.Fprintf(b, "c.%[1]s = data(c.%[1]s)\n", goName(name))
		}
	}
	fmt.Fprintf(b, "return parts{\nname: %q, path: %q,\nkey: c.Key, ", s.GoType, op.Path)
	for _, name := range op.Parameters() {
		fmt.Fprintf(b, "%s: c.%s, ", strings.TrimSuffix(name, "Id"), goName(name))
	}
	b.WriteString("body: c,\n}\n}\n")
}

// fields writes the fields of a struct.
func (g *typeMaker) fields(b *strings.Builder, s *contract.Schema) {
	op := g.requests[s]
	if s.GoKeyed || op != nil && op.KeyHeader != "" {
		b.WriteString("// With the same key it happens once; \"\" is a new one.\nKey string `json:\"-\"`\n")
	}
	if op != nil {
		for _, name := range op.Parameters() {
			fmt.Fprintf(b, "%s string `json:\"-\"`\n", goName(name))
		}
	}
	done, base := map[string]bool{}, g.doc.Schemas[s.GoEmbed]
	for _, part := range append([]*contract.Schema{s}, s.Alternatives()...) {
		for _, name := range part.Order {
			member := part.Properties[name]
			if done[name] || member.Const != nil && member.GoType == "" {
				continue
			}
			done[name] = true
			if base != nil && slices.Contains(base.Order, name) {
				b.WriteString(g.typeOf(base) + "\n")
				for _, name := range base.Order {
					done[name] = true
				}
				continue
			}
			goType, tag := g.typeOf(member), name
			optional := part != s || !slices.Contains(s.Required, name)
			if optional && g.isStruct(member) {
				goType = "*" + goType
			}
			switch {
			case !optional || member.GoOmit != nil && !*member.GoOmit:
			case goType == "time.Time":
				tag += ",omitzero"
			default:
				tag += ",omitempty"
			}
			if goType == freeForm && op != nil {
				goType = "any"
			}
			b.WriteString(comment(member.Description))
			fmt.Fprintf(b, "%s %s `json:%q`\n", cmp.Or(member.GoName, goName(name)), goType, tag)
		}
	}
}

// isStruct reports whether the type of a schema is a struct.
func (g *typeMaker) isStruct(s *contract.Schema) bool {
	if s.GoType != "" && !token.IsIdentifier(s.GoType) {
		return false
	}
	if s.Ref != "" {
		return g.isStruct(g.doc.Referred(s))
	}
	return len(s.Properties)+len(s.Alternatives()) > 0 || g.requests[s] != nil
}

// comment is a text as a comment, in lines that are not wide.
func comment(text string) string {
	var b strings.Builder
	line := 0
	for _, word := range strings.Fields(text) {
		switch {
		case line == 0:
			b.WriteString("//")
		case line+len(word) > 90:
			b.WriteString("\n//")
			line = 0
		}
		b.WriteString(" " + word)
		line += len(word) + 1
	}
	if line > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// lower is a sentence as it goes on after a colon.
func lower(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if next, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsUpper(next) {
		return text
	}
	return string(unicode.ToLower(first)) + text[size:]
}

// initialisms are the words that Go writes in capitals.
var initialisms = map[string]string{"id": "ID", "ids": "IDs", "url": "URL", "ttl": "TTL", "owd": "OWD"}

// goName is the name of the field of a member, such as executionId or page_size.
func goName(member string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(member, "_") {
		for part != "" {
			end := strings.IndexFunc(part[1:], unicode.IsUpper) + 1
			if end == 0 {
				end = len(part)
			}
			word := strings.ToLower(part[:end])
			b.WriteString(cmp.Or(initialisms[word], strings.ToUpper(word[:1])+word[1:]))
			part = part[end:]
		}
	}
	return b.String()
}
