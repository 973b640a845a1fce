package test

import (
	"time"

	"renga.dev/renga/internal/bench"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
)

// awaitPublished waits until everything that the servers have decided is published.
func (r *rig) awaitPublished() {
	r.t.Helper()
	took, err := bench.AwaitPublished(r.t.Context(), r.servers[0].url)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, r.logs())
	}
	r.t.Logf("everything is published %v after the end", took.Round(time.Millisecond))
}

// streams compares the messages of the log with those in the streams, and asks that each
// stream has the messages of an execution in their order. The servers have ended.
func (r *rig) streams() {
	r.t.Helper()
	var dirs []string
	for _, at := range r.sites {
		dirs = append(dirs, at.dir)
		r.ordered(at.dir)
	}
	messages, err := bench.CheckPublished(r.t.Context(), r.sites[0].place(), dirs...)
	if err != nil {
		r.t.Error(err)
	}
	r.t.Logf("%d messages of the engine's own are in the stream", messages)
}

// ordered asks that a stream has new messages of each key in the order of their versions.
// One that was there before may come again.
func (r *rig) ordered(dir string) {
	r.t.Helper()
	seen, last := map[string]bool{}, map[string]canonical.Stamp{}
	err := bench.ReadStream(r.t.Context(), dir, func(m *bus.Message) {
		e, err := events.ParseEvent(m.Body)
		if err == nil {
			err = e.CheckPublished()
		}
		if err != nil {
			r.t.Errorf("%v: %s", err, m.Body)
			return
		}
		if !seen[e.ID] && e.Index == 0 && e.Version <= last[e.Key] {
			r.t.Errorf("%s: version %v follows %v", e.Key, e.Version, last[e.Key])
		}
		seen[e.ID], last[e.Key] = true, max(e.Version, last[e.Key])
	})
	if err != nil {
		r.t.Error(err)
	}
}
