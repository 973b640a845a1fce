package expr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRulesLookAtARecordAndAtWhatItWas(t *testing.T) {
	vars := map[string]any{
		"record": map[string]any{"Amount": float64(20), "StageName": "Negotiation", "NextStep": nil},
		"old":    map[string]any{"Amount": float64(10)},
	}
	for src, want := range map[string]bool{
		`record.Amount > old.Amount`:                                 true,
		`record.StageName == "Negotiation" && record.Amount >= 20.5`: false,
		`record.NextStep == null`:                                    true,
		`has(record.Missing)`:                                        false,
	} {
		p, err := Rule(src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Eval(vars); err != nil || got != want {
			t.Errorf("%s: got %v (%v), want %v", src, got, err, want)
		}
	}
	if _, err := Rule(`input.a == 1`); err == nil {
		t.Error("a rule looks at what only edges have")
	}
}

func TestNamesOfARule(t *testing.T) {
	p, err := Rule(
		`record.B > 1 && has(record.A) && record["C d"] == old.E && record.F.G == record.B &&
			["x"].exists(r, r == record.H)`,
	)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A", "B", "C d", "F", "H"}, p.Members("record")); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"E"}, p.Members("old")); diff != "" {
		t.Errorf("old (-want +got):\n%s", diff)
	}
}

func TestARuleThatReadsAWholeRecordIsRecognized(t *testing.T) {
	for src, want := range map[string]bool{
		`record.A > 1 && has(record.B) && record["C d"] == old.E`: false,
		`["x"].exists(r, r == record.A)`:                          false,
		`record.exists(name, record[name] == "x")`:                true,
		`record[old.A] == 1`:                                      true,
		`"A" in record`:                                           true,
		`record == old`:                                           true,
		`old == null`:                                             false,
	} {
		p, err := Rule(src)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Whole("record"); got != want {
			t.Errorf("%s: got %v, want %v", src, got, want)
		}
	}
}

func TestAValueThatIsNeverTrueOrFalseIsNamed(t *testing.T) {
	flags := func(member string) bool { return member == "Flag" }
	for src, want := range map[string]string{
		`true`:                               "",
		`record.Flag`:                        "",
		`!record["Flag"] && old.Flag`:        "",
		`has(record.Name)`:                   "",
		`record.Name == "x" || record.N > 1`: "",
		`record.Name.startsWith("x")`:        "",
		`record.Flag ? record.N > 1 : false`: "",
		`["x"].exists(r, r == record.Name)`:  "",
		`record.Sub.Flag`:                    "",
		`record.Name`:                        "record.Name",
		`old["Name"]`:                        "old.Name",
		`record.Flag && !record.Name`:        "record.Name",
		`record.N > 1 || (old.N && true)`:    "old.N",
		`record.Name ? true : false`:         "record.Name",
		`record.Flag ? record.N : true`:      "record.N",
		`record`:                             "record",
		`record.N * 2 + 1`:                   "a result of arithmetic",
		`-record.N`:                          "a result of arithmetic",
	} {
		p, err := Rule(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := p.Untrue(flags); got != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
}
