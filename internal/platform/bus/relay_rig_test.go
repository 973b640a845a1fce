package bus_test

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// launch runs a bus over a carrier until it is stopped.
func (r *rig) launch(carrier bus.Carrier, cfg bus.Config) (b *bus.Bus, stop func()) {
	r.Helper()
	if cfg.Instance == "" {
		cfg.Instance = uuid.NewString()
	}
	cfg.Exclusive = r.db.Dialect() == sqldb.SQLite
	b = bus.New(r.db, carrier, cfg)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := b.Run(ctx); err != nil {
			r.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	r.Cleanup(stop)
	return b, stop
}

// asleep is a bus that does not run: what it publishes waits.
func (r *rig) asleep() *bus.Bus { return bus.New(r.db, r.carrier, bus.Config{Instance: "idle"}) }

// publish publishes events, each in a transaction of its own.
func (r *rig) publish(b *bus.Bus, batch ...events.Event) {
	r.Helper()
	for _, e := range batch {
		r.must(r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return b.Publish(ctx, tx, e)
		}))
	}
}

// publishAll publishes events in one transaction.
func (r *rig) publishAll(b *bus.Bus, batch ...events.Event) {
	r.Helper()
	r.patient(func() error {
		return r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return b.Publish(ctx, tx, batch...)
		})
	})
}

// events makes n events of a few records.
func (r *rig) events(n, records int) (all []events.Event) {
	for i := range n {
		all = append(all, r.event(string(rune('a'+i%records))))
	}
	return all
}

// published waits until nothing waits to be published, nor to be published again.
func (r *rig) published() {
	r.Helper()
	r.eventually("everything is published", func() bool {
		return r.count(`SELECT (SELECT count(*) FROM outbox_events WHERE published_at IS NULL)
			+ (SELECT count(*) FROM bus_relay WHERE replay_pos < replay_to)`) == 0
	})
}

// messages is all that a stream has, in order.
func messages(t testing.TB, carrier bus.Carrier, s events.Stream) (all []bus.Message) {
	t.Helper()
	info, err := carrier.Ensure(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for seq := max(info.First, 1); seq <= info.Last; seq++ {
		m, err := carrier.At(t.Context(), s, seq)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// inOrder demands that the stream has every event, and those of a key in order. Of
// repetitions the first counts.
func inOrder(t testing.TB, msgs []bus.Message, batch []events.Event) {
	t.Helper()
	want, got := map[string][]string{}, map[string][]string{}
	for _, e := range batch {
		want[e.Key] = append(want[e.Key], e.ID)
	}
	for _, m := range msgs {
		if !slices.Contains(got[m.Key], m.ID) {
			got[m.Key] = append(got[m.Key], m.ID)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events of the stream (-want +got):\n%s", diff)
	}
}

// inOrderAtLast demands the same of a stream that was filled again after a loss. There
// the last of repetitions counts: what was sent before the loss was found is before it.
func inOrderAtLast(t testing.TB, msgs []bus.Message, batch []events.Event) {
	t.Helper()
	msgs, batch = slices.Clone(msgs), slices.Clone(batch)
	slices.Reverse(msgs)
	slices.Reverse(batch)
	inOrder(t, msgs, batch)
}

// took demands that a consumer did every event once, those of a key in order.
func (r *rig) took(consumer string, batch []events.Event) {
	r.Helper()
	r.eventually(consumer+" has every event", func() bool {
		return r.count("SELECT count(*) FROM test_effect WHERE consumer = $1", consumer) >= len(batch)
	})
	want, got := map[string][]string{}, map[string][]string{}
	for _, e := range batch {
		want[e.Key] = append(want[e.Key], e.ID)
	}
	for _, e := range r.effects(consumer) {
		got[e.Key] = append(got[e.Key], e.EventID)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Errorf("effects of %s (-want +got):\n%s", consumer, diff)
	}
}

// hook is a place for what happens at a named point of the work.
type hook struct {
	mu sync.Mutex
	at map[string]func()
}

// on has fn called when the point is passed the next time.
func (h *hook) on(point string, fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at == nil {
		h.at = map[string]func(){}
	}
	h.at[point] = fn
}

func (h *hook) passed(point string) {
	h.mu.Lock()
	fn := h.at[point]
	delete(h.at, point)
	h.mu.Unlock()
	if fn != nil {
		fn()
	}
}

// within fails when nothing comes in time.
func within[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(maxWait):
		t.Fatalf("%s: not within %v", what, maxWait)
	}
	return v
}

// count is how often something is done: more often in a long run.
func count(short, long int) int {
	if os.Getenv("RENGA_LONG") != "" {
		return long
	}
	return short
}

// logTo is a log of which each line's message goes to say.
func logTo(say func(line string)) *slog.Logger { return logFrom(slog.LevelDebug, say) }

// logFrom is a log of which the message of each line from a level on goes to say.
func logFrom(least slog.Level, say func(line string)) *slog.Logger {
	return slog.New(sayHandler{least, say})
}

type sayHandler struct {
	least slog.Level
	say   func(string)
}

func (h sayHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }
func (h sayHandler) WithAttrs([]slog.Attr) slog.Handler           { return h }
func (h sayHandler) WithGroup(string) slog.Handler                { return h }
func (h sayHandler) Handle(_ context.Context, r slog.Record) error {
	h.say(r.Message)
	return nil
}

// again is the rig with empty tables and a carrier without streams, for another test on
// the same database.
func (r *rig) again(t testing.TB) *rig {
	next := &rig{TB: t, db: r.db, carrier: memory.New(), commits: r.commits, now: r.now + 1_000_000}
	for _, table := range []string{
		"outbox_events", "processed_events", "bus_applied", "bus_lease", "bus_relay", "bus_trail", "bus_reader",
		"bus_lane", "bus_parked", "bus_dead", "test_effect",
	} {
		next.exec("DELETE FROM " + table)
	}
	return next
}

// heldCarrier is a carrier whose feeds of certain types give nothing while it is closed: their
// readers fall behind.
type heldCarrier struct {
	bus.Carrier
	mu     sync.Mutex
	closed chan struct{} // nil: open
	waves  sync.RWMutex
}

// between does something while no wave is under way: a server that loses some of the
// messages of a wave does not acknowledge the others.
func (h *heldCarrier) between(fn func()) {
	h.waves.Lock()
	defer h.waves.Unlock()
	fn()
}

func (h *heldCarrier) Publish(ctx context.Context, msgs []bus.Message) []bus.Ack {
	h.waves.RLock()
	defer h.waves.RUnlock()
	return h.Carrier.Publish(ctx, msgs)
}

// someTypes are those that held holds up.
var someTypes = []string{"RecordDeleted", "RecordUpdated"}

func (h *heldCarrier) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed == nil {
		h.closed = make(chan struct{})
	}
}

func (h *heldCarrier) open() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed != nil {
		close(h.closed)
		h.closed = nil
	}
}

func (h *heldCarrier) Read(ctx context.Context, from bus.From) (bus.Feed, error) {
	f, err := h.Carrier.Read(ctx, from)
	if err != nil || len(from.Types) == 0 {
		return f, err
	}
	return heldFeed{f, h}, nil
}

type heldFeed struct {
	bus.Feed
	h *heldCarrier
}

func (f heldFeed) Next(ctx context.Context, limit int) ([]bus.Message, error) {
	f.h.mu.Lock()
	closed := f.h.closed
	f.h.mu.Unlock()
	if closed != nil {
		select {
		case <-closed:
		case <-ctx.Done():
			return nil, nil
		}
	}
	return f.Feed.Next(ctx, min(limit, 7))
}
