package test

import (
	"regexp"
	"strings"
	"testing"
)

// TestTheProgramStoresRecordsAndPublishesTheirEvents goes through the wiring of the whole program:
// records are made, changed and converted on the command line, outlive a process that is
// killed, and their events go out.
func TestTheProgramStoresRecordsAndPublishesTheirEvents(t *testing.T) {
	at := newSite(t)
	c := serve(t, at)
	renga := func(want int, args ...string) string {
		t.Helper()
		out, errs := command(t, c.url, want, args...)
		return out + errs
	}
	idIn := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	account := idIn.FindString(renga(0, "record", "create", "Account", "--set", "Name=Acme", "--set",
		"AnnualRevenue:=1200000"))
	deal := idIn.FindString(renga(0, "record", "create", "Opportunity", "--set", "Name=Deal A", "--set",
		"StageName=Qualification",
		"--set", "CloseDate=2026-02-28", "--set", "AccountId="+account))
	if out := renga(0, "record", "update", "Opportunity", deal, "--set", "StageName=Closed Won"); !strings.Contains(out,
		"IsWon") || !strings.Contains(out, "Closed Won") {
		t.Errorf("got %s", out)
	}
	if out := renga(2, "record", "create", "Account", "--set", "Nam=Acme"); !strings.Contains(out,
		`Account has no field "Nam"`) {
		t.Errorf("got %s", out)
	}
	if out := renga(4, "record", "delete", "Account", account); !strings.Contains(out,
		"1 records of Opportunity name") {
		t.Errorf("got %s", out)
	}
	lead := idIn.FindString(renga(0, "record", "create", "Lead", "--set", "LastName=Na", "--set", "Company=Acme",
		"--set", "Status=Working - Contacted"))
	if out := renga(0, "record", "convert", lead, "--match"); !strings.Contains(out, account) ||
		!strings.Contains(out, "Contact") {
		t.Errorf("the lead did not join the account: %s", out)
	}
	eventually(t, "the events are published", signalTimeout, func() bool {
		return strings.Contains(renga(0, "events", "outbox", "-o", "json"), `"unpublished": 0`)
	})
	c.kill()
	c = serve(t, at)
	if out := renga(0, "record", "list", "Opportunity", "--where", "IsWon=true", "--sort",
		"Name.asc"); !strings.Contains(out, "Deal A") {
		t.Errorf("got %s", out)
	}
	if out := renga(0, "record", "history", "Opportunity", deal); !strings.Contains(out,
		`StageName: "Qualification" → "Closed Won"`) {
		t.Errorf("got %s", out)
	}
	renga(4, "record", "update", "Opportunity", deal, "--set", "NextStep=Party", "--version",
		"2026-01-10T12:34:56.789Z")
	renga(0, "record", "delete", "Opportunity", deal)
	renga(3, "record", "get", "Opportunity", deal)
}
