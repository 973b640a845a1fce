package trigger

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADeliveryStartsARunAndItsRepetitionsNameIt(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.template("close", closing)
		got := r.starts(`{"template_id":"close","idempotency_key":"k-1"}`)
		want := Outcome{TemplateID: "close", TemplateName: "月次締め", Action: "month_close", Key: "k-1", RunID: got.RunID}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		want.Duplicate = true
		if diff := cmp.Diff(want, r.repeats(`{"idempotency_key":"k-1"}`, got.RunID)); diff != "" {
			t.Error(diff)
		}
	})
}
