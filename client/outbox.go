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
	wake   chan struct{}

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
	after    time.Time   // not to be sent before
	tries    int         // after which it was undecided
	last     error       // of them
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
	signal(o.wake)
	return true
}

// run sends until ctx ends; then what is left is lost.
func (o *outbox) run(ctx context.Context) {
	var last error // why everything has to be sent again
	for try := 1; ; {
		if !o.wait(ctx) {
			o.close(cmp.Or(last, errClosed))
			return
		}
		runtime.Gosched() // those who finish at the same moment go together
		batch := o.next(time.Now())
		retry, err := o.deliver(ctx, batch)
		o.putBack(retry)
		if err == nil {
			try, last = 1, nil
			continue
		}
		if ctx.Err() != nil {
			last = cmp.Or(last, err)
			continue
		}
		last = err
		o.log.Warn("results are sent again", "error", err)
		refusal, _ := errors.AsType[*Error](err)
		sleep(ctx, pause(try, refusal, true))
		try++
	}
}

// wait returns when there may be something to send, and reports whether the context
// is still there.
func (o *outbox) wait(ctx context.Context) bool {
	var due <-chan time.Time
	if first := o.first(); !first.IsZero() {
		timer := time.NewTimer(time.Until(first))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-o.wake:
	case <-due:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// first is when the first message is to be sent again; zero: none is.
func (o *outbox) first() (at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.queue {
		if !m.after.IsZero() && (at.IsZero() || m.after.Before(at)) {
			at = m.after
		}
	}
	return at
}

// putBack lets messages be the next to be sent.
func (o *outbox) putBack(retry []*message) {
	if len(retry) == 0 {
		return
	}
	o.mu.Lock()
	o.queue = append(retry, o.queue...)
	o.mu.Unlock()
	signal(o.wake)
}

// next removes the next batch from the queue: everything whose time has come, up to what one request
// holds.
func (o *outbox) next(now time.Time) []*message {
	o.mu.Lock()
	var batch, left []*message
	more := false
	for _, m := range o.queue {
		switch {
		case m.after.After(now):
			left = append(left, m)
		case len(batch) == maxCommands:
			left, more = append(left, m), true
		default:
			batch = append(batch, m)
		}
	}
	o.queue = left
	o.mu.Unlock()
	if more {
		signal(o.wake)
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
// again: all of it with an error, else what could not be decided now, each when it
// has waited by itself, so that one does not hold up the others.
func (o *outbox) deliver(ctx context.Context, batch []*message) (retry []*message, err error) {
	if len(batch) == 0 {
		return nil, nil
	}
	cmds, which := make([]encoded, len(batch)), make([]int, len(batch))
	for i, m := range batch {
		cmds[i], which[i] = m.cmd, i
		m.sent = time.Now()
	}
	results, err := o.client.deliver(ctx, cmds, which, warnAfter)
	if err != nil {
		return batch, err
	}
	for i, m := range batch[:len(results)] {
		refusal, _ := errors.AsType[*Error](results[i].Err)
		if !m.undecided(refusal) {
			m.settle(results[i])
			continue
		}
		o.log.Warn("a result is sent again", "code", refusal.Code, "error", refusal)
		m.tries, m.last = m.tries+1, refusal
		m.after = time.Now().Add(pause(m.tries, refusal, true))
		retry = append(retry, m)
	}
	return append(retry, batch[len(results):]...), nil
}

// maxBroken is how often a message is sent that the server fails at for no reason
// that passes by itself, which takes it about 20 s.
const maxBroken = 15

// undecided reports whether the same message may be answered otherwise later.
func (m *message) undecided(refusal *Error) bool {
	return refusal != nil &&
		(refusal.repeatable() || refusal.Status == http.StatusInternalServerError && m.tries < maxBroken)
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
			why := cmp.Or(m.last, last)
			o.lose(1, why)
			m.done <- Result{Err: why}
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
