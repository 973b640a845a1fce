package demo

import (
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/app/apptest"
)

// TestDemoDataThatWasInterruptedIsCompleted loads some of the data, and then all.
func TestDemoDataThatWasInterruptedIsCompleted(t *testing.T) {
	a := apptest.Start(t, app.Config{Override: app.Override{Idle: []string{
		"audit", "inbound", "records", "sharing", "automation", "search", "reporting", "approval", "gate", "bus",
	}}})
	web := httptest.NewServer(a.Gate)
	t.Cleanup(func() { a.Gate.Drain(); web.Close() })
	c := client.New(client.Config{URL: web.URL})
	t.Cleanup(c.Close)
	ids := func(object string) (ids []string) {
		page, err := c.Records.List(t.Context(), object, client.RecordQuery{Paging: client.Paging{Size: 100}})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Items {
			ids = append(ids, r.ID)
		}
		return ids
	}
	prepare := func(now time.Time) *Loader {
		l, err := Prepare(t.Context(), c, Options{Seed: 1, Records: 120, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	none := func(int) {}

	now := time.Now()
	part := prepare(now)
	// where it breaks off, before any record
	part.definitions = append(part.definitions, definition{"nothing", "x", nil})
	if err := part.Run(t.Context(), none); err == nil {
		t.Fatal("it did not break off")
	}
	part.definitions = part.definitions[:len(part.definitions)-1]
	part.records["Contact"][3].fields["Nonsense"] = 1
	if err := part.Run(t.Context(), none); err == nil || !strings.Contains(err.Error(), "Nonsense") {
		t.Fatalf("got %v", err)
	}
	accounts := ids("Account")
	if len(accounts) != 18 || len(ids("Contact")) != 0 {
		t.Fatalf("%d accounts before it broke off", len(accounts))
	}
	if err := prepare(now.Add(24*time.Hour)).Run(t.Context(), none); err != nil {
		t.Fatal(err)
	}
	if got := ids("Account"); !slices.Equal(got, accounts) {
		t.Errorf("the accounts are not those of before")
	}
	if n := len(ids("Quote")) + len(ids("Contact")); n != 36+15 {
		t.Errorf("got %d quotes and contacts", n)
	}
}

// TestDemoDataFollowsFromItsSeed plans the same data twice, and looks at what it is.
func TestDemoDataFollowsFromItsSeed(t *testing.T) {
	day := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	one := plan(1, 10_000, day)
	if !reflect.DeepEqual(one, plan(1, 10_000, day)) {
		t.Error("the same seed gives other data")
	}
	if reflect.DeepEqual(one.records, plan(2, 10_000, day).records) {
		t.Error("another seed gives the same data")
	}
	total, japanese := 0, 0
	for object, records := range one.records {
		for i, rec := range records {
			total++
			name, _ := rec.fields["Name"].(string)
			if object == "Account" && utf8.RuneCountInString(name) < len(name) {
				japanese++
			}
			for field, ref := range rec.refs {
				if ref.at >= len(one.records[ref.object]) || ref.object == object && ref.at/bulkSize >= i/bulkSize {
					t.Errorf("%s %d: %s names %s %d, which is not there yet", object, i, field, ref.object, ref.at)
				}
			}
		}
	}
	if total != 10_000 || japanese < 600 || japanese > 1000 {
		t.Errorf("%d records, %d accounts with Japanese names", total, japanese)
	}
	stages := map[int]int{} // opportunities, by how often they have moved
	for _, moves := range one.moves {
		seen := map[ref]bool{}
		for _, m := range moves {
			if seen[m.of] {
				t.Errorf("%s %d changes twice in a round", m.of.object, m.of.at)
			}
			if seen[m.of] = true; m.of.object == "Opportunity" {
				stages[m.of.at]++
			}
		}
	}
	often := 0
	for _, n := range stages {
		if n > 2 {
			often++
		}
	}
	if often < 300 || len(one.converted) < 100 || len(one.approvals) < 200 {
		t.Errorf("%d opportunities moved often, %d leads were converted, %d quotes submitted", often,
			len(one.converted), len(one.approvals))
	}
	others := plan(2, MinRecords, day).definitions
	for _, u := range one.definitions {
		if u.kind == client.DefineUser && slices.ContainsFunc(others, func(o definition) bool {
			return o.body["subject"] == u.body["subject"]
		}) {
			t.Errorf("%v is a user of two seeds", u.body["subject"])
		}
	}
	weights := 0
	for _, r := range regions {
		weights += r.weight
	}
	if weights != 100 {
		t.Errorf("the regions weigh %d of 100", weights)
	}
}
