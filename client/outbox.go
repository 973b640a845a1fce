package client

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// outbox sends what handlers report. What comes while a request is under way goes
// with the next one, so the busier the worker, the fewer requests per Task; a
// single report goes at once.
type outbox struct {
	client *Client
	log    *slog.Logger
	kick   chan struct{}

	mu     sync.Mutex
	queue  []*message
	closed bool
	failed int   // results that were not sent
	last   error // why
}

// message is one report on its way.
type message struct {
	cmd      encoded
	ready    bool // cmd is set
	progress *hold
	sent     time.Time
	done     chan Result // nil: nobody waits
}

// errClosed is why a result was not sent, when no try says more.
var errClosed = errors.New("the worker has stopped")

// send sends a command and waits for its result.
func (o *outbox) send(cmd Command) Result {
	m := &message{ready: true, done: make(chan Result, 1)}
	var err error
	if m.cmd, err = encode(cmd); err != nil {
		return Result{Err: err}
	}
	if !o.put(m) {
		o.lose(1, errClosed)
		return Result{Err: errClosed}
	}
	return <-m.done
}

// sendProgress sends the newest progress of a hold, whatever it is when it goes.
func (o *outbox) sendProgress(h *hold) { o.put(&message{progress: h}) }

func (o *outbox) put(m *message) bool {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return false
	}
	o.queue = append(o.queue, m)
	o.mu.Unlock()
	signal(o.kick)
	return true
}

// run sends until ctx ends; then what is left is lost.
func (o *outbox) run(ctx context.Context) {
	var last error // why something has to be sent again
	for try := 1; ; {
		select {
		case <-o.kick:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			o.close(cmp.Or(last, errClosed))
			return
		}
		runtime.Gosched() // those who finish at the same moment go together
		again, err := o.deliver(ctx, o.take())
		if len(again) == 0 {
			try, last = 1, nil
			continue
		}
		o.putBack(again)
		if ctx.Err() != nil {
			last = cmp.Or(last, err)
			continue
		}
		last = err
		o.log.Warn("results are sent again", "error", err)
		told, _ := errors.AsType[*Error](err)
		sleep(ctx, pause(try, told, true))
		try++
	}
}

// putBack lets messages be the next to be sent.
func (o *outbox) putBack(again []*message) {
	o.mu.Lock()
	o.queue = append(again, o.queue...)
	o.mu.Unlock()
	signal(o.kick)
}

// take gives the next batch: everything, up to what one request holds.
func (o *outbox) take() []*message {
	o.mu.Lock()
	n := min(len(o.queue), maxCommands)
	batch := o.queue[:n:n]
	o.queue = o.queue[n:]
	more := len(o.queue) > 0
	o.mu.Unlock()
	if more {
		signal(o.kick)
	}
	kept := batch[:0]
	for _, m := range batch {
		if m.ready || m.fill() {
			kept = append(kept, m)
		}
	}
	return kept
}

// fill takes the newest progress of the hold; a hold that has ended has none.
func (m *message) fill() bool {
	r := m.progress.run
	r.mu.Lock()
	report, held := m.progress.progress, r.held[m.progress]
	m.progress.progress = nil
	r.mu.Unlock()
	if report == nil || !held {
		return false
	}
	var err error
	m.cmd, err = encode(*report)
	m.ready = err == nil
	return m.ready
}

// deliver sends a batch once its turn has come, and gives back what must be sent
// again, with the reason.
func (o *outbox) deliver(ctx context.Context, batch []*message) (again []*message, last error) {
	if len(batch) == 0 {
		return nil, nil
	}
	cmds, which := make([]encoded, len(batch)), make([]int, len(batch))
	for i, m := range batch {
		cmds[i], which[i] = m.cmd, i
		m.sent = time.Now()
	}
	results, err := o.client.deliver(ctx, cmds, which, complainAfter)
	if err != nil {
		return batch, err
	}
	for i, m := range batch[:len(results)] {
		if told, ok := errors.AsType[*Error](results[i].Err); ok && (told.repeatable() || told.Status == http.StatusInternalServerError) {
			again, last = append(again, m), told
			continue
		}
		m.settle(results[i])
	}
	return append(again, batch[len(results):]...), last
}

// settle hands the result to whoever waits for it.
func (m *message) settle(r Result) {
	if m.done != nil {
		m.done <- r
		return
	}
	m.progress.run.renewed(m.progress, m.sent, r.Err)
}

// close ends the outbox. Results that are still in it are lost.
func (o *outbox) close(last error) {
	o.mu.Lock()
	o.closed = true
	queue := o.queue
	o.queue = nil
	o.mu.Unlock()
	for _, m := range queue {
		if m.done != nil {
			o.lose(1, last)
			m.done <- Result{Err: last}
		}
	}
}

func (o *outbox) lose(n int, last error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed, o.last = o.failed+n, last
}

// lost is how many results could not be sent, and why.
func (o *outbox) lost() (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed, o.last
}
