package tidy

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
	const gomod = "module m\n\ngo 1.26\n\nrequire a.b/c v1.2.3\n\nrequire (\n\ta.b/c/d v2.0.0\n\tg.h/i v0.1.0 // " +
		"indirect\n)\n"
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
		within := func(row string) bool { return dir == row || strings.HasPrefix(dir, row+"/") }
		if !slices.ContainsFunc(mapped, within) {
			t.Errorf("README.md does not map %s", dir)
		}
	}
	if found == 0 {
		t.Error("found no folder of the import table: the test looks in the wrong place")
	}
}

// TestDecisionsHaveANumberOfTheirOwn: a page is named by it in the other pages.
func TestDecisionsHaveANumberOfTheirOwn(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("docs", "decisions", "*.md"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("found %d pages: %v", len(pages), err)
	}
	for i, path := range pages {
		want := fmt.Sprintf("%03d", i+1)
		if number, _, _ := strings.Cut(filepath.Base(path), "-"); number != want {
			t.Errorf("%s has the place of %s", path, want)
		}
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(page), "# "+want+" ") {
			t.Errorf("%s does not begin with its number", path)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)[^)]*\)`)

// TestLinksOfPagesLeadToFiles looks at the links from page to page.
func TestLinksOfPagesLeadToFiles(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Glob(filepath.Join("docs", "*", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range slices.Concat(root, pages, below) {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1])); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d links: the test reads too little", found)
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

// TestTestsThatAreNamedAsAProofExist reads the calls of provedBy, which names the tests in
// a folder that prove the rest of what a test is about.
func TestTestsThatAreNamedAsAProofExist(t *testing.T) {
	const dir = "internal/httpapi"
	text, err := os.ReadFile(filepath.Join(dir, "pdc14_checklist_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`provedBy\("([^"]+)",([^)]+)\)`).FindAllStringSubmatch(string(text), -1)
	if len(calls) < 10 {
		t.Fatalf("got %d calls of provedBy: the test reads too little", len(calls))
	}
	for _, call := range calls {
		files, err := filepath.Glob(filepath.Join(dir, call[1], "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no tests: %v", call[1], err)
		}
		var all []byte
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text...)
		}
		for _, name := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(call[2], -1) {
			if !regexp.MustCompile(`(?m)^func ` + name[1] + `\(t \*testing\.T\)`).Match(all) {
				t.Errorf("%s is named as a proof, and is not in %s any more", name[1], call[1])
			}
		}
	}
}
