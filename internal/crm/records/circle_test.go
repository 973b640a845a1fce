package records

import (
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

// under is the change that puts a record below another.
func (r *rig) under(v, parent View) Op {
	return Op{Kind: Update, ID: v.ID, Fields: r.fieldsOf(`{"ParentId":"` + parent.ID + `"}`)}
}

func TestParentsMakeNoCircle(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		a := r.create(system, "Account", `{"Name":"A"}`)
		b := r.create(system, "Account", `{"Name":"B","ParentId":"`+a.ID+`"}`)
		c := r.create(system, "Account", `{"Name":"C","ParentId":"`+b.ID+`"}`)
		under := r.under
		rows := r.rows()
		for _, parent := range []View{a, b, c} {
			_, err := r.try(system, "Account", under(a, parent))
			e, _ := fault.As(err)
			if codeOf(err) != CodeFieldInvalid || !strings.Contains(e.Message, "ParentId must not be") ||
				e.Details.(map[string]string)["field"] != "ParentId" {
				t.Errorf("A below %s: got %v", parent.Fields, err)
			}
		}
		if r.rows() != rows {
			t.Error("something was left behind")
		}
		r.do(system, "Account", under(c, a)) // beside B
		r.do(system, "Account", under(b, c)) // below C, which is not below B any more

		// Changes of one batch see each other.
		x, y := r.create(system, "Account", `{"Name":"X"}`), r.create(system, "Account", `{"Name":"Y"}`)
		_, _, err := r.records.Apply(t.Context(), Caller{Tenant: tenantA, CorrelationID: "test"},
			Batch{Object: "Account", Ops: []Op{under(x, y), under(y, x)}},
			func(results []Result) ([]byte, error) {
				if results[0].Err != nil || codeOf(results[1].Err) != CodeFieldInvalid {
					t.Errorf("a batch: got %v and %v", results[0].Err, results[1].Err)
				}
				return []byte("{}"), nil
			})
		if err != nil {
			t.Error(err)
		}
		r.do(system, "Account", Op{Kind: Delete, ID: x.ID})
	})
}

// TestParentsThatComeAtOnceMakeNoCircle puts pairs of records below each other at the same
// time, themselves or what is below them.
func TestParentsThatComeAtOnceMakeNoCircle(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		for round := range 12 {
			x, y := r.create(system, "Campaign", `{"Name":"X"}`), r.create(system, "Campaign", `{"Name":"Y"}`)
			belowX, belowY := x, y
			if round%2 == 1 {
				belowX = r.create(system, "Campaign", `{"Name":"Below X","ParentId":"`+x.ID+`"}`)
				belowY = r.create(system, "Campaign", `{"Name":"Below Y","ParentId":"`+y.ID+`"}`)
			}
			first, second := r.under(x, belowY), r.under(y, belowX)
			var errs [2]error
			var both sync.WaitGroup
			both.Go(func() { _, errs[0] = r.try(system, "Campaign", first) })
			both.Go(func() { _, errs[1] = r.try(system, "Campaign", second) })
			both.Wait()
			if errs[0] != nil {
				errs[0], errs[1] = errs[1], errs[0]
			}
			if errs[0] != nil || codeOf(errs[1]) != CodeFieldInvalid {
				t.Fatalf("round %d: got %v and %v, want that one is refused", round, errs[0], errs[1])
			}
		}
	})
}

// TestARuleMakesNoCircleOfParents lets a rule put every account below one, which it cannot
// do to that one itself.
func TestARuleMakesNoCircleOfParents(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		top, low := r.create(system, "Account", `{"Name":"Top"}`), r.create(system, "Account", `{"Name":"Low"}`)
		r.records.cfg.Rules = automation.Rules{}
		r.Define(tenantA, before("101", "Account", "", []string{model.OnUpdate}, "ParentId", `"`+top.ID+`"`))
		if got := r.update(system, low, `{"Phone":"1"}`); !strings.Contains(string(got.Fields), top.ID) {
			t.Errorf("got %s", got.Fields)
		}
		_, err := r.try(system, "Account", Op{Kind: Update, ID: top.ID, Fields: r.fieldsOf(`{"Phone":"1"}`)})
		if codeOf(err) != CodeRuleFailed || fault.KindOf(err) != fault.Invalid {
			t.Errorf("got %v", err)
		}
	})
}

func TestARecordIsNotMovedBelowTooMany(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		levels := []View{r.create(system, "Account", `{"Name":"0"}`)}
		for len(levels) <= maxLevels {
			levels = append(levels, r.create(system, "Account", `{"Name":"n","ParentId":"`+levels[len(levels)-1].ID+
				`"}`))
		}
		one := r.create(system, "Account", `{"Name":"One"}`)
		if _, err := r.try(system, "Account", r.under(one, levels[maxLevels])); codeOf(err) != CodeFieldInvalid {
			t.Errorf("below one with %d above it: got %v", maxLevels, err)
		}
		r.do(system, "Account", r.under(one, levels[maxLevels-1]))
		if _, err := r.try(system, "Account", r.under(levels[0], one)); codeOf(err) != CodeFieldInvalid {
			t.Errorf("the top below the lowest: got %v", err)
		}
	})
}
