package test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	sdk "renga.dev/renga/client"
	"renga.dev/renga/test/tier"
)

// TestOneOfManyCreationsHasTheBusinessKey lets many callers create executions with one business key at once, on one
// process or, on PostgreSQL, two: one of them has it, and the others are told which. When that one is cancelled while
// others ask for its key, at most one of these has it.
func TestOneOfManyCreationsHasTheBusinessKey(t *testing.T) {
	tier.System(t)
	const keys, callers = 40, 16
	at := newSite(t)
	sites := []site{at}
	if at.database != "" {
		sites = append(sites, at.beside(t))
	}
	var servers []*child
	var clients []*sdk.Client
	for _, s := range sites {
		servers = append(servers, serve(t, s))
		clients = append(clients, sdk.New(sdk.Config{URL: servers[len(servers)-1].url}))
	}
	k := keyRace{t: t, clients: clients}
	if _, err := clients[0].Graphs.Put(t.Context(), "hold", []byte(`{"nodes":[{"nodeId":"start","type":"Start"},
		{"nodeId":"wait","type":"Wait"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"wait"},{"from":"wait","to":"done"}]}`)); err != nil {
		t.Fatal(err)
	}
	inherited := 0
	for n := range keys {
		key := fmt.Sprint("K-", n)
		made, holders := k.race(key, callers, "")
		if len(made) != 1 || len(holders) != 1 || holders[made[0]] != callers-1 || k.active(key) != 1 {
			t.Fatalf("%s: %d executions were created; the refusals name %v", key, len(made), holders)
		}
		again, _ := k.race(key, callers, made[0])
		if len(again) > 1 || k.active(key) != len(again) {
			t.Fatalf("%s: %d executions were created after a cancel, and %d are active", key, len(again), k.active(key))
		}
		inherited += len(again)
	}
	t.Logf("%d of %d keys had another execution at once", inherited, keys)
	if inherited == 0 {
		t.Error("too weak: nobody got the key of an execution that was cancelled meanwhile")
	}
	for i, s := range servers {
		clients[i].Close()
		s.stop()
	}
	verify(t, at)
}

// keyRace is callers that want one business key.
type keyRace struct {
	t       *testing.T
	clients []*sdk.Client // one for each process
}

// race lets callers create executions with a key while the one before is cancelled, if there is one. It gives those
// that were created, and how many refusals name each execution.
func (k keyRace) race(key string, callers int, before string) (made []string, holders map[string]int) {
	k.t.Helper()
	holders = map[string]int{}
	var mu sync.Mutex
	var hands sync.WaitGroup
	start := make(chan struct{})
	for n := range callers {
		hands.Go(func() {
			<-start
			c := k.clients[n%len(k.clients)]
			if before != "" && n == callers/2 {
				if _, err := c.Send(k.t.Context(), sdk.CancelExecution{ExecutionID: before}); err != nil {
					k.t.Error(err)
				}
				return
			}
			answer, err := c.Send(k.t.Context(), sdk.CreateExecution{GraphID: "hold", BusinessKey: key, Start: true})
			refused := (*sdk.Error)(nil)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made = append(made, answer.ExecutionID)
			case errors.As(err, &refused) && refused.Status == http.StatusConflict:
				holders[refused.ExecutionID]++
			default:
				k.t.Error(err)
			}
		})
	}
	close(start)
	hands.Wait()
	return made, holders
}

// active is how many active executions have a key.
func (k keyRace) active(key string) int {
	k.t.Helper()
	page, err := k.clients[0].Executions.List(k.t.Context(),
		sdk.ExecutionFilter{Status: []sdk.Status{sdk.Active}, GraphID: "hold", BusinessKey: key}, sdk.Paging{})
	if err != nil {
		k.t.Fatal(err)
	}
	return page.Total
}
