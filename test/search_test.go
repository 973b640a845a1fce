package test

import (
	"strings"
	"testing"
)

// TestTheProgramFindsRecords goes through the wiring of the whole program: records are
// found as soon as their events are taken, also after a kill, and the index is rebuilt.
func TestTheProgramFindsRecords(t *testing.T) {
	at := newSite(t)
	c := serve(t, at)
	renga := func(args ...string) string {
		t.Helper()
		out, _ := command(t, c.url, 0, args...)
		return out
	}
	finds := func(text, want string) {
		t.Helper()
		eventually(t, text+" finds "+want, signalTimeout, func() bool {
			return strings.Contains(renga("search", text),
				want)
		})
	}
	renga("record", "create", "Account", "--set", "Name=東京商事", "--set", "Description=since 1950")
	finds("京商", "Name: 東京商事")
	renga("record", "create", "Lead", "--set", "LastName=Tanaka", "--set", "Company=Acme", "--set",
		"Status=Working - Contacted")
	c.kill()
	c = serve(t, at)
	finds("tana", "Name: Tanaka")
	renga("search", "rebuild")
	eventually(t, "the index is rebuilt", signalTimeout,
		func() bool { return strings.Contains(renga("search", "rebuilds"), "DONE    2 of 2") })
	finds("1950", "Description: since 1950")
}
