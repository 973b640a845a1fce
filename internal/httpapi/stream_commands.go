package httpapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// commandFrame is a command that led to no event, as the stream of an execution carries it.
type commandFrame struct {
	decidedView
	Number     *int               `json:"number,omitzero"` // hides it: all commands before would have to be counted
	LateResult *engine.LateResult `json:"lateResult,omitzero"`
}

// followCommands answers GET /executions/{executionId}/stream?commands=true: the log from where the client left off
// with the commands that led to no event, then what is appended, for as long as the client stays.
func followCommands(ctx context.Context, cfg *Config, c *gate.Call, id flow.ID) (gate.Reply, error) {
	after, err := lastPlace(c)
	if err != nil {
		return gate.Reply{}, err
	}
	wake, stop := cfg.Reads.Watch(id)
	defer stop()
	var log *engine.LogCursor
	err = c.Turn(ctx, func() (err error) {
		log, err = cfg.Reads.OpenLog(ctx, c.Principal.Tenant, id, after)
		return err
	})
	if errors.Is(err, engine.ErrNoPlace) {
		err = rest.Invalid("Last-Event-ID", "Last-Event-ID lies beyond the log")
	}
	if err != nil {
		return gate.Reply{}, err
	}
	s := &commandFollower{log: log}
	s.follower = follower{
		tenant: c.Principal.Tenant, id: id, heartbeat: cfg.Heartbeat, turn: c.Turn, next: s.items, out: c.Stream,
		control: http.NewResponseController(c.Stream), log: cfg.Log, stalled: cfg.Stalled,
	}
	sendEvents(c)
	return gate.Reply{}, s.run(ctx, wake)
}

// lastPlace is where a client of a stream with commands left off: its header, or else the query.
func lastPlace(c *gate.Call) (at engine.LogPlace, err error) {
	name, text := "Last-Event-ID", c.Request.Header.Get("Last-Event-ID")
	if text == "" {
		name = "lastEventId"
		text, _ = rest.ReadQuery(c, "lastEventId", "commands").Text(name)
	}
	if text == "" {
		return at, nil
	}
	seq, then, some := strings.Cut(text, ".")
	at.Seq, err = strconv.ParseUint(seq, 10, 63)
	if err == nil && some {
		var n uint64
		n, err = strconv.ParseUint(then, 10, 31)
		at.Then = int(n)
	}
	if err != nil || at.Seq > math.MaxInt {
		return at, rest.Invalid(name, "%s must be the id of a frame: the sequence number of an event, such as 27, "+
			"or a place after it, such as 27.2", name)
	}
	return at, nil
}

// commandFollower sends one execution's log, with the commands that led to no event, to one client.
type commandFollower struct {
	follower
	log    *engine.LogCursor
	caught bool // up with what there was when it began
}

// items puts what follows into the frame.
func (s *commandFollower) items(ctx context.Context) (oldest flow.Time, err error) {
	var items []engine.LogItem
	err = s.inTurn(ctx, !s.caught, func() (err error) {
		items, err = s.log.Next(ctx, streamPage)
		return err
	})
	if err != nil || len(items) == 0 {
		s.caught = true
		return 0, err
	}
	for i := range items {
		if s.frame, err = appendItem(s.frame, &items[i]); err != nil {
			return 0, err
		}
	}
	return items[0].At, nil
}

// appendItem writes an event or a command as a server-sent event.
func appendItem(dst []byte, one *engine.LogItem) ([]byte, error) {
	if one.Event != nil {
		return appendFrame(dst, one.Event)
	}
	dst = fmt.Appendf(dst, "id: %d.%d\nevent: command\ndata: ", one.Seq, one.Then)
	data, err := json.Marshal(commandFrame{decidedView: showDecided(one.Command), LateResult: one.Command.Late})
	return append(append(dst, data...), "\n\n"...), err
}
