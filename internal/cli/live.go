package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jedib0t/go-pretty/v6/text"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/workflow/flow"
)

// live draws an execution on a terminal, again in the same place when something happens and every second: its state
// after the last event that came.
type live struct {
	app   *App
	graph []outlined

	mu    sync.Mutex
	state flow.State
	dirty bool
	lines int // that stand on the terminal
	stop  chan struct{}
	done  chan struct{}
}

// Between two pictures there is at least redrawSoon, and at most redrawLate.
const (
	redrawSoon = 50 * time.Millisecond
	redrawLate = time.Second
)

// openLive reads the graph of an execution and begins to draw.
func (r *remote) openLive(ctx context.Context, id string) (*live, error) {
	e, err := r.Executions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	g, err := r.Graphs.Get(ctx, e.GraphID, e.GraphVersion)
	if err != nil {
		return nil, err
	}
	l := &live{app: r.App, graph: outline(g), stop: make(chan struct{}), done: make(chan struct{})}
	go l.run()
	return l, nil
}

// apply applies an event.
func (l *live) apply(ev *client.Event) error {
	raw, err := json.Marshal(ev, asServer)
	if err != nil {
		return err
	}
	applied, err := flow.UnmarshalEvent(raw)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state, l.dirty = flow.Apply(l.state, applied), true
	return nil
}

func (l *live) run() {
	defer close(l.done)
	soon, late := time.NewTicker(redrawSoon), time.NewTicker(redrawLate)
	defer soon.Stop()
	defer late.Stop()
	for {
		select {
		case <-soon.C:
			l.draw(false)
		case <-late.C:
			l.draw(true)
		case <-l.stop:
			return
		}
	}
}

// close draws the last picture and leaves it there.
func (l *live) close() {
	close(l.stop)
	<-l.done
	l.draw(true)
}

// draw puts the picture in the place of the one before, also when nothing has happened since.
func (l *live) draw(always bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.dirty && !always {
		return
	}
	size := l.app.screen.measured(l.app.Out)
	picture := l.picture(size)
	var out strings.Builder
	if l.lines > 0 {
		fmt.Fprintf(&out, "\x1b[%dA", l.lines)
	}
	for _, line := range picture {
		if size.width > 0 {
			line = text.Snip(line, size.width, "…")
		}
		out.WriteString("\r\x1b[K" + line + "\n")
	}
	out.WriteString("\x1b[J")
	fmt.Fprint(l.app.Out, out.String())
	l.lines, l.dirty = len(picture), false
}

// picture is at most as many lines as a screen has.
func (l *live) picture(size screen) []string {
	s, now := &l.state, flow.At(l.app.now())
	if s.Seq == 0 {
		return []string{"waiting for events"}
	}
	took := span(max(0, cmp.Or(s.EndedAt, now).Sub(cmp.Or(s.StartedAt, s.CreatedAt))))
	title := fmt.Sprintf("%s  %s version %d  %s  %s  %s", size.paint(bold, s.Execution.String()), s.GraphID,
		s.GraphVersion, size.cell(status(s.Status.String())), took, count(int(s.Seq), "event", "events"))
	var rows [][]any
	for _, o := range l.fitting(size) {
		n, _ := s.Find(o.id)
		if n == nil {
			continue
		}
		is := n.Status.String()
		symbol := size.paint(statusColours[is], symbols[n.Status])
		rows = append(rows, []any{painted(symbol + " " + o.name()), o.kind, status(is), nowOf(n, now)})
	}
	lines := []string{title}
	unlimited := size
	unlimited.width = 0 // cut by draw
	lines = append(lines, strings.Split(strings.TrimRight(unlimited.grid("", rows), "\n"), "\n")...)
	if hidden := len(l.graph) - len(rows); hidden > 0 {
		lines = append(lines, size.paint(faint, fmt.Sprintf("… and %s", count(hidden, "node more", "nodes more"))))
	}
	return append(lines, l.ending(size)...)
}

// ending is the last line.
func (l *live) ending(size screen) []string {
	s := &l.state
	switch {
	case s.Status == flow.Completed && s.Result.Inline != nil:
		return []string{"result " + clean(string(s.Result.Inline))}
	case s.Status == flow.Failed:
		return []string{size.paint(red, clean(fmt.Sprintf("node %s failed: %s", s.FailedNode, describeError(s.Error))))}
	case s.Status == flow.Canceled:
		won := fmt.Sprintf("cancel won at event %d", s.CancelSeq) + with(": ", s.CancelReason)
		return []string{size.paint(yellow, clean(won))}
	}
	return nil
}

// fitting are the nodes that a screen has room for, by their ranks, then what was reached last.
func (l *live) fitting(size screen) []outlined {
	const around = 4 // title, rest, ending, and the line of the cursor
	room := size.height - around
	if size.height == 0 || len(l.graph) <= room {
		return l.graph
	}
	keep := map[string]bool{}
	for rank := 0; rank < len(ranks) && len(keep) < room; rank++ {
		for i := len(l.graph) - 1; i >= 0 && len(keep) < room; i-- {
			n, _ := l.state.Find(l.graph[i].id)
			if n != nil && ranks[rank](n) {
				keep[n.ID] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(l.graph), func(o outlined) bool { return !keep[o.id] })
}

// ranks say which nodes are shown first when not all can be.
var ranks = []func(*flow.Node) bool{
	func(n *flow.Node) bool { return n.Status == flow.NodeIsFailed },
	func(n *flow.Node) bool {
		return n.Status == flow.NodeIsRunning || n.Status == flow.NodeIsWaiting || n.RetryAt != 0
	},
	func(n *flow.Node) bool { return n.Status == flow.NodeIsReady },
	func(n *flow.Node) bool { return n.Status.Terminal() },
	func(*flow.Node) bool { return true },
}

// symbols stand in front of the nodes, one for each status.
var symbols = [...]string{
	flow.NodeIsCreated: " ", flow.NodeIsReady: "◦", flow.NodeIsRunning: "▸", flow.NodeIsWaiting: "?",
	flow.NodeIsSucceeded: "✓", flow.NodeIsFailed: "✗", flow.NodeIsCanceled: "⊘",
}

// nowOf is what a node is about at the moment.
func nowOf(n *flow.Node, now flow.Time) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	left := func(at flow.Time) string { return span(max(0, at.Sub(now)).Truncate(time.Second)) }
	switch {
	case n.RetryAt != 0:
		add("attempt %d in %s", n.Attempt+1, left(n.RetryAt))
	case n.Attempt > 1, n.Status == flow.NodeIsRunning:
		add("attempt %d", n.Attempt)
	}
	switch n.Status {
	case flow.NodeIsRunning:
		add("%s", n.Worker)
		add("for %s", span(max(0, now.Sub(n.Cause.At)).Truncate(time.Second)))
		if n.Progress != nil {
			add("%v%%", *n.Progress)
		}
		add("%s", n.Message)
		if n.TimeoutAt != 0 {
			add("times out in %s", left(n.TimeoutAt))
		}
	case flow.NodeIsWaiting:
		add("%s", with("key ", n.WaitKey))
		if n.WaitUntil != 0 {
			add("%s left", left(n.WaitUntil))
		}
		if n.RemindAt != 0 {
			add("reminder in %s", left(n.RemindAt))
		}
	}
	if g := n.Gate; g != nil && !g.Passed && !n.Status.Terminal() {
		add("%d of %d branches", len(g.Completed)+len(g.Failed)+len(g.Canceled), len(g.Expected))
	}
	if n.Error != nil && n.Status != flow.NodeIsSucceeded {
		add("%s", describeError(n.Error))
	}
	return listed(parts...)
}
