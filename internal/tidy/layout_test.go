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
	"strconv"
	"strings"
	"testing"
)

// module is the path that go.mod declares.
const module = "renga.dev/renga"

// anything as a row's only import means the whole tree.
const anything = "..."

// business is what the parts that carry business meaning may import.
var business = []string{
	"internal/platform/gate", "internal/platform/rest", "internal/platform/seal",
	"internal/workflow/engine", "internal/platform/bus", "internal/platform/audit", "internal/platform/idempotency",
	"internal/platform/cron", "internal/platform/sqldb", "internal/crm/model", "internal/workflow/expr",
	"internal/platform/canonical", "internal/platform/events", "internal/workflow/flow", "internal/platform/fault",
}

// runs is for those that run executions of their own.
var runs = []string{"internal/workflow/runs"}

// kit is what the CRM services share.
var kit = []string{"internal/crm/kit", "internal/crm/kit/rebuild"}

// imports is the import table of docs/architecture.md: the folders that hold Go
// code and, of our own code, what each may import. "*" stands for one folder name.
// It lists every folder that the architecture has, also those still to come.
var imports = map[string][]string{
	".":                        {},
	"cmd/renga":                {"internal/program"},
	"internal/program":         {anything},
	"internal/bench":           {anything},
	"test":                     {anything},
	"internal/app":             {anything},
	"internal/app/apptest":     {anything},
	"client":                   {"api"},
	"api":                      {},
	"api/contract":             {},
	"api/contract/generate":    {"api/contract"},
	"web":                      {},
	"web/pack":                 {"web"},
	"internal/console":         {"web", "internal/platform/gate", "internal/platform/fault"},
	"docs":                     {},
	"internal/platform/fault":  {},
	"internal/platform/fair":   {},
	"internal/platform/folder": {},
	"internal/platform/cron":   {},
	"test/stalltest":           {},
	"test/tier":                {},
	"internal/tidy":            {},
	"internal/workflow/expr":   {"internal/platform/fault"},
	"internal/workflow/schema": {"internal/platform/fault"},
	"internal/workflow/flow": {
		"internal/workflow/expr", "internal/workflow/schema", "internal/platform/fault",
	},
	"internal/platform/canonical": {"internal/workflow/flow", "internal/platform/fault"},
	"internal/platform/events":    {"api", "internal/platform/canonical", "internal/platform/fault"},
	"internal/crm/crmtest":        {anything},
	"internal/crm/model": {
		"internal/workflow/expr",
		"internal/platform/canonical",
		"internal/platform/fault",
	},
	"internal/platform/sqldb":         {"internal/platform/fair", "internal/platform/fault"},
	"internal/platform/sqldb/pgtest":  {},
	"internal/platform/sqldb/sqltest": {"internal/platform/sqldb", "internal/platform/fault"},
	"internal/platform/seal":          {"internal/platform/sqldb", "internal/platform/fault"},
	"internal/platform/idempotency": {
		"internal/platform/sqldb",
		"internal/platform/canonical",
		"internal/platform/fault",
	},
	"internal/platform/session": {
		"internal/platform/gate", "internal/platform/rest", "internal/platform/seal", "internal/platform/audit",
		"internal/platform/sqldb", "internal/platform/canonical", "internal/platform/fault",
	},
	"internal/platform/session/oidctest": {},
	"internal/platform/audit": {
		"internal/platform/sqldb",
		"internal/platform/canonical",
		"internal/platform/fault",
	},
	"internal/platform/audit/export": {
		"internal/platform/audit", "internal/platform/folder", "internal/platform/sqldb",
		"internal/platform/fault",
	},
	"internal/workflow/engine": {
		"internal/workflow/flow", "internal/platform/canonical", "internal/platform/sqldb",
		"internal/platform/fair", "internal/platform/fault",
	},
	"internal/crm/kit": {
		"internal/platform/gate", "internal/platform/bus", "internal/platform/sqldb", "internal/platform/canonical",
		"internal/platform/events",
		"internal/crm/model", "internal/platform/fault",
	},
	"internal/crm/kit/rebuild": {
		"internal/crm/kit", "internal/platform/gate", "internal/platform/rest", "internal/workflow/engine",
		"internal/workflow/flow", "internal/platform/idempotency", "internal/platform/sqldb",
		"internal/platform/canonical", "internal/platform/fault",
	},
	"internal/workflow/store": {
		"internal/workflow/engine", "internal/platform/bus", "internal/workflow/flow",
		"internal/platform/canonical",
		"internal/platform/events", "internal/platform/sqldb", "internal/platform/fault",
	},
	"internal/workflow/store/storetest": {
		"internal/workflow/engine", "internal/platform/bus", "internal/workflow/flow",
		"internal/platform/canonical", "internal/platform/sqldb", "internal/platform/fault",
	},
	"internal/platform/bus": {
		"internal/platform/audit", "internal/platform/idempotency",
		"internal/platform/sqldb", "internal/platform/canonical",
		"internal/platform/events", "internal/platform/fault",
	},
	"internal/platform/bus/jet": {
		"internal/platform/bus",
		"internal/platform/canonical",
		"internal/platform/events",
		"internal/platform/fault",
	},
	"internal/platform/bus/jet/jettest": {},
	"internal/platform/bus/memory": {
		"internal/platform/bus",
		"internal/platform/events",
		"internal/platform/fault",
	},
	"internal/platform/bus/bustest": {
		"internal/platform/bus", "internal/platform/sqldb", "internal/platform/canonical", "internal/platform/events",
		"internal/platform/fault",
	},
	"internal/platform/bulk": {
		"internal/platform/idempotency", "internal/platform/sqldb", "internal/platform/canonical",
		"internal/platform/fault",
	},
	"internal/platform/bulk/dlq": {
		"internal/platform/bulk", "internal/platform/bus", "internal/platform/canonical", "internal/platform/events",
		"internal/platform/fault",
	},
	"internal/workflow/play": {"internal/workflow/flow", "internal/platform/canonical", "internal/platform/fault"},
	"internal/workflow/runs": {
		"internal/workflow/engine", "internal/workflow/flow", "internal/platform/sqldb",
	},
	"internal/workflow/execbulk": {
		"internal/platform/bulk", "internal/workflow/engine", "internal/workflow/flow",
		"internal/platform/canonical", "internal/platform/fault",
	},
	"internal/platform/gate": {
		"api", "internal/platform/audit", "internal/platform/sqldb", "internal/platform/canonical",
		"internal/platform/fair", "internal/platform/fault",
	},
	"internal/platform/rest": {
		"internal/platform/gate", "internal/platform/canonical", "internal/workflow/flow",
		"internal/platform/fault",
	},
	"internal/httpapi": {
		"api", "internal/platform/gate", "internal/platform/rest", "internal/platform/seal", "internal/platform/audit",
		"internal/platform/bus", "internal/platform/bulk", "internal/workflow/execbulk", "internal/platform/bulk/dlq",
		"internal/workflow/engine", "internal/workflow/play",
		"internal/workflow/flow", "internal/platform/canonical",
		"internal/platform/events", "internal/platform/fair", "internal/platform/fault",
	},
	"internal/recheck/airflow": {
		"internal/workflow/engine", "internal/workflow/flow",
		"internal/platform/canonical", "internal/platform/fault",
	},
	"internal/recheck/airflow/airflowtest": {},
	"internal/inbound":                     append([]string{"internal/platform/folder"}, business...),
	"internal/recheck":                     slices.Concat(business, runs),
	"internal/schedules": {
		"internal/platform/gate", "internal/platform/rest", "internal/workflow/engine", "internal/platform/audit",
		"internal/platform/idempotency", "internal/platform/cron", "internal/platform/sqldb",
		"internal/platform/canonical", "internal/workflow/flow", "internal/platform/fault",
	},
	"internal/messages": {
		"internal/platform/gate", "internal/platform/rest", "internal/workflow/engine", "internal/platform/idempotency",
		"internal/platform/sqldb", "internal/platform/canonical", "internal/workflow/flow", "internal/platform/fault",
	},
	"internal/webhooks": {
		"internal/platform/gate", "internal/platform/rest", "internal/platform/bus", "internal/platform/audit",
		"internal/platform/idempotency", "internal/platform/sqldb", "internal/workflow/expr",
		"internal/platform/canonical", "internal/platform/events", "internal/workflow/flow", "internal/platform/fault",
	},
	"internal/crm/*": slices.Concat(business, kit, runs),
	"internal/demo":  {"client"},
	"internal/cli": {
		"api", "client", "internal/demo", "internal/platform/canonical",
		"internal/platform/events", "internal/workflow/flow", "internal/workflow/play", "internal/platform/fault",
	},
	"examples/*":            {"client"},
	"internal/workflow/sim": {anything},
}

// unimportable are folders that no shipped code imports; all but the first serve tests and generators, and
// may import one another.
var unimportable = []string{
	"cmd/renga", "examples/expense", "test", "internal/app/apptest", "internal/workflow/sim",
	"internal/workflow/store/storetest", "internal/platform/sqldb/pgtest", "internal/platform/sqldb/sqltest",
	"internal/platform/bus/jet/jettest", "internal/platform/bus/memory", "internal/platform/bus/bustest",
	"internal/crm/crmtest", "internal/recheck/airflow/airflowtest", "test/stalltest",
	"test/tier", "internal/tidy", "docs", ".", "api/contract", "api/contract/generate",
}

// owners says which folder alone, with those in it, may import a family of foreign packages. It
// binds tests too: a test that needs a driver asks its owner.
var owners = map[string]string{
	"modernc.org/sqlite":         "internal/platform/sqldb",
	"github.com/mattn/go-sqlite": "internal/platform/sqldb",
	"github.com/jackc/pgx":       "internal/platform/sqldb",
	"github.com/lib/pq":          "internal/platform/sqldb",
	"github.com/nats-io":         "internal/platform/bus/jet",
	"cel.dev/cel-go":             "internal/workflow/expr",
}

// pure are the folders that do no I/O, read no clock, draw no random number and
// start no goroutine; impure is what they may therefore not import or call.
var (
	pure = []string{
		"internal/workflow/flow",
		"internal/workflow/play",
		"internal/workflow/schema",
		"internal/platform/canonical",
		"internal/platform/events",
		"internal/crm/model",
	}
	impure = []string{
		"context", "crypto/rand", "database/sql", "github.com/google/uuid", "log", "math/rand",
		"net", "os", "runtime", "syscall", "testing",
	}
	clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
)

// vague are package names that say nothing about what the package is for.
var vague = []string{"util", "utils", "common", "helper", "helpers", "models", "types", "manager"}

func TestCodeKeepsToTheImportTable(t *testing.T) {
	for _, problem := range checkLayout(os.DirFS("."), module) {
		t.Error(problem)
	}
}

// folder is what the check knows of one package folder.
type folder struct {
	row        string // of the import table; "" when no row matches
	documented bool
	ships      bool // holds more than tests
}

// checkLayout reads all Go files of a tree and says what breaks the rules above,
// in a fixed order. It parses by itself: a test that asks the go command would be
// cached without regard to the files that the command read.
func checkLayout(tree fs.FS, module string) []string {
	return readLayout(tree, module).problems
}

func readLayout(tree fs.FS, module string) *layout {
	c := &layout{module: module, folders: map[string]*folder{}, foreign: map[string]bool{}}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return c.visit(tree, name)
		}
		if strings.HasSuffix(name, ".go") {
			return c.parse(tree, name)
		}
		return nil
	})
	if err != nil {
		c.say("%v", err)
	}
	for dir, f := range c.folders {
		if !f.documented {
			c.say("%s: no package comment: say what it is for, what it is not, and what it keeps true", dir)
		}
	}
	slices.Sort(c.problems)
	c.problems = slices.Compact(c.problems)
	return c
}

type layout struct {
	module   string
	folders  map[string]*folder
	foreign  map[string]bool // packages of other modules that are imported
	problems []string
}

func (c *layout) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// visit decides whether a directory belongs to the module, and checks its name.
func (c *layout) visit(tree fs.FS, dir string) error {
	base := path.Base(dir)
	if dir == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || slices.Contains([]string{"testdata", "node_modules", "vendor", "data"}, base) {
		return fs.SkipDir
	}
	if _, err := fs.Stat(tree, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	if path.Dir(dir) == "internal" && !slices.Contains([]string{
		"internal/crm", "internal/platform",
		"internal/workflow",
	}, dir) && row(dir) == "" {
		c.say("%s: not in the import table", dir)
	}
	return nil
}

// parse reads one file: its package, its comment, its imports.
func (c *layout) parse(tree fs.FS, name string) error {
	src, err := fs.ReadFile(tree, name)
	if err != nil {
		return err
	}
	dir, test := path.Dir(name), strings.HasSuffix(name, "_test.go")
	mode := parser.ParseComments | parser.SkipObjectResolution
	if !slices.Contains(pure, dir) || test {
		mode |= parser.ImportsOnly
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, src, mode)
	if err != nil {
		return err
	}
	f := c.folders[dir]
	if f == nil {
		f = &folder{row: row(dir)}
		c.folders[dir] = f
		if f.row == "" {
			c.say("%s: not in the import table", dir)
		}
	}
	c.checkName(dir, strings.TrimSuffix(file.Name.Name, "_test"))
	f.note(test, file.Doc != nil)
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		c.checkImport(f, name, imported, test)
	}
	if slices.Contains(pure, dir) && !test {
		c.checkPure(name, file)
	}
	return nil
}

// note counts a package comment; one in a test counts only where there is nothing else.
func (f *folder) note(test, doc bool) {
	if !test && !f.ships {
		f.ships, f.documented = true, false
	}
	if doc && test != f.ships {
		f.documented = true
	}
}

func (c *layout) checkName(dir, pkg string) {
	for _, name := range []string{pkg, path.Base(dir)} {
		if slices.Contains(vague, name) {
			c.say("%s: the name %s says nothing: name it after what it holds", dir, name)
		}
	}
}

// checkImport holds one import against the table and the owners.
func (c *layout) checkImport(f *folder, name, imported string, test bool) {
	dir := path.Dir(name)
	own, isOwn := strings.CutPrefix(imported, c.module+"/")
	if imported == c.module {
		own, isOwn = ".", true
	}
	switch {
	case isOwn && slices.Contains(unimportable, own) && own != dir && !test && !slices.Contains(unimportable[1:], dir):
		c.say("%s imports %s, which nobody may", name, own)
	case isOwn && !test && f.row != "" && !allowed(imports[f.row], own):
		c.say("%s imports %s: the import table does not allow %s that", name, own, dir)
	}
	if root, _, _ := strings.Cut(imported, "/"); !isOwn && strings.Contains(root, ".") {
		c.foreign[imported] = true
	}
	for family, owner := range owners {
		if under(imported, family) && !under(dir, owner) {
			c.say("%s imports %s: only %s may", name, imported, owner)
		}
	}
	if slices.Contains(pure, dir) && !test && imported != "net/url" && // it parses and connects to nothing
		slices.ContainsFunc(impure, func(p string) bool { return under(imported, p) }) {
		c.say("%s imports %s: %s is pure", name, imported, dir)
	}
}

// checkPure looks for the clock and for goroutines, which no import gives away.
func (c *layout) checkPure(name string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			c.say("%s starts a goroutine: %s is pure", name, path.Dir(name))
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
				c.say("%s uses time.%s: %s is pure", name, n.Sel.Name, path.Dir(name))
			}
		}
		return true
	})
}

// row is the row of the import table that a folder falls under, "" for none.
func row(dir string) string {
	if _, ok := imports[dir]; ok {
		return dir
	}
	for pattern := range imports {
		if ok, _ := path.Match(pattern, dir); ok {
			return pattern
		}
	}
	return ""
}

// allowed reports whether a row's list covers a folder.
func allowed(list []string, dir string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		ok, _ := path.Match(pattern, dir)
		return ok || pattern == anything
	})
}

// under reports whether an import path is a family's root or below it. A version
// suffix or a longer last element (go-sqlite3) belongs to the family.
func under(imported, family string) bool {
	rest, ok := strings.CutPrefix(imported, family)
	return ok && (rest == "" || rest[0] == '/' || rest[0] >= '0' && rest[0] <= '9')
}

func TestImportTableNamesOnlyItsOwnRows(t *testing.T) {
	for from, list := range imports {
		for _, to := range list {
			if _, ok := imports[to]; !ok && to != anything {
				t.Errorf("%s may import %s, which has no row", from, to)
			}
		}
	}
}
