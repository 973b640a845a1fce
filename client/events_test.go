package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/app/apptest"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/bustest"
	"renga.dev/renga/internal/platform/events"
)

// own is the tenant of a client that names none.
const own = "00000000-0000-0000-0000-000000000000"

// eventServer is a server for events alone, with the consumers search, which blocks keys, and
// mailer, which goes on.
type eventServer struct {
	*bustest.Events
	url string
}

func TestATenantDecidesWhatIsPublished(t *testing.T) {
	_, c := newEventServer(t)
	ctx := client.WithCorrelationID(t.Context(), "ticket-17")
	for _, want := range []client.PublishPolicy{client.PublishAll, client.PublishNone, client.PublishDefault} {
		stored, err := c.Events.PutSettings(ctx, client.EventSettings{Executions: want})
		if err != nil || stored.Executions != want {
			t.Errorf("%s: stored %+v, %v", want, stored, err)
		}
		if got, err := c.Events.Settings(ctx); err != nil || got.Executions != want {
			t.Errorf("%s: got %+v, %v", want, got, err)
		}
	}
	_, err := c.Events.PutSettings(ctx, client.EventSettings{Executions: "loud"})
	if failure, ok := errors.AsType[*client.Error](err); !ok || failure.Status != 422 {
		t.Errorf("a word that there is not: %v", err)
	}
	page, err := c.Audit.List(ctx, client.AuditFilter{Action: "events.settings"}, client.Paging{})
	if err != nil || page.Total != 3 || page.Items[0].CorrelationID != "ticket-17" {
		t.Errorf("the audit log has %+v, %v", page, err)
	}
}

func newEventServer(t *testing.T) (*eventServer, *client.Client) {
	t.Helper()
	o := &eventServer{Events: bustest.NewEvents(t, time.Now)}
	a := apptest.Start(t, app.Config{Addr: "127.0.0.1:0", Override: app.Override{
		Name: "p1", Exclusive: true, Idle: idle, Heartbeat: 20 * time.Millisecond,
		Consumers: []bus.Consumer{
			{Name: "search", Types: []string{"RecordDeleted"}, Handle: o.Handle},
			{Name: "mailer", Types: []string{"OwnerChanged"}, Handle: o.Handle, Continue: true},
		},
	}})
	o.Bus, o.DB, o.url = a.Bus, a.DB, "http://"+a.Addr().String()
	return o, dial(t, o.url)
}

// settle waits until a dead letter has ended.
func settle(t *testing.T, c *client.Client, id string) *client.DeadLetterDetails {
	t.Helper()
	for {
		l := must[*client.DeadLetterDetails](t)(c.DeadLetters.Get(soon(t), id))
		if l.Status.Ended() {
			return l
		}
	}
}

func TestADeadLetterIsReadAndDecidedAbout(t *testing.T) {
	o, c := newEventServer(t)
	ctx := client.WithCorrelationID(soon(t), "repair")
	e := o.Deleted(own, "x")
	id := o.Kill("search", e)[0].ID
	page := must[*client.Page[client.DeadLetter]](t)(c.DeadLetters.List(ctx, client.DeadLetterFilter{
		Consumer: "search", EventType: "RecordDeleted", Key: e.Key, ReasonClass: "infra",
		DeadFrom: time.Now().Add(-time.Minute), DeadTo: time.Now().Add(time.Minute),
		Status: []client.DeadLetterStatus{client.DeadLetterOpen, client.DeadLetterSkipped},
	}, client.Paging{}))
	if page.Total != 1 || page.Items[0].DeadLetterID != id || page.Items[0].RecordVersion.UnixMilli() != int64(
		e.Version) || page.Items[0].Decision != nil {
		t.Fatalf("got %+v", page)
	}
	l := must[*client.DeadLetterDetails](t)(c.DeadLetters.Get(ctx, id))
	var envelope client.BusinessEvent
	if err := json.Unmarshal(l.Event, &envelope); err != nil || envelope.EventID != e.ID ||
		l.Verdict != client.VerdictWillApply || len(l.Failures) != 1 || l.PayloadWithheld {
		t.Errorf("got %+v: %v", l, err)
	}
	if f := must[client.Foreseen](t)(c.DeadLetters.ForeseeRedrive(ctx, id)); f.Verdict != client.VerdictWillApply ||
		f.Status != client.DeadLetterOpen {
		t.Errorf("foreseen: %+v", f)
	}
	order := client.DeadLetterOrder{Key: "k", DeadLetterID: id, Reason: "well again"}
	a := must[client.DecisionAnswer](t)(c.DeadLetters.Redrive(ctx, order))
	if a.Status != client.DeadLetterRedriving || a.Verdict != client.VerdictWillApply || a.Replay || a.Key != "k" ||
		a.CorrelationID != "repair" {
		t.Errorf("got %+v", a)
	}
	if again := must[client.DecisionAnswer](t)(c.DeadLetters.Redrive(ctx, order)); !again.Replay ||
		again.Status != client.DeadLetterRedriving {
		t.Errorf("again: %+v", again)
	}
	if l := settle(t, c, id); l.Status != client.DeadLetterApplied || l.Decision == nil ||
		l.Decision.Reason != "well again" {
		t.Errorf("got %+v", l)
	}
	_, err := c.DeadLetters.Skip(ctx, client.DeadLetterOrder{DeadLetterID: id, Reason: "too late"})
	failure, _ := errors.AsType[*client.Error](err)
	if !errors.Is(err, client.ErrRefused) || failure.Guard != "dead_letter_open" ||
		failure.State.DeadLetter != client.DeadLetterApplied {
		t.Errorf("a skip: %+v", err)
	}
	if _, err := c.DeadLetters.Skip(ctx, client.DeadLetterOrder{DeadLetterID: id}); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("a skip without a reason: %v", err)
	}
	if _, err := c.DeadLetters.Get(ctx, "00000000-0000-7000-8000-000000000000"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("one that does not exist: %v", err)
	}
	var actions []string
	for entry, err := range c.Audit.All(ctx, client.AuditFilter{Subject: id, From: time.Now().Add(-time.Minute)}) {
		if err != nil {
			t.Fatal(err)
		}
		actions = append(actions, entry.Action+" "+entry.Outcome+" "+entry.Reason+" "+entry.CorrelationID)
	}
	if want := []string{"dlq.skip refused too late repair", "dlq.redrive accepted well again repair"}; !slices.Equal(
		actions, want) {
		t.Errorf("audit: %q", actions)
	}
	var exported bytes.Buffer
	if err := c.Audit.Export(ctx, client.AuditFilter{Subject: id}, &exported); err != nil ||
		strings.Count(exported.String(), "\n") != 2 ||
		strings.Index(exported.String(), "dlq.redrive") > strings.Index(exported.String(), "dlq.skip") {
		t.Errorf("export: %v\n%s", err, &exported)
	}
	if err := c.Audit.Export(ctx, client.AuditFilter{Action: "no such"}, &exported); !errors.Is(err,
		client.ErrInvalid) {
		t.Errorf("export: %v", err)
	}
	for _, call := range []func() error{
		func() error { _, err := c.DeadLetters.Get(ctx, ""); return err },
		func() error { _, err := c.DeadLetters.Redrive(ctx, client.DeadLetterOrder{}); return err },
		func() error { _, err := c.DeadLetters.ForeseeRedrive(ctx, ""); return err },
		func() error { _, err := c.Events.Schema(ctx, ""); return err },
		func() error { _, err := c.Replays.Get(ctx, ""); return err },
		func() error { _, err := c.Replays.Stop(ctx, client.ReplayOrder{}); return err },
		func() error { _, err := c.DeadLetterBulks.Get(ctx, ""); return err },
	} {
		if call() == nil {
			t.Error("a call without an id went through")
		}
	}
}

func TestBulksAboutDeadLettersAreFrozenStartedAndRead(t *testing.T) {
	o, c := newEventServer(t)
	ctx := soon(t)
	var batch []events.Event
	for i := range 120 {
		batch = append(batch, o.Deleted(own, fmt.Sprint("x", i)))
	}
	letters := o.Kill("search", batch...)
	seen := map[string]bool{}
	for l, err := range c.DeadLetters.All(ctx, client.DeadLetterFilter{}) {
		if err != nil || seen[l.DeadLetterID] {
			t.Fatal(l, err)
		}
		seen[l.DeadLetterID] = true
	}
	if len(seen) != 120 {
		t.Errorf("%d dead letters", len(seen))
	}
	o.Fail(batch[5].Key)
	made := must[client.BulkAnswer](t)(c.DeadLetterBulks.CreateRedrive(ctx, client.RedriveBulk{
		Key:    "k",
		Filter: client.DeadLetterFilter{Consumer: "search"}, Reason: "back",
	}))
	if made.Total != 120 || made.Status != client.BulkPreview || made.Key != "k" {
		t.Fatalf("got %+v", made)
	}
	preview := must[*client.Page[client.DeadLetterBulkItem]](t)(c.DeadLetterBulks.ListItems(ctx, made.BulkID,
		client.ItemPending, client.Paging{}))
	if it := preview.Items[0]; it.Foreseen == nil || it.Foreseen.Verdict != client.VerdictWillApply ||
		it.Result != nil {
		t.Errorf("preview: %+v", it)
	}
	must[client.BulkAnswer](t)(c.DeadLetterBulks.Start(ctx, client.BulkOrder{BulkID: made.BulkID}))
	b := must[*client.DeadLetterBulk](t)(c.DeadLetterBulks.Get(ctx, made.BulkID))
	for b.Status != client.BulkDone {
		if !wakeAfter(ctx, time.Millisecond) {
			t.Fatalf("the bulk is still %+v", b)
		}
		b = must[*client.DeadLetterBulk](t)(c.DeadLetterBulks.Get(ctx, made.BulkID))
	}
	if b.Counts != (client.BulkCounts{Applied: 119, Failed: 1}) || b.Filter.Consumer != "search" ||
		b.Command != "dlq.redrive" || b.Reason != "back" {
		t.Errorf("got %+v", b)
	}
	n := 0
	for item, err := range c.DeadLetterBulks.Items(ctx, b.BulkID) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if failed := item.DeadLetterID == letters[5].ID; item.Result == nil ||
			failed != (item.Status == client.ItemFailed) {
			t.Errorf("item %+v", item)
		}
	}
	if n != 120 {
		t.Errorf("%d items", n)
	}
	skip := must[client.BulkAnswer](t)(c.DeadLetterBulks.CreateSkip(ctx, client.SkipBulk{Reason: "given up"}))
	must[client.BulkAnswer](t)(c.DeadLetterBulks.Start(ctx, client.BulkOrder{BulkID: skip.BulkID}))
	if l := settle(t, c, letters[5].ID); l.Status != client.DeadLetterSkipped || l.Decision.BulkID != skip.BulkID {
		t.Errorf("got %+v", l)
	}
	if page := must[*client.Page[client.DeadLetterBulk]](t)(c.DeadLetterBulks.List(ctx,
		client.Paging{})); page.Total != 2 {
		t.Errorf("got %+v", page)
	}
	_, err := c.DeadLetterBulks.Stop(ctx, client.BulkOrder{BulkID: b.BulkID})
	if failure, _ := errors.AsType[*client.Error](err); failure == nil || failure.State.Bulk != client.BulkDone {
		t.Errorf("a stop: %v", err)
	}
}

func TestConsumersOutboxSchemasAndReplaysAreRead(t *testing.T) {
	o, c := newEventServer(t)
	ctx := soon(t)
	e := o.Deleted(own, "x")
	o.Kill("search", e)
	all := must[[]client.Consumer](t)(c.Events.Consumers(ctx))
	if len(all) != 2 || all[1].Consumer != "search" || !all[0].Continue || all[1].Stream != "RENGA_EVENTS" {
		t.Fatalf("got %+v", all)
	}
	if p := all[1].Partitions[events.Partition(e.Key)]; p.DeadLetters != 1 || p.WaitingKeys.Blocked != 1 ||
		p.WaitingSince.IsZero() || p.Counts.Failed != 1 || p.Holder != "p1" || p.Seq == 0 {
		t.Errorf("got %+v", p)
	}
	o.Publish(o.OwnerChanged(own, "y"))
	o.Published()
	out := must[*client.Outbox](t)(c.Events.Outbox(ctx, client.OutboxQuery{EventType: "OwnerChanged", Size: 10}))
	if len(out.Items) != 1 || out.Items[0].EventType != "OwnerChanged" || out.Items[0].PublishedAt.IsZero() ||
		len(out.Partitions) != 4 {
		t.Errorf("got %+v", out)
	}
	first := must[*client.Outbox](t)(c.Events.Outbox(ctx, client.OutboxQuery{Key: e.Key})).Items[0].Position
	if out = must[*client.Outbox](t)(c.Events.Outbox(ctx, client.OutboxQuery{Key: e.Key, After: first})); len(
		out.Items) != 0 {
		t.Errorf("behind %d: %+v", first, out.Items)
	}
	schemas := must[[]client.EventSchema](t)(c.Events.Schemas(ctx))
	text := must[json.RawMessage](t)(c.Events.Schema(ctx, schemas[0].EventType))
	if len(schemas) != 21 || !json.Valid(text) || !strings.Contains(string(text), "2020-12") {
		t.Errorf("%d schemas, the first is %s", len(schemas), text)
	}
	from := time.Now().Add(-time.Hour)
	r := must[client.ReplayAnswer](t)(c.Replays.Start(ctx, client.StartReplay{
		Key: "k", Consumer: "search", From: from,
		To: time.Now(),
	}))
	replay := must[*client.Replay](t)(c.Replays.Get(ctx, r.ReplayID))
	for replay.Status != client.ReplayDone {
		replay = must[*client.Replay](t)(c.Replays.Get(ctx, r.ReplayID))
	}
	if replay.From.UnixMilli() != from.UnixMilli() || replay.EndedAt.IsZero() {
		t.Errorf("got %+v", replay)
	}
	_, err := c.Replays.Stop(ctx, client.ReplayOrder{ReplayID: r.ReplayID})
	if failure, _ := errors.AsType[*client.Error](err); failure == nil || failure.State.Replay != client.ReplayDone {
		t.Errorf("a stop: %v", err)
	}
	n := 0
	for _, err := range c.Replays.All(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d replays", n)
	}
}

func TestEventsAreFollowedAcrossBrokenConnections(t *testing.T) {
	o, _ := newEventServer(t)
	var batch []events.Event
	for i := range 30 {
		batch = append(batch, o.Deleted(own, fmt.Sprint("x", i)), o.OwnerChanged(own, fmt.Sprint("y", i)))
	}
	o.Publish(batch[:20]...)
	streams := 0
	p := newProxy(t, &server{url: o.url}, func(int, seen) string {
		streams++
		return map[int]string{1: cutBefore, 2: cutInside, 4: "503 Retry-After "}[streams]
	})
	c, ctx := dial(t, p.url), soon(t)
	begin, next := int64(0), 0
	for e, err := range c.Events.Follow(ctx, client.FollowQuery{After: &begin, EventType: "RecordDeleted"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.EventID != batch[next].ID || e.Sequence.PartitionKey != batch[next].Key || e.Position < 1 ||
			e.Producer.Service != "core-platform" {
			t.Fatalf("event %d is %+v", next, e)
		}
		if next += 2; next == 20 {
			o.Publish(batch[20:]...)
		}
		if next == len(batch) {
			break
		}
	}
	if next != len(batch) || streams < 3 {
		t.Errorf("%d events over %d connections", next, streams)
	}
	for e, err := range c.Events.Follow(ctx, client.FollowQuery{
		From: time.Now().Add(-time.Minute),
		Key:  batch[3].Key,
	}) {
		if err != nil || e.EventID != batch[3].ID {
			t.Errorf("got %+v %v", e, err)
		}
		break
	}
	for _, err := range c.Events.Follow(ctx, client.FollowQuery{EventType: "no type"}) {
		if !errors.Is(err, client.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	}
}
