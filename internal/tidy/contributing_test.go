package tidy

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	makeTarget = regexp.MustCompile(`\bmake ([a-z]+(?:-[a-z]+)*)`)
	ruleOfMake = regexp.MustCompile(`(?m)^([a-z][a-z-]*(?: [a-z][a-z-]*)*):`)
	pathInPage = regexp.MustCompile("[`( ]\\.?/?" +
		"((?:api|client|cmd|docs|internal|tools)/[\\w./<>…-]+|[\\w-]+(?:_test)?\\.(?:go|md))")
	requirement = regexp.MustCompile(`^\| ([A-Z]{3}-\d+a?) \| (.+) \| (.*) \|$`)
	testFile    = regexp.MustCompile("`([\\w/]+_test\\.go)`")
)

// TestContributingNamesWhatThereIs holds the paths and the make targets of CONTRIBUTING.md against the tree.
func TestContributingNamesWhatThereIs(t *testing.T) {
	page, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	paths, targets := mentioned(string(page))
	if len(paths) < 25 || len(targets) < 8 {
		t.Fatalf("found %d paths and %d targets: the test reads too little", len(paths), len(targets))
	}
	for _, name := range paths {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("CONTRIBUTING.md: %v", err)
		}
	}
	var rules []string
	for _, m := range ruleOfMake.FindAllStringSubmatch(string(makefile), -1) {
		rules = append(rules, strings.Fields(m[1])...)
	}
	for _, target := range targets {
		if !slices.Contains(rules, target) {
			t.Errorf("CONTRIBUTING.md names make %s, which the Makefile does not have", target)
		}
	}
}

func TestPathsAndTargetsOfAPageAreFound(t *testing.T) {
	paths, targets := mentioned("Run `make fix`, then go test ./api/x, see `docs/a.md`, `b_test.go` " +
		"and `internal/<name>/c.go`; ask maker.")
	if want := []string{"api/x", "docs/a.md", "b_test.go"}; !slices.Equal(paths, want) {
		t.Errorf("got paths %q, want %q", paths, want)
	}
	if !slices.Equal(targets, []string{"fix"}) {
		t.Errorf("got targets %q, want fix", targets)
	}
}

// mentioned lists the paths and the make targets in a page. A path with a part to fill in is left out.
func mentioned(page string) (paths, targets []string) {
	for _, m := range pathInPage.FindAllStringSubmatch(page, -1) {
		name := strings.TrimRight(m[1], "./")
		generic := strings.ContainsAny(name, "<…") || strings.Contains(name, "NNNNN") || name == "on.go" ||
			name == "doc.go" || name == "ports.go" || name == "recount.go"
		if !generic {
			paths = append(paths, name)
		}
	}
	for _, m := range makeTarget.FindAllStringSubmatch(page, -1) {
		targets = append(targets, m[1])
	}
	return paths, targets
}

// TestRequirementsNameTheirTests asks that docs/requirements.md has every id that tests carry, and
// that every test it names is in the tree.
func TestRequirementsNameTheirTests(t *testing.T) {
	page, err := os.ReadFile("docs/requirements.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, proofs := required(string(page))
	if len(listed) < 50 {
		t.Fatalf("found %d requirements: the test reads too little", len(listed))
	}
	tests, carried := testsOf(t, os.DirFS("."))
	for _, file := range proofs {
		if !slices.ContainsFunc(tests, func(name string) bool { return path.Base(name) == file || name == file }) {
			t.Errorf("docs/requirements.md names %s, which does not exist", file)
		}
	}
	for id, file := range carried {
		if !slices.Contains(listed, id) {
			t.Errorf("%s carries %s, which docs/requirements.md does not have", file, id)
		}
	}
	if len(carried) < 20 {
		t.Errorf("found %d ids in tests: the test reads too little", len(carried))
	}
}

func TestRequirementsAreRead(t *testing.T) {
	listed, proofs := required("| EXE-2a | Bodies. | `exe2_test.go`, `a/b_test.go` |\n" +
		"| DAY-1 | Later. | planned |\n| id | x | y |\n")
	wantIDs, wantProofs := []string{"EXE-2a", "DAY-1"}, []string{"exe2_test.go", "a/b_test.go"}
	if !slices.Equal(listed, wantIDs) || !slices.Equal(proofs, wantProofs) {
		t.Errorf("got %q and %q", listed, proofs)
	}
}

// required reads the ids of requirements and the test files in their last cells.
func required(page string) (ids, proofs []string) {
	for line := range strings.Lines(page) {
		if m := requirement.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			ids = append(ids, m[1])
			for _, file := range testFile.FindAllStringSubmatch(m[3], -1) {
				proofs = append(proofs, file[1])
			}
		}
	}
	return ids, proofs
}

// idOfTest is a requirement in the name of a file or in the text of a test. PDC-14 is the check list
// that PDC-12 asks for; numbers of other standards have other prefixes.
var (
	idOfFile = regexp.MustCompile(`^(exe|evt|trg|pdc|bus|crm|lim|day|run)(\d+)_\w*test\.go$`)
	idInText = regexp.MustCompile(`\b(?:EXE|EVT|TRG|BUS|CRM|LIM|DAY|RUN|PDC)-\d+a?\b`)
)

// testsOf lists the test files of a tree, and the requirements that they carry with one file each.
func testsOf(t *testing.T, tree fs.FS) (files []string, ids map[string]string) {
	ids = map[string]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		files = append(files, name)
		if path.Dir(name) == "." {
			return nil // these speak of ids
		}
		if m := idOfFile.FindStringSubmatch(path.Base(name)); m != nil {
			ids[strings.ToUpper(m[1])+"-"+m[2]] = name
		}
		text, err := fs.ReadFile(tree, name)
		for _, id := range idInText.FindAll(text, -1) {
			ids[string(id)] = name
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(ids, "PDC-14")
	return files, ids
}
