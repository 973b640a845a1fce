package test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/test/tier"
)

const (
	bulkSize   = 2000
	bulkRivals = 300 // executions of the set that somebody else cancels meanwhile
	bulkLater  = 50  // executions that are created after the set was frozen
)

// TestABulkGoesOnAfterEveryKill kills servers while they work through a bulk, again
// and again, and lets somebody else cancel executions of its set at the same time.
// At the end every item must have the result that its execution's log proves.
func TestABulkGoesOnAfterEveryKill(t *testing.T) {
	tier.System(t)
	sites := []site{newSite(t)}
	if postgres() {
		sites = append(sites, sites[0].beside(t))
	}
	b := &bulkRun{rig: newRig(t, 2, sites...), rand: rand.New(rand.NewPCG(7, 7))}
	b.c, b.rival = b.hands[0].client, b.hands[1].client
	set := b.create(bulkSize)
	b.freeze()
	later := b.create(bulkLater)
	b.order("start")
	var wg sync.WaitGroup
	rivals := b.some(set)
	wg.Go(func() { b.race(rivals) })
	kills := b.kill()
	b.await(func(v bulkView) bool { return v.Status == "DONE" })
	wg.Wait()
	if t.Failed() {
		t.Fatalf("the logs of the servers:\n%s", b.logs())
	}
	b.check(set)
	b.audited(set)
	for _, id := range later {
		if v, ok := b.c.view(id); !ok || v.Status != "ACTIVE" {
			t.Errorf("execution %s, which was created after the set was frozen, is %s", id, v.Status)
		}
	}
	t.Logf("%d kills while the bulk was running", kills)
	if kills < 3 {
		t.Errorf("too weak: %d kills while the bulk was running, want at least 3", kills)
	}
	b.end()
}

// bulkRun is one run of the test.
type bulkRun struct {
	*rig
	rand     *rand.Rand
	c, rival *client
	id       string
}

// bulkView is what GET /bulks/{bulkId} answers.
type bulkView struct {
	BulkID string         `json:"bulkId"`
	Status string         `json:"status"`
	Total  int            `json:"total"`
	Counts map[string]int `json:"counts"`
}

func (v *bulkView) settled() int { return v.Total - v.Counts["pending"] }

// bulkItem is one of its items.
type bulkItem struct {
	ExecutionID string `json:"executionId"`
	Status      string `json:"status"`
	Result      struct {
		CancelSeq uint64 `json:"cancelSeq"`
	} `json:"result"`
}

// create makes executions.
func (b *bulkRun) create(n int) []string {
	b.t.Helper()
	var ids []string
	for n > len(ids) {
		var part []*request
		for range min(400, n-len(ids)) {
			part = append(part, b.c.request("CreateExecution", "", "", `"graphId":"line","start":true`))
		}
		if err := b.c.batch(b.t.Context(), part...); err != nil {
			b.t.Fatal(err)
		}
		for _, r := range part {
			ids = append(ids, r.reply().ExecutionID)
		}
	}
	return ids
}

// send repeats a POST with its key until it is answered.
func (b *bulkRun) send(path, key, body string) (v bulkView) {
	b.t.Helper()
	for began := time.Now(); ; {
		got, err := b.c.call(b.t.Context(), http.MethodPost, path, key, "bulk-test", body)
		switch {
		case err == nil && (got.status == http.StatusAccepted || got.status == http.StatusOK):
			if err := json.Unmarshal([]byte(got.body), &v); err != nil {
				b.t.Fatal(err)
			}
			return v
		case err == nil && !got.later(), err != nil && !errors.Is(err, errUnanswered), time.Since(began) > maxWait:
			b.t.Fatalf("POST %s: %d %s %v", path, got.status, got.body, err)
		}
	}
}

// freeze asks for the bulk and waits for its preview.
func (b *bulkRun) freeze() {
	b.t.Helper()
	b.id = b.send("/bulks", "bulk", `{"command":"cancel","filter":{"graphId":"line"},"reason":"the bulk"}`).BulkID
	v := b.await(func(v bulkView) bool { return v.Status != "FREEZING" })
	if v.Status != "PREVIEW" || v.Total != bulkSize || v.settled() != 0 {
		b.t.Fatalf("the preview is %+v", v)
	}
}

func (b *bulkRun) order(action string) {
	b.t.Helper()
	b.send("/bulks/"+b.id+"/"+action, action, "")
}

// await reads the bulk until it is as it should be.
func (b *bulkRun) await(is func(bulkView) bool) (v bulkView) {
	b.t.Helper()
	for began := time.Now(); ; {
		v = bulkView{}
		if b.c.get("/bulks/"+b.id, &v) == http.StatusOK && is(v) {
			return v
		}
		if time.Since(began) > 2*maxWait { // a lease may have to run out first
			b.t.Fatalf("the bulk is still %+v\n%s", v, b.logs())
		}
	}
}

// some picks executions of the set.
func (b *bulkRun) some(set []string) []string {
	picked := make([]string, bulkRivals)
	for i, n := range b.rand.Perm(len(set))[:bulkRivals] {
		picked[i] = set[n]
	}
	return picked
}

// race cancels executions that the bulk is to cancel too, as fast as the bulk does: some come
// before it and some after.
func (b *bulkRun) race(ids []string) {
	ctx, cancel := context.WithTimeout(b.t.Context(), 4*maxWait)
	defer cancel()
	sent := 0
	for part := range slices.Chunk(ids, 10) {
		var v bulkView
		for ctx.Err() == nil && v.Status != "DONE" && v.settled()*len(ids) <= sent*bulkSize {
			pause(10 * time.Millisecond)
			b.rival.get("/bulks/"+b.id, &v)
		}
		sent += len(part)
		var rs []*request
		for _, id := range part {
			rs = append(rs, b.rival.request("CancelExecution", id, "", `"reason":"the rival"`))
		}
		if err := b.rival.batch(ctx, rs...); err != nil {
			b.t.Error(err)
			return
		}
	}
}

// kill kills a server whenever the bulk has moved on, and gives how many kills came
// while it was running.
func (b *bulkRun) kill() (running int) {
	b.t.Helper()
	steps := 6
	if long() {
		steps = 20
	}
	for i := range steps {
		at := (i + 1) * bulkSize / (steps + 2)
		v := b.await(func(v bulkView) bool { return v.settled() >= at || v.Status == "DONE" })
		pause(time.Duration(b.rand.Int64N(int64(15 * time.Millisecond)))) // anywhere in a chunk
		victim := b.rand.IntN(len(b.servers))
		b.servers[victim].signal(syscall.SIGKILL)
		b.lose(victim)
		b.start(victim)
		if v.Status == "RUNNING" { // a moment before the kill
			running++
		}
	}
	return running
}

// check holds every item against its execution.
func (b *bulkRun) check(set []string) {
	b.t.Helper()
	counts, seen := map[string]int{}, map[string]bool{}
	for page := 1; ; page++ {
		var got struct {
			Items []bulkItem `json:"items"`
		}
		if code := b.c.get(fmt.Sprintf("/bulks/%s/items?page_size=100&page=%d", b.id, page),
			&got); code != http.StatusOK {
			b.t.Fatalf("items: %d", code)
		}
		for _, it := range got.Items {
			counts[it.Status]++
			seen[it.ExecutionID] = true
			b.prove(it)
		}
		if len(got.Items) == 0 {
			break
		}
	}
	for _, id := range set {
		if !seen[id] {
			b.t.Errorf("execution %s is not among the items", id)
		}
	}
	v := b.await(func(v bulkView) bool { return v.Status == "DONE" })
	want := map[string]int{
		"pending": 0, "applied": counts["APPLIED"], "already": counts["ALREADY"], "refused": counts["REFUSED"],
		"failed": counts["FAILED"],
	}
	if fmt.Sprint(v.Counts) != fmt.Sprint(want) || len(seen) != bulkSize || counts["APPLIED"]+
		counts["ALREADY"] != bulkSize {
		b.t.Errorf("the bulk says %v, its %d items %v", v.Counts, len(seen), want)
	}
	b.t.Logf("%v", counts)
	if counts["ALREADY"] == 0 || counts["ALREADY"] == bulkRivals {
		b.t.Errorf("too weak: %v", counts)
	}
}

// prove compares the result of an item with what the log of its execution says about
// who cancelled it, and where.
func (b *bulkRun) prove(it bulkItem) {
	b.t.Helper()
	var v struct {
		Status string `json:"status"`
		Cancel struct {
			Seq    uint64 `json:"seq"`
			Reason string `json:"reason"`
		} `json:"cancel"`
	}
	if code := b.c.get("/executions/"+it.ExecutionID, &v); code != http.StatusOK {
		b.t.Fatalf("execution %s: %d", it.ExecutionID, code)
	}
	by := map[string]string{"APPLIED": "the bulk", "ALREADY": "the rival"}[it.Status]
	if v.Status != "CANCELED" || v.Cancel.Seq != it.Result.CancelSeq || v.Cancel.Reason != cmp.Or(by, "nobody") {
		b.t.Errorf("item %+v, but the execution says %+v", it, v)
	}
}
