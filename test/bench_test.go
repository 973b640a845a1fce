package test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

// measure asks for figures: a test run is too short and too busy for them.
const measure = "RENGA_BENCH"

// TestBenchOnPostgreSQL runs `renga bench` on a throw-away server. With RENGA_BENCH
// (make bench) it measures, else it only shows that the command works.
func TestBenchOnPostgreSQL(t *testing.T) {
	args := []string{"bench", "--database-url", pgtest.New(t), "--dir", t.TempDir()}
	if os.Getenv(measure) == "" {
		args = append(args, "--executions", "60", "--rounds", "1", "--records", "0")
	} else {
		args = append(args, strings.Fields(os.Getenv(measure+"_ARGS"))...)
	}
	cmd := renga(args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	t.Logf("\n%s", out)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"one process", "bus off", "published", "bare inserts", "2 processes"} {
		if !strings.Contains(string(out), line) {
			t.Errorf("the figures have no %q", line)
		}
	}
}

// TestTheBenchMeasuresEvents shows that the part about the bus works. With RENGA_BENCH it
// is long enough to be profiled.
func TestTheBenchMeasuresEvents(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	size := []string{"--events", "500", "--published", "1000", "--rounds", "1"}
	if os.Getenv(measure) != "" {
		size = []string{"--events", "50000", "--published", "0"}
	}
	cmd := renga(slices.Concat([]string{"bench", "--executions", "0", "--records", "0", "--dir", t.TempDir()}, size)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheBenchStoresExecutionsForOthers shows that a server finds what `renga bench` has only stored.
func TestTheBenchStoresExecutionsForOthers(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	dir := t.TempDir()
	nothing := []string{"--executions", "0", "--events", "0", "--records", "0"}
	size := []string{"--tasks", "1", "--finished", "600", "--waiting", "40", "--dir", dir}
	if out, err := renga(slices.Concat([]string{"bench"}, nothing, size)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := serve(t, site{dir: filepath.Join(dir, "stored")})
	for status, want := range map[string]int{"COMPLETED": 601, "ACTIVE": 41} { // with the one that they are copies of
		resp, err := http.Get(c.url + "/executions?page_size=10&status=" + status)
		if err != nil {
			t.Fatal(err)
		}
		var page struct {
			Total int               `json:"total"`
			Items []json.RawMessage `json:"items"`
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		_ = resp.Body.Close()
		if err != nil || page.Total != want || len(page.Items) != 10 {
			t.Errorf("%d are %s, %d of them on a page (%v); want %d", page.Total, status, len(page.Items), err, want)
		}
	}
	c.stop()
}

// TestTheBenchMeasuresRecords shows that the part about records works. With RENGA_BENCH it
// is of full size.
func TestTheBenchMeasuresRecords(t *testing.T) {
	tier.System(t)
	size := "2000"
	if os.Getenv(measure) != "" {
		size = "200000"
	}
	args := []string{"bench", "--records", size, "--events", "0", "--executions", "0", "--dir", t.TempDir()}
	if postgres() {
		args = append(args, "--database-url", pgtest.New(t))
	}
	cmd := renga(args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	t.Logf("\n%s", out)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"list", "access check", "owner change", "reindex", "search", "pipeline", "updates",
		"sharing", "sharing lag", "search lag", "automation lag", "approval lag", "reporting lag",
	} {
		if !strings.Contains(string(out), "\n  "+line+" ") {
			t.Errorf("the figures have no %q", line)
		}
	}
}
