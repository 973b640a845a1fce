package webhooks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

func TestEventsReachTheEndpointSignedAndInOrder(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		made := r.put(tenantA, "crm", rc.body(`"headers":{"X-Team":"north","Authorization":"Bearer s3cret"}`))
		r.work()
		var want []events.Event
		for i := range 60 {
			want = append(want, r.events.OwnerChanged(tenantA, fmt.Sprint("r", i%7)))
		}
		r.events.Publish(append(want, r.events.Deleted(tenantB, "b"))...)
		r.until("all are delivered", func() bool { return len(rc.taken()) == len(want) })
		byKey := func(of []events.Event) map[string][]string {
			all := map[string][]string{}
			for _, e := range of {
				all[e.Key] = append(all[e.Key], e.ID)
			}
			return all
		}
		order := map[string][]string{}
		for _, g := range rc.requests() {
			order[g.key] = append(order[g.key], g.id)
			if err := verify(g.headers, g.body, made.Secret, made.PublicKeys...); err != nil {
				t.Error(err)
			}
			if g.headers.Get("X-Team") != "north" || g.headers.Get("Authorization") != "Bearer s3cret" {
				t.Errorf("headers are missing: %v", g.headers)
			}
		}
		if diff := cmp.Diff(byKey(want), order); diff != "" {
			t.Errorf("by key (-want +got):\n%s", diff)
		}
		r.until("all are settled", func() bool { return r.get("crm").Open == 0 })
		if n := len(r.deliveries("crm", Delivered)); n != len(want) {
			t.Errorf("%d are DELIVERED, want %d", n, len(want))
		}
	})
}

func TestOneRefusedRecordParksItsKeyAlone(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		r.put(tenantA, "crm", rc.body())
		bad := []events.Event{r.events.OwnerChanged(tenantA, "bad"), r.events.OwnerChanged(tenantA, "bad")}
		rc.answers(func(e *events.Event) int {
			if e.ID == bad[0].ID {
				return 500
			}
			return 200
		})
		r.work()
		good := []events.Event{r.events.OwnerChanged(tenantA, "a"), r.events.OwnerChanged(tenantA, "b")}
		r.events.Publish(bad[0], good[0], bad[1], good[1])
		r.until("the others are delivered", func() bool { return len(rc.taken()) == 2 })
		r.until("one is retried", func() bool { return len(r.deliveries("crm", Retrying)) == 1 })
		if got := rc.taken(); !slices.Contains(got, good[0].ID) || !slices.Contains(got, good[1].ID) {
			t.Errorf("taken are %v, want %v", got, ids(good...))
		}
		r.until("two are open", func() bool { return r.get("crm").Open == 2 })
		if w := r.get("crm"); w.State != Active {
			t.Errorf("got %s, want ACTIVE", w.State)
		}
		for try := 2; try <= MaxTries; try++ {
			r.idleLater("crm", 30*time.Hour)
			r.until("it is tried again", func() bool {
				d := r.deliveries("crm", 0)
				return slices.ContainsFunc(d, func(d Delivery) bool { return d.Attempts == int64(try) })
			})
		}
		failed := r.deliveries("crm", Failed)
		if len(failed) != 1 || failed[0].EventID != bad[0].ID || failed[0].Answer != "no, not "+bad[0].ID {
			t.Fatalf("FAILED are %+v", failed)
		}
		found, err := r.Delivery(t.Context(), tenantA, "crm", bad[0].ID)
		if err != nil || len(found.Failures) != MaxTries || !strings.Contains(string(found.Event), bad[0].ID) {
			t.Errorf("%d failures are shown, want %d: %s %v", len(found.Failures), MaxTries, found.Event, err)
		}
		if slices.Contains(rc.taken(), bad[1].ID) {
			t.Error("a later event of the key came first")
		}
		if _, err := r.Skip(t.Context(), ann, "crm", bad[0].ID, nil); err != nil {
			t.Fatal(err)
		}
		r.until("the key goes on", func() bool { return slices.Contains(rc.taken(), bad[1].ID) })
		rc.answers(nil)
		if _, err := r.Redeliver(t.Context(), ann, "crm", bad[0].ID, nil); err != nil {
			t.Fatal(err)
		}
		r.until("it is delivered after all", func() bool { return slices.Contains(rc.taken(), bad[0].ID) })
		r.until("all are settled", func() bool { return r.get("crm").Open == 0 })
	})
}

func TestParallelDeliveriesDoNotWaitForEachOther(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		r.put(tenantA, "crm", rc.body(`"delivery":"parallel"`))
		one, two := r.events.OwnerChanged(tenantA, "a"), r.events.OwnerChanged(tenantA, "a")
		rc.answers(func(e *events.Event) int {
			if e.ID == one.ID {
				return 422
			}
			return 200
		})
		r.work()
		r.events.Publish(one, two)
		r.until("the second is delivered", func() bool { return slices.Contains(rc.taken(), two.ID) })
	})
}

func TestADeadEndpointIsParkedAndComesBack(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		dead := httptest.NewServer(http.NotFoundHandler())
		addr := dead.Listener.Addr().String()
		dead.Close()
		r.put(tenantA, "crm", fmt.Sprintf(`{"url":"http://%s/","events":["*"]}`, addr))
		rc := newReceiver(t)
		r.put(tenantA, "well", rc.body())
		r.work()
		var all []events.Event
		for i := range 20 {
			all = append(all, r.events.Deleted(tenantA, fmt.Sprint("r", i)))
		}
		r.events.Publish(all...)
		r.until("the other webhook has all", func() bool { return len(rc.taken()) == len(all) })
		r.until("the endpoint is parked", func() bool {
			r.idleLater("crm", time.Minute)
			return r.get("crm").State == Parked
		})
		w := r.get("crm")
		if w.Open != 20 || w.Reason == "" || w.RetryAt == 0 || w.DisablesAt == 0 ||
			strings.Contains(w.Reason, "token") {
			t.Errorf("it does not say what is wrong: %+v", w)
		}
		r.put(tenantA, "crm", rc.body()) // another URL, which answers
		r.until("all are delivered", func() bool { return len(rc.taken()) == 2*len(all) })
		r.until("it is active", func() bool { w := r.get("crm"); return w.State == Active && w.Open == 0 })
	})
}

func TestAnEndpointThatStaysDeadIsDisabled(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		rc.answers(always(503))
		r.put(tenantA, "crm", rc.body())
		r.work()
		r.events.Publish(r.events.Deleted(tenantA, "a"))
		r.until("it is disabled", func() bool {
			r.idleLater("crm", 6*time.Hour)
			return r.get("crm").State == Disabled
		})
		if !strings.Contains(r.log.String(), "a webhook was disabled") {
			t.Error("nothing says so in the log")
		}
		if got := r.audited("webhook.disable"); len(got) != 1 || !strings.Contains(got[0].Reason, "503") {
			t.Errorf("the audit log has %+v", got)
		}
		before := len(rc.requests())
		missed := r.events.Deleted(tenantA, "b")
		r.events.Publish(missed)
		r.events.Published()
		if n := len(r.deliveries("crm", 0)); n != 1 {
			t.Errorf("%d deliveries are planned, want 1", n)
		}
		rc.answers(nil)
		if _, err := r.Resume(t.Context(), ann, "crm", nil); err != nil {
			t.Fatal(err)
		}
		r.until("what was open is delivered", func() bool { return len(rc.taken()) == 1 })
		r.ahead.Store(0)
		if _, err := r.Recover(t.Context(), ann, "crm", missed.OccurredAt, nil); err != nil {
			t.Fatal(err)
		}
		r.until("what was missed is recovered", func() bool { return slices.Contains(rc.taken(), missed.ID) })
		if n := len(rc.requests()); n != before+2 {
			t.Errorf("%d requests came, want %d", n, before+2)
		}
	})
}

func TestAnEndpointThatIsGoneIsDisabledAtOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		rc.answers(always(410))
		r.put(tenantA, "crm", rc.body())
		r.work()
		r.events.Publish(r.events.Deleted(tenantA, "a"))
		r.until("it is disabled", func() bool { return r.get("crm").State == Disabled })
	})
}

func TestAPausedWebhookSendsNothingUntilItIsResumed(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		r.put(tenantA, "crm", rc.body())
		k := key(t, "p1", "{}")
		first, err := r.Pause(t.Context(), ann, "crm", "the shop moves", k)
		if err != nil || first.State != Paused || first.Reason != "the shop moves" {
			t.Fatal(first, err)
		}
		if again, err := r.Pause(t.Context(), ann, "crm", "the shop moves", k); err != nil || !cmp.Equal(first, again) {
			t.Errorf("a repetition got %+v %v", again, err)
		}
		r.work()
		all := []events.Event{r.events.Deleted(tenantA, "a"), r.events.Deleted(tenantA, "b")}
		r.events.Publish(all...)
		r.until("both wait", func() bool { return r.get("crm").Open == 2 })
		r.later(time.Hour)
		if n := len(rc.requests()); n > 0 {
			t.Errorf("%d requests came during the pause", n)
		}
		if _, err := r.Resume(t.Context(), ann, "crm", nil); err != nil {
			t.Fatal(err)
		}
		r.until("both are delivered", func() bool { return len(rc.taken()) == 2 })
	})
}

// TestRecoverSendsExactlyWhatIsMissing has events that were delivered, skipped, refused, and never planned, since they
// came before the webhook.
func TestRecoverSendsExactlyWhatIsMissing(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		stop := r.work()
		rc := newReceiver(t)
		r.put(tenantA, "other", rc.body())
		old := r.events.Deleted(tenantA, "older")
		r.events.Publish(old)
		r.until("the consumer took it", func() bool { return len(rc.taken()) == 1 })
		var never, sent []events.Event
		for i := range 5 {
			never = append(never, r.events.Deleted(tenantA, fmt.Sprint("never", i)))
		}
		r.events.Publish(append(never, r.events.OwnerChanged(tenantA, "another type"))...)
		r.until("the consumer took those", func() bool { return len(rc.taken()) == 7 })

		at := newReceiver(t)
		skipped, refused := r.events.Deleted(tenantA, "skipped"), r.events.Deleted(tenantA, "refused")
		at.answers(func(e *events.Event) int {
			if e.ID == skipped.ID || e.ID == refused.ID {
				return 400
			}
			return 200
		})
		r.put(tenantA, "crm", strings.Replace(at.body(), `"*"`, `"RecordDeleted"`, 1))
		for i := range 5 {
			sent = append(sent, r.events.Deleted(tenantA, fmt.Sprint("sent", i)))
		}
		r.events.Publish(append(sent, skipped, refused)...)
		r.until("those are delivered", func() bool { return len(at.taken()) == len(sent) })
		r.until("two are refused", func() bool { return len(r.deliveries("crm", Retrying)) == 2 })
		if _, err := r.Skip(t.Context(), ann, "crm", skipped.ID, nil); err != nil {
			t.Fatal(err)
		}
		r.until("one has failed", func() bool {
			r.idleLater("crm", 30*time.Hour)
			return len(r.deliveries("crm", Failed)) == 1
		})
		r.ahead.Store(0)
		at.answers(nil)
		k := key(t, "r1", "{}")
		for range 2 {
			if _, err := r.Recover(t.Context(), ann, "crm", never[0].OccurredAt, k); err != nil {
				t.Fatal(err)
			}
		}
		r.until("the recovery has ended", func() bool {
			rec := r.get("crm").Recovery
			return rec != nil && rec.EndedAt > 0
		})
		want := ids(append(append(slices.Clone(sent), never...), skipped, refused)...)
		r.until("all are delivered", func() bool { return len(at.taken()) >= len(want) })
		r.until("all are settled", func() bool { return r.get("crm").Open == 0 })
		got := at.taken()
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
		if rec := r.get("crm").Recovery; rec.Planned != int64(len(never)+2) {
			t.Errorf("the recovery planned %d, want %d", rec.Planned, len(never)+2)
		}
		stop()
		for _, since := range []time.Duration{time.Hour, -8 * 24 * time.Hour} {
			_, err := r.Recover(t.Context(), ann, "crm", stampOf(time.Now().Add(since)), nil)
			if fault.KindOf(err) != fault.Invalid {
				t.Errorf("since %v: got %v", since, err)
			}
		}
	})
}

func TestAFilterChoosesAndSaysWhenItCannot(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		r.put(tenantA, "crm", rc.body(`"filter":"event.eventType == 'RecordDeleted' && event.payload.deleted"`))
		r.put(tenantA, "strange", rc.body(`"filter":"event.payload.recordId > 5"`))
		r.put(tenantA, "typed", strings.Replace(rc.body(), `"*"`, `"StageChanged"`, 1))
		yes, no := r.events.Deleted(tenantA, "a"), r.events.OwnerChanged(tenantA, "a")
		r.plans(yes, no)
		r.plans(yes) // a repetition plans nothing
		if d := r.deliveries("crm", 0); len(d) != 1 || d[0].EventID != yes.ID || d[0].State != Waiting {
			t.Errorf("got %+v", d)
		}
		d := r.deliveries("strange", Skipped)
		if len(d) != 2 || !strings.Contains(d[0].Error, "the filter failed") {
			t.Errorf("got %+v", d)
		}
		if w := r.get("strange"); w.Open != 0 {
			t.Errorf("%d are open", w.Open)
		}
		if n := len(r.deliveries("typed", 0)); n != 0 {
			t.Errorf("%d of another type are planned", n)
		}
	})
}

func TestATestSendsAtOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		made := r.put(tenantA, "crm", rc.body())
		if _, err := r.Pause(t.Context(), ann, "crm", "", nil); err != nil {
			t.Fatal(err)
		}
		k := key(t, "t1", "{}")
		came, err := r.Test(t.Context(), ann, "crm", k)
		if again, bad := r.Test(t.Context(), ann, "crm", k); bad != nil || again != came || len(rc.requests()) != 1 {
			t.Errorf("a repetition got %+v %v after %d requests", again, bad, len(rc.requests()))
		}
		if err != nil || !came.Delivered || came.Status != 204 {
			t.Errorf("got %+v %v", came, err)
		}
		g := rc.requests()[0]
		if err := verify(g.headers, g.body, made.Secret); err != nil ||
			!strings.Contains(string(g.body), "webhook.test") {
			t.Errorf("%s: %v", g.body, err)
		}
		rc.answers(always(500))
		if came, err = r.Test(t.Context(), ann, "crm", nil); err != nil || came.Delivered || came.Status != 500 ||
			!strings.HasPrefix(came.Answer, "no, not") {
			t.Errorf("got %+v %v", came, err)
		}
		if w := r.get("crm"); w.State != Paused {
			t.Errorf("the test made it %s", w.State)
		}
		r.sender.close()
	})
}

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		r.put(tenantA, "crm", rc.body())
		bob := Caller{Tenant: tenantB, Subject: "bob"}
		_, get := r.Get(t.Context(), tenantB, "crm")
		_, _, list := r.Deliveries(t.Context(), tenantB, "crm", DeliveryQuery{Limit: 10})
		_, test := r.Test(t.Context(), bob, "crm", nil)
		_, rotate := r.Rotate(t.Context(), bob, "crm", 0, nil)
		for _, err := range []error{get, list, test, rotate, r.Delete(t.Context(), bob, "crm")} {
			if failure, ok := fault.As(err); !ok || failure.Code != "WEBHOOK_NOT_FOUND" {
				t.Errorf("got %v", err)
			}
		}
		r.plans(r.events.Deleted(tenantB, "b"))
		if n := len(r.deliveries("crm", 0)); n != 0 {
			t.Errorf("%d events of another tenant are planned", n)
		}
	})
}

func TestAWebhookThatIsMadeAgainHasNoDeliveries(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		r.put(tenantA, "crm", rc.body())
		e := r.events.Deleted(tenantA, "a")
		r.plans(e)
		if err := r.Delete(t.Context(), ann, "crm"); err != nil {
			t.Fatal(err)
		}
		if err := r.Delete(t.Context(), ann, "crm"); !isUnknown(err) {
			t.Errorf("got %v", err)
		}
		r.put(tenantA, "crm", rc.body())
		if n := len(r.deliveries("crm", 0)); n != 0 {
			t.Errorf("it has %d deliveries", n)
		}
		r.plans(e)
		if n := len(r.deliveries("crm", 0)); n != 1 {
			t.Errorf("it has %d deliveries, want 1", n)
		}
	})
}

func TestWhatIsSettledIsDeletedInTheEnd(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		r.put(tenantA, "crm", rc.body())
		r.put(tenantA, "old", rc.body())
		done, open := r.events.Deleted(tenantA, "a"), r.events.Deleted(tenantA, "b")
		r.plans(done, open)
		if _, err := r.Skip(t.Context(), ann, "crm", done.ID, nil); err != nil {
			t.Fatal(err)
		}
		if err := r.Delete(t.Context(), ann, "old"); err != nil {
			t.Fatal(err)
		}
		rows := func() (all [2]int) {
			err := r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				return errors.Join(tx.Row(ctx, "SELECT count(*) FROM webhooks_delivery").Scan(&all[0]),
					tx.Row(ctx, "SELECT count(*) FROM webhooks_event").Scan(&all[1]))
			})
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		for _, step := range []struct {
			after time.Duration
			want  [2]int
		}{{0, [2]int{4, 2}}, {DefaultRetention + time.Hour, [2]int{1, 1}}} {
			r.ahead.Add(step.after.Milliseconds())
			if err := r.retain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := rows(); got != step.want {
				t.Errorf("after %v there are %v deliveries and events, want %v", step.after, got, step.want)
			}
		}
	})
}

// audited are the entries of the audit log of tenant A with an action; "": all.
func (r *rig) audited(action string) []audit.Entry {
	r.Helper()
	page, _, err := audit.New(r.db).List(r.Context(), audit.Query{Tenant: tenantA, Action: action, Limit: 100})
	if err != nil {
		r.Fatal(err)
	}
	return page
}
