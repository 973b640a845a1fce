package test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	sdk "renga.dev/renga/client"
)

// TestWhatWasCreatedIsFoundByItsLabelsAtOnce creates executions with labels. As soon as a creation is accepted, a list
// by one of its labels, from another process on PostgreSQL, has that execution, and counts it.
func TestWhatWasCreatedIsFoundByItsLabelsAtOnce(t *testing.T) {
	n := 300
	if long() {
		n = 10_000
	}
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
	if _, err := clients[0].Graphs.Put(t.Context(), "hold", []byte(`{"nodes":[{"nodeId":"start","type":"Start"},
		{"nodeId":"wait","type":"Wait"},{"nodeId":"done","type":"Success"}],
		"edges":[{"from":"start","to":"wait"},{"from":"wait","to":"done"}]}`)); err != nil {
		t.Fatal(err)
	}
	var next, found atomic.Int64
	var hands sync.WaitGroup
	for range 16 {
		hands.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && !t.Failed(); i = int(next.Add(1)) - 1 {
				writer, reader := clients[i%len(clients)], clients[(i+1)%len(clients)]
				order := fmt.Sprint("A-", i)
				made, err := writer.Send(t.Context(), sdk.CreateExecution{
					GraphID: "hold", Start: i%2 == 0, Labels: map[string]string{"order": order, "region": "north"},
				})
				if err != nil {
					t.Error(err)
					return
				}
				page, err := reader.Executions.List(t.Context(),
					sdk.ExecutionFilter{Labels: map[string]string{"order": order}}, sdk.Paging{})
				if err != nil {
					t.Error(err)
					return
				}
				if page.Total != 1 || len(page.Items) != 1 || page.Items[0].ExecutionID != made.ExecutionID {
					t.Errorf("execution %s was created and not found by its label %s: %+v", made.ExecutionID, order,
						page)
					return
				}
				found.Add(1)
			}
		})
	}
	hands.Wait()
	page, err := clients[0].Executions.List(t.Context(),
		sdk.ExecutionFilter{Labels: map[string]string{"region": "north"}}, sdk.Paging{Size: 10})
	if err != nil || page.Total != n || found.Load() != int64(n) {
		t.Errorf("%d of %d were found by a label of their own, %+v by one of all (%v)", found.Load(), n, page, err)
	}
	t.Logf("%d of %d were found at once", found.Load(), n)
	for i, s := range servers {
		clients[i].Close()
		s.stop()
	}
}
