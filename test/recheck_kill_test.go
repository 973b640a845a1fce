package test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	sdk "renga.dev/renga/client"
	"renga.dev/renga/test/tier"
)

// TestNoCheckIsLostOrAppliedTwiceWhenProcessesAreKilled has platforms ask for re-checks,
// some of which they cancel, and workers do them, while the processes are killed: one on
// SQLite, two in turn on PostgreSQL. Afterwards every request that was answered has come
// to its end, no batch of any was run twice, and every strategy has what was found out
// about it.
func TestNoCheckIsLostOrAppliedTwiceWhenProcessesAreKilled(t *testing.T) {
	tier.System(t)
	kills := 5
	if long() {
		kills = 80
	}
	k := newRecheckKill(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills)*4*time.Second+2*time.Minute)
	defer cancel()
	working, rest := context.WithCancel(ctx)
	var workers, platforms sync.WaitGroup
	for i := range 2 {
		workers.Go(func() { k.work(working, i) })
	}
	var enough atomic.Bool
	for i := range 4 {
		platforms.Go(func() { k.ask(ctx, i, &enough) })
	}
	random := rand.New(rand.NewPCG(11, uint64(kills)))
	for range kills {
		pause(time.Duration(200+random.IntN(600)) * time.Millisecond) // anywhere among the batches
		victim := random.IntN(len(k.servers))
		k.home.close(victim)
		k.servers[victim].kill()
		k.start(victim)
	}
	enough.Store(true)
	platforms.Wait()
	k.audit(ctx)
	rest()
	workers.Wait()
	t.Logf("%d kills: %d requests, of which %d were canceled; %d results", kills, len(k.asked), k.canceled,
		k.results.Load())
	if want := kills * 4; len(k.asked) < want || k.canceled == 0 {
		t.Errorf("too weak: %d requests, %d canceled, want at least %d and 1", len(k.asked), k.canceled, want)
	}
	for _, s := range k.servers {
		s.stop()
	}
	verify(t, k.sites[0])
}

// recheckKill is one run of the test.
type recheckKill struct {
	t        *testing.T
	sites    []site
	servers  []*child
	home     *home
	results  atomic.Int64
	mu       sync.Mutex
	asked    map[string]bool // ids of requests, and whether a cancel was answered 202
	canceled int
}

const recheckStrategies = 12

func newRecheckKill(t *testing.T) *recheckKill {
	at := newSite(t)
	at.env = []string{"RENGA_RATES=pdca.recheck=unlimited,pdca.read=unlimited"}
	k := &recheckKill{t: t, sites: []site{at}, asked: map[string]bool{}}
	if postgres() {
		k.sites = append(k.sites, at.beside(t))
	}
	k.servers, k.home = make([]*child, len(k.sites)), newHome(len(k.sites))
	for i := range k.sites {
		k.start(i)
	}
	c := k.client(0)
	for n := range recheckStrategies {
		if _, _, err := c.Strategies.Put(t.Context(), strategyName(n), sdk.StrategyDraft{Name: "n"}); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

func strategyName(n int) string { return fmt.Sprintf("s%02d", n) }

func (k *recheckKill) start(i int) {
	k.t.Helper()
	k.servers[i] = serve(k.t, k.sites[i])
	k.home.open(i, k.servers[i].url)
}

// client sends until it is answered, to whichever process is there.
func (k *recheckKill) client(i int) *sdk.Client {
	return sdk.New(sdk.Config{
		URL: "http://127.0.0.1", HTTP: &http.Client{Transport: homeward{k.home, i}},
		RetryFor: sdk.Forever,
	})
}

// homeward sends requests to a process that is there.
type homeward struct {
	home  *home
	first int
}

func (h homeward) RoundTrip(req *http.Request) (*http.Response, error) {
	there, err := h.home.find(req.Context(), h.first)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(there)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.URL.Host, req.Host = at.Host, at.Host
	return http.DefaultTransport.RoundTrip(req)
}

// work checks strategies: what it finds out names the request, so that it can be told
// where a strategy has its figures from.
func (k *recheckKill) work(ctx context.Context, i int) {
	w := &sdk.Worker{
		Client: k.client(i), Queues: []string{sdk.RecheckQueue}, Lease: 5 * time.Second, Concurrency: 4,
		Log: slog.New(slog.DiscardHandler),
		Handle: sdk.RecheckHandler(func(_ context.Context, r sdk.RecheckTask) (*sdk.RecheckResult, error) {
			k.results.Add(1)
			return &sdk.RecheckResult{Health: sdk.Healthy, Metrics: map[string]any{"of": r.RequestID}}, nil
		}),
	}
	_ = w.Run(ctx) // a result that could not be sent belongs to a process that was killed
}

// ask sends requests of several batches, and cancels every fourth, until it is enough.
func (k *recheckKill) ask(ctx context.Context, i int, enough *atomic.Bool) {
	c := k.client(i)
	random := rand.New(rand.NewPCG(uint64(i), 5))
	for n := 0; !enough.Load() && ctx.Err() == nil; n++ {
		var ids []string
		for _, s := range random.Perm(recheckStrategies)[:5] {
			ids = append(ids, strategyName(s))
		}
		got, err := c.Rechecks.Request(ctx, ids, sdk.RecheckOrder{
			Key: uuid.NewString(), Window: sdk.RecheckWindow{LookbackDays: 7}, Reason: "kill", BatchSize: 2,
		})
		if err != nil {
			k.t.Errorf("a request was not answered: %v", err)
			return
		}
		stopped := false
		if n%4 == 3 {
			pause(time.Duration(random.IntN(20)) * time.Millisecond)
			end, err := c.Rechecks.Cancel(ctx, got.RequestID, "enough", uuid.NewString())
			if err != nil {
				k.t.Errorf("a cancel was not answered: %v", err)
				return
			}
			stopped = end.Status == sdk.RecheckCanceled
		}
		k.mu.Lock()
		k.asked[got.RequestID] = stopped
		if stopped {
			k.canceled++
		}
		k.mu.Unlock()
		pause(10 * time.Millisecond)
	}
}

// audit waits for all requests to end and holds them, their executions and the strategies
// against each other.
func (k *recheckKill) audit(ctx context.Context) {
	k.t.Helper()
	c := k.client(0)
	for id, stopped := range k.asked {
		p := k.end(ctx, c, id)
		want := sdk.RecheckSucceeded
		if stopped {
			want = sdk.RecheckCanceled
		}
		if p.Status != want || p.Counts.Succeeded+p.Counts.Canceled != p.Total || !stopped &&
			p.Counts.Succeeded != p.Total {
			k.t.Errorf("request %s: got %s with %+v, want %s", id, p.Status, p.Counts, want)
		}
	}
	batches := map[string]bool{}
	for page := 1; ; page++ {
		list, err := c.Executions.List(ctx, sdk.ExecutionFilter{}, sdk.Paging{Page: page, Size: sdk.MaxPageSize})
		if err != nil {
			k.t.Fatal(err)
		}
		for _, head := range list.Items {
			k.batch(ctx, c, head.ExecutionID, batches)
		}
		if page*sdk.MaxPageSize >= list.Total {
			break
		}
	}
	all, err := c.Strategies.List(ctx, sdk.StrategyFilter{}, sdk.Paging{})
	if err != nil {
		k.t.Fatal(err)
	}
	for _, s := range all.Items {
		var metrics struct {
			Of string `json:"of"`
		}
		if err := json.Unmarshal(s.Metrics, &metrics); err != nil || s.LastCheckedAt == nil || s.Health != sdk.Healthy {
			k.t.Errorf("strategy %s never got its checks: %+v (%v)", s.ID, s, err)
		}
		if _, known := k.asked[metrics.Of]; !known {
			k.t.Errorf("strategy %s has figures of %q, which nobody asked for", s.ID, metrics.Of)
		}
	}
}

// end reads a request when it has ended and all of it is written down.
func (k *recheckKill) end(ctx context.Context, c *sdk.Client, id string) *sdk.RecheckProgress {
	k.t.Helper()
	for {
		p, err := c.Rechecks.Get(ctx, id, sdk.Paging{})
		if err != nil {
			k.t.Fatalf("request %s was answered and is gone: %v", id, err)
		}
		if p.Status.Ended() && p.Counts.Queued+p.Counts.Running == 0 {
			return p
		}
		pause(20 * time.Millisecond)
	}
}

// batch notes which batch of which request an execution ran: none may be there twice.
func (k *recheckKill) batch(ctx context.Context, c *sdk.Client, id string, batches map[string]bool) {
	k.t.Helper()
	e, err := c.Executions.Get(ctx, id)
	if err != nil {
		k.t.Fatal(err)
	}
	var in struct {
		RequestID string `json:"request_id"`
		Batch     int    `json:"batch"`
	}
	if err := json.Unmarshal(e.Input, &in); err != nil {
		k.t.Fatal(err)
	}
	name := fmt.Sprintf("batch %d of request %s", in.Batch, in.RequestID)
	if batches[name] {
		k.t.Errorf("%s was run twice", name)
	}
	batches[name] = true
	if _, known := k.asked[in.RequestID]; !known {
		k.t.Errorf("execution %s is of a request that no answer named", id)
	}
}
