package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// costly is a condition that takes some thousands of steps before it is what another one says;
// with another number it is another text.
func costly(n int, or string) string {
	const list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
	return fmt.Sprintf("%s.exists(a, %s.exists(b, %s.exists(c, a + b + c == %d))) || %s", list, list, list, 1_000+n, or)
}

// costlyProcess is a process whose condition, and those of its steps, are costly.
func costlyProcess(id string, steps int) model.Definition {
	var all []model.ApprovalStep
	for i := range steps {
		s := step(fmt.Sprint("Step ", i), model.ByAny, ofUser(vic))
		s.Condition = costly(i, "true")
		all = append(all, s)
	}
	d := processOf(all...)
	p := *d.Value.(*model.ApprovalProcess)
	p.ID, p.Name, p.Condition = id, "Costly "+id, costly(0, "record.Name == 'Q'")
	return model.Definition{Kind: d.Kind, ID: id, Value: &p}
}

// names reports whether a refusal says that conditions are too costly, and of which process.
func names(err error) bool {
	return model.IsCostly(err) && strings.Contains(err.Error(), `approval process "Costly`)
}

// The processes of an object, and the steps of one, share the budget of the transaction.
func TestCostlyConditionsRefuseASubmissionAndNameTheProcess(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		submit := func() error {
			t.Helper()
			quote := r.quote(`"Subtotal":100`)
			_, _, err := r.Submit(t.Context(), as(sal), Order{Object: "Quote", RecordID: quote}, nil)
			return err
		}
		r.define(costlyProcess(uid(0xa0), 3))
		if err := submit(); err != nil {
			t.Errorf("a process with three costly steps: %v", err)
		}
		r.define(costlyProcess(uid(0xa0), 40))
		if err := submit(); !names(err) {
			t.Errorf("a process with 40 costly steps: got %v, want a refusal that names it", err)
		}
		for i := range 40 {
			r.define(costlyProcess(uid(0xa0+i), 1))
		}
		if err := submit(); !names(err) {
			t.Errorf("40 costly processes: got %v, want a refusal that names one", err)
		}
		if n := r.count("approval_instance"); n != 1 {
			t.Errorf("%d approvals, want the first alone", n)
		}
		r.consistent()
	})
}

// Events that are taken together share a budget; when that is not enough each has its own.
func TestCostlyConditionsOfPendingApprovalsAreEvaluatedOneByOne(t *testing.T) {
	const some = 40
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(costlyProcess(uid(0xa0), 1))
		var batch []*events.Event
		for range some {
			quote := r.quote(`"Subtotal":100`)
			r.submit(quote)
			if _, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Update, ID: quote},
				`{"Name":"R"}`); err != nil {
				t.Fatal(err)
			}
			batch = append(batch, r.eventOf(events.RecordUpdated{
				ObjectName: "Quote", RecordID: quote, OwnerID: sal, ChangedFields: []string{"Name"}, RecordVersion: 1,
			}))
		}
		config := r.eventOf(events.ApprovalConfigChanged{
			ChangeType: "ProcessUpdated", ProcessID: uid(0xa0), ObjectName: "Quote", EffectiveAt: 1,
		})
		for what, all := range map[string][]*events.Event{"records": batch, "the process": {config}} {
			err := r.DB.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
				return errors.Join(r.Consumer().HandleAll(ctx, tx, all), errors.New("undone"))
			})
			if !names(err) {
				t.Errorf("%s: got %v, want a refusal that names the process", what, err)
			}
		}
		for _, e := range batch {
			r.Handle(e, r.Consumer())
		}
		if n := r.count("approval_instance WHERE meets = 0"); n != some {
			t.Errorf("%d approvals no longer meet their process, want %d", n, some)
		}
		r.consistent()
	})
}

// eventOf is an event as the bus hands it out.
func (r *rig) eventOf(p events.Payload) *events.Event {
	r.Helper()
	body, err := events.NewPayload(p)
	if err != nil {
		r.Fatal(err)
	}
	return &events.Event{ID: uuid.NewString(), Type: p.EventType(), Tenant: tenantA, Payload: body}
}
