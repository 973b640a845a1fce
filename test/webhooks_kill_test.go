package test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/test/tier"
)

// TestWebhooksLoseNothingToKills has webhooks to a healthy endpoint, one that refuses the events of one record, and a
// dead one, while records change and the process is killed in the middle of sending. In the end the healthy one has
// every event, those of a record in their order, each signed; so has the other when it is mended; and the dead one is
// parked.
func TestWebhooksLoseNothingToKills(t *testing.T) {
	tier.System(t)
	kills, records := 3, 12
	if long() {
		kills, records = 30, 100
	}
	at := newSite(t)
	at.env = []string{"RENGA_WEBHOOK_ALLOW=127.0.0.1", "RENGA_WEBHOOK_HTTP=true"}
	o := &office{t: t, at: at, rand: rand.New(rand.NewPCG(9, 9))}
	o.c = serve(t, o.at)
	o.open()
	well, picky, dead := newEndpoint(t), newEndpoint(t), newEndpoint(t)
	dead.Close()
	for id, e := range map[string]*endpoint{"well": well, "picky": picky, "dead": dead} {
		var made struct{ Secret string }
		o.send(http.MethodPut, "/webhooks/"+id, map[string]any{
			"url": e.URL + "/" + id, "events": []string{"RecordCreated", "RecordUpdated"},
		}, &made)
		e.trust(made.Secret)
	}
	want := 0
	for n := range kills {
		for i := range records {
			var r struct{ ID, RecordVersion string }
			o.send(http.MethodPost, "/records/Account", map[string]any{
				"ownerId": officeID(20 + boss), "fields": map[string]string{"Name": fmt.Sprint("A", n, i)},
			}, &r)
			if n == 0 && i == 0 {
				picky.refuse(r.ID)
			}
			for update := range 3 {
				o.send(http.MethodPatch, "/records/Account/"+r.ID, map[string]any{
					"recordVersion": r.RecordVersion, "fields": map[string]string{"Phone": fmt.Sprint(update)},
				}, &r)
			}
			want += 4
		}
		took := want - o.rand.IntN(records) - 1 // to be killed somewhere else each time
		eventually(t, "some are delivered", 2*time.Minute, func() bool { return well.count() >= took })
		o.c.kill()
		o.c = serve(t, o.at)
	}
	eventually(t, "the healthy endpoint has all", 2*time.Minute, func() bool { return well.count() == want })
	eventually(t, "the other has all but those of a record", 2*time.Minute,
		func() bool { return picky.count() == want-4 })
	var dying struct{ State string }
	eventually(t, "the dead endpoint is parked", 5*time.Minute, func() bool {
		o.send(http.MethodGet, "/webhooks/dead", nil, &dying)
		return dying.State == "PARKED"
	})
	picky.refuse("")
	var stuck struct {
		Items []struct{ EventID string }
	}
	o.send(http.MethodGet, "/webhooks/picky/deliveries?state=RETRYING", nil, &stuck)
	for _, d := range stuck.Items {
		o.send(http.MethodPost, "/webhooks/picky/deliveries/"+d.EventID+"/redeliver", nil, nil, "X-Idempotency-Key",
			"r")
	}
	eventually(t, "the other has all", 2*time.Minute, func() bool { return picky.count() == want })
	for id, e := range map[string]*endpoint{"well": well, "picky": picky} {
		var w struct {
			Open  int
			State string
		}
		eventually(t, id+" is settled", 2*time.Minute, func() bool {
			o.send(http.MethodGet, "/webhooks/"+id, nil, &w)
			return w.Open == 0
		})
		if e.judge(t); w.State != "ACTIVE" {
			t.Errorf("%s is %s", id, w.State)
		}
	}
	o.c.stop()
	if log := o.c.log.String(); strings.Contains(log, "whsec_") {
		t.Error("the log has a secret")
	}
}

// endpoint takes what webhooks send, once each, and notes what is wrong with it.
type endpoint struct {
	*httptest.Server

	mu      sync.Mutex
	with    *standardwebhooks.Webhook
	refused string // record whose events it refuses
	taken   map[string]bool
	version map[string]string // of the last event that was taken first, by key
	wrong   []string
}

func newEndpoint(t *testing.T) *endpoint {
	e := &endpoint{taken: map[string]bool{}, version: map[string]string{}}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the process was killed
		}
		w.WriteHeader(e.take(r.Header, body))
	}))
	t.Cleanup(e.Close)
	return e
}

// take is what it answers.
func (e *endpoint) take(h http.Header, body []byte) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.with == nil || e.with.Verify(body, h) != nil {
		e.wrong = append(e.wrong, "not signed: "+string(body))
		return http.StatusUnauthorized
	}
	event, err := events.ParseEvent(body)
	if err != nil || event.ID != h.Get("webhook-id") {
		e.wrong = append(e.wrong, "no event: "+string(body))
		return http.StatusBadRequest
	}
	if e.refused != "" && strings.HasSuffix(event.Key, ":"+e.refused) {
		return http.StatusInternalServerError
	}
	version := event.Version.String()
	if !e.taken[event.ID] {
		if version <= e.version[event.Key] {
			e.wrong = append(e.wrong, fmt.Sprintf("%s came after %s: %s", version, e.version[event.Key], body))
		}
		e.taken[event.ID], e.version[event.Key] = true, version
	}
	return http.StatusOK
}

func (e *endpoint) trust(secret string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.with, _ = standardwebhooks.NewWebhook(secret)
}

func (e *endpoint) refuse(record string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = record
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.taken)
}

func (e *endpoint) judge(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, wrong := range e.wrong {
		t.Error(wrong)
	}
}
