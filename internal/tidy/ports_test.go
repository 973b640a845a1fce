package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestServicesChangeTheirOwnState asks that no CRM service exports what lets others write its rows in
// their own transactions. Exceptions are a table in docs/architecture.md.
func TestServicesChangeTheirOwnState(t *testing.T) {
	tree := os.DirFS(".")
	page, err := fs.ReadFile(tree, "docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	excepted := exceptions(string(page), "| port | called by | why not an event |\n")
	for _, port := range writingPorts(t, tree, "internal/crm") {
		if excepted[port] == nil {
			t.Errorf("%s writes in the transaction of its caller: publish an event, run an execution, or give a "+
				"reason in docs/architecture.md", port)
		}
		delete(excepted, port)
	}
	for port := range excepted {
		t.Errorf("docs/architecture.md excepts %s, which does not write for others", port)
	}
}

// TestWritesForOthersAreFound plants one port at a time.
func TestWritesForOthersAreFound(t *testing.T) {
	for _, tt := range []struct{ name, code, want string }{
		{"a statement", `func (*S) Set(tx *sqldb.Tx) { tx.Exec("DELETE FROM x_a") }`, "x.S.Set"},
		{"a function", `func Set(tx *sqldb.Tx) { tx.Exec("DELETE FROM x_a") }`, "x.Set"},
		{"a constant", "const q = `\n\tUPDATE x_a`; func (S) Set(tx *sqldb.Tx) { tx.Exec(q) }", "x.S.Set"},
		{
			"what it calls",
			`func (s S) Set(tx *sqldb.Tx) { s.put(tx) }; func (S) put(tx *sqldb.Tx) { do() }` +
				`; func do() { f("INSERT INTO x_a") }`,
			"x.S.Set",
		},
		{"an Insert", `func (S) Set(tx *sqldb.Tx) { tx.Batch(insert.Stmts(tx, values)) }`, "x.S.Set"},
		{"a read", `func (S) Get(tx *sqldb.Tx) { tx.Exec("SELECT 1 FROM x_a FOR UPDATE") }`, ""},
		{"nobody's transaction", `func (S) Set() { tx.Exec("DELETE FROM x_a") }`, ""},
		{"its own", `func (s) Set(tx *sqldb.Tx) { tx.Exec("DELETE FROM x_a") }`, ""},
		{"a handler", `func (S) on(tx *sqldb.Tx) { tx.Exec("DELETE FROM x_a") }`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := mapFS(map[string]string{"crm/x/x.go": "package x\n" + tt.code, "crm/x/x_test.go": "package x"})
			if got := strings.Join(writingPorts(t, tree, "crm"), " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// change is how a statement that writes begins.
var change = regexp.MustCompile("^[\"`]\\s*(INSERT|UPDATE|DELETE)\\b")

// writingPorts are the methods and functions of the packages of a folder that other packages can call in a
// transaction of theirs, and that write: they hold a statement that does, or what they mention does, found by
// its name.
func writingPorts(t testing.TB, tree fs.FS, folder string) (ports []string) {
	t.Helper()
	names, err := fs.Glob(tree, folder+"/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string][]ast.Decl{}
	for _, name := range names {
		if dir := path.Dir(name); !strings.HasSuffix(name, "_test.go") && !slices.Contains(unimportable, dir) {
			src, err := fs.ReadFile(tree, name)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			packages[dir] = append(packages[dir], file.Decls...)
		}
	}
	for dir, decls := range packages {
		writes := writersOf(decls)
		for _, d := range decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || !takesTransaction(f) || !writes[nameInCode(f)] {
				continue
			}
			port := path.Base(dir) + "."
			if f.Recv != nil {
				of := receiver(f.Recv.List[0].Type)
				if !ast.IsExported(of) {
					continue
				}
				port += of + "."
			}
			ports = append(ports, port+f.Name.Name)
		}
	}
	slices.Sort(ports)
	return ports
}

// nameInCode is how the code of its package mentions a function.
func nameInCode(f *ast.FuncDecl) string {
	if f.Recv != nil {
		return "." + f.Name.Name
	}
	return f.Name.Name
}

// takesTransaction reports whether a function has a *sqldb.Tx among its parameters.
func takesTransaction(f *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool {
		star, ok := p.Type.(*ast.StarExpr)
		if !ok {
			return false
		}
		of, ok := star.X.(*ast.SelectorExpr)
		return ok && of.Sel.Name == "Tx"
	})
}

// writersOf are the names of a package that lead to a statement that writes; methods begin with a dot.
func writersOf(decls []ast.Decl) map[string]bool {
	writes, mentions := map[string]bool{}, map[string]map[string]bool{}
	var read func(name string, n ast.Node)
	read = func(name string, n ast.Node) {
		if mentions[name] == nil {
			mentions[name] = map[string]bool{}
		}
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if change.MatchString(n.Value) {
					writes[name] = true
				}
			case *ast.CallExpr:
				if of, ok := n.Fun.(*ast.SelectorExpr); ok {
					mentions[name]["."+of.Sel.Name] = true
					if of.Sel.Name == "Stmts" { // of a sqldb.Insert
						writes[name] = true
					}
				}
			case *ast.SelectorExpr: // the selected name is none of the package
				read(name, n.X)
				return false
			case *ast.KeyValueExpr: // nor is that of a field
				read(name, n.Value)
				return false
			case *ast.Ident:
				mentions[name][n.Name] = true
			}
			return true
		})
	}
	for _, d := range decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			read(nameInCode(d), d.Body)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if values, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.CONST {
					for _, name := range values.Names {
						read(name.Name, values)
					}
				}
			}
		}
	}
	for found := -1; found != len(writes); {
		found = len(writes)
		for name, all := range mentions {
			for other := range all {
				if writes[other] {
					writes[name] = true
				}
			}
		}
	}
	return writes
}
