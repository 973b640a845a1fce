package bus_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// still is a clock that stands where it is put.
type still struct{ at time.Time }

func (c *still) Now() time.Time { return c.at }

// bodies are the bodies of the outbox.
func (r *rig) bodies() (all []events.Event) {
	r.Helper()
	r.must(r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx, "SELECT body FROM outbox_events ORDER BY id") {
			var body []byte
			if err == nil {
				err = row.Scan(&body)
			}
			if err != nil {
				return err
			}
			e, err := events.ParseEvent(body)
			if err != nil {
				return err
			}
			all = append(all, e)
		}
		return nil
	}))
	return all
}

func TestPublishGivesAnEventWhatItLacks(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b := bus.New(r.db, r.carrier, bus.Config{Service: "sales", Instance: "sales-1"})
		e := r.event("x")
		e.ID, e.SchemaVersion, e.OccurredAt, e.Producer = "", 0, 0, events.Producer{}
		before := canonical.Stamp(time.Now().UnixMilli())
		r.publish(b, e, r.event("y"))
		got := r.bodies()
		if id, err := uuid.Parse(got[0].ID); err != nil || id.Version() != 7 {
			t.Errorf("its id is %q (%v), want a UUID of version 7", got[0].ID, err)
		}
		if at := got[0].OccurredAt; at < before || at > before+60_000 {
			t.Errorf("it occurred at %v, want now (%v)", at, before)
		}
		if want := (events.Producer{Service: "sales", Instance: "sales-1"}); got[0].Producer != want {
			t.Errorf("it is of %+v, want %+v", got[0].Producer, want)
		}
		if want := (events.Producer{Service: "core-platform", Instance: "test"}); got[1].Producer != want {
			t.Errorf("the other is of %+v, want what it said", got[1].Producer)
		}
		if e.ID != "" {
			t.Error("the caller's event was changed")
		}
	})
}

func TestAnEventThatBreaksItsSchemaFailsTheTransaction(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b := r.asleep()
		for _, tt := range []struct {
			name  string
			spoil func(e *events.Event)
			kind  fault.Kind
			code  string
			says  string
		}{
			{"a member of the wrong type", func(e *events.Event) {
				e.Payload = replace(e.Payload, `"deleted":true`,
					`"deleted":7`)
			}, fault.Invalid, events.CodeEventInvalid, "/payload/deleted"},
			{
				"a member too many", func(e *events.Event) { e.Payload = replace(e.Payload, `{`, `{"extra":1,`) },
				fault.Invalid, events.CodeEventInvalid, "/payload",
			},
			{
				"no correlation id", func(e *events.Event) { e.CorrelationID = "" },
				fault.Invalid, events.CodeEventInvalid,
				"/correlationId",
			},
			{
				"an unknown type", func(e *events.Event) { e.Type = "RecordEaten" },
				fault.Invalid, events.CodeEventType,
				"RecordEaten",
			},
			{"2 MiB", func(e *events.Event) {
				e.Payload = replace(e.Payload, `Account`, strings.Repeat("A", 2<<20))
			}, fault.TooLarge, events.CodeEventTooLarge, ""},
		} {
			bad := r.event("x")
			tt.spoil(&bad)
			err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
				if err := b.Publish(ctx, tx, r.event("good")); err != nil {
					return err
				}
				return b.Publish(ctx, tx, r.event("x"), bad)
			})
			failure, ok := fault.As(err)
			if !ok || fault.KindOf(err) != tt.kind || failure.Code != tt.code ||
				!strings.Contains(failure.Message, tt.says) {
				t.Errorf("%s: got %v, want %v %s that names %s", tt.name, err, tt.kind, tt.code, tt.says)
			}
		}
		if n := r.count("SELECT count(*) FROM outbox_events"); n != 0 {
			t.Errorf("%d events were stored", n)
		}
	})
}

func replace(text []byte, old, with string) []byte {
	return []byte(strings.Replace(string(text), old, with, 1))
}

func TestSensitiveFieldsStayOutOfTheOutbox(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b := bus.New(r.db, r.carrier, bus.Config{Instance: "x", Sensitive: func(_ context.Context, _ *sqldb.Tx,
			tenant string,
		) (func(object, field string) bool, error) {
			return func(object, field string) bool {
				return tenant == tenantA && object == "Account" && field == "TaxNumber"
			}, nil
		}})
		e := r.event("x")
		e.Type = "RecordCreated"
		record := uuid.NewString()
		e.Key = events.RecordKey("Account", tenantA, record)
		payload := `{"objectName":"Account","recordId":"` + record + `","ownerId":"` + uuid.NewString() +
			`","fields":{"Name":"Acme","TaxNumber":"DE-secret"},"changedFields":["Name","TaxNumber"],` +
			`"recordVersion":"` + e.Version.String() + `"}`
		e.Payload = []byte(payload)
		r.publish(b, e)
		got := string(r.bodies()[0].Payload)
		if strings.Contains(got, "secret") || !strings.Contains(got, "Acme") ||
			!strings.Contains(got, `"TaxNumber"]`) {
			t.Errorf("the payload is %s, want it without the value of TaxNumber and with its name among the changed "+
				"fields", got)
		}
	})
}

func TestWhatIsUndoneIsNotPublished(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		b, _ := r.launch(r.carrier, bus.Config{})
		no := errors.New("no")
		kept := r.event("kept")
		undone := []events.Event{r.event("x"), r.event("y")}
		err := r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			if err := b.Publish(ctx, tx, undone[0]); err != nil {
				return err
			}
			return no
		})
		if !errors.Is(err, no) {
			t.Fatal(err)
		}
		r.must(r.db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			err := tx.Savepoint(ctx, func(ctx context.Context) error {
				if err := b.Publish(ctx, tx, undone[1]); err != nil {
					return err
				}
				return no
			})
			if !errors.Is(err, no) {
				return err
			}
			return b.Publish(ctx, tx, kept)
		}))
		r.published()
		inOrder(t, messages(t, r.carrier, events.Events), []events.Event{kept})
	})
}

// versions takes n versions of a key.
func (r *rig) versions(b *bus.Bus, key string, n int) (all []canonical.Stamp) {
	r.Helper()
	for range n {
		r.must(r.db.Write(r.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			v, err := b.NextVersion(ctx, tx, key)
			all = append(all, v)
			return err
		}))
	}
	return all
}

func rising(t *testing.T, all []canonical.Stamp) {
	t.Helper()
	for i := 1; i < len(all); i++ {
		if all[i] <= all[i-1] {
			t.Fatalf("version %d is %d, after %d", i, all[i], all[i-1])
		}
	}
}

func TestVersionsRiseWithinAMillisecondAndWhenTheClockGoesBack(t *testing.T) {
	r := newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")})
	clock := &still{time.Now()}
	b := bus.New(r.db, r.carrier, bus.Config{Instance: "x", Clock: clock})
	all := r.versions(b, "Role:t:1", 1000)
	if first := canonical.Stamp(clock.at.UnixMilli()); all[0] != first || all[999] != first+999 {
		t.Errorf("versions are %d to %d, want them to begin at %d and to count up", all[0], all[999], first)
	}
	clock.at = clock.at.Add(-time.Hour)
	all = append(all, r.versions(b, "Role:t:1", 100)...)
	clock.at = clock.at.Add(3 * time.Hour)
	all = append(all, r.versions(b, "Role:t:1", 2)...)
	if got, want := all[1100], canonical.Stamp(clock.at.UnixMilli()); got != want {
		t.Errorf("the version is %d after the clock went on, want %d", got, want)
	}
	rising(t, all)
}

func TestVersionsRiseOnPostgreSQLAlsoWhenManyWantOne(t *testing.T) {
	r := newRig(t, sqldb.Config{URL: pgtest.New(t)})
	b := r.asleep()
	all := r.versions(b, "Role:t:1", 200)
	r.exec("UPDATE bus_key SET version = version + 3600000") // the clock was set back
	all = append(all, r.versions(b, "Role:t:1", 200)...)
	rising(t, all)

	var mu sync.Mutex
	var wg sync.WaitGroup
	all = nil
	for range 8 {
		wg.Go(func() {
			for range 125 {
				_ = r.db.Write(t.Context(), sqldb.Engine, func(ctx context.Context, tx *sqldb.Tx) error {
					v, err := b.NextVersion(ctx, tx, "Role:t:2")
					if err != nil {
						return err
					}
					mu.Lock() // in the order of the commits: the key is held until then
					defer mu.Unlock()
					all = append(all, v)
					return nil
				})
			}
		})
	}
	wg.Wait()
	if len(all) < 1000 {
		t.Fatalf("%d versions", len(all))
	}
	rising(t, all)
	if sorted := slices.Compact(slices.Sorted(slices.Values(all))); len(sorted) != len(all) {
		t.Errorf("%d of %d versions differ", len(sorted), len(all))
	}
}
