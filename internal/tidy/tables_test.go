package tidy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTablesAreNamedByTheirOwners asks that shipped code names only the tables that migrations of
// its own folder make. Exceptions are a table in docs/architecture.md.
func TestTablesAreNamedByTheirOwners(t *testing.T) {
	tree := os.DirFS(".")
	page, err := fs.ReadFile(tree, "docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	named := tablesNamed(t, tree)
	if n := len(tableOwners(t, tree)); n < 60 || len(named) < 60 {
		t.Fatalf("%d tables, %d named by folders: the test reads too little", n, len(named))
	}
	for _, problem := range checkOwners(named, tableOwners(t, tree), exceptions(string(page), ownerHeader)) {
		t.Error(problem)
	}
}

// naming is a folder that names a table.
type naming struct{ dir, table string }

// checkOwners holds the tables that folders name against those who own them. excepted are folders
// with the owners whose tables they name.
func checkOwners(named map[naming]string, owners map[string]string, excepted map[string][]string) (problems []string) {
	used := map[naming]bool{}
	for n, place := range named {
		owner := owners[n.table]
		if n.dir == owner || strings.HasPrefix(n.dir, owner+"/") {
			continue
		}
		if used[naming{n.dir, owner}] = true; !slices.Contains(excepted[n.dir], owner) {
			problems = append(problems, fmt.Sprintf("%s names %s, a table of %s: ask its owner for rows or for SQL, "+
				"or give a reason in docs/architecture.md", place, n.table, owner))
		}
	}
	for dir, all := range excepted {
		for _, owner := range all {
			if !used[naming{dir, owner}] {
				problems = append(problems, fmt.Sprintf("docs/architecture.md excepts %s, which names no table of %s",
					dir, owner))
			}
		}
	}
	slices.Sort(problems)
	return problems
}

// tableOwners are the folders whose migrations make tables that are still there, by table.
func tableOwners(t testing.TB, tree fs.FS) map[string]string {
	create := regexp.MustCompile(`CREATE (?:UNLOGGED |VIRTUAL )?TABLE (\w+) (?:\(|USING|PARTITION)`)
	owners := map[string]string{}
	for _, name := range migrationFiles(t, tree) {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range create.FindAllStringSubmatch(string(text), -1) {
			owners[m[1]] = path.Dir(path.Dir(path.Dir(name)))
		}
	}
	return owners
}

// word is what may be the name of a table: one of several parts anywhere in a text, one of a single
// part only where SQL has a table.
var word = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)+\b|\b(?:FROM|JOIN|INTO|UPDATE) ([a-z]+)\b`)

// tablesNamed are the tables in texts of shipped code, with a place where each folder names them.
func tablesNamed(t testing.TB, tree fs.FS) map[naming]string {
	t.Helper()
	owners, named, files := tableOwners(t, tree), map[naming]string{}, token.NewFileSet()
	visit := func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		if dir := path.Dir(name); dir != "cmd/renga" && slices.Contains(unimportable, dir) {
			return nil // serves tests
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(files, name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, _ := strconv.Unquote(lit.Value)
			for _, m := range word.FindAllStringSubmatch(text, -1) {
				table := m[1]
				if table == "" {
					table = m[0]
				}
				if owners[table] != "" {
					named[naming{path.Dir(name), table}] = files.Position(lit.Pos()).String()
				}
			}
			return true
		})
		return nil
	}
	for _, root := range []string{"cmd", "internal"} {
		if err := fs.WalkDir(tree, root, visit); err != nil {
			t.Fatal(err)
		}
	}
	return named
}

// ownerHeader begins the table of folders, whose tables they name, and why.
const ownerHeader = "| folder | names tables of | why |\n"

// exceptions are the rows of a table of docs/architecture.md with three columns: the exception, for whom it is
// one, and why. A row without a reason is none.
func exceptions(page, header string) map[string][]string {
	row := regexp.MustCompile("(?m)^\\| `([^`|]+)` \\| ([^|]+) \\| ([^|]+) \\|$")
	_, section, _ := strings.Cut(page, header)
	section, _, _ = strings.Cut(section, "\n\n")
	excepted := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		excepted[m[1]] = strings.Fields(strings.ReplaceAll(m[2], "`", ""))
	}
	return excepted
}

// TestTablesOfOthersAreFound plants one statement at a time.
func TestTablesOfOthersAreFound(t *testing.T) {
	const exception = "| folder | names tables of | why |\n| --- | --- | --- |\n| `internal/y` | `internal/x` | it " +
		"must |\n\nText."
	for _, tt := range []struct{ name, file, code, page, want string }{
		{"its own", "internal/x/x.go", `const q = "SELECT n FROM x_a"`, "", ""},
		{"a part of the owner", "internal/x/part/x.go", `const q = "SELECT n FROM x_a"`, "", ""},
		{"another's", "internal/y/y.go", `const q = "SELECT n FROM x_a"`, "", "internal/y/y.go:2:11 names x_a"},
		{"another's in a subquery", "internal/y/y.go", `const q = "n IN (SELECT n FROM x_a)"`, "", "names x_a"},
		{"another's as a text", "internal/y/y.go", `const table = "x_a"`, "", "names x_a"},
		{"an insertion", "cmd/y/y.go", `const q = "INSERT INTO x_a VALUES (1)"`, "", "names x_a"},
		{"a name of one part", "internal/y/y.go", `const q = "UPDATE bulk SET n = 1"`, "", "names bulk"},
		{"a word", "internal/y/y.go", `const q = "a bulk of x_a_b"`, "", ""},
		{"a test", "internal/y/y_test.go", `const q = "SELECT n FROM x_a"`, "", ""},
		{"an exception", "internal/y/y.go", `const q = "SELECT n FROM x_a"`, exception, ""},
		{
			"an exception for nobody", "internal/x/x.go", `const q = "SELECT n FROM x_a"`, exception,
			"which names no table",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{
				"internal/x/migrations/sqlite/00001_x.sql": "CREATE TABLE x_a (n INTEGER);\nCREATE TABLE bulk (n " +
					"INTEGER);",
				"cmd/z/z.go": "package z",
			}
			maps.Copy(files, map[string]string{tt.file: "package p\n" + tt.code})
			tree := mapFS(files)
			problems := checkOwners(tablesNamed(t, tree), tableOwners(t, tree), exceptions(tt.page, ownerHeader))
			got := strings.Join(problems, "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
		})
	}
}
