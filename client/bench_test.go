package client_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"renga.dev/renga/client"
)

// BenchmarkWorker works executions of ten tasks in a row, with server and worker in
// one process: what a Task costs when the work itself costs nothing.
func BenchmarkWorker(b *testing.B) {
	for _, concurrency := range []int{8, 100, 400} {
		b.Run(fmt.Sprint(concurrency), func(b *testing.B) {
			s := newServer(b)
			p := &counter{}
			c := client.New(client.Config{URL: s.url, HTTP: p.client()})
			ctx := context.Background()
			const tasks = 10
			var names []string
			for i := range tasks {
				names = append(names, fmt.Sprintf("t%d", i))
			}
			must[client.GraphVersion](b)(c.Graphs.Put(ctx, "g", line("default", names...)))
			var cmds []client.Command
			for range max(1, b.N/tasks) {
				cmds = append(cmds, client.CreateExecution{GraphID: "g", Start: true})
			}
			must[[]client.Result](b)(c.SendAll(ctx, cmds))
			working, stop := context.WithCancel(ctx)
			defer stop()
			var left atomic.Int64
			left.Store(int64(len(cmds) * tasks))
			w := client.Worker{Client: c, Concurrency: concurrency, Log: quiet, Handle: func(context.Context,
				*client.Task,
			) (any, error) {
				if left.Add(-1) == 0 {
					b.StopTimer()
					stop()
				}
				return nil, nil
			}}
			p.requests.Store(0)
			b.ResetTimer()
			if err := w.Run(working); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(cmds)*tasks)/b.Elapsed().Seconds(), "tasks/s")
			b.ReportMetric(float64(len(cmds)*tasks)/float64(p.requests.Load()), "tasks/request")
			p.transport.CloseIdleConnections()
		})
	}
}

// counter counts requests.
type counter struct {
	requests  atomic.Int64
	transport http.Transport
}

func (c *counter) client() *http.Client {
	c.transport.MaxIdleConnsPerHost = 64
	return &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
		c.requests.Add(1)
		return c.transport.RoundTrip(r)
	})}
}
