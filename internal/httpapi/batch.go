package httpapi

import (
	"bytes"
	"context"
	"math/bits"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
)

// sendCommands answers POST /commands: all commands go to the engine in one call;
// one that is malformed has its own answer and does not touch the others.
func (a *API) sendCommands(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	b := newBatch(c)
	if err := b.read(); err != nil {
		return gate.Reply{}, err
	}
	b.settle(func(req *engine.Request) error { return a.original(ctx, req) })
	if len(b.requests) > 0 {
		all := make([]*engine.Request, len(b.requests))
		for i := range b.requests {
			all[i] = &b.requests[i]
		}
		if err := a.identify(ctx, c, all...); err != nil {
			return gate.Reply{}, err
		}
		c.Yield()
		answers := a.cfg.Commands.Submit(ctx, b.requests)
		for i, place := range b.places {
			b.results[place] = answers[i]
		}
	}
	out := append(c.Scratch(), `{"results":[`...)
	for i := range b.results {
		if i > 0 {
			out = append(out, ',')
		}
		out = a.appendResult(ctx, out, &b.results[i])
	}
	return c.Built(http.StatusOK, append(out, `]}`...)), nil
}

// settle answers the requests that a check refuses; they do not go to the engine.
func (b *batch) settle(check func(*engine.Request) error) {
	kept := 0
	for i := range b.requests {
		if err := check(&b.requests[i]); err != nil {
			b.results[b.places[i]].Err = err
			continue
		}
		b.requests[kept], b.places[kept] = b.requests[i], b.places[i]
		kept++
	}
	b.requests, b.places = b.requests[:kept], b.places[:kept]
}

// batch is the commands of one request.
type batch struct {
	reader
	call     *gate.Call
	requests []engine.Request
	places   []int           // where the answers of requests belong in results
	results  []engine.Result // one for each command; those that go to the engine are still empty
	body     body            // of the command that is being read
	alone    []byte          // the body of that command's own endpoint
}

// commandSize is about how long a command is; room is made for as many as the
// request can hold.
const commandSize = 128

func newBatch(c *gate.Call) *batch {
	room := min(MaxCommands, 1+len(c.Body)/commandSize)
	return &batch{
		reader: newReader(c.Body), call: c,
		requests: make([]engine.Request, 0, room), places: make([]int, 0, room),
		results: make([]engine.Result, 0, room),
	}
}

// read takes the outer body apart. Its errors refuse the request as a whole.
func (b *batch) read() error {
	if b.dec.PeekKind() != '{' {
		return b.refuse("the body must be a JSON object")
	}
	if err := b.skip(); err != nil {
		return err
	}
	for seen := false; b.dec.PeekKind() != '}'; seen = true {
		name, err := b.value()
		if err != nil {
			return err
		}
		if field := unquote(name); field != "commands" {
			return unknown(pathOf(field))
		}
		if seen {
			return b.refuse("commands is there twice")
		}
		if err := b.commands(); err != nil {
			return err
		}
	}
	if err := b.skip(); err != nil {
		return err
	}
	if rest := b.src[b.dec.InputOffset():]; len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		return b.malformed()
	}
	if len(b.results) == 0 {
		return b.refuse("commands must have " + count(1, MaxCommands, "members"))
	}
	return nil
}

// refuse is a body of the wrong shape, or one that is not JSON at all.
func (b *batch) refuse(message string) error {
	if err := canonical.Check(b.src); err != nil {
		return err
	}
	return rest.Invalid("commands", "%s", message)
}

func (b *batch) commands() error {
	if b.dec.PeekKind() != '[' {
		return b.refuse("commands must be an array")
	}
	if err := b.skip(); err != nil {
		return err
	}
	for b.dec.PeekKind() != ']' {
		if len(b.results) == MaxCommands {
			return b.refuse("commands must have " + count(1, MaxCommands, "members"))
		}
		if err := b.next(); err != nil {
			return err
		}
	}
	return b.skip()
}

// next reads one command.
func (b *batch) next() error {
	if b.dec.PeekKind() != '{' {
		if _, err := b.value(); err != nil {
			return err
		}
		b.results = append(b.results, engine.Result{Err: rest.Invalid("command", "a command must be an object")})
		return nil
	}
	b.body.reset()
	start := b.dec.InputOffset()
	if err := b.object(b.set); err != nil {
		return err
	}
	req, err := b.request(int(b.dec.InputOffset() - start))
	if err == nil {
		b.requests = append(b.requests, req)
		b.places = append(b.places, len(b.results))
	}
	b.results = append(b.results, engine.Result{Err: err})
	return nil
}

func (b *batch) set(name, value jsontext.Value) { b.body.set(name, value, 1<<memberEnd-1) }

// request makes the engine's request of the command that was read.
func (b *batch) request(size int) (engine.Request, error) {
	m := &b.body
	m.require(mCommand)
	if m.err != nil {
		return engine.Request{}, m.err
	}
	cmd := find(m.raw[mCommand])
	if cmd == nil {
		return engine.Request{}, rest.Invalid("command", "command must be the name of a command, such as SucceedNode")
	}
	if err := checkScope(b.call, cmd.scope); err != nil {
		return engine.Request{}, err
	}
	if size > MaxBody {
		return engine.Request{}, fault.New(fault.TooLarge, "", "a command may have at most %d bytes", MaxBody)
	}
	t, err := b.target(cmd)
	if err != nil {
		return engine.Request{}, err
	}
	return cmd.request(b.call, t, b.rebuild(cmd.may), m)
}

// target reads the members that stand in the path and the headers of the
// command's own endpoint.
func (b *batch) target(cmd *command) (target, error) {
	m := &b.body
	heads := set(mCommand, mIdempotencyKey)
	if !cmd.creates() {
		heads |= set(mExecutionID)
		m.require(mExecutionID)
	}
	if cmd.onNode {
		heads |= set(mNodeID)
		m.require(mNodeID)
	}
	if more := m.given &^ (heads | cmd.may); more != 0 {
		return target{}, unknown(memberNames[bits.TrailingZeros32(uint32(more))])
	}
	t := target{
		key: m.text(mIdempotencyKey, 0, MaxBody), execution: m.text(mExecutionID, 0, MaxBody),
		node: m.text(mNodeID, 0, MaxBody),
	}
	switch {
	case m.err != nil:
		return target{}, m.err
	case t.key == "":
		return target{}, fault.New(fault.Invalid, "IDEMPOTENCY_KEY_REQUIRED", "idempotencyKey is required")
	case !canonical.Key(t.key):
		return target{}, fault.New(fault.Invalid, "IDEMPOTENCY_KEY_INVALID",
			"idempotencyKey must be 1 to %d printable ASCII characters", canonical.MaxKey)
	}
	return t, nil
}

// rebuild is the body that the command would have on its own endpoint.
func (b *batch) rebuild(may memberSet) []byte {
	b.alone = append(b.alone[:0], '{')
	for m := range memberEnd {
		if !may.has(m) || !b.body.given.has(m) {
			continue
		}
		if len(b.alone) > 1 {
			b.alone = append(b.alone, ',')
		}
		b.alone = append(b.alone, '"')
		b.alone = append(b.alone, memberNames[m]...)
		b.alone = append(b.alone, '"', ':')
		b.alone = append(b.alone, b.body.raw[m]...)
	}
	b.alone = append(b.alone, '}')
	return b.alone
}
