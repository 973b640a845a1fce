package client_test

import (
	"errors"
	"testing"
	"time"

	"renga.dev/renga/client"
)

func TestABulkArchivesWhatItNames(t *testing.T) {
	c, ctx := rig(t), soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a")))
	made := must[client.Answer](t)(c.Executions.Create(ctx, client.CreateExecution{GraphID: "g"}))
	must[client.Answer](t)(c.Executions.Cancel(ctx, client.CancelExecution{ExecutionID: made.ExecutionID}))
	b := must[client.BulkAnswer](t)(c.Bulks.CreateArchive(ctx, client.ArchiveBulk{IDs: []string{made.ExecutionID}}))
	if b.Status != client.BulkPreview || b.Total != 1 {
		t.Errorf("got %+v", b)
	}
	all := must[client.BulkAnswer](t)(c.Bulks.CreateArchive(ctx, client.ArchiveBulk{}))
	if all.Total != 1 {
		t.Errorf("got %+v for the filter of everything", all)
	}
}

func TestABulkIsFrozenStartedAndRead(t *testing.T) {
	c, ctx := rig(t), soon(t)
	must[client.GraphVersion](t)(c.Graphs.Put(ctx, "g", line("default", "a")))
	var cmds []client.Command
	for range 120 {
		cmds = append(cmds, client.CreateExecution{GraphID: "g", Start: true})
	}
	results := must[[]client.Result](t)(c.SendAll(ctx, cmds))
	ask := client.CancelBulk{Key: "k", Filter: client.BulkFilter{
		GraphID:   "g",
		CreatedTo: time.Now().Add(time.Hour),
	}, Reason: "closed"}
	made := must[client.BulkAnswer](t)(c.Bulks.Create(ctx, ask))
	if made.Status != client.BulkPreview || made.Total != 120 || made.Key != "k" || made.Replay {
		t.Errorf("the bulk is %+v", made)
	}
	if again := must[client.BulkAnswer](t)(c.Bulks.Create(ctx, ask)); !again.Replay || again.BulkID != made.BulkID {
		t.Errorf("the repetition is %+v", again)
	}
	must[client.Answer](t)(c.Send(ctx, client.CancelExecution{ExecutionID: results[7].ExecutionID}))
	must[client.BulkAnswer](t)(c.Bulks.Start(ctx, client.BulkOrder{BulkID: made.BulkID}))
	b := must[*client.Bulk](t)(c.Bulks.Get(ctx, made.BulkID))
	for b.Status != client.BulkDone {
		if !wakeAfter(ctx, time.Millisecond) {
			t.Fatalf("the bulk is still %+v", b)
		}
		b = must[*client.Bulk](t)(c.Bulks.Get(ctx, made.BulkID))
	}
	if b.Counts != (client.BulkCounts{Applied: 119, Already: 1}) || b.Counts.Settled() != b.Total ||
		b.Filter.GraphID != "g" || b.StartedBy == nil {
		t.Errorf("the bulk is %+v", b)
	}
	n := 0
	for item, err := range c.Bulks.Items(ctx, b.BulkID) {
		if err != nil {
			t.Fatal(err)
		}
		if item.ExecutionID != results[n].ExecutionID || item.Result == nil || item.Result.CancelSeq == 0 {
			t.Errorf("item %d is %+v", n, item)
		}
		n++
	}
	if n != 120 {
		t.Errorf("there are %d items", n)
	}
	page := must[*client.Page[client.BulkItem]](t)(c.Bulks.ListItems(ctx, b.BulkID, client.ItemAlready,
		client.Paging{}))
	if page.Total != 1 || page.Items[0].ExecutionID != results[7].ExecutionID {
		t.Errorf("those that were cancelled before are %+v", page)
	}
	if list := must[*client.Page[client.Bulk]](t)(c.Bulks.List(ctx, client.Paging{})); list.Total != 1 ||
		list.Items[0].BulkID != b.BulkID {
		t.Errorf("the bulks are %+v", list)
	}
	_, err := c.Bulks.Stop(ctx, client.BulkOrder{BulkID: b.BulkID})
	if failure, ok := errors.AsType[*client.Error](err); !ok || !errors.Is(err, client.ErrRefused) ||
		failure.State.Bulk != client.BulkDone {
		t.Errorf("stopping what is done gives %+v", err)
	}
	if _, err := c.Bulks.Get(ctx, "00000000-0000-7000-8000-000000000000"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an unknown bulk gives %v", err)
	}
}
