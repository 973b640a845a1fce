package bus

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/canonical"
)

// TestWhatBecomesOfADeadLetterIsForeseen goes through what can be known of a key.
// Places are written as version, index and event.
func TestWhatBecomesOfADeadLetterIsForeseen(t *testing.T) {
	at := func(version, index int, event string) keyVersion {
		return keyVersion{canonical.Stamp(1000 + version), index, event}
	}
	alone := func(p keyVersion) []candidate { return []candidate{{p, false}} }
	for _, tt := range []struct {
		name    string
		facts   keyFacts
		letters []candidate
		want    []Verdict
	}{
		{"nothing is known", keyFacts{}, alone(at(1, 0, "a")), []Verdict{WillApply}},
		{"an older one was applied", keyFacts{applied: at(1, 0, "a")}, alone(at(2, 0, "b")), []Verdict{WillApply}},
		{
			"an earlier one of the same change was applied",
			keyFacts{applied: at(1, 0, "a")},
			alone(at(1, 1, "b")),
			[]Verdict{WillApply},
		},
		{"a newer one was applied", keyFacts{applied: at(2, 0, "b")}, alone(at(1, 5, "a")), []Verdict{WillBeStale}},
		{
			"a later one of the same change was applied",
			keyFacts{applied: at(1, 1, "b")},
			alone(at(1, 0, "a")),
			[]Verdict{WillBeStale},
		},
		{"it was applied itself", keyFacts{applied: at(1, 0, "a")}, alone(at(1, 0, "a")), []Verdict{IsDuplicate}},
		{"another one has its place", keyFacts{applied: at(1, 0, "b")}, alone(at(1, 0, "a")), []Verdict{IsConflict}},
		{"it was processed", keyFacts{}, []candidate{{at(1, 0, "a"), true}}, []Verdict{IsDuplicate}},
		{"nobody can read it", keyFacts{applied: at(1, 0, "b")}, alone(keyVersion{eventID: "a"}), []Verdict{WillApply}},
		{
			"an older one is open",
			keyFacts{waiting: []keyVersion{at(1, 0, "a"), at(2, 0, "b")}},
			alone(at(2, 0, "b")),
			[]Verdict{BreaksOrder},
		},
		{
			"a newer one is open",
			keyFacts{waiting: []keyVersion{at(1, 0, "a"), at(2, 0, "b")}},
			alone(at(1, 0, "a")),
			[]Verdict{WillApply},
		},
		{
			"it waits itself",
			keyFacts{waiting: []keyVersion{at(1, 0, "a"), at(1, 0, "a")}},
			alone(at(1, 0, "a")),
			[]Verdict{WillApply},
		},
		{
			"an older one is open and stale already",
			keyFacts{applied: at(2, 0, "b"), waiting: []keyVersion{at(1, 0, "a"), at(3, 0, "c")}},
			alone(at(3, 0, "c")),
			[]Verdict{WillApply},
		},
		{
			"all of a key, in order",
			keyFacts{waiting: []keyVersion{at(1, 0, "a"), at(2, 0, "b"), at(2, 1, "c")}},
			[]candidate{{at(1, 0, "a"), false}, {at(2, 0, "b"), false}, {at(2, 1, "c"), false}},
			[]Verdict{WillApply, WillApply, WillApply},
		},
		{
			"two of a key, the wrong way round",
			keyFacts{waiting: []keyVersion{at(1, 0, "a"), at(2, 0, "b")}},
			[]candidate{{at(2, 0, "b"), false}, {at(1, 0, "a"), false}},
			[]Verdict{BreaksOrder, WillApply},
		},
		{
			"an older one is parked and is not among them",
			keyFacts{waiting: []keyVersion{at(1, 0, "parked"), at(2, 0, "b"), at(3, 0, "c")}},
			[]candidate{{at(2, 0, "b"), false}, {at(3, 0, "c"), false}},
			[]Verdict{BreaksOrder, BreaksOrder},
		},
		{
			"two in one place",
			keyFacts{waiting: []keyVersion{at(1, 0, "a"), at(1, 0, "b")}},
			[]candidate{{at(1, 0, "a"), false}, {at(1, 0, "b"), false}},
			[]Verdict{WillApply, IsConflict},
		},
		{
			"one that was processed does not hold up the next",
			keyFacts{waiting: []keyVersion{at(1, 0, "a"), at(2, 0, "b")}},
			[]candidate{{at(1, 0, "a"), true}, {at(2, 0, "b"), false}},
			[]Verdict{IsDuplicate, WillApply},
		},
		{
			"what is refused still holds up the next",
			keyFacts{applied: at(1, 0, "x"), waiting: []keyVersion{at(2, 0, "older"), at(3, 0, "a"), at(4, 0, "b")}},
			[]candidate{{at(1, 0, "c"), false}, {at(3, 0, "a"), false}, {at(4, 0, "b"), false}},
			[]Verdict{IsConflict, BreaksOrder, BreaksOrder},
		},
	} {
		before := len(tt.facts.waiting)
		if diff := cmp.Diff(tt.want, judge(tt.facts, tt.letters)); diff != "" || len(tt.facts.waiting) != before {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestADecisionIsTakenOnce goes through all statuses.
func TestADecisionIsTakenOnce(t *testing.T) {
	type outcome struct {
		Status Status
		Guard  Guard
	}
	redrive := map[Status]outcome{
		Open: {Redriving, ""}, Redriving: {Redriving, ""}, Applied: {Applied, ""}, Stale: {Stale, ""},
		Duplicate: {Duplicate, ""},
		Skipping:  {Skipping, GuardDeadOpen}, Skipped: {Skipped, GuardDeadOpen},
	}
	skip := map[Status]outcome{
		Open: {Skipping, ""}, Skipping: {Skipping, ""}, Skipped: {Skipped, ""}, Redriving: {Redriving, GuardDeadOpen},
		Applied: {Applied, GuardDeadOpen}, Stale: {Stale, GuardDeadOpen}, Duplicate: {Duplicate, GuardDeadOpen},
	}
	for s := Open; s <= Duplicate; s++ {
		for _, tt := range []struct {
			skip bool
			want outcome
		}{{false, redrive[s]}, {true, skip[s]}} {
			var got outcome
			got.Status, got.Guard = s.decide(tt.skip, WillApply)
			if got != tt.want {
				t.Errorf("%v, skip %t: got %+v, want %+v", s, tt.skip, got, tt.want)
			}
		}
	}
	for verdict, want := range map[Verdict]outcome{
		WillBeStale: {Redriving, ""}, IsDuplicate: {Redriving, ""}, IsConflict: {Open, GuardPlaceFree},
		BreaksOrder: {Open, GuardKeyOrder},
	} {
		var got outcome
		if got.Status, got.Guard = Open.decide(false, verdict); got != want {
			t.Errorf("%s: got %+v, want %+v", verdict, got, want)
		}
		if s, guard := Open.decide(true, verdict); s != Skipping || guard != "" {
			t.Errorf("%s: a skip gives %v %s", verdict, s, guard)
		}
	}
}
