package tidy

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// statement is a text of the code that reads like SQL.
type statement struct {
	file string
	line int
	text string
}

var sqlVerb = regexp.MustCompile(`\b(SELECT|UPDATE|DELETE FROM|JOIN|FROM)\b`)

// statements are the texts of all shipped code that hold SQL, with constants and local texts put
// in. What only the running program knows is written as ‹name›.
func statements(t testing.TB, tree fs.FS) (all []statement) {
	t.Helper()
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	err := fs.WalkDir(tree, "internal", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			slices.Contains(pure, path.Dir(name)) {
			return err
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
		packages[path.Dir(name)] = append(packages[path.Dir(name)], file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, parsed := range packages {
		texts := &texts{known: map[string][]ast.Expr{}, funcs: map[string]*ast.FuncDecl{}}
		for _, file := range parsed {
			for _, d := range file.Decls {
				if f, isFunc := d.(*ast.FuncDecl); isFunc {
					texts.funcs[f.Name.Name] = f
				} else {
					note(texts.known, d)
				}
			}
		}
		for _, file := range parsed {
			for _, d := range file.Decls {
				all = append(all, texts.of(files, d)...)
			}
		}
	}
	slices.SortFunc(all, func(a, b statement) int { return cmp.Or(cmp.Compare(a.file, b.file), a.line-b.line) })
	return all
}

// texts knows what names in a package stand for.
type texts struct {
	known map[string][]ast.Expr    // of the package
	local map[string][]ast.Expr    // of the function that is read; fields by their names, with a dot
	funcs map[string]*ast.FuncDecl // of the package
	deep  int
}

// note remembers what is assigned to names in a declaration.
func note(into map[string][]ast.Expr, d ast.Node) {
	assign := func(to ast.Expr, value ast.Expr) {
		switch to := to.(type) {
		case *ast.Ident:
			into[to.Name] = append(into[to.Name], value)
		case *ast.SelectorExpr:
			into["."+to.Sel.Name] = append(into["."+to.Sel.Name], value)
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					assign(name, n.Values[i])
				}
			}
		case *ast.AssignStmt:
			for i, name := range n.Lhs {
				if i < len(n.Rhs) {
					assign(name, n.Rhs[i])
				}
			}
		}
		return true
	})
}

// of gives the largest texts of a declaration that hold SQL.
func (x *texts) of(files *token.FileSet, d ast.Decl) (all []statement) {
	x.local = map[string][]ast.Expr{}
	if _, isFunc := d.(*ast.FuncDecl); isFunc {
		note(x.local, d)
	}
	ast.Inspect(d, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		add := func(text string) {
			p := files.Position(e.Pos())
			all = append(all, statement{p.Filename, p.Line, strings.Join(strings.Fields(text), " ")})
		}
		switch e := e.(type) {
		case *ast.BasicLit, *ast.BinaryExpr:
			text, isText := x.text(e)
			if isText && sqlVerb.MatchString(text) {
				add(text)
			}
			return !isText
		case *ast.CallExpr:
			if text, isText := x.condition(e); isText {
				add("SELECT 1 FROM " + condition + " WHERE " + text)
			}
		}
		return true
	})
	return all
}

// condition stands for the table of a condition that is handed to a function.
const condition = "‹condition›"

// condition is what a call hands to a parameter named where.
func (x *texts) condition(e *ast.CallExpr) (string, bool) {
	name := nameOf(e.Fun)
	f := x.funcs[name[strings.LastIndexByte(name, '.')+1:]]
	if f == nil {
		return "", false
	}
	i := 0
	for _, field := range f.Type.Params.List {
		for _, name := range field.Names {
			if name.Name == "where" && i < len(e.Args) {
				return x.text(e.Args[i])
			}
			i++
		}
	}
	return "", false
}

// text is what an expression stands for; a name that was given several texts stands for all
// of them, one after the other.
func (x *texts) text(e ast.Expr) (string, bool) {
	if x.deep > 12 {
		return "", false
	}
	x.deep++
	defer func() { x.deep-- }()
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		s, err := strconv.Unquote(e.Value)
		return s, err == nil
	case *ast.ParenExpr:
		return x.text(e.X)
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return "", false
		}
		a, okA := x.text(e.X)
		b, okB := x.text(e.Y)
		if !okA && !okB {
			return "", false
		}
		if !okA {
			a = "‹" + nameOf(e.X) + "›"
		}
		if !okB {
			b = "‹" + nameOf(e.Y) + "›"
		}
		return a + b, true
	case *ast.Ident:
		if values := x.local[e.Name]; values != nil {
			return x.texts(values)
		}
		return x.texts(x.known[e.Name])
	case *ast.SelectorExpr:
		return x.texts(x.local["."+e.Sel.Name])
	case *ast.CallExpr:
		return x.call(e)
	}
	return "", false
}

// texts are the texts of several expressions, one after the other.
func (x *texts) texts(all []ast.Expr) (string, bool) {
	var parts []string
	for _, e := range all {
		if s, ok := x.text(e); ok {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " "), len(parts) > 0
}

// call is what a function gives: the format of a Sprintf, or what a function of the package
// returns first.
func (x *texts) call(e *ast.CallExpr) (string, bool) {
	name := nameOf(e.Fun)
	if name == "fmt.Sprintf" || name == "strings.Join" {
		return x.text(e.Args[0])
	}
	f := x.funcs[name[strings.LastIndexByte(name, '.')+1:]]
	if f == nil || f.Body == nil {
		return "", false
	}
	outside := x.local
	defer func() { x.local = outside }()
	x.local = map[string][]ast.Expr{}
	note(x.local, f)
	var results []ast.Expr
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
			results = append(results, r.Results[0])
		}
		return true
	})
	return x.texts(results)
}

// nameOf is how an expression that is no text reads.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return nameOf(e.X) + "." + e.Sel.Name
	case *ast.CallExpr:
		return nameOf(e.Fun) + "()"
	case *ast.IndexExpr:
		return nameOf(e.X)
	}
	return "?"
}

var subquery = regexp.MustCompile(`^\s*(SELECT|WITH|INSERT|UPDATE|DELETE|VALUES)\b`)

// queryParts cuts a statement into its queries: each subquery and each side of a UNION is one.
// Other parentheses stay where they are.
func queryParts(text string) (parts []string) {
	var cut func(s string) string
	cut = func(s string) string { // the text of the outermost query of s; the others go to parts
		var own strings.Builder
		for i := 0; i < len(s); i++ {
			if s[i] != '(' {
				own.WriteByte(s[i])
				continue
			}
			end, depth := i, 0
			for ; end < len(s); end++ {
				if s[end] == '(' {
					depth++
				} else if s[end] == ')' {
					if depth--; depth == 0 {
						break
					}
				}
			}
			inner := s[i+1 : min(end, len(s))]
			rest := cut(inner)
			if subquery.MatchString(inner) {
				parts = append(parts, unions(rest)...)
				rest = ""
			}
			own.WriteString("(" + rest + ")")
			i = end
		}
		return own.String()
	}
	rest := cut(text)
	return append(parts, unions(rest)...)
}

func unions(s string) []string { return regexp.MustCompile(`\bUNION( ALL)?\b`).Split(s, -1) }

// ofTable finds the tables of a query and what they are called there. One that only the running
// program knows is taken for one with a tenant.
var ofTable = regexp.MustCompile(`(?:\b(?:FROM|JOIN|UPDATE)\s+([a-z_]+|‹[^›()]*›)|,\s+([a-z_]+))` +
	`(?:\s+(?:AS\s+)?([a-z]\w*))?`)

// named finds where a query says which tenant: a comparison, a tuple that is compared, a join.
var named = regexp.MustCompile(`(?:(\w+)\.)?\btenant(?:_id)?(?: \|\| '')?\s*(?:=|IN\b)` +
	`|=\s*(?:(\w+)\.)?tenant(?:_id)?\b|\((?:(\w+)\.)?tenant(?:_id)?,[^()]*\)\s*(?:=|IN\b|>|<)|USING\s*\((tenant)`)

// without are the tables of a query of which it does not say which tenant it means.
func without(query string, tables map[string]bool) (missing []string) {
	var names []string
	for _, m := range named.FindAllStringSubmatch(query, -1) {
		name := m[1] + m[2] + m[3]
		if m[4] != "" {
			return nil
		}
		names = append(names, name)
	}
	for _, m := range ofTable.FindAllStringSubmatch(query, -1) {
		table, alias := m[1]+m[2], m[3]
		if !tables[table] && !strings.HasPrefix(table, "‹") {
			continue
		}
		if !slices.Contains(names, alias) && !slices.Contains(names, table) && !slices.Contains(names, "") {
			missing = append(missing, table)
		}
	}
	return missing
}
