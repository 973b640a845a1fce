package test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "renga.dev/renga/client"
	"renga.dev/renga/test/tier"
)

// TestEveryWaitIsResumedOnceHoweverMessagesRaceThroughKills lets executions wait for a message that is sent twice,
// before, while or after they begin to wait, by clients that repeat what was not answered, to one process or, on
// PostgreSQL, two, that are killed again and again. In the end every execution has its message, and every message one
// execution.
func TestEveryWaitIsResumedOnceHoweverMessagesRaceThroughKills(t *testing.T) {
	tier.System(t)
	n := 1_000
	if long() {
		n = 10_000
	}
	if of := os.Getenv("RENGA_TEST_MESSAGES"); of != "" { // for machines that bear less, or more
		n, _ = strconv.Atoi(of)
	}
	at := newSite(t)
	r := &messageRaces{t: t, sites: []site{at}, executions: make([]string, n)}
	r.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	defer r.http.CloseIdleConnections()
	if at.database != "" {
		r.sites = append(r.sites, at.beside(t))
	}
	r.urls = make([]atomic.Value, len(r.sites))
	servers := make([]*child, len(r.sites))
	for i, s := range r.sites {
		servers[i] = serve(t, s)
		r.urls[i].Store(servers[i].url)
	}
	r.do(func(ctx context.Context, c *sdk.Client) error {
		_, err := c.Graphs.Put(ctx, "order", []byte(`{"nodes":[{"nodeId":"start","type":"Start"},
			{"nodeId":"paid","type":"Wait","message":{"name":"paid","key":"input.orderId"},"schema":{"required":["n"]}},
			{"nodeId":"done","type":"Success"}],"edges":[{"from":"start","to":"paid"},{"from":"paid","to":"done"}]}`))
		return err
	})
	began := time.Now()
	var hands sync.WaitGroup
	for range 16 {
		hands.Go(func() {
			for i := int(r.next.Add(1)) - 1; i < n && !t.Failed(); i = int(r.next.Add(1)) - 1 {
				r.race(i)
			}
		})
	}
	const kills = 8
	for k := range kills {
		for r.next.Load() < int64((k+1)*n/(kills+1)) && !t.Failed() {
			pause(time.Millisecond)
		}
		victim := k % len(servers)
		servers[victim].kill()
		servers[victim] = serve(t, r.sites[victim])
		r.urls[victim].Store(servers[victim].url)
	}
	hands.Wait()
	sent := time.Since(began)
	r.ended()
	t.Logf("%d waits, each message sent twice, %d processes, %d kills: sent in %v, all resumed after %v", n,
		len(servers), kills, sent.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	r.audit()
	for _, s := range servers {
		s.stop()
	}
	verify(t, at)
}

// messageRaces is executions and messages on their way to each other.
type messageRaces struct {
	t          *testing.T
	sites      []site
	urls       []atomic.Value // of the servers that run
	http       *http.Client   // of all clients
	next       atomic.Int64
	executions []string
}

// do repeats a request, of one key, on whatever server runs until one answers.
func (r *messageRaces) do(request func(ctx context.Context, c *sdk.Client) error) {
	ctx := r.t.Context()
	for ctx.Err() == nil {
		c := sdk.New(sdk.Config{
			URL: r.urls[rand.IntN(len(r.urls))].Load().(string), RetryFor: time.Millisecond, HTTP: r.http,
		})
		err := request(ctx, c)
		if err == nil {
			return
		}
		if refused := (*sdk.Error)(nil); errors.As(err, &refused) && refused.Status != 0 && refused.Status < 500 {
			r.t.Error(err)
			return
		}
		pause(10 * time.Millisecond)
	}
}

// race lets one execution and its message meet.
func (r *messageRaces) race(i int) {
	key := fmt.Sprintf("o-%d", i)
	start := func() {
		r.do(func(ctx context.Context, c *sdk.Client) error {
			answer, err := c.Send(ctx, sdk.CreateExecution{
				Key: key, GraphID: "order", Start: true, Input: map[string]any{"orderId": key},
			})
			r.executions[i] = answer.ExecutionID
			return err
		})
	}
	send := func() {
		for again := range 2 {
			r.do(func(ctx context.Context, c *sdk.Client) error {
				_, err := c.Messages.Send(ctx, sdk.SendMessage{
					Key: fmt.Sprintf("%s-%d", key, again), MessageID: "pay-" + key, Name: "paid", MessageKey: key,
					Payload: map[string]any{"n": i},
				})
				return err
			})
		}
	}
	switch i % 3 {
	case 0:
		send()
		start()
	case 1:
		var both sync.WaitGroup
		both.Go(send)
		start()
		both.Wait()
	default:
		start()
		send()
	}
}

// ended waits until all executions have completed.
func (r *messageRaces) ended() {
	total := func(status sdk.Status) (total int) {
		r.do(func(ctx context.Context, c *sdk.Client) error {
			page, err := c.Executions.List(ctx, sdk.ExecutionFilter{Status: []sdk.Status{status}}, sdk.Paging{Size: 10})
			if err == nil {
				total = page.Total
			}
			return err
		})
		return total
	}
	eventually(r.t, "the end of all executions", 3*time.Minute, func() bool { return total(sdk.Active) == 0 })
	if got, want := total(sdk.Completed), len(r.executions); got != want {
		r.t.Errorf("%d executions have completed, want %d", got, want)
	}
}

// audit looks at each execution and its message.
func (r *messageRaces) audit() {
	r.next.Store(0)
	var hands sync.WaitGroup
	for range 8 {
		hands.Go(func() {
			for i := int(r.next.Add(1)) - 1; i < len(r.executions) && !r.t.Failed(); i = int(r.next.Add(1)) - 1 {
				r.look(i)
			}
		})
	}
	hands.Wait()
}

// look compares an execution with its message.
func (r *messageRaces) look(i int) {
	id := r.executions[i]
	r.do(func(ctx context.Context, c *sdk.Client) error {
		m, err := c.Messages.Get(ctx, fmt.Sprintf("pay-o-%d", i))
		if err != nil {
			return err
		}
		if m.State != sdk.MessageResumed || len(m.Deliveries) != 1 || m.Deliveries[0].ExecutionID != id ||
			m.Deliveries[0].Reason != "" {
			r.t.Errorf("message %d of execution %s: %+v", i, id, m)
		}
		e, err := c.Executions.Get(ctx, id)
		if err != nil {
			return err
		}
		if got := string(e.Node("paid").Output); got != fmt.Sprintf(`{"n":%d}`, i) {
			r.t.Errorf("execution %d was resumed with %s", i, got)
		}
		return nil
	})
}
