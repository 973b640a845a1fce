package tidy

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	systemTest = regexp.MustCompile(`(?m)^func Test\w+\(t \*testing\.T\) \{\n\ttier\.System\(t\)$`)
	systemCall = regexp.MustCompile(`tier\.System\(|RENGA_SYSTEM`)
)

// TestSystemTestsAreFound asks that a test skips itself as a system test in its first statement
// and nowhere else: make test-system looks for that line.
func TestSystemTestsAreFound(t *testing.T) {
	found := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, "_test.go") || path.Dir(name) == "internal/tidy" {
			return err
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		tests, calls := len(systemTest.FindAll(src, -1)), len(systemCall.FindAll(src, -1))
		if found += tests; tests != calls {
			t.Errorf("%s: make test-system finds %d of its %d system tests: begin each with tier.System(t)", name,
				tests, calls)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 50 {
		t.Errorf("found %d system tests: the test reads too little", found)
	}
}
