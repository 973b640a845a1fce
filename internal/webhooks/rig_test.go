package webhooks

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/bustest"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenantA, tenantB = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"

var ann = Caller{Tenant: tenantA, Subject: "ann", CorrelationID: "call-1"}

// patience is how long a test waits for what must happen.
const patience = time.Minute

// rig is webhooks behind a real bus, with a clock that tests put forward.
type rig struct {
	*testing.T
	*Webhooks
	db     *sqldb.DB
	bus    *bus.Bus
	events *bustest.Events
	ahead  atomic.Int64 // of the clock, in milliseconds
	log    syncBuffer
}

// syncBuffer is what was logged.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)}))
	})
}

func newRig(t *testing.T, where sqldb.Config) *rig {
	t.Helper()
	r := &rig{T: t}
	r.db = sqltest.Open(t, where, audit.Migration(), bus.Migration(), Migration(), idempotency.Migration())
	r.bus = bus.New(r.db, memory.New(), bus.Config{Instance: "test", Exclusive: true})
	allowed, err := ParseAllowed([]string{"127.0.0.0/8", "::1"})
	if err != nil {
		t.Fatal(err)
	}
	allowed.HTTP = true
	r.Webhooks = New(r.db, Config{
		Allowed: allowed, Tails: r.bus, Name: "test", Timeout: 5 * time.Second, Now: r.now,
		Log: slog.New(slog.NewTextHandler(&r.log, nil)),
		Hidden: func(context.Context, *sqldb.Tx, string) (func(object, field string) bool, error) {
			return func(_, field string) bool { return field == "Hidden" }, nil
		},
	})
	r.bus.Subscribe(r.Consumer())
	r.events = bustest.NewEvents(t, time.Now)
	r.events.Bus, r.events.DB = r.bus, r.db
	return r
}

func (r *rig) now() time.Time {
	return time.Now().Add(time.Duration(r.ahead.Load()) * time.Millisecond)
}

// work lets bus and webhooks work until the test ends, or until the function is called.
func (r *rig) work() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.bus.Run(ctx) })
	running.Go(func() { r.Webhooks.Run(ctx) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	r.Cleanup(stop)
	return stop
}

// later puts the clock forward.
func (r *rig) later(d time.Duration) {
	r.ahead.Add(d.Milliseconds())
	r.wake()
}

// idleLater puts the clock forward when nobody works on a webhook of tenant A, so that no claim runs out by that.
func (r *rig) idleLater(id string, d time.Duration) {
	r.Helper()
	r.until("nobody works on "+id, func() bool {
		var idle bool
		err := r.read(r.Context(), "row", func(ctx context.Context, tx *sqldb.Tx) error {
			found, err := scanRow(tx.Row(ctx, selectRow, tenantA, id))
			idle = found.held == 0 && (found.look == 0 || found.look > stampOf(r.now()))
			return err
		})
		if err != nil {
			r.Fatal(err)
		}
		return idle
	})
	r.later(d)
}

// until waits until something is so.
func (r *rig) until(what string, is func() bool) {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); !is(); <-tick.C {
		if time.Since(began) > patience {
			r.Fatalf("it never came that %s\n%s", what, r.log.String())
		}
	}
}

// put stores a webhook of a tenant and gives it as it was shown then.
func (r *rig) put(tenant, id, body string) Webhook {
	r.Helper()
	d, h, err := r.ParseDefinition([]byte(body))
	if err != nil {
		r.Fatal(err)
	}
	c := ann
	c.Tenant = tenant
	stored, _, err := r.Put(r.Context(), c, id, d, h)
	if err != nil {
		r.Fatal(err)
	}
	return stored
}

// get is a webhook of tenant A.
func (r *rig) get(id string) Webhook {
	r.Helper()
	found, err := r.Get(r.Context(), tenantA, id)
	if err != nil {
		r.Fatal(err)
	}
	return found
}

// deliveries are those of a webhook of tenant A in a state, the oldest first; 0: any.
func (r *rig) deliveries(id string, state DeliveryState) []Delivery {
	r.Helper()
	page, total, err := r.Deliveries(r.Context(), tenantA, id, DeliveryQuery{State: state, Limit: 10_000})
	if err != nil || total != len(page) {
		r.Fatal(total, len(page), err)
	}
	for i, j := 0, len(page)-1; i < j; i, j = i+1, j-1 {
		page[i], page[j] = page[j], page[i]
	}
	return page
}

// plans gives events to the consumer, as the bus does.
func (r *rig) plans(batch ...events.Event) {
	r.Helper()
	list := make([]*events.Event, len(batch))
	for i := range batch {
		list[i] = &batch[i]
	}
	err := r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		return r.Consumer().HandleAll(ctx, tx, list)
	})
	if err != nil {
		r.Fatal(err)
	}
}

// key is an idempotency key.
func key(t testing.TB, text, body string) *canonical.IdempotencyKey {
	t.Helper()
	k, err := canonical.ParseIdempotencyKey(text, "test", []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return &k
}

// got is a request that a receiver got.
type got struct {
	id, key string
	headers http.Header
	body    []byte
	status  int
}

// receiver is an endpoint that notes what it gets and answers as a test says.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	all    []got
	answer func(e *events.Event) int // nil: 204
}

func newReceiver(t testing.TB) *receiver {
	rc := &receiver{}
	rc.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		e, _ := events.ParseEvent(body)
		rc.mu.Lock()
		answer := rc.answer
		rc.mu.Unlock()
		status := http.StatusNoContent
		if answer != nil {
			status = answer(&e)
		}
		rc.mu.Lock()
		rc.all = append(rc.all, got{req.Header.Get(HeaderID), e.Key, req.Header, body, status})
		rc.mu.Unlock()
		w.WriteHeader(status)
		if status >= 400 {
			_, _ = fmt.Fprintf(w, "no, not %s", e.ID)
		}
	}))
	t.Cleanup(rc.Close)
	return rc
}

// answers says how it answers from now on.
func (rc *receiver) answers(with func(e *events.Event) int) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	rc.answer = with
}

// taken are the ids of what it answered with 2xx, in their order.
func (rc *receiver) taken() (ids []string) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	for _, g := range rc.all {
		if g.status < 300 {
			ids = append(ids, g.id)
		}
	}
	return ids
}

// requests are all that it got.
func (rc *receiver) requests() []got {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	return append([]got{}, rc.all...)
}

// body is a definition of a webhook to it, with more members.
func (rc *receiver) body(more ...string) string {
	return fmt.Sprintf(`{"url":%q,"events":["*"]%s}`, rc.URL+"/hook?token=t0ken",
		strings.Join(append([]string{""}, more...), ","))
}

// always answers with a status.
func always(status int) func(*events.Event) int { return func(*events.Event) int { return status } }

func ids(batch ...events.Event) (all []string) {
	for i := range batch {
		all = append(all, batch[i].ID)
	}
	return all
}

func stampOf(t time.Time) canonical.Stamp { return canonical.Stamp(t.UnixMilli()) }
