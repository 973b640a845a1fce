package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

// tab is how many columns a tab takes.
const tab = 4

// What the house wants of its code.
const (
	maxColumns = 120
	maxMethods = 40  // of a type
	maxLines   = 500 // of a file
	maxDialect = 40  // calls of Dialect() in shipped code outside *_sqlite.go and *_postgres.go
)

func TestCodeKeepsToItsSizes(t *testing.T) {
	m := measure(t, os.DirFS("."))
	for _, line := range m.wide {
		t.Errorf("%s has more than %d columns", line, maxColumns)
	}
	for name, n := range m.methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, at most %d are allowed", name, n, maxMethods)
		}
	}
	for name, n := range m.lines {
		if n > maxLines {
			t.Errorf("%s has %d lines, at most %d are allowed", name, n, maxLines)
		}
	}
	if m.dialect > maxDialect {
		t.Errorf("Dialect() is called %d times, at most %d are allowed: put what differs into files named "+
			"*_sqlite.go and *_postgres.go", m.dialect, maxDialect)
	}
}

// sizes are those that are limited.
type sizes struct {
	wide           []string // file and line
	dialect        int
	methods, lines map[string]int // by folder and type, and by file
}

func measure(t *testing.T, tree fs.FS) sizes {
	m := sizes{methods: map[string]int{}, lines: map[string]int{}}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || name != "." &&
			strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		m.file(name, string(src))
		return m.parse(name, src)
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// file measures lines.
func (m *sizes) file(name, src string) {
	lines := 0
	for line := range strings.Lines(src) {
		lines++
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line)+(tab-1)*strings.Count(line, "\t") > maxColumns {
			m.wide = append(m.wide, fmt.Sprintf("%s:%d", name, lines))
		}
	}
	m.lines[name] = lines
}

// parse counts methods, and calls of Dialect() in shipped code.
func (m *sizes) parse(name string, src []byte) error {
	if strings.HasSuffix(name, "_test.go") {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
			m.methods[path.Dir(name)+"."+receiver(f.Recv.List[0].Type)]++
		}
	}
	if strings.HasSuffix(name, "_sqlite.go") || strings.HasSuffix(name, "_postgres.go") {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Dialect" {
				m.dialect++
			}
		}
		return true
	})
	return nil
}

// receiver is the name of a method's type.
func receiver(expr ast.Expr) string {
	switch x := expr.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func TestSizesAreMeasured(t *testing.T) {
	m := measure(t, fstest.MapFS{
		"a/a.go": {Data: []byte(
			"package a\nfunc (x *A) B() {}\nfunc (x A) C() { db.Dialect() }\nfunc (x *D[T]) E() {}\n")},
		"a/a_sqlite.go": {Data: []byte("package a\nfunc f() { db.Dialect() }\n")},
		"a/a_test.go": {Data: []byte("package a\n//\t\t" + strings.Repeat("é", 111) + "\n//" + strings.Repeat("é",
			118) + "\n")},
		"testdata/x.go": {Data: []byte("nothing")},
	})
	if !slices.Equal(m.wide, []string{"a/a_test.go:2"}) || m.dialect != 1 {
		t.Errorf("got wide lines %q and %d calls, want one of each", m.wide, m.dialect)
	}
	if m.methods["a.A"] != 2 || m.methods["a.D"] != 1 || m.lines["a/a.go"] != 4 {
		t.Errorf("got methods %v and lines %v", m.methods, m.lines)
	}
}
