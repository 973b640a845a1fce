package test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// rig is one server or several on one database, and the hands that work with them.
// A server may go and come back; the hands go on.
type rig struct {
	t       *testing.T
	sites   []site
	home    *home
	stress  *stress
	servers []*child // one for every site
	hands   []*hand
	others  []*request // answered to somebody else
}

// newRig starts a server at every site and brings n hands.
func newRig(t *testing.T, n int, sites ...site) *rig {
	r := &rig{t: t, sites: sites, home: newHome(len(sites)), stress: newStress(), servers: make([]*child, len(sites))}
	for i := range sites {
		r.start(i)
	}
	for i := range n {
		r.hands = append(r.hands, newHand(newClientAt(t, r.home, fmt.Sprintf("hand%d", i), r.stress), uint64(i)))
	}
	for name, graph := range graphs {
		r.hands[0].put(name, graph)
	}
	return r
}

// start starts the server of a site and tells the hands where it is.
func (r *rig) start(i int) {
	r.t.Helper()
	r.servers[i] = serve(r.t, r.sites[i])
	r.home.open(i, r.servers[i].url)
}

// lose tells the hands that the server of a site is gone, and waits until it is.
func (r *rig) lose(i int) {
	r.home.close(i)
	<-r.servers[i].ended
}

// logs is the end of what the servers logged.
func (r *rig) logs() string {
	var all strings.Builder
	for _, server := range r.servers {
		fmt.Fprintf(&all, "%s:\n%s", server.url, server.log)
	}
	return all.String()
}

// work lets the hands work until the function that it gives is called; that one
// waits until all they began is answered.
func (r *rig) work() (enough func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	isDone := func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	var wg sync.WaitGroup
	for _, h := range r.hands {
		wg.Go(func() { h.run(ctx, isDone) })
	}
	return sync.OnceFunc(func() {
		close(done)
		if r.t.Failed() {
			cancel() // there may be no server to answer
		}
		wg.Wait()
		cancel()
	})
}

const maxWait = 2 * time.Minute // for anything that should come soon

// answers waits for so many more answers and gives how many there were before.
func (r *rig) answers(n int64) (before int64) {
	before = r.stress.answered.Load()
	r.stress.target.Store(before + n)
	late := time.After(maxWait)
	look := time.NewTicker(50 * time.Millisecond) // the hands stop when one of them finds something wrong
	defer look.Stop()
	for !r.t.Failed() {
		select {
		case <-r.stress.reached:
			return before
		case <-look.C:
		case <-late:
			r.t.Errorf("too weak: only %d answers in %v", r.stress.answered.Load()-before, maxWait)
		}
	}
	return before
}

// clear finishes everything: whatever was started can be brought to an end.
func (r *rig) clear() {
	r.t.Helper()
	if r.t.Failed() {
		r.t.Fatalf("the logs of the last servers:\n%s", r.logs())
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), maxWait)
	defer cancel()
	var wg sync.WaitGroup
	for _, h := range r.hands {
		wg.Go(func() { h.layDown(ctx) })
	}
	wg.Wait()
	r.hands[0].clear(ctx)
	if left := r.hands[0].list("ACTIVE"); len(left) > 0 {
		r.t.Errorf("%d executions cannot be finished, such as %+v\n%s", len(left), left[0], r.logs())
	}
}

// audit holds ledger and log against each other, asks for every answer again, and
// expects that nothing has come of that.
func (r *rig) audit() *books {
	r.t.Helper()
	ledger := slices.Clone(r.others)
	for _, h := range r.hands {
		ledger = append(ledger, h.ledger...)
	}
	reader := r.hands[0].client
	b := openBooks(r.t, reader, ledger)
	b.check()
	created := map[string]string{}
	for _, q := range ledger {
		if q.command == "CreateExecution" {
			created[q.reply().ExecutionID] = q.key
		}
	}
	if keys := slices.Compact(slices.Sorted(maps.Values(created))); len(created) != len(b.logs) ||
		len(keys) != len(b.logs) {
		r.t.Errorf("%d keys created %d executions, there are %d", len(keys), len(created), len(b.logs))
	}
	r.repeatAll(ledger)
	after := openBooks(r.t, reader, ledger)
	for id, log := range b.logs {
		if len(after.logs[id]) != len(log) {
			r.t.Errorf("execution %s had %d events; after all requests were sent again it has %d", id, len(log),
				len(after.logs[id]))
		}
	}
	return b
}

// repeatAll sends every request of a ledger again.
func (r *rig) repeatAll(ledger []*request) {
	reader := r.hands[0].client
	var rest []*request
	for _, q := range ledger {
		if q.command != claim {
			rest = append(rest, q)
		} else if len(q.reply().Tasks) > 0 { // an empty claim is not remembered
			if err := reader.repeat(r.t.Context(), q); err != nil {
				r.t.Error(err)
			}
		}
	}
	for len(rest) > 0 {
		n, size := 0, 0
		for n < len(rest) && n < 400 && size < 4<<20 {
			size += len(rest[n].members)
			n++
		}
		if err := reader.repeat(r.t.Context(), rest[:n]...); err != nil {
			r.t.Error(err)
		}
		rest = rest[n:]
	}
}

// end stops the servers and lets the log prove itself.
func (r *rig) end() (verified string) {
	r.t.Helper()
	for _, server := range r.servers {
		server.stop()
	}
	verified = verify(r.t, r.sites[0])
	r.t.Log("renga verify: " + verified)
	return verified
}
