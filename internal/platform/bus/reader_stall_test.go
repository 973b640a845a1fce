package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
)

// lines counts the lines of a log by their texts.
type lines struct {
	mu    sync.Mutex
	count map[string]int
	more  chan struct{} // holds a token when there is a new one
}

func newLines() *lines { return &lines{count: map[string]int{}, more: make(chan struct{}, 1)} }

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count[fmt.Sprint(r.Level, " ", r.Message)]++
	select {
	case l.more <- struct{}{}:
	default:
	}
	return nil
}

func (l *lines) of(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[text]
}

// await waits until the log has so many lines of a text.
func (l *lines) await(t *testing.T, n int, text string) {
	t.Helper()
	for late := time.After(maxWait); l.of(text) < n; {
		select {
		case <-l.more:
		case <-late:
			t.Fatalf("%d lines %q, want %d", l.of(text), text, n)
		}
	}
}

// TestAnOutageOfAReaderIsLoggedTwice: when it begins and when it ends, however often a
// reader tries meanwhile.
func TestAnOutageOfAReaderIsLoggedTwice(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		log, c := newLines(), newCrew()
		r.start(bus.Config{Consumers: []bus.Consumer{c.consumer("c")}, Logger: slog.New(log)})
		r.send(r.event("x"))
		r.eventually("the first", func() bool { return len(r.ids("c", "")) == 1 })
		r.carrier.Leave()
		log.await(t, 3*events.Partitions, "DEBUG reader of events is interrupted still")
		r.carrier.Return()
		log.await(t, events.Partitions, "INFO reader of events goes on")
		r.send(r.event("x"))
		r.eventually("what came after", func() bool { return len(r.ids("c", "")) == 2 })
		if began, ended := log.of("WARN reader of events was interrupted"),
			log.of("INFO reader of events goes on"); began != events.Partitions || ended != events.Partitions {
			t.Errorf("%d lines tell of its beginning and %d of its end, want one of each reader", began, ended)
		}
	})
}
