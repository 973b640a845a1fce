package messages

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func TestAMessageResumesEveryNodeThatWaitsForIt(t *testing.T) {
	onEvery(t, func(r *rig) {
		first, second, other := r.order(tenantA, "o-1"), r.order(tenantA, "o-1"), r.order(tenantA, "o-2")
		foreign := r.order(tenantB, "o-1")
		sent := r.send(tenantA, `{"messageId":"m1","name":"paid","key":"o-1","payload":{"amount":42}}`)
		if sent.State != Resumed || len(sent.Deliveries) != 2 || sent.Deliveries[0].ExecutionID != first.String() ||
			sent.Deliveries[0].NodeID != "paid" || sent.Duplicate || sent.Payload != nil {
			t.Errorf("answered %+v", sent)
		}
		r.wants(tenantA, first, "shipped")
		r.wants(tenantA, second, "shipped")
		r.wants(tenantA, other, "paid")
		r.wants(tenantB, foreign, "paid")
		if got := string(r.state(tenantA, first).Nodes[1].Output.Inline); got != `{"amount":42}` {
			t.Errorf("the output of the Wait is %s", got)
		}
		if got := r.is(tenantA, "m1", Resumed); string(got.Payload) != `{"amount":42}` || got.Sender != "ann" {
			t.Errorf("stored as %+v", got)
		}
		if _, err := r.Get(t.Context(), tenantB, "m1"); fault.KindOf(err) != fault.NotFound {
			t.Errorf("another tenant gets %v", err)
		}
	})
}

func TestAMessageIsKeptForNodesToComeTheOldestFirst(t *testing.T) {
	onEvery(t, func(r *rig) {
		for i, name := range []string{"shipped", "paid", "paid"} {
			r.millis.Add(1)
			sent := r.send(tenantA, fmt.Sprintf(`{"messageId":"m%d","name":%q,"key":"o-1","payload":{"amount":%d}}`, i,
				name, i))
			if sent.State != Kept || len(sent.Deliveries) != 0 {
				t.Errorf("answered %+v", sent)
			}
		}
		r.settle()
		id := r.order(tenantA, "o-1")
		r.settle()
		r.wants(tenantA, id, "COMPLETED")
		r.is(tenantA, "m0", Resumed)
		got := r.is(tenantA, "m1", Resumed)
		if len(got.Deliveries) != 1 || got.Deliveries[0].ExecutionID != id.String() {
			t.Errorf("delivered to %+v", got.Deliveries)
		}
		r.is(tenantA, "m2", Kept)
		// What is sent while another one is kept waits for its turn.
		second := r.order(tenantA, "o-1")
		r.millis.Add(1)
		if sent := r.send(tenantA, `{"messageId":"m3","name":"paid","key":"o-1"}`); sent.State != Kept {
			t.Errorf("answered %+v", sent)
		}
		r.settle()
		r.is(tenantA, "m2", Resumed)
		r.is(tenantA, "m3", Kept)
		r.wants(tenantA, second, "shipped")
	})
}

func TestWhatAKilledProcessLeftIsDelivered(t *testing.T) {
	onEvery(t, func(r *rig) {
		r.send(tenantA, `{"messageId":"m1","name":"paid","key":"o-1","payload":{"amount":1}}`)
		r.send(tenantB, `{"messageId":"m1","name":"paid","key":"o-2","payload":{"amount":1}}`)
		id, other := r.order(tenantA, "o-1"), r.order(tenantA, "o-2")
		r.die()
		r.settle()
		r.wants(tenantA, id, "paid")
		if err := r.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.settle()
		r.wants(tenantA, id, "shipped")
		r.wants(tenantA, other, "paid")
		r.is(tenantB, "m1", Kept)
	})
}

// TestANodeThatBeginsToWaitMeanwhileIsResumed has a node begin to wait between the look for nodes and the commit of the
// message, so that neither sees the other.
func TestANodeThatBeginsToWaitMeanwhileIsResumed(t *testing.T) {
	onEvery(t, func(r *rig) {
		var id flow.ID
		look := r.cfg.Awaiting
		r.cfg.Awaiting = func(ctx context.Context, tx *sqldb.Tx, tenant string, of flow.Awaited, limit int) (
			[]engine.AwaitingNode, error,
		) {
			nodes, err := look(ctx, tx, tenant, of, limit)
			if id.IsZero() {
				id = r.order(tenantA, "o-1")
				r.settle()
			}
			return nodes, err
		}
		sent := r.send(tenantA, `{"messageId":"m1","name":"paid","key":"o-1","payload":{"amount":1}}`)
		if sent.State != Kept {
			t.Errorf("answered %+v", sent)
		}
		r.settle()
		r.wants(tenantA, id, "shipped")
		r.is(tenantA, "m1", Resumed)
	})
}

func TestAMessageIsDeliveredOncePerID(t *testing.T) {
	onEvery(t, func(r *rig) {
		first := r.order(tenantA, "o-1")
		const body = `{"messageId":"m1","name":"paid","key":"o-1","payload":{"amount":1}}`
		sent, replay, err := r.try(tenantA, "k1", body)
		if err != nil || replay || sent.State != Resumed {
			t.Fatal(sent, replay, err)
		}
		second := r.order(tenantA, "o-1")
		if again, replay, err := r.try(tenantA, "k1", body); err != nil || !replay || again.Duplicate ||
			again.State != Resumed || again.Deliveries[0].ExecutionID != first.String() {
			t.Errorf("the same key: %+v %t %v", again, replay, err)
		}
		if again, replay, err := r.try(tenantA, "k2", body); err != nil || replay || !again.Duplicate ||
			again.State != Resumed || again.Deliveries[0].ExecutionID != first.String() {
			t.Errorf("the same id: %+v %t %v", again, replay, err)
		}
		for _, other := range []string{
			strings.Replace(body, `"amount":1`, `"amount":2`, 1), strings.Replace(body, "o-1", "o-2", 1),
			strings.Replace(body, "paid", "shipped", 1),
		} {
			if _, _, err := r.try(tenantA, "k3", other); fault.KindOf(err) != fault.Conflict {
				t.Errorf("%s: %v", other, err)
			}
		}
		r.wants(tenantA, second, "paid")
		if sent := r.send(tenantA, strings.Replace(body, `"messageId":"m1",`, "", 1)); sent.State != Resumed ||
			len(sent.ID) != 36 {
			t.Errorf("without an id: %+v", sent)
		}
		r.wants(tenantA, second, "shipped")
	})
}

func TestAPayloadThatNoNodeTakesIsRejected(t *testing.T) {
	onEvery(t, func(r *rig) {
		id := r.order(tenantA, "o-1")
		sent := r.send(tenantA, `{"messageId":"m1","name":"paid","key":"o-1"}`)
		if sent.State != Rejected || !strings.Contains(sent.Reason, "missing property 'amount'") ||
			len(sent.Deliveries) != 1 || sent.Deliveries[0].Reason != sent.Reason {
			t.Errorf("answered %+v", sent)
		}
		r.is(tenantA, "m1", Rejected)
		r.wants(tenantA, id, "paid")
		r.send(tenantA, `{"messageId":"m2","name":"paid","key":"o-1","payload":{"amount":1}}`)
		r.wants(tenantA, id, "shipped")
	})
}

func TestACanceledExecutionIsNotResumed(t *testing.T) {
	onEvery(t, func(r *rig) {
		id := r.order(tenantA, "o-1")
		r.cancel(tenantA, id)
		if sent := r.send(tenantA, `{"messageId":"m1","name":"paid","key":"o-1"}`); sent.State != Kept {
			t.Errorf("answered %+v", sent)
		}
		r.settle()
		r.wants(tenantA, id, "CANCELED")
		// One that was looked up before the cancel changes nothing.
		d := &delivery{
			Message: r.is(tenantA, "m1", Kept), m: r.Messages, tenant: tenantA,
			nodes: []engine.AwaitingNode{{Execution: id, Node: "paid"}},
		}
		if err := d.do(t.Context(), d.taken); err == nil {
			t.Error("was delivered")
		}
		r.is(tenantA, "m1", Kept)
		r.wants(tenantA, id, "CANCELED")
	})
}

func TestAMessageExpiresAndIsDeletedLater(t *testing.T) {
	onEvery(t, func(r *rig) {
		sent := r.send(tenantA, `{"messageId":"m1","name":"paid","key":"o-1","ttl":"2s","payload":{"amount":1}}`)
		if sent.ExpiresAt-sent.ReceivedAt != 2000 {
			t.Errorf("answered %+v", sent)
		}
		r.millis.Add(2000)
		id := r.order(tenantA, "o-1")
		r.settle()
		r.wants(tenantA, id, "paid")
		if err := r.expire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := r.is(tenantA, "m1", Expired); got.DecidedAt != got.ExpiresAt {
			t.Errorf("%+v", got)
		}
		r.send(tenantA, `{"messageId":"m2","name":"other","ttl":"720h"}`)
		r.millis.Add((DefaultRetention - time.Millisecond).Milliseconds())
		for _, left := range []int{2, 1} {
			if err := r.retain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if page, total, err := r.List(t.Context(), tenantA, Query{Limit: 10}); err != nil || total != left ||
				len(page) != left {
				t.Errorf("%d messages %v, want %d", total, err, left)
			}
			r.millis.Add(2)
		}
	})
}

func TestAMessageStartsTheGraphsThatSubscribe(t *testing.T) {
	onEvery(t, func(r *rig) {
		r.graph(tenantA, "welcome", starts("ordered"))
		r.graph(tenantA, "bill", starts("ordered"))
		r.graph(tenantB, "welcome", starts("ordered"))
		for i, want := range []bool{false, true} {
			const body = `{"messageId":"m1","name":"ordered","key":"o-1","payload":{"total":7}}`
			sent := r.send(tenantA, body)
			if to := sent.Deliveries; sent.State != Started || sent.Duplicate != want || len(to) != 2 ||
				to[0].GraphID != "bill" || to[1].GraphID != "welcome" {
				t.Errorf("%d: answered %+v", i, sent)
			}
		}
		for tenant, want := range map[string]int{tenantA: 2, tenantB: 0} {
			all, n, err := r.engine.List(t.Context(), engine.ListQuery{Tenant: tenant, Limit: 10})
			if err != nil || n != want {
				t.Errorf("%d executions of %s (%v), want %d", n, tenant, err, want)
			}
			for i := range all {
				s := r.state(tenant, all[i].ID)
				if string(s.Input) != `{"total":7}` || s.CorrelationID != "c-1" {
					t.Errorf("started with %s, %s", s.Input, s.CorrelationID)
				}
			}
		}
		// A node that waits comes first.
		r.graph(tenantA, "late", starts("paid"))
		id := r.order(tenantA, "o-1")
		if sent := r.send(tenantA, `{"name":"paid","key":"o-1","payload":{"amount":1}}`); sent.State != Resumed {
			t.Errorf("answered %+v", sent)
		}
		r.wants(tenantA, id, "shipped")
		if sent := r.send(tenantA, `{"name":"paid","key":"o-1"}`); sent.State != Started {
			t.Errorf("answered %+v", sent)
		}
	})
}

// TestNothingIsLostHoweverMessagesAndWaitsRace sends every message twice, before, while and after the node begins to
// wait for it, with the loop at work.
func TestNothingIsLostHoweverMessagesAndWaitsRace(t *testing.T) {
	onEvery(t, func(r *rig) {
		stop := r.run()
		const races = 150
		ids := make([]flow.ID, races)
		var wg sync.WaitGroup
		slots := make(chan struct{}, 16)
		for i := range races {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				r.raceOnce(i, &ids[i])
			})
		}
		wg.Wait()
		stop()
		if err := r.sweep(t.Context()); err != nil { // what the end of the loop has interrupted
			t.Fatal(err)
		}
		r.settle()
		for i, id := range ids {
			r.wants(tenantA, id, "COMPLETED")
			for _, name := range []string{"paid", "shipped"} {
				got := r.is(tenantA, fmt.Sprintf("%s-%d", name, i), Resumed)
				if len(got.Deliveries) != 1 || got.Deliveries[0].ExecutionID != id.String() {
					t.Errorf("message %s resumed %+v, want %s", got.ID, got.Deliveries, id)
				}
			}
		}
	})
}

// raceOnce sends both messages of an order twice: before it, while it begins to wait, or after that.
func (r *rig) raceOnce(i int, id *flow.ID) {
	send := func(name string) {
		for try := range 2 {
			body := fmt.Sprintf(`{"messageId":"%s-%d","name":%q,"key":"o-%d","payload":{"amount":1}}`, name, i, name, i)
			if _, _, err := r.try(tenantA, fmt.Sprintf("%s-%d-%d", name, i, try), body); err != nil {
				r.Error(err)
			}
		}
	}
	order := func() { *id = r.order(tenantA, fmt.Sprintf("o-%d", i)) }
	switch i % 3 {
	case 0:
		send("shipped")
		send("paid")
		order()
	case 1:
		var wg sync.WaitGroup
		wg.Go(func() { send("paid") })
		wg.Go(func() { send("shipped") })
		order()
		wg.Wait()
	default:
		order()
		send("paid")
		send("shipped")
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	for body, field := range map[string]string{
		`{}`:                     "name",
		`{"name":"a b"}`:         "name",
		`{"name":"late-result"}`: "name",
		`{"name":"a","key":"` + strings.Repeat("k", 201) + `"}`:                  "key",
		`{"name":"a","key":"\u0007"}`:                                            "key",
		`{"name":"a","messageId":"ä"}`:                                           "messageId",
		`{"name":"a","payload":[]}`:                                              "payload",
		`{"name":"a","payload":{"x":"` + strings.Repeat("x", MaxPayload) + `"}}`: "payload",
		`{"name":"a","ttl":"1ms"}`:                                               "ttl",
		`{"name":"a","ttl":"721h"}`:                                              "ttl",
	} {
		_, err := ParseDraft([]byte(body))
		failure, ok := fault.As(err)
		if !ok || failure.Kind != fault.Invalid || fmt.Sprint(failure.Details) != "map[field:"+field+"]" {
			t.Errorf("%.60s: %v", body, err)
		}
	}
}
