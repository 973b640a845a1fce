package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"
)

// latency measures one execution alone, and cancels, at light load. Each sample
// is followed by one of the bare machine, so that both meet the same noise.
func (c *benchCmd) latency(ctx context.Context, dir string) error {
	srv, err := startServer(ctx, filepath.Join(dir, "server"))
	if err != nil {
		return err
	}
	defer srv.stop()
	w := newBenchWorker(srv.url, 1, 1)
	if err := w.putGraph(ctx, "bench", sequential(c.Tasks)); err != nil {
		return err
	}
	err = withBare(ctx, filepath.Join(dir, "bare"), func(bare *bareRig) error {
		if err := c.alone(ctx, w, bare); err != nil {
			return err
		}
		return c.cancels(ctx, w, bare)
	})
	if err != nil {
		return err
	}
	return srv.stop()
}

// timed is how long f takes.
func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

// inTurn takes samples of two things alternately, after a warm-up.
func inTurn(samples int, first, second func() (time.Duration, error)) (a, b spans, err error) {
	warmup := samples / 10
	for i := range samples + warmup {
		x, err := first()
		if err != nil {
			return nil, nil, err
		}
		y, err := second()
		if err != nil {
			return nil, nil, err
		}
		if i >= warmup {
			a, b = append(a, x), append(b, y)
		}
	}
	return a, b, nil
}

// alone prints the time of one execution from its creation to the answer of its
// last task, beside as many bare commits and echoes as it has tasks.
func (c *benchCmd) alone(ctx context.Context, w *benchWorker, bare *bareRig) error {
	one, base, err := inTurn(300,
		func() (time.Duration, error) { return w.one(ctx, c.Tasks) },
		func() (time.Duration, error) {
			return timed(func() error {
				for range c.Tasks {
					if err := bare.commit(ctx); err != nil {
						return err
					}
					if err := bare.echo(ctx); err != nil {
						return err
					}
				}
				return nil
			})
		})
	if err != nil {
		return err
	}
	fmt.Printf("one alone   p50   %8v for %d tasks, created, started and worked; %d bare commits and echoes %v; ratio %.2f (limit 1.5)\n",
		round(one.at(50)), c.Tasks, c.Tasks, round(base.at(50)), float64(one.at(50))/float64(base.at(50)))
	return nil
}

// cancels prints the time of a cancel beside two bare commits and an echo.
func (c *benchCmd) cancels(ctx context.Context, w *benchWorker, bare *bareRig) error {
	cancel, base, err := inTurn(1000,
		func() (time.Duration, error) { return w.cancelOne(ctx) },
		func() (time.Duration, error) {
			return timed(func() error {
				if err := bare.commit(ctx); err != nil {
					return err
				}
				if err := bare.echo(ctx); err != nil {
					return err
				}
				return bare.commit(ctx)
			})
		})
	if err != nil {
		return err
	}
	fmt.Printf("cancel      p99   %8v (p50 %v); two bare commits and an echo %v (p50 %v); ratio %.2f, at p50 %.2f (limit 1)\n",
		round(cancel.at(99)), round(cancel.at(50)), round(base.at(99)), round(base.at(50)),
		float64(cancel.at(99))/float64(base.at(99)), float64(cancel.at(50))/float64(base.at(50)))
	return nil
}

func (w *benchWorker) post(ctx context.Context, path string, body []byte, v *benchResult) error {
	return w.call(ctx, http.MethodPost, path, body, http.StatusAccepted, v)
}

func (w *benchWorker) one(ctx context.Context, tasks int) (time.Duration, error) {
	claimed := make(chan error, 1)
	var held []benchTask
	began := time.Now()
	var made benchResult
	if err := w.post(ctx, "/executions", []byte(`{"graphId":"bench","input":{}}`), &made); err != nil {
		return 0, err
	}
	go func() {
		var err error
		held, err = w.claim(ctx, 1, true)
		claimed <- err
	}()
	if err := w.post(ctx, "/executions/"+made.ExecutionID+"/start", nil, new(benchResult)); err != nil {
		return 0, err
	}
	if err := <-claimed; err != nil {
		return 0, err
	}
	if len(held) != 1 {
		return 0, fmt.Errorf("%d tasks were claimed, not 1", len(held))
	}
	task := &held[0]
	for i := range tasks {
		var got benchResult
		body := fmt.Appendf(nil, `{"attempt":%d,"workerId":"bench","output":{},"next":true}`, task.Attempt)
		if err := w.post(ctx, "/executions/"+made.ExecutionID+"/nodes/"+task.NodeID+"/success", body, &got); err != nil {
			return 0, err
		}
		if task = got.Task; (task == nil) != (i == tasks-1) {
			return 0, fmt.Errorf("task %d of %d: next is %v", i+1, tasks, task)
		}
	}
	return time.Since(began), nil
}

func (w *benchWorker) cancelOne(ctx context.Context) (time.Duration, error) {
	var made benchResult
	if err := w.post(ctx, "/executions", []byte(`{"graphId":"bench","input":{}}`), &made); err != nil {
		return 0, err
	}
	if err := w.post(ctx, "/executions/"+made.ExecutionID+"/start", nil, new(benchResult)); err != nil {
		return 0, err
	}
	began := time.Now()
	err := w.post(ctx, "/executions/"+made.ExecutionID+"/cancel", nil, new(benchResult))
	return time.Since(began), err
}
