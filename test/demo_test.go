package test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTheDemoIsACompanyAtWork loads demo data into a server, twice, and asks for the example
// that the command names. Rules have acted, approvals have ended in every way and are in
// the records, reports tell of deals, and when it is quiet a recount of every service finds
// nothing.
func TestTheDemoIsACompanyAtWork(t *testing.T) {
	size := "100"
	if long() {
		size = "10000"
	}
	o := &company{office: &office{t: t, at: newSite(t)}}
	o.c = serve(t, o.at)
	renga := func(args ...string) (string, string) {
		t.Helper()
		return command(t, o.c.url, 0, args...)
	}
	began := time.Now()
	out, errs := renga("demo", "load", "--records", size)
	t.Logf("%s records in %v", size, time.Since(began).Round(time.Millisecond))
	for _, what := range []string{
		"sharing-rule", "validation-rule", "workflow-rule", "scheduled-job",
		"approval-process", "change of a record", "converted lead", "approval ",
	} {
		if !strings.Contains(out, what) {
			t.Errorf("no word of %s: %s", what, out)
		}
	}
	example := regexp.MustCompile(`renga (sharing why Account \S+ --user \S+)`).FindStringSubmatch(errs)
	if example == nil {
		t.Fatalf("there is no example: %s", errs)
	}
	eventually(t, "the example shows the territory", signalTimeout, func() bool {
		out, _ := renga(strings.Fields(example[1])...)
		return strings.Contains(out, "territory")
	})
	o.settle()
	was := o.shows()
	for what, n := range was {
		if n == 0 {
			t.Errorf("the demo shows no %s: %v", what, was)
		}
	}
	if again, _ := renga("demo", "load", "--records", size); again != out {
		t.Errorf("the second time: %s", again)
	}
	o.settle()
	for what, n := range o.shows() {
		if n != was[what] {
			t.Errorf("the second time there are %d of %s, before %d", n, what, was[what])
		}
	}
	o.consistent()
}

// shows counts what only a company at work has.
func (o *company) shows() map[string]int {
	o.t.Helper()
	all := map[string]int{}
	for what, path := range map[string]string{
		"jobs": "/automation/jobs", "approvals that are pending": "/approvals?status=PENDING",
		"approvals that were rejected": "/approvals?status=REJECTED",
		"approvals that were recalled": "/approvals?status=RECALLED",
		"approvals that were approved": "/approvals?status=APPROVED",
		"quotes with the outcome":      "/records/Quote?Status=Approved",
		"quotes that were rejected":    "/records/Quote?Status=Rejected",
		"converted leads":              "/records/Lead?IsConverted=true",
		"deals that were won":          "/records/Opportunity?IsWon=true",
		"deals that were lost":         "/records/Opportunity?StageName=Closed%20Lost",
		"large deals under review":     "/records/Opportunity?Review__c=Requested",
		"executions of the graph":      "/executions?graphId=demo-onboarding",
	} {
		all[what] = o.total(path)
	}
	var conversion struct {
		Total struct{ ConvertedCount, OpportunityCount int }
	}
	o.send(http.MethodGet, "/reports/lead-conversion", nil, &conversion)
	all["conversions in the report"] = conversion.Total.ConvertedCount
	for _, action := range []string{"notify", "createTask", "updateField", "startGraph"} {
		all[action] = 0
	}
	const most = 100 // in a page
	for page, got := 1, most; got == most; page++ {
		var runs struct{ Items []struct{ Type string } }
		o.send(http.MethodGet, fmt.Sprintf("/automation/runs?page_size=%d&page=%d", most, page), nil, &runs)
		for _, r := range runs.Items {
			all[r.Type]++
		}
		got = len(runs.Items)
	}
	return all
}
