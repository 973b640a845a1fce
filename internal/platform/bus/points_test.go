package bus

import (
	"embed"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//go:embed *.go
var sources embed.FS

// TestEveryPointIsNamed: tests kill a process at every point of the list.
func TestEveryPointIsNamed(t *testing.T) {
	files, err := sources.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var passed []string
	for _, file := range files {
		text, err := sources.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`cfg\.Passed\("([^"]+)"\)`).FindAllSubmatch(text, -1) {
			passed = append(passed, string(call[1]))
		}
	}
	slices.Sort(passed)
	if diff := cmp.Diff(slices.Compact(passed), Points); diff != "" {
		t.Errorf("points (-passed +named):\n%s", diff)
	}
	if len(Points) < 20 {
		t.Errorf("too weak: the bus names %d points, want at least 20", len(Points))
	}
}
