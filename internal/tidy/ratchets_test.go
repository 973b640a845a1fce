package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

// tab is how many columns a tab takes.
const tab = 4

// The ratchets. A number is what the code has today where that exceeds what the house wants; it
// only ever falls. A test fails when it is exceeded, and says when it can be lowered.
const (
	maxColumns = 120
	maxMethods = 40
	maxLines   = 500

	wideLines    = 641 // longer than maxColumns; wanted: 0
	dialectAsked = 97  // calls of Dialect() in shipped code outside *_sqlite.go and *_postgres.go; wanted: at most 40
)

// crowded are the types that have more than maxMethods methods today; wanted: none.
var crowded = map[string]int{
	"internal/app.App":                   48,
	"internal/cli.App":                   59,
	"internal/crm/automation.Automation": 47,
	"internal/crm/model.Model":           47,
	"internal/crm/reporting.Reporting":   47,
	"internal/crm/sharing.Sharing":       62,
	"internal/workflow/flow.draft":       64,
	"internal/workflow/sim.World":        78,
}

// long are the files that have more than maxLines lines today; wanted: none.
var long = map[string]int{
	"client/worker_test.go":                  514,
	"internal/crm/approval/approval_test.go": 840,
	"internal/crm/automation/on_test.go":     503,
	"internal/crm/metadata/refuse_test.go":   506,
	"internal/crm/reporting/mirror_test.go":  523,
	"internal/crm/sharing/converge_test.go":  525,
	"internal/inbound/deliver_test.go":       588,
	"internal/platform/bus/dlq_test.go":      558,
	"internal/platform/bus/reader_test.go":   716,
	"internal/platform/gate/exchange.go":     536,
	"internal/workflow/flow/compile_test.go": 582,
}

func TestRatchets(t *testing.T) {
	m := measure(t, os.DirFS("."))
	hold(t, fmt.Sprintf("lines over %d columns", maxColumns), m.wide, wideLines)
	hold(t, "calls of Dialect()", m.dialect, dialectAsked)
	for what, most := range map[string]map[string]int{"methods": crowded, "lines": long} {
		got, limit := m.methods, maxMethods
		if what == "lines" {
			got, limit = m.lines, maxLines
		}
		for name, n := range got {
			if n > limit || most[name] > 0 {
				hold(t, what+" of "+name, n, max(most[name], limit))
			}
		}
		for name := range most {
			if got[name] == 0 {
				t.Logf("%s is gone: take it off the list of those with many %s", name, what)
			}
		}
	}
}

// hold fails when a number rose, and logs when it fell without the ratchet.
func hold(t *testing.T, what string, got, most int) {
	t.Helper()
	switch {
	case got > most:
		t.Errorf("%s: %d, at most %d are allowed", what, got, most)
	case got < most && most != maxMethods && most != maxLines:
		t.Logf("%s: %d, fewer than the %d of the ratchet: lower it in ratchets_test.go", what, got, most)
	}
}

// sizes is what the ratchets hold.
type sizes struct {
	wide, dialect  int
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
			m.wide++
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
	if m.wide != 1 || m.dialect != 1 {
		t.Errorf("got %d wide lines and %d calls, want 1 and 1", m.wide, m.dialect)
	}
	if m.methods["a.A"] != 2 || m.methods["a.D"] != 1 || m.lines["a/a.go"] != 4 {
		t.Errorf("got methods %v and lines %v", m.methods, m.lines)
	}
}
