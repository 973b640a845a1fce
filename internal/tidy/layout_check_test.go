package tidy

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestLayoutCheckFindsWhatBreaksTheRules plants one fault at a time into a small
// tree that is sound without it.
func TestLayoutCheckFindsWhatBreaksTheRules(t *testing.T) {
	const doc = "// Package p is for a test.\n"
	sound := map[string]string{
		"cmd/renga/main.go": doc + "package main\nimport _ \"renga.dev/renga/internal/program\"",
		"internal/program/main.go": doc + "package program\nimport (_ " +
			"\"renga.dev/renga/internal/workflow/engine\"; _ \"renga.dev/renga/internal/crm/records\")",
		"internal/workflow/engine/run.go": doc +
			"package engine\nimport _ \"renga.dev/renga/internal/workflow/flow\"",
		"internal/workflow/engine/run_test.go": doc +
			"package engine\nimport _ \"renga.dev/renga/internal/workflow/store\"",
		"internal/workflow/flow/decide.go": doc + "package flow\nimport \"time\"\nvar d = time.Second",
		"internal/platform/sqldb/open.go":  doc + "package sqldb\nimport _ \"modernc.org/sqlite\"",
		"internal/crm/records/r.go": doc +
			"package records\nimport _ \"renga.dev/renga/internal/workflow/engine\"",
		"internal/platform/sqldb/testdata/x/y": "not Go",
		"tools/go.mod":                         "module renga.dev/renga/tools",
		"tools/tool.go":                        "package util",
	}
	if got := checkLayout(mapFS(sound), module); len(got) > 0 {
		t.Fatalf("the sound tree: got %q, want no problem", got)
	}
	tests := []struct{ name, file, src, want string }{
		{
			"an import that the table lacks", "internal/workflow/flow/x.go",
			"package flow\nimport _ \"renga.dev/renga/internal/workflow/engine\"", "import table does not allow",
		},
		{
			"one service importing another", "internal/crm/search/x.go",
			doc + "package search\nimport _ \"renga.dev/renga/internal/crm/records\"", "import table does not allow",
		},
		{
			"an import of the command", "internal/workflow/engine/x.go",
			"package engine\nimport _ \"renga.dev/renga/cmd/renga\"", "which nobody may",
		},
		{
			"the simulation in shipped code", "internal/program/x.go",
			"package program\nimport _ \"renga.dev/renga/internal/workflow/sim\"", "which nobody may",
		},
		{
			"a kit for tests that imports the simulation", "internal/app/apptest/x.go",
			doc + "package apptest\nimport _ \"renga.dev/renga/internal/workflow/sim\"", "",
		},
		{
			"a folder without a row", "internal/extra/x.go", doc + "package extra",
			"internal/extra: not in the import table",
		},
		{
			"a folder without a row and without Go", "internal/extra/x.sql", "select 1",
			"internal/extra: not in the import table",
		},
		{
			"a nested folder without a row", "internal/workflow/engine/deep/x.go", doc + "package deep",
			"internal/workflow/engine/deep: not in the import table",
		},
		{"a folder at the root without a row", "pkg/x.go", doc + "package pkg", "pkg: not in the import table"},
		{
			"a package without a comment", "internal/platform/gate/x.go", "package gate",
			"internal/platform/gate: no package comment",
		},
		{"a comment in the test only", "internal/crm/approval/a_test.go", doc + "package approval", ""},
		{
			"a comment in the test beside code", "internal/workflow/engine/run.go", "package engine",
			"internal/workflow/engine: no package comment",
		},
		{"a vague folder", "internal/crm/util/x.go", doc + "package things", "the name util says nothing"},
		{"a vague package", "internal/crm/things/x.go", doc + "package helpers", "the name helpers says nothing"},
		{
			"SQLite's driver elsewhere", "internal/workflow/store/x.go",
			doc + "package store\nimport _ \"modernc.org/sqlite\"", "only internal/platform/sqldb may",
		},
		{
			"a part of a driver in a test", "internal/workflow/engine/x_test.go",
			"package engine\nimport _ \"modernc.org/sqlite/lib\"", "only internal/platform/sqldb may",
		},
		{
			"PostgreSQL's driver elsewhere", "internal/workflow/store/x.go",
			doc + "package store\nimport _ \"github.com/jackc/pgx/v5\"", "only internal/platform/sqldb may",
		},
		{
			"NATS elsewhere", "internal/platform/bus/x.go",
			doc + "package bus\nimport _ \"github.com/nats-io/nats.go\"",
			"only internal/platform/bus/jet may",
		},
		{
			"CEL elsewhere", "internal/workflow/flow/x.go", "package flow\nimport _ \"cel.dev/cel-go/cel\"",
			"only internal/workflow/expr may",
		},
		{
			"a pure package that reads files", "internal/workflow/flow/x.go", "package flow\nimport _ \"os\"",
			"internal/workflow/flow is pure",
		},
		{
			"a pure package that draws numbers", "internal/workflow/flow/x.go",
			"package flow\nimport _ \"math/rand/v2\"",
			"internal/workflow/flow is pure",
		},
		{
			"a pure package that reads the clock", "internal/workflow/flow/x.go",
			"package flow\nimport \"time\"\nvar t = time.Now()", "uses time.Now",
		},
		{
			"a pure package with a goroutine", "internal/workflow/flow/x.go", "package flow\nfunc f() { go f() }",
			"starts a goroutine",
		},
		{"a file that is not Go", "internal/workflow/engine/x.go", "package", "internal/workflow/engine/x.go"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree := mapFS(sound)
			tree[tt.file] = &fstest.MapFile{Data: []byte(tt.src + "\n")}
			got := strings.Join(checkLayout(tree, module), "\n")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q in it", got, tt.want)
			}
		})
	}
}

func mapFS(files map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, src := range files {
		tree[name] = &fstest.MapFile{Data: []byte(src + "\n")}
	}
	return tree
}
