package renga_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryDependencyIsExplained compares the modules that the code imports with
// the page that says why each of them is there.
func TestEveryDependencyIsExplained(t *testing.T) {
	gomod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("docs", "decisions", "009-dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	foreign := readLayout(os.DirFS("."), module).foreign
	used, explained := modules(string(gomod), foreign), rows(string(page))
	if len(used) == 0 {
		t.Fatal("found no imported module: the test reads too little")
	}
	for _, m := range used {
		if !slices.Contains(explained, m) {
			t.Errorf("%s is imported and has no line in the page", m)
		}
	}
	for _, m := range explained {
		if !slices.Contains(used, m) {
			t.Errorf("%s has a line in the page and is not imported", m)
		}
	}
}

func TestModulesOfImportsAreReadFromGoMod(t *testing.T) {
	const gomod = "module m\n\ngo 1.26\n\nrequire a.b/c v1.2.3\n\nrequire (\n\ta.b/c/d v2.0.0\n\tg.h/i v0.1.0 // indirect\n)\n"
	got := modules(gomod, map[string]bool{"a.b/c": true, "a.b/c/d/e": true, "a.b/c/x": true, "n.o/p": true})
	if want := []string{"a.b/c", "a.b/c/d", "n.o/p"}; !slices.Equal(got, want) {
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

// modules gives the modules that packages belong to, each once, sorted. A package
// of no module in go.mod stands for itself.
func modules(gomod string, packages map[string]bool) []string {
	var required []string
	for line := range strings.Lines(gomod) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && strings.HasPrefix(fields[1], "v") {
			required = append(required, fields[0])
		}
	}
	var found []string
	for pkg := range packages {
		owner := ""
		for _, m := range required {
			if (pkg == m || strings.HasPrefix(pkg, m+"/")) && len(m) > len(owner) {
				owner = m
			}
		}
		if owner == "" {
			owner = pkg
		}
		found = append(found, owner)
	}
	slices.Sort(found)
	return slices.Compact(found)
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
