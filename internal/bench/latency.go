package bench

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"
)

// latency measures one execution alone, and cancels, at light load. Each sample
// is followed by one of the bare machine, so that both meet the same noise.
func (c *Command) latency(ctx context.Context, dir string) error {
	srv, err := startServer(ctx, filepath.Join(dir, "server"))
	if err != nil {
		return err
	}
	defer srv.stop()
	w := newWorker(1, 1, srv)
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

// alone prints the time of one execution beside as many bare commits and echoes as it
// has tasks: from its first task in hand to the answer of the last; as a whole, with
// a creation that brings the first task along; and as a whole where it is claimed.
func (c *Command) alone(ctx context.Context, w *worker, bare *bareRig) error {
	var worked, claimed spans
	whole, base, err := inTurn(300,
		func() (time.Duration, error) {
			took, _, err := w.one(ctx, c.Tasks, w.createAndClaim)
			if err != nil {
				return 0, err
			}
			whole, tasks, err := w.one(ctx, c.Tasks, w.createEagerly)
			worked, claimed = append(worked, tasks), append(claimed, took)
			return whole, err
		},
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
	ratio := func(s spans) float64 { return float64(s.at(50)) / float64(base.at(50)) }
	fmt.Printf("one alone   p50   %8v for %d tasks; %d bare commits and echoes %v; ratio %.2f (limit 1.5)\n",
		round(worked.at(50)), c.Tasks, c.Tasks, round(base.at(50)), ratio(worked))
	fmt.Printf("  as a whole      %8v with a creation that claims; ratio %.2f (limit 1.5)\n", round(whole.at(50)),
		ratio(whole))
	fmt.Printf("  with a claim    %8v with its creation and, at the same time, a claim; ratio %.2f\n",
		round(claimed.at(50)), ratio(claimed))
	return nil
}

// cancels prints the time of a cancel beside two bare commits and an echo.
func (c *Command) cancels(ctx context.Context, w *worker, bare *bareRig) error {
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
	fmt.Printf("cancel      p99   %8v (p50 %v); two bare commits and an echo %v (p50 %v); ratio %.2f, at p50 %.2f "+
		"(limit 1)\n",
		round(cancel.at(99)), round(cancel.at(50)), round(base.at(99)), round(base.at(50)),
		float64(cancel.at(99))/float64(base.at(99)), float64(cancel.at(50))/float64(base.at(50)))
	return nil
}

func (w *worker) post(ctx context.Context, path string, body []byte, v *result) error {
	return w.call(ctx, http.MethodPost, path, body, http.StatusAccepted, v)
}

// one works one execution that begin creates and starts. It gives the time of all that,
// and the time since its first task was in hand.
func (w *worker) one(ctx context.Context, tasks int, begin func(context.Context) (*task, error)) (
	whole, worked time.Duration, err error,
) {
	began := time.Now()
	task, err := begin(ctx)
	if err != nil {
		return 0, 0, err
	}
	inHand, id := time.Now(), task.ExecutionID
	for i := range tasks {
		var got result
		body := fmt.Appendf(nil, `{"attempt":%d,"workerId":"bench","output":{},"next":true}`, task.Attempt)
		if err := w.post(ctx, "/executions/"+id+"/nodes/"+task.NodeID+"/success", body, &got); err != nil {
			return 0, 0, err
		}
		if task = got.Task; (task == nil) != (i == tasks-1) {
			return 0, 0, fmt.Errorf("task %d of %d: next is %v", i+1, tasks, task)
		}
	}
	return time.Since(began), time.Since(inHand), nil
}

// createEagerly creates and starts an execution whose answer brings the first task along.
func (w *worker) createEagerly(ctx context.Context) (*task, error) {
	var made result
	if err := w.post(ctx, "/executions", []byte(eagerBody), &made); err != nil {
		return nil, err
	}
	return first(made.Tasks)
}

// createAndClaim creates and starts an execution while a claim waits for its first task.
func (w *worker) createAndClaim(ctx context.Context) (*task, error) {
	claimed := make(chan error, 1)
	var held []task
	go func() {
		var err error
		held, err = w.claim(ctx, 1, true)
		claimed <- err
	}()
	if err := w.post(ctx, "/executions", []byte(createBody), new(result)); err != nil {
		return nil, err
	}
	if err := <-claimed; err != nil {
		return nil, err
	}
	return first(held)
}

func first(tasks []task) (*task, error) {
	if len(tasks) != 1 {
		return nil, fmt.Errorf("%d tasks were claimed, not 1", len(tasks))
	}
	return &tasks[0], nil
}

const eagerBody = `{"graphId":"bench","input":{},"start":true,"claim":{"workerId":"bench"}}`

const createBody = `{"graphId":"bench","input":{},"start":true}`

func (w *worker) cancelOne(ctx context.Context) (time.Duration, error) {
	var made result
	if err := w.post(ctx, "/executions", []byte(createBody), &made); err != nil {
		return 0, err
	}
	began := time.Now()
	err := w.post(ctx, "/executions/"+made.ExecutionID+"/cancel", nil, new(result))
	return time.Since(began), err
}
