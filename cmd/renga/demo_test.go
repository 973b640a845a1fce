package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTheDemoShowsWhoMaySeeWhat loads demo data into a server and asks for the example that
// the command names.
func TestTheDemoShowsWhoMaySeeWhat(t *testing.T) {
	size := "100"
	if long() {
		size = "10000"
	}
	c := serve(t, newSite(t))
	renga := func(args ...string) (string, string) {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), append(args, "--server", c.url), &out, &errs); code != 0 {
			t.Fatalf("renga %s ended with %d: %s%s", strings.Join(args, " "), code, &out, &errs)
		}
		return out.String(), errs.String()
	}
	began := time.Now()
	out, errs := renga("demo", "load", "--records", size)
	t.Logf("%s records in %v", size, time.Since(began).Round(time.Millisecond))
	if !strings.Contains(out, "sharing-rule") {
		t.Errorf("got %s", out)
	}
	example := regexp.MustCompile(`renga (sharing why Account \S+ --user \S+)`).FindStringSubmatch(errs)
	if example == nil {
		t.Fatalf("there is no example: %s", errs)
	}
	eventually(t, "the example shows the territory", signalTimeout, func() bool {
		out, _ := renga(strings.Fields(example[1])...)
		return strings.Contains(out, "territory")
	})
}
