package approval

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
)

func TestAnApprovalIsShownToWhoSeesTheRecordOrDecides(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		quote := r.quote(`"Subtotal":100,"DiscountPercent":10`)
		v := r.submit(quote)
		sees := func(c Caller, want bool) {
			t.Helper()
			_, err := r.Get(t.Context(), c, v.ID)
			page, total, failed := r.List(t.Context(), c, Filter{}, 0, 10)
			if failed != nil || (err == nil) != want || (total == 1) != want || len(page) != total || err != nil &&
				codeOf(err) != CodeNotFound {
				t.Errorf("%s: got %v, and %d in the list, want %v (%v)", c.Subject, err, total, want, failed)
			}
		}
		hidden := func(with FieldPermissions) { r.define(restrict(with)) }
		sees(as(sal), true)
		sees(as(mia), true) // decides
		sees(as(nat), false)
		sees(as(out), false) // a manager who may not read quotes
		sees(as(""), true)
		sees(Caller{Tenant: tenantB}, false)
		got := r.parsed(r.Get(t.Context(), as(mia), v.ID))
		if diff := cmp.Diff(map[string]any{"Name": "Q", "DiscountPercent": 10.0, "GrandTotal": 90.0},
			got.Record); diff != "" {
			t.Errorf("the record (-want +got):\n%s", diff)
		}
		hidden(FieldPermissions{"Quote.DiscountPercent": {Read: true}})
		got = r.parsed(r.Get(t.Context(), as(mia), v.ID))
		if diff := cmp.Diff(map[string]any{"Name": "Q", "GrandTotal": 90.0}, got.Record); diff != "" ||
			len(got.LockedFields) != 1 {
			t.Errorf("with a field that is hidden (-want +got):\n%s\n%v", diff, got.LockedFields)
		}
		r.define(user(mia, "Mia", "", readerSet)) // no manager any more
		sees(as(mia), false)
		r.decide(max, v.ID, Rejected)
		sees(as(max), false) // it is over, and he does not see the quote
		sees(as(sal), true)
		if _, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Delete, ID: quote}, ""); err != nil {
			t.Fatal(err)
		}
		sees(as(sal), false)
	})
}

// TestAnApprovalIsHiddenFromWhoDoesNotDecideAnyMore: who submitted it is no approver although the
// step names its role, and a place goes with the approver that it is of. Neither sees the
// record.
func TestAnApprovalIsHiddenFromWhoDoesNotDecideAnyMore(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		sees := func(who, id string, want bool) {
			t.Helper()
			_, err := r.Get(t.Context(), as(who), id)
			page, total, failed := r.List(t.Context(), as(who), Filter{}, 0, 10)
			_, waiting, failed2 := r.List(t.Context(), as(who), Filter{Assigned: true}, 0, 10)
			if failed != nil || failed2 != nil || (err == nil) != want || (total == 1) != want || len(page) != total ||
				err != nil && codeOf(err) != CodeNotFound ||
				waiting == 1 && !want {
				t.Errorf("%s: got %v, %d in the list and %d to decide, want %v (%v, %v)", who, err, total, waiting,
					want, failed, failed2)
			}
		}
		r.define(user(sal, "Sal", managers, salesSet))
		v := r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`))
		sees(sal, v.ID, true) // its owner
		if _, err := r.apply(as(""), "Quote", records.Op{Kind: records.Update, ID: v.RecordID, OwnerID: nat},
			""); err != nil {
			t.Fatal(err)
		}
		sees(sal, v.ID, false)
		if _, _, err := r.Delegate(t.Context(), as(mia), v.ID, leo, "away", nil); err != nil {
			t.Fatal(err)
		}
		sees(leo, v.ID, true)
		r.define(user(mia, "Mia", "", readerSet)) // no manager any more, and so her place is gone
		sees(mia, v.ID, false)
		sees(leo, v.ID, false)
		sees(max, v.ID, true)
		r.define(user(mia, "Mia", managers, readerSet))
		sees(leo, v.ID, true)
	})
}

func TestAnApprovalShowsNoSensitiveValues(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(settling())
		v := r.submit(r.quote(`"Subtotal":100,"DiscountPercent":10`))
		for _, name := range []string{"DiscountPercent", "Status"} {
			f := *model.StandardField("Quote", name)
			f.Sensitive = true
			r.define(model.Definition{Kind: model.KindField, ID: "Quote." + name, Value: &f})
		}
		for _, who := range []string{mia, sal, ""} { // the approver, who sees the record, and the system user
			got := r.parsed(r.Get(t.Context(), as(who), v.ID))
			if diff := cmp.Diff(map[string]any{"Name": "Q", "GrandTotal": 90.0}, got.Record); diff != "" ||
				len(got.LockedFields) != 2 {
				t.Errorf("%q (-want +got):\n%s\nlocked %v", who, diff, got.LockedFields)
			}
		}
		ended := r.decide(mia, v.ID, Approved)
		if ended.Outcome == nil || len(ended.Outcome.Fields) != 0 {
			t.Errorf("the outcome is %+v", ended.Outcome)
		}
	})
}

// FieldPermissions are what one set gives of fields.
type FieldPermissions = map[string]model.FieldPermission

// restrict makes a set that nobody has and that names fields.
func restrict(fields FieldPermissions) model.Definition {
	const id = "00000000-0000-4000-8000-000000000003"
	return model.Definition{Kind: model.KindPermissionSet, ID: id, Value: &model.PermissionSet{
		ID: id, Name: "Secrets",
		Objects: map[string]model.ObjectPermission{}, Fields: fields,
	}}
}

func TestListsAreFiltered(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		first, second, third := r.quote(`"DiscountPercent":10`), r.quote(`"DiscountPercent":10`),
			r.quote(`"DiscountPercent":10`)
		a := r.submit(first)
		r.Clock.Add(1000)
		b := r.submit(second)
		r.Clock.Add(1000)
		c := r.submit(third)
		r.decide(mia, b.ID, Approved)
		pending, approved := Pending, Approved
		for _, tt := range []struct {
			who    string
			f      Filter
			offset int
			want   []string
			total  int
		}{
			{sal, Filter{}, 0, []string{c.ID, b.ID}, 3},
			{sal, Filter{}, 2, []string{a.ID}, 3},
			{sal, Filter{Status: &pending}, 0, []string{c.ID, a.ID}, 2},
			{sal, Filter{Status: &approved}, 0, []string{b.ID}, 1},
			{sal, Filter{Object: "Quote", RecordID: first}, 0, []string{a.ID}, 1},
			{sal, Filter{Object: "Lead"}, 0, nil, 0},
			{sal, Filter{SubmittedBy: sal}, 0, []string{c.ID, b.ID}, 3},
			{sal, Filter{SubmittedBy: mia}, 0, nil, 0},
			{sal, Filter{Assigned: true}, 0, nil, 0},
			{mia, Filter{Assigned: true}, 0, []string{a.ID, c.ID}, 2},
			{mia, Filter{Assigned: true}, 1, []string{c.ID}, 2},
			{mia, Filter{Assigned: true, RecordID: third}, 0, []string{c.ID}, 1},
			{mia, Filter{Assigned: true, Status: &approved}, 0, nil, 0},
		} {
			page, total, err := r.List(t.Context(), as(tt.who), tt.f, tt.offset, 2)
			var got []string
			for i := range page {
				got = append(got, page[i].ID)
			}
			if err != nil || total != tt.total || !slices.Equal(got, tt.want) {
				t.Errorf("%+v: got %v of %d (%v), want %v of %d", tt.f, got, total, err, tt.want, tt.total)
			}
		}
		for _, object := range []string{"Invoice", "\x00"} {
			_, _, err := r.List(t.Context(), as(mia), Filter{Object: object}, 0, 2)
			if failure, ok := fault.As(err); !ok || failure.Kind != fault.Invalid ||
				!strings.Contains(failure.Message, "the objects are Account, ") {
				t.Errorf("%q, which is no object: got %v", object, err)
			}
		}
	})
}

func TestARequestWithAKeyIsDoneOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		quote := r.quote(`"DiscountPercent":10`)
		key := func(name, body string) *canonical.IdempotencyKey {
			idempotencyKey, err := canonical.ParseIdempotencyKey(name, "POST /approvals", []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			return &idempotencyKey
		}
		order := Order{Object: "Quote", RecordID: quote}
		first, replay, err := r.Submit(t.Context(), as(sal), order, key("k", `{"a":1}`))
		if err != nil || replay {
			t.Fatal(err)
		}
		again, replay, err := r.Submit(t.Context(), as(sal), order, key("k", `{"a":1}`))
		if err != nil || !replay || string(first) != string(again) {
			t.Errorf("got %s %v", again, err)
		}
		if _, _, err := r.Submit(t.Context(), as(sal), order, key("k", `{"a":2}`)); codeOf(
			err) != "IDEMPOTENCY_CONFLICT" {
			t.Errorf("got %v", err)
		}
		v := r.parsed(first, nil)
		ballot := Ballot{Decision: Approved}
		if _, _, err := r.Decide(t.Context(), as(mia), v.ID, ballot, key("d", `{}`)); err != nil {
			t.Fatal(err)
		}
		if _, replay, err := r.Decide(t.Context(), as(mia), v.ID, ballot, key("d", `{}`)); err != nil || !replay {
			t.Errorf("got %v", err)
		}
		if n := r.count("approval_instance"); n != 1 || strings.Count(r.outbox(), "Decided") != 1 {
			t.Errorf("%d approvals", n)
		}
		// What who submitted may not read any more is not in what is answered again.
		if v.Record["DiscountPercent"] != 10.0 || !slices.Contains(v.LockedFields, "DiscountPercent") {
			t.Fatalf("got %s", first)
		}
		r.define(model.Definition{Kind: model.KindPermissionSet, ID: uid(0x77), Value: &model.PermissionSet{
			ID: uid(0x77), Name: "Insiders", Fields: map[string]model.FieldPermission{"Quote.DiscountPercent": {
				Read: true,
			}},
		}})
		again, replay, err = r.Submit(t.Context(), as(sal), order, key("k", `{"a":1}`))
		if now := r.parsed(again, err); !replay || now.ID != v.ID || now.Status != Pending ||
			strings.Contains(string(again), "DiscountPercent") || now.Record["Name"] != v.Record["Name"] {
			t.Errorf("without the field: got %s", again)
		}
		r.retain(0)
		r.Clock.Add(31 * 24 * 60 * 60 * 1000)
		r.retain(2)
	})
}

// retain deletes the idempotency keys that have expired.
func (r *rig) retain(want int64) {
	r.Helper()
	err := r.DB.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		n, err := idempotency.Retain(
			ctx,
			tx,
			canonical.Stamp(r.Clock.Now().UnixMilli()),
			idempotency.DefaultRetention,
			10,
		)
		if n != want {
			r.Errorf("%d keys were deleted, want %d", n, want)
		}
		return err
	})
	if err != nil {
		r.Error(err)
	}
}

func TestARecordThatChangesIsLookedAtAnew(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		p := processOf(step("Manager", model.ByAny, ofRole(managers)))
		p.Value.(*model.ApprovalProcess).Condition = `record.Description != "withdrawn"`
		r.define(p)
		quote := r.quote(`"DiscountPercent":10`)
		v := r.submit(quote)
		meets := func(want bool) {
			t.Helper()
			if got := r.parsed(r.Get(t.Context(), as(sal), v.ID)); got.MeetsCondition != want {
				t.Errorf("it meets the condition: %v", got.MeetsCondition)
			}
		}
		meets(true)
		updated := events.RecordUpdated{ObjectName: "Quote", RecordID: quote, OwnerID: sal, ChangedFields: []string{
			"Description",
		}, RecordVersion: 1}
		if _, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Update, ID: quote},
			`{"Description":"withdrawn"}`); err != nil {
			t.Fatal(err)
		}
		r.take(updated)
		meets(false)
		if _, err := r.apply(as(sal), "Quote", records.Op{Kind: records.Update, ID: quote},
			`{"Description":null}`); err != nil {
			t.Fatal(err)
		}
		r.take(updated) // however old it is, what is true counts
		meets(true)
		p.Value.(*model.ApprovalProcess).IsActive = false
		r.define(p)
		r.take(events.ApprovalConfigChanged{
			ChangeType: "ProcessDeactivated", ObjectName: "Quote", ProcessID: process,
			ProcessName: "P", EffectiveAt: 1,
		})
		meets(false)
		if got := r.decide(mia, v.ID, Approved); got.Status != Approved { // what was submitted goes on
			t.Errorf("got %+v", got)
		}
	})
}

func TestARecountFindsLocksThatAreWrong(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		r.staff()
		r.define(processOf(step("Manager", model.ByAny, ofRole(managers))))
		var ids []string
		for range 3 {
			ids = append(ids, r.submit(r.quote(`"DiscountPercent":10`)).ID)
		}
		r.decide(mia, ids[2], Approved)
		r.consistent()
		lock := func(id string, fields ...string) model.FieldLock {
			return model.FieldLock{ApprovalID: id, Object: "Quote", RecordID: uid(0x98), Fields: fields, At: 1}
		}
		err := r.DB.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return errors.Join(
				records.Locks{}.Unlock(ctx, tx, tenantA, ids[0]),
				records.Locks{}.Lock(ctx, tx, tenantA,
					lock(ids[1], "Name")),
				records.Locks{}.Lock(ctx, tx, tenantA, lock(ids[2], "Name")),
			)
		})
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Recount(t.Context(), tenantA)
		if err != nil || len(found) != 3 || !strings.Contains(found[0], ids[0]) ||
			!strings.Contains(found[0], "not locked") ||
			!strings.Contains(found[1], "other fields") || !strings.Contains(found[2], "not pending") {
			t.Errorf("got %q (%v)", found, err)
		}
	})
}
