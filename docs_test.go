package renga_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryDirectDependencyIsExplained compares go.mod with the page that says
// why each direct dependency is there.
func TestEveryDirectDependencyIsExplained(t *testing.T) {
	gomod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("docs", "decisions", "009-dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	used, explained := direct(string(gomod)), rows(string(page))
	if len(used) == 0 {
		t.Fatal("found no dependency in go.mod: the test reads too little")
	}
	for _, m := range used {
		if !slices.Contains(explained, m) {
			t.Errorf("%s is a direct dependency without a line in the page", m)
		}
	}
	for _, m := range explained {
		if !slices.Contains(used, m) {
			t.Errorf("%s has a line in the page and is no direct dependency", m)
		}
	}
}

func TestDirectDependenciesAreReadFromGoMod(t *testing.T) {
	got := direct("module m\n\ngo 1.26\n\nrequire a.b/c v1.2.3\n\nrequire (\n\td.e/f/v2 v2.0.0\n\tg.h/i v0.1.0 // indirect\n)\n")
	if want := []string{"a.b/c", "d.e/f/v2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestReadmeMapsEveryFolder asks that the map in README.md has the folders that exist.
func TestReadmeMapsEveryFolder(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	mapped, found := rows(string(page)), 0
	for dir := range imports {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		if len(files) == 0 || dir == "." {
			continue // still to come
		}
		found++
		if !slices.Contains(mapped, dir) {
			t.Errorf("README.md does not map %s", dir)
		}
	}
	if found == 0 {
		t.Error("found no folder of the import table: the test looks in the wrong place")
	}
}

// direct lists the modules that go.mod requires, without the indirect ones.
func direct(gomod string) []string {
	var modules []string
	for line := range strings.Lines(gomod) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) == 2 && strings.HasPrefix(fields[1], "v") {
			modules = append(modules, fields[0])
		}
	}
	return modules
}

// rows lists what stands as code in the first column of a page's tables.
func rows(page string) []string {
	var first []string
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(rest, "`")
			first = append(first, name)
		}
	}
	return first
}
