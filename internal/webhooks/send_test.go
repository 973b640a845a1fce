package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
)

func TestSecretsRotateAndAreShownOnce(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		rc := newReceiver(t)
		first := r.put(tenantA, "crm", rc.body())
		if again := r.put(tenantA, "crm", rc.body()); again.Secret != "" || first.Secret == "" {
			t.Errorf("the secret is %q, then %q", first.Secret, again.Secret)
		}
		k := key(t, "rot", "{}")
		second, err := r.Rotate(t.Context(), ann, "crm", time.Hour, k)
		if err != nil || second.Secret == "" || second.Secret == first.Secret || len(second.PublicKeys) != 2 {
			t.Fatal(second, err)
		}
		if again, err := r.Rotate(t.Context(), ann, "crm", time.Hour, k); err != nil || again.Secret != "" {
			t.Errorf("a repetition got %q %v", again.Secret, err)
		}
		r.work()
		r.events.Publish(r.events.Deleted(tenantA, "a"))
		r.until("it is delivered", func() bool { return len(rc.taken()) == 1 })
		g := rc.requests()[0]
		for _, w := range []Webhook{first, second} {
			if err := verify(g.headers, g.body, w.Secret, w.PublicKeys...); err != nil {
				t.Errorf("while secrets rotate: %v", err)
			}
		}
		r.later(2 * time.Hour)
		r.events.Publish(r.events.Deleted(tenantA, "b"))
		r.until("it is delivered", func() bool { return len(rc.taken()) == 2 })
		g = rc.requests()[1]
		if err := verify(g.headers, g.body, second.Secret); err != nil {
			t.Error(err)
		}
		if err := verify(g.headers, g.body, first.Secret); err == nil {
			t.Error("the old secret still signs")
		}
		page, _, err := r.List(t.Context(), tenantA, 0, 10)
		if err != nil || len(page) != 1 || page[0].Secret != "" || len(page[0].PublicKeys) != 1 {
			t.Error(page, err)
		}
		for _, e := range r.audited("") {
			if strings.Contains(fmt.Sprintf("%+v %s", e, e.Detail), "whsec_") {
				t.Errorf("the audit log has a secret: %+v", e)
			}
		}
		var kept int
		err = r.db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Row(ctx, "SELECT count(*) FROM idempotency_request WHERE tenant = $1 AND answer LIKE $2", tenantA,
				"%whsec_%").Scan(&kept)
		})
		if err != nil || kept > 0 || strings.Contains(r.log.String(), "whsec_") {
			t.Errorf("%d stored answers have a secret, or the log has: %v", kept, err)
		}
	})
}

// TestNothingIsSentInsideOrToWhereAnAnswerRedirects asks for what checkURL cannot know: names that resolve to
// addresses inside, and redirects.
func TestNothingIsSentInsideOrToWhereAnAnswerRedirects(t *testing.T) {
	inside := newReceiver(t)
	s := newSender(&Config{Allowed: Allowed{HTTP: true}, Timeout: 5 * time.Second, Agent: "renga"})
	defer s.close()
	port := inside.URL[strings.LastIndex(inside.URL, ":"):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "0.0.0.0"} {
		to := endpoint{url: "http://" + host + port, secrets: []secret{newSecret()}}
		got := s.post(t.Context(), to, "1", []byte("{}"))
		if got.status != 0 || !strings.Contains(got.err, "nothing was sent: the address of the host is") {
			t.Errorf("%s: got %+v", host, got)
		}
	}
	if n := len(inside.requests()); n > 0 {
		t.Fatalf("%d requests came inside", n)
	}
	allowed, err := ParseAllowed([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	allowed.HTTP = true
	s = newSender(&Config{Allowed: allowed, Timeout: 5 * time.Second, Agent: "renga"})
	defer s.close()
	moved := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	got := s.post(t.Context(), endpoint{url: moved.URL, secrets: []secret{newSecret()}}, "1", []byte("{}"))
	if got.status != http.StatusTemporaryRedirect || len(inside.requests()) > 0 {
		t.Errorf("a redirect was followed: %+v", got)
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	allowed := Allowed{HTTP: true, Hosts: []string{"localhost"}}
	s := newSender(&Config{Allowed: allowed, Timeout: time.Second, Agent: "renga"})
	defer s.close()
	ends := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write([]byte(strings.Repeat("é\x00", 1000))); err != nil {
					return
				}
			}
		case "/headers":
			w.Header().Set("X-Much", strings.Repeat("a", 2*MaxAnswerHeaders))
		case "/slow":
			<-ends
		}
	}))
	defer server.Close()
	defer close(ends)
	at := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	to := func(path string) try {
		return s.post(t.Context(), endpoint{url: at + path, secrets: []secret{newSecret()}}, "1", []byte("{}"))
	}
	if got := to("/endless"); got.status != 200 || len(got.answer) > MaxAnswer || strings.Contains(got.answer, "\x00") {
		t.Errorf("got %d bytes, %+v", len(got.answer), got.status)
	}
	if got := to("/headers"); got.status != 0 || got.err == "" {
		t.Errorf("got %+v", got)
	}
	if got := to("/slow"); got.err != "no answer within 1s" {
		t.Errorf("got %+v", got)
	}
}
