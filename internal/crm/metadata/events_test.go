package metadata

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
)

//go:embed testdata/events.txt
var eventsScript string

// TestEveryChangeEmitsExactlyItsEvents is the emission table: a change, and the events
// that the outbox has of it, with their keys, their place in the change and all of
// their payload but the time.
func TestEveryChangeEmitsExactlyItsEvents(t *testing.T) {
	stage := model.StandardField("Opportunity", "StageName").ID
	amount := model.StandardField("Opportunity", "Amount").ID
	industry := model.StandardField("Account", "Industry").ID
	onEvery(t, func(t *testing.T, r *rig) {
		named := strings.NewReplacer(stage, "STAGE", amount, "AMOUNT", industry, "INDUSTRY")
		place := int64(0)
		var step string
		var want []string
		check := func() {
			if step == "" {
				return
			}
			d, _, err := r.do(step)
			if err != nil {
				t.Fatalf("%s: %v", step, err)
			}
			if f, ok := d.Value.(*model.Field); ok && f.Custom {
				named = strings.NewReplacer(stage, "STAGE", amount, "AMOUNT", industry, "INDUSTRY", f.ID, "TIER")
			}
			var got []string
			got, place = r.events(tenantA, place)
			for i := range got {
				got[i] = named.Replace(got[i])
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step, diff)
			}
		}
		for line := range strings.Lines(eventsScript) {
			line = strings.TrimRight(line, "\n")
			if event, ok := strings.CutPrefix(line, "\t"); ok {
				want = append(want, event)
				continue
			}
			check()
			step, want = line, nil
		}
		check()
		if others, _ := r.events(tenantB, 0); others != nil {
			t.Errorf("another tenant has %q", others)
		}
	})
}
