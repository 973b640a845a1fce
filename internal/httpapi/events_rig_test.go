package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/webhooks"
)

// own is the tenant of requests that name none, other is another.
const (
	own   = "00000000-0000-0000-0000-000000000000"
	other = "11111111-1111-1111-1111-111111111111"
)

// deadLetter publishes events that fail for good and gives their dead letters.
func (s *server) deadLetter(consumer string, batch ...events.Event) (ids []string) {
	s.t.Helper()
	for _, l := range s.mail.Kill(consumer, batch...) {
		ids = append(ids, l.ID)
	}
	return ids
}

// eventually waits until something holds.
func (s *server) eventually(holds func() bool) {
	s.t.Helper()
	for began := time.Now(); !holds(); {
		if time.Since(began) > patience {
			s.t.Fatal("it did not come to pass")
		}
	}
}

// dead waits for the status of a dead letter.
func (s *server) dead(id, status string) reply {
	s.t.Helper()
	var r reply
	s.eventually(func() bool { r = s.get("/events/dlq/" + id).is(200); return r.text("status") == status })
	return r
}

// newStoryServer is a server on which the contract's examples can happen: two records of
// which the consumer search could not take the first event.
func newStoryServer(t *testing.T) *server {
	t.Helper()
	s := newServerWith(t, options{consumers: []bus.Consumer{{Name: "search"}}})
	s.furnishStory(own)
	return s
}

// furnishStory gives a tenant the dead letters of the story.
func (s *server) furnishStory(tenant string) {
	s.t.Helper()
	const first, second = "0199c1a3-aaaa-7000-8000-000000000001", "0199c1a3-aaaa-7000-8000-000000000002"
	batch := []events.Event{
		s.mail.Deleted(tenant, first),
		s.mail.Deleted(tenant, first),
		s.mail.Deleted(tenant, second),
	}
	for i := range batch {
		batch[i].ID = "0199c1a3-0010-7000-8000-" + strings.Repeat(tenant[:1], 11) + string(rune('1'+i))
	}
	s.mail.Fail(batch[0].Key)
	s.mail.Fail(batch[2].Key)
	for i, dead := range []int{1, 1, 2} {
		s.mail.Publish(batch[i])
		s.eventually(func() bool {
			_, total, err := s.bus.DeadLetters(context.Background(), tenant, bus.DeadFilter{}, 0, 10)
			return err == nil && total == dead
		})
	}
	s.eventually(func() bool {
		page, _, _ := s.bus.DeadLetters(context.Background(), tenant, bus.DeadFilter{Key: batch[0].Key}, 0, 10)
		seen, err := s.bus.InspectDead(context.Background(), tenant, page[0].ID)
		return err == nil && seen.Waiting == 1
	})
	s.mail.Recover(batch[0].Key)
	s.mail.Recover(batch[2].Key)
	s.mail.Published()
	s.furnishWebhook(tenant, &batch[2])
}

// furnishWebhook gives a tenant the webhook of the story that has a delivery.
func (s *server) furnishWebhook(tenant string, e *events.Event) {
	s.t.Helper()
	by := webhooks.Caller{Tenant: tenant, Subject: "ann"}
	_, _, err := s.webhooks.Put(context.Background(), by, "shop", webhooks.Definition{
		URL: "https://shop.example.com/hook", Events: []string{"RecordDeleted"}, Delivery: webhooks.Parallel,
	}, webhooks.Headers{})
	if err == nil {
		_, err = s.webhooks.Pause(context.Background(), by, "shop", "the shop is closed", nil)
	}
	if err == nil {
		err = s.db.Write(context.Background(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			return s.webhooks.Consumer().Handle(ctx, tx, e)
		})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// sealSecret seals positions in tests, so that the examples of the contract have some.
const sealSecret = "a secret of thirty-two bytes, 32"

// position is the place of an event as a tenant is shown it.
func (s *server) position(tenant string, place int64) string {
	s.t.Helper()
	sealed, err := seal.Fixed([]byte(sealSecret)).For(context.Background(), "outbox", tenant)
	if err != nil {
		s.t.Fatal(err)
	}
	return strconv.FormatInt(sealed.Position(place), 10)
}

// frames reads so many frames of a stream and leaves it.
func (s *server) frames(n int, path string, header ...string) reply {
	s.t.Helper()
	return s.framesOf(n, path, func() {}, header...)
}

// framesOf is frames, and does something once the first has come.
func (s *server) framesOf(n int, path string, begun func(), header ...string) reply {
	s.t.Helper()
	ctx, leave := context.WithTimeout(context.Background(), patience)
	defer leave()
	resp, err := s.client.Do(s.request(ctx, "GET", path, "", header...))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	r := reply{s.t, "GET " + path, resp.StatusCode, resp.Header, nil}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		r.body, _ = io.ReadAll(resp.Body)
		return r
	}
	lines := bufio.NewReader(resp.Body)
	for n > 0 {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			s.t.Fatalf("%s: %v after %s", r.asked, err, r.body)
		}
		r.body = append(r.body, line...)
		if len(line) == 1 {
			n--
			begun()
			begun = func() {}
		}
	}
	return r
}

// deliver lets a consumer take everything of its types that was published, in its order.
func (s *server) deliver(c bus.Consumer) {
	s.t.Helper()
	err := s.db.Write(s.t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		var batch []events.Event
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
			if slices.Contains(c.Types, e.Type) {
				batch = append(batch, e)
			}
		}
		for i := range batch {
			if err := c.Handle(ctx, tx, &batch[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
