package tidy

import (
	"errors"
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
)

// TestEveryMapThatRequestsShareIsKeyedByTenant looks at the structs that have a lock, and so
// are met by several requests at once: a map in one of them is keyed by a struct that has the
// tenant, or is listed with what its key is. What one tenant put there, another would get.
func TestEveryMapThatRequestsShareIsKeyedByTenant(t *testing.T) {
	found := sharedMaps(t, os.DirFS("."))
	if len(found) < 20 {
		t.Fatalf("only %d maps: the test reads too little", len(found))
	}
	for name, byTenant := range found {
		if _, listed := keyedOtherwise[name]; listed == byTenant {
			t.Errorf("%s: the key has the tenant: %t, in keyedOtherwise: %t; give the key a field tenant, or say "+
				"there what it is",
				name, byTenant, listed)
		}
	}
	for name := range keyedOtherwise {
		if _, there := found[name]; !there {
			t.Errorf("keyedOtherwise lists %s, which does not exist", name)
		}
	}
}

// keyedOtherwise are the maps whose keys have no field tenant, and why nothing of one tenant is
// found for another there.
var keyedOtherwise = map[string]string{
	"internal/platform/session/oidctest.Provider.codes":    "by a code, which the provider of tests draws",
	"internal/platform/session/oidctest.Provider.renewals": "by a token, which the provider of tests draws",
	"internal/platform/session/oidctest.Faults.Metadata":   "by the name of a member, for tests",

	"internal/webhooks.works.running":            "by tenant",
	"internal/bench.busBench.taken":              "by the id of an event, which the benchmark draws",
	"internal/recheck/airflow.line.all":          "by the job",
	"internal/platform/bulk/dlq.Kind.waiting":    "by the id of a dead letter, which the server draws",
	"internal/platform/bus.sharedFeed.positions": "by partition: a feed carries the events of all tenants",
	"internal/platform/bus.sharedFeeds.all": "by stream and partition: a feed carries the events of all " +
		"tenants",
	"internal/platform/bus.wakes.all":                 "by partition assignment",
	"internal/platform/bus/jet.acks.waves":            "by the wave of messages that is published",
	"internal/platform/bus/jet.door.guests":           "by the user names that the operator wrote down",
	"internal/cli.demoWorker.did":                     "of one call of the command line",
	"internal/workflow/engine.Reads.warming":          "by graph and queue, each with its tenant",
	"internal/workflow/engine.deadlines.ill":          "by the id of an execution, which the server draws",
	"internal/workflow/engine.watchers.byID":          "by the id of an execution, which the server draws",
	"internal/workflow/engine.Changes.pending":        "by the id of an execution of the reader's tenant",
	"internal/workflow/engine.changeReaders.byTenant": "by tenant",
	"internal/workflow/engine.changeReaders.seen":     "by tenant",
	"internal/workflow/expr.cache.old":                "by the text of an expression, which means the same for all",
	"internal/workflow/expr.cache.young":              "by the text of an expression, which means the same for all",
	"internal/workflow/engine.queue.of":               "by tenant",
	"internal/workflow/engine.queue.canceling":        "by tenant",
	"internal/workflow/engine.deadlines.served":       "by tenant",
	"internal/workflow/engine.queue.due":              "by the id of an execution, which the server draws",
	"internal/workflow/engine.costly.tenants":         "by tenant",
	"internal/platform/fair.Places.held":              "by tenant",
	"internal/platform/fair.Places.lines":             "by tenant",
	"internal/platform/fair.Places.of":                "by tenant",
	"internal/platform/fair.Shares.of":                "by a text of tenant and client",
	"internal/platform/fair.Shares.ofTenant":          "by tenant",
	"internal/platform/gate.bodies.of":                "by tenant",
	"internal/platform/gate.large.until":              "by tenant",
	"internal/platform/gate.limiter.arrivals":         "by a text of tenant and client",
	"internal/platform/gate.pool.accounts":            "by a text of tenant and client",
	"internal/platform/gate.verifier.known":           "by the digest of a token",
	"internal/recheck.Strategies.indexes":             "by tenant",
	"internal/recheck.index.slots":                    "of one tenant",
	"internal/recheck.index.tags":                     "of one tenant",
	"internal/recheck.recent.all":                     "by the id of an execution, which the server draws",
	"internal/workflow/store.publishing.policies":     "by tenant",
	"internal/workflow/store.recentRows.publications": "by the number of an execution, which the server gives",
	"internal/crm/metadata.Models.held":               "by tenant",
	"internal/crm/reporting.caches.of":                "by tenant",
	"internal/crm/search.Search.numbers":              "by tenant",
	"internal/crm/search.turns.tenants":               "by tenant",
	"internal/inbound.turns.of":                       "by tenant",
}

// sharedMaps are the maps in structs that have a mutex, by package, type and field, and whether
// their keys have a tenant.
func sharedMaps(t testing.TB, tree fs.FS) map[string]bool {
	t.Helper()
	types := map[string]map[string]*ast.StructType{} // by package and name
	read := func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		dir := path.Dir(name)
		if strings.HasPrefix(dir, "internal/") && slices.Contains(unimportable, dir) {
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if types[dir] == nil {
			types[dir] = map[string]*ast.StructType{}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					types[dir][spec.Name.Name] = s
				}
			}
			return true
		})
		return err
	}
	if err := errors.Join(fs.WalkDir(tree, "internal", read), fs.WalkDir(tree, "cmd", read)); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for dir, all := range types {
		parts := partsOfLocked(all)
		for name, s := range all {
			for field, key := range mapsOf(s, parts[name]) {
				keyStruct := all[fmt.Sprint(key)]
				found[fmt.Sprintf("%s.%s.%s", dir, name, field)] = keyStruct != nil && hasTenant(keyStruct)
			}
		}
	}
	return found
}

// partsOfLocked are the structs of a package that are fields of one with a mutex: it guards them.
func partsOfLocked(all map[string]*ast.StructType) map[string]bool {
	parts := map[string]bool{}
	for _, s := range all {
		if !slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
			name := nameOf(f.Type)
			return name == "sync.Mutex" || name == "sync.RWMutex"
		}) {
			continue
		}
		for _, f := range s.Fields.List {
			if part, ok := f.Type.(*ast.Ident); ok && all[part.Name] != nil {
				parts[part.Name] = true
			}
		}
	}
	return parts
}

// mapsOf are the maps of a struct that has a mutex, or is a part of one that has, by field, and
// their keys. A sync.Map is one in any struct, of which nobody knows the keys.
func mapsOf(s *ast.StructType, locks bool) map[string]ast.Expr {
	maps, shared := map[string]ast.Expr{}, map[string]ast.Expr{}
	for _, f := range s.Fields.List {
		kind := f.Type
		if held, ok := kind.(*ast.IndexExpr); ok && nameOf(held.X) == "atomic.Pointer" {
			kind, locks = held.Index, true
		}
		if name := nameOf(kind); name == "sync.Mutex" || name == "sync.RWMutex" {
			locks = true
		}
		if m, ok := kind.(*ast.MapType); ok {
			for _, name := range f.Names {
				maps[name.Name] = m.Key
			}
		}
		if nameOf(kind) == "sync.Map" {
			for _, name := range f.Names {
				maps[name.Name], shared[name.Name] = kind, kind
			}
		}
	}
	if !locks {
		return shared
	}
	return maps
}

func hasTenant(s *ast.StructType) bool {
	return slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		return slices.ContainsFunc(f.Names, func(n *ast.Ident) bool { return strings.EqualFold(n.Name, "tenant") })
	})
}
