package api_test

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"renga.dev/renga/api"
)

// lastRelease is the contract of the newest release, and its version.
func lastRelease(t *testing.T) (version string, raw []byte) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("released", "openapi-*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no released contract: %v", err)
	}
	named := func(path string) string {
		return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "openapi-"), ".yaml")
	}
	newest := slices.MaxFunc(files, func(a, b string) int { return compareVersions(named(a), named(b)) })
	if raw, err = os.ReadFile(newest); err != nil {
		t.Fatal(err)
	}
	return named(newest), raw
}

// compareVersions orders versions of three numbers.
func compareVersions(a, b string) int {
	number := func(s string) []int {
		var all []int
		for part := range strings.SplitSeq(s, ".") {
			n, _ := strconv.Atoi(part)
			all = append(all, n)
		}
		return all
	}
	return slices.Compare(number(a), number(b))
}

func parse(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func versionOf(doc map[string]any) string {
	info, _ := doc["info"].(map[string]any)
	version, _ := info["version"].(string)
	return version
}

// TestTheContractKeepsWhatWasReleased refuses removals and changes of type.
func TestTheContractKeepsWhatWasReleased(t *testing.T) {
	_, released := lastRelease(t)
	for _, problem := range broken(parse(t, released), parse(t, api.OpenAPI)) {
		t.Error(problem)
	}
}

// TestAChangedContractHasAVersionAndAHistory asks for a new version of what differs
// from the release, and for its heading in the changelog.
func TestAChangedContractHasAVersionAndAHistory(t *testing.T) {
	version, released := lastRelease(t)
	if got := versionOf(parse(t, released)); got != version {
		t.Errorf("the release is named %s and holds %s", version, got)
	}
	now := versionOf(parse(t, api.OpenAPI))
	if c := compareVersions(now, version); c < 0 || c == 0 && !bytes.Equal(released, api.OpenAPI) {
		t.Errorf("info.version is %s, and the contract differs from that of release %s", now, version)
	}
	history, err := os.ReadFile(filepath.Join("..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{now, version} {
		if !strings.Contains(string(history), "\n## ["+v+"]") {
			t.Errorf("CHANGELOG.md has no heading for %s", v)
		}
	}
}

func TestVersionsAreOrderedByTheirNumbers(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"0.9.0", "0.10.0", -1}, {"1.0.0", "0.10.0", 1}, {"0.2.0", "0.2.0", 0}} {
		if got := cmp.Compare(compareVersions(tc.a, tc.b), 0); got != tc.want {
			t.Errorf("%s and %s: got %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
