package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// What one POST /commands may hold.
const (
	maxCommands  = 500
	maxBatchBody = 8 << 20
)

// Answer is the answer to a command that was accepted: it is durable.
type Answer struct {
	Accepted
	CancelSeq uint64 `json:"cancelSeq,omitempty"` // of CancelExecution: where cancel won
	Task      *Task  `json:"task,omitempty"`      // with Next: a Task that was started for the same worker
	// with CreateExecution.Claim: those that were started for the worker
	Tasks  []Task `json:"tasks,omitempty"`
	Replay bool   `json:"-"` // this key was answered before; nothing happened now
}

// Result is the answer to one of many commands, or the *Error that it got.
type Result struct {
	Answer
	Err error
}

// Send sends a command and waits until it is durable. One that the server refuses
// is an *Error; errors.Is tells the kinds apart.
func (c *Client) Send(ctx context.Context, cmd Command) (Answer, error) {
	return c.sendCommand(ctx, cmd)
}

func (c *transport) sendCommand(ctx context.Context, cmd Command) (Answer, error) {
	e, err := encode(cmd)
	if err != nil {
		return Answer{}, err
	}
	a, replay, err := post[Answer](ctx, c, pathOf(e.path, e.execution, e.node), e.key, e.raw)
	a.Replay = replay
	a.got(c)
	return a, err
}

// got says where the tasks of an answer are from.
func (a *Answer) got(c *transport) {
	if a.Task != nil {
		a.Task.from = c
	}
	for i := range a.Tasks {
		a.Tasks[i].from = c
	}
}

// SendAll sends commands together, in as few requests as they fit into, and gives
// a result for each, in order. Each is decided on its own. The error is about all
// that have no result.
func (c *Client) SendAll(ctx context.Context, cmds []Command) ([]Result, error) {
	all := make([]encoded, len(cmds))
	for i, cmd := range cmds {
		var err error
		if all[i], err = encode(cmd); err != nil {
			return nil, fmt.Errorf("command %d: %w", i, err)
		}
	}
	results := make([]Result, len(cmds))
	left := make([]int, len(cmds)) // those without a result
	for i := range left {
		left[i] = i
	}
	began := time.Now()
	for try := 1; len(left) > 0; try++ {
		answers, err := c.deliver(ctx, all, left, 0)
		if err != nil {
			return results, err
		}
		var retry []int
		var last *Error
		for i, at := range left[:len(answers)] {
			results[at] = answers[i]
			if refusal, ok := errors.AsType[*Error](answers[i].Err); ok && refusal.repeatable() {
				retry, last = append(retry, at), refusal
			}
		}
		left = append(retry, left[len(answers):]...)
		if last == nil {
			continue
		}
		wait := pause(try, last, true)
		if patience := c.cfg.RetryFor; patience >= 0 && time.Since(began)+wait > patience {
			return results, fmt.Errorf("client: POST /commands: given up after %d tries: %w", try, last)
		}
		if !sleep(ctx, wait) {
			return results, ended(ctx, last)
		}
	}
	return results, nil
}

// deliver sends the first of the commands that are named, as many as one request
// holds, and gives their results.
func (c *Client) deliver(ctx context.Context, all []encoded, which []int, retryFor time.Duration) ([]Result, error) {
	body, n := []byte(`{"commands":[`), 0
	for _, at := range which[:min(len(which), maxCommands)] {
		before := len(body)
		if n > 0 {
			body = append(body, ',')
		}
		body = all[at].appendInner(body)
		if len(body)+len(`]}`) > maxBatchBody && n > 0 {
			body = body[:before]
			break
		}
		n++
	}
	body = append(body, `]}`...)
	type answers struct {
		Results []commandResult `json:"results"`
	}
	q := call{method: http.MethodPost, path: "/commands", retryFor: retryFor}
	got, _, err := exchange[answers](ctx, c.transport, q, body)
	if err != nil {
		return nil, err
	}
	if len(got.Results) != n {
		return nil, fmt.Errorf("client: %d commands got %d results", n, len(got.Results))
	}
	results := make([]Result, n)
	for i := range got.Results {
		results[i] = got.Results[i].result()
		results[i].got(c.transport)
	}
	return results, nil
}

// commandResult is a result as the server sends it.
type commandResult struct {
	Status int `json:"status"`
	Answer
	Error *Error `json:"error"`
}

func (r *commandResult) result() Result {
	if r.Error != nil {
		r.Error.Status = r.Status
		return Result{Err: r.Error}
	}
	r.Replay = r.Status == http.StatusOK
	return Result{Answer: r.Answer}
}
