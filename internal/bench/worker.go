package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// worker creates executions and works them, as one process over HTTP.
type worker struct {
	url     string
	servers []*server
	conns   int
	batch   int
	client  *http.Client
	key     *atomic.Int64 // makes keys: each is used once
	id      string
	found   bool // executions get a business key and eight labels
}

func newWorker(conns, batch int, servers ...*server) *worker {
	return &worker{
		url: servers[0].url, servers: servers, conns: conns, batch: batch,
		key: new(atomic.Int64), id: strconv.FormatInt(time.Now().UnixNano(), 36),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * conns, DisableCompression: true}},
	}
}

// on is the worker with one of its connections: they take the servers in turn.
func (w *worker) on(conn int) *worker {
	one := *w
	one.url = w.servers[conn%len(w.servers)].url
	return &one
}

// task is work in the hands of the worker.
type task struct {
	ExecutionID string `json:"executionId"`
	NodeID      string `json:"nodeId"`
	Attempt     int    `json:"attempt"`
}

// result is the part of an answer that the worker looks at.
type result struct {
	Status      int            `json:"status"`
	ExecutionID string         `json:"executionId"`
	Task        *task          `json:"task"`
	Tasks       []task         `json:"tasks"`
	Error       jsontext.Value `json:"error"`
}

func (w *worker) nextKey(dst []byte) []byte {
	dst = append(dst, w.id...)
	dst = append(dst, '-')
	return strconv.AppendInt(dst, w.key.Add(1), 36)
}

// errWorked ends the connections that still wait for tasks when all are done.
var errWorked = errors.New("all tasks are worked")

// run creates and works n executions and gives the time from the first request
// to the last answer.
func (w *worker) run(ctx context.Context, n, tasks int) (time.Duration, error) {
	began := time.Now()
	var left, done atomic.Int64
	left.Store(int64(n))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	for conn := range w.conns {
		wg.Go(func() {
			err := w.on(conn).loop(ctx, &left, &done, n*tasks)
			if done.Load() == int64(n*tasks) {
				err = errWorked
			}
			stop(err)
		})
	}
	<-ctx.Done()
	took := time.Since(began)
	wg.Wait()
	if err := context.Cause(ctx); err != errWorked {
		return 0, fmt.Errorf("%d of %d tasks were worked: %w", done.Load(), n*tasks, err)
	}
	return took, nil
}

// loop is one connection: it creates and starts a batch of executions, claims
// their first tasks and works until they have ended, and begins again.
func (w *worker) loop(ctx context.Context, left, done *atomic.Int64, total int) error {
	for done.Load() < int64(total) && ctx.Err() == nil {
		n := reserve(left, w.batch)
		if n > 0 {
			if err := w.create(ctx, n); err != nil {
				return err
			}
		}
		held, err := w.claim(ctx, min(100, w.batch), n == 0)
		if err != nil {
			return err
		}
		for len(held) > 0 {
			finished := len(held)
			if held, err = w.complete(ctx, held); err != nil {
				return err
			}
			if done.Add(int64(finished)) == int64(total) {
				return nil
			}
			if room := w.batch - len(held); room >= w.batch/2 && done.Load() < int64(total) {
				more, err := w.claim(ctx, min(100, room), false)
				if err != nil {
					return err
				}
				held = append(held, more...)
			}
		}
	}
	return nil
}

func reserve(left *atomic.Int64, most int) int {
	for {
		have := left.Load()
		n := min(have, int64(most))
		if n <= 0 {
			return 0
		}
		if left.CompareAndSwap(have, have-n) {
			return int(n)
		}
	}
}

// create creates and starts executions.
func (w *worker) create(ctx context.Context, n int) error {
	body := []byte(`{"commands":[`)
	for i := range n {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"command":"CreateExecution","graphId":"bench","input":{},"start":true,`+
			`"idempotencyKey":"`...)
		body = append(w.nextKey(body), '"')
		if w.found {
			body = w.foundBy(body)
		}
		body = append(body, '}')
	}
	_, err := w.commands(ctx, append(body, `]}`...))
	return err
}

// foundBy adds what an execution is found by: some of it is its own, some that of many.
func (w *worker) foundBy(body []byte) []byte {
	body = append(body, `,"businessKey":"`...)
	body = append(w.nextKey(body), '"')
	n := w.key.Load()
	return fmt.Appendf(body, `,"labels":{"batch":"%d","channel":"%d","customer":"%d","order":"%d","region":"%d",`+
		`"sku":"%d","tenure":"%d","tier":"%d"}`, n/1000, n%5, n%997, n, n%4, n%101, n%30, n%3)
}

func (w *worker) claim(ctx context.Context, most int, wait bool) ([]task, error) {
	seconds := 0
	if wait {
		seconds = 1
	}
	body := fmt.Appendf(nil, `{"workerId":"bench","queues":["default"],"max":%d,"waitSeconds":%d}`, most, seconds)
	var got struct {
		Tasks []task `json:"tasks"`
	}
	err := w.call(ctx, http.MethodPost, "/tasks/claim", body, http.StatusOK, &got)
	return got.Tasks, err
}

// complete completes tasks and gives those that came next.
func (w *worker) complete(ctx context.Context, held []task) ([]task, error) {
	body := make([]byte, 0, 220*len(held)+32)
	body = append(body, `{"commands":[`...)
	for i, t := range held {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"command":"SucceedNode","executionId":"`...)
		body = append(body, t.ExecutionID...)
		body = append(body, `","nodeId":"`...)
		body = append(body, t.NodeID...)
		body = append(body, `","attempt":`...)
		body = strconv.AppendInt(body, int64(t.Attempt), 10)
		body = append(body, `,"workerId":"bench","output":{},"next":true,"idempotencyKey":"`...)
		body = append(w.nextKey(body), `"}`...)
	}
	results, err := w.commands(ctx, append(body, `]}`...))
	if err != nil {
		return nil, err
	}
	next := held[:0]
	for _, r := range results {
		if r.Task != nil {
			next = append(next, *r.Task)
		}
	}
	return next, nil
}

func (w *worker) commands(ctx context.Context, body []byte) ([]result, error) {
	var got struct {
		Results []result `json:"results"`
	}
	if err := w.call(ctx, http.MethodPost, "/commands", body, http.StatusOK, &got); err != nil {
		return nil, err
	}
	for _, r := range got.Results {
		if r.Status != http.StatusAccepted {
			return nil, fmt.Errorf("a command was answered %d: %s", r.Status, r.Error)
		}
	}
	return got.Results, nil
}

// call sends one request and reads its answer into v.
func (w *worker) call(ctx context.Context, method, path string, body []byte, want int, v any) error {
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPost {
		req.Header.Set("X-Idempotency-Key", string(w.nextKey(nil)))
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != want {
		return fmt.Errorf("%s %s answered %d: %s", method, path, resp.StatusCode, raw)
	}
	return json.Unmarshal(raw, v)
}

// putGraph registers a graph; one that is there already is fine.
func (w *worker) putGraph(ctx context.Context, id string, graph []byte) error {
	var row struct {
		GraphID string `json:"graphId"`
	}
	err := w.call(ctx, http.MethodPut, "/graphs/"+id, graph, http.StatusCreated, &row)
	if err != nil && w.call(ctx, http.MethodPut, "/graphs/"+id, graph, http.StatusOK, &row) == nil {
		return nil
	}
	return err
}

// sequential is a graph of tasks one after the other.
func sequential(tasks int) []byte {
	var nodes, edges bytes.Buffer
	nodes.WriteString(`{"nodeId":"start","type":"Start"}`)
	last := "start"
	for i := range tasks {
		fmt.Fprintf(&nodes, `,{"nodeId":"t%d","type":"Task"}`, i)
		fmt.Fprintf(&edges, `{"from":%q,"to":"t%d"},`, last, i)
		last = fmt.Sprintf("t%d", i)
	}
	nodes.WriteString(`,{"nodeId":"end","type":"Success"}`)
	fmt.Fprintf(&edges, `{"from":%q,"to":"end"}`, last)
	return fmt.Appendf(nil, `{"nodes":[%s],"edges":[%s]}`, nodes.Bytes(), edges.Bytes())
}
