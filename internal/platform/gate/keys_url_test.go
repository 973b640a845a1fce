package gate

import (
	"crypto/rsa"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// issuer serves keys, and can be wrong.
type issuer struct {
	*httptest.Server
	mu     sync.Mutex
	answer http.HandlerFunc
	asked  int
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		i.asked++
		answer := i.answer
		i.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) serve(answer http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

func (i *issuer) publish(keys map[string]*rsa.PrivateKey) {
	i.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(jwks(keys)) })
}

func (i *issuer) times() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// lender is a door whose keys come from an issuer, with a clock of its own.
type lender struct {
	*door
	t    *testing.T
	now  time.Time
	auth *Auth
	log  *logbook
}

func newLender(t *testing.T, from string) *lender {
	t.Helper()
	l := &lender{t: t, now: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), log: &logbook{}}
	auth, err := OpenAuth(AuthConfig{
		Mode: ModeJWT, Keys: from, Now: func() time.Time { return l.now },
		Log: slog.New(slog.NewTextHandler(l.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	l.auth, l.door = auth, openDoor(t, Config{Auth: auth}, Route{Pattern: "GET /things", Do: ok})
	t.Cleanup(l.settle)
	return l
}

// try asks with a token of a key under a name.
func (l *lender) try(key *rsa.PrivateKey, kid string) int {
	l.t.Helper()
	token := sign(l.t, jwt.SigningMethodRS256, key, map[string]any{"kid": kid},
		jwt.MapClaims{"exp": l.now.Add(time.Hour).Unix()})
	return l.ask("GET", "/things", "", "Authorization: Bearer "+token).Code
}

// settle waits for the end of a fetch that is under way.
func (l *lender) settle() {
	source := l.auth.verifier.keys.(*keyURL)
	source.mu.Lock()
	running := source.running
	source.mu.Unlock()
	if running != nil {
		<-running
	}
}

func TestKeysOfAURLAreFetchedAgainForAnUnknownKeyAtALimitedRate(t *testing.T) {
	a, b := rsaKey(t, 2048), newKey(t, 2048)
	from := newIssuer(t)
	from.publish(map[string]*rsa.PrivateKey{"a": a})
	l := newLender(t, from.URL+"/jwks")
	if got := l.try(a, "a"); got != 200 {
		t.Errorf("the first key: got %d", got)
	}
	from.publish(map[string]*rsa.PrivateKey{"a": a, "b": b})
	l.now = l.now.Add(keysGap)
	for range 100 {
		if got := l.try(b, "nobody"); got != 401 {
			t.Fatalf("a key that nobody has: got %d", got)
		}
	}
	if got := from.times(); got != 2 {
		t.Errorf("the issuer was asked %d times, want once at the start and once for all of them", got)
	}
	if got := l.try(b, "b"); got != 200 {
		t.Errorf("a key that came with the others: got %d", got)
	}
	from.publish(map[string]*rsa.PrivateKey{"b": b})
	l.now = l.now.Add(keysGap)
	if got := l.try(a, "nobody"); got != 401 {
		t.Errorf("got %d", got)
	}
	if got := l.try(a, "a"); got != 401 {
		t.Errorf("a withdrawn key: got %d", got)
	}
	if got := l.try(b, "b"); got != 200 {
		t.Errorf("the key that stayed: got %d", got)
	}
}

func TestARequestWithANewKeyIsLetInAtOnce(t *testing.T) {
	a, b := rsaKey(t, 2048), newKey(t, 2048)
	from := newIssuer(t)
	from.publish(map[string]*rsa.PrivateKey{"a": a})
	l := newLender(t, from.URL)
	from.publish(map[string]*rsa.PrivateKey{"b": b})
	l.now = l.now.Add(keysGap)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if got := l.try(b, "b"); got != 200 {
				t.Errorf("got %d", got)
			}
		})
	}
	all.Wait()
	if got := from.times(); got != 2 {
		t.Errorf("the issuer was asked %d times", got)
	}
}

func TestKeysOfAURLAreFetchedAgainWhenTheyAreOld(t *testing.T) {
	a, b := rsaKey(t, 2048), newKey(t, 2048)
	from := newIssuer(t)
	from.publish(map[string]*rsa.PrivateKey{"a": a})
	l := newLender(t, from.URL)
	l.try(a, "a")
	before := l.auth.verifier.keys.keys(l.now)
	l.now = l.now.Add(keysAge)
	l.try(a, "a")
	l.settle()
	if from.times() != 2 || l.auth.verifier.keys.keys(l.now) != before {
		t.Errorf("asked %d times; keys that did not change must stay the same set", from.times())
	}
	asked := make(chan struct{})
	from.serve(func(w http.ResponseWriter, _ *http.Request) {
		<-asked
		_, _ = w.Write(jwks(map[string]*rsa.PrivateKey{"b": b}))
	})
	l.now = l.now.Add(keysAge)
	if got := l.try(a, "a"); got != 200 {
		t.Errorf("while they are fetched the old keys hold: got %d", got)
	}
	close(asked)
	l.settle()
	if got := l.try(a, "a"); got != 401 {
		t.Errorf("a key that was withdrawn opens nothing: got %d", got)
	}
}

func TestTheLastGoodKeysStayWhileTheURLIsAway(t *testing.T) {
	a, b := rsaKey(t, 2048), newKey(t, 2048)
	elsewhere := newIssuer(t)
	elsewhere.publish(map[string]*rsa.PrivateKey{"b": b})
	for name, wrong := range map[string]http.HandlerFunc{
		"an error": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "secret-cause",
				http.StatusBadGateway)
		},
		"rubbish":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"an empty set": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys":[]}`)) },
		"a short key": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(jwks(map[string]*rsa.PrivateKey{"b": rsaKey(t, 1024)}))
		},
		"too much": func(w http.ResponseWriter, _ *http.Request) {
			_,
				_ = w.Write(make([]byte, maxKeyFile+1))
		},
		"a redirect away": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL,
				http.StatusFound)
		},
		"a redirect in a row": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"x",
				http.StatusFound)
		},
		"a cut connection": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			from := newIssuer(t)
			from.publish(map[string]*rsa.PrivateKey{"a": a})
			l := newLender(t, from.URL+"/jwks?for=secret-query")
			from.serve(wrong)
			l.now = l.now.Add(keysAge)
			if got := l.try(b, "b"); got != 401 {
				t.Errorf("a key of nobody's: got %d", got)
			}
			l.settle()
			if got := l.try(a, "a"); got != 200 {
				t.Errorf("the last good key: got %d", got)
			}
			if log := l.log.String(); !strings.Contains(log,
				"level=WARN msg=\"keys could not be fetched, the last ones stay\"") || strings.Contains(log, "secret") {
				t.Errorf("got the log %s", log)
			}
			asked := from.times()
			l.try(a, "a")
			l.settle()
			if got := from.times(); got != asked {
				t.Error("it was asked again at once")
			}
			from.publish(map[string]*rsa.PrivateKey{"b": b})
			l.now = l.now.Add(keysAgain)
			l.try(a, "a")
			l.settle()
			if got := l.try(b, "b"); got != 200 {
				t.Errorf("the new key, when the URL is back: got %d", got)
			}
			if !strings.Contains(l.log.String(), "keys can be fetched again") {
				t.Errorf("got the log %s", l.log)
			}
		})
	}
	if n := elsewhere.times(); n > 0 {
		t.Errorf("a redirect led elsewhere %d times", n)
	}
}

func TestAnIssuerThatDoesNotAnswerIsNotWaitedForLong(t *testing.T) {
	a := rsaKey(t, 2048)
	from := newIssuer(t)
	from.publish(map[string]*rsa.PrivateKey{"a": a})
	l := newLender(t, from.URL)
	l.auth.verifier.keys.(*keyURL).client.Timeout = 50 * time.Millisecond
	from.serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	l.now = l.now.Add(keysGap)
	if got := l.try(a, "nobody"); got != 401 {
		t.Errorf("got %d", got)
	}
	if got := l.try(a, "a"); got != 200 {
		t.Errorf("the last good key: got %d", got)
	}
}

func TestKeysComeOverTLSFromElsewhere(t *testing.T) {
	a := rsaKey(t, 2048)
	served := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(publicPEM(t, &a.PublicKey))
	}))
	served.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	defer served.Close()
	if _, err := OpenAuth(AuthConfig{Mode: ModeJWT, Keys: served.URL}); err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of nobody's: got %v", err)
	}
	u := &keyURL{url: served.URL, client: served.Client(), log: slog.New(slog.DiscardHandler)}
	if err := u.fetch(); err != nil || u.keys(time.Unix(0, -1)) == nil {
		t.Errorf("got %v", err)
	}
	served.Client().CloseIdleConnections()
}

func TestURLsOfKeysThatAreRefused(t *testing.T) {
	away := newIssuer(t)
	away.Close()
	for _, from := range []string{
		"http://keys.example.com/jwks",
		"http://127.0.0.1.example.com/jwks",
		"http://[::2]/jwks",
		"ftp://localhost/jwks",
		"file:///etc/keys.pem",
		"https://ada:secret-word@localhost/jwks",
		"https:///jwks",
		"https://%zz/secret-word",
		away.URL,
	} {
		if _, err := OpenAuth(AuthConfig{Mode: ModeJWT, Keys: from}); err == nil ||
			strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%s: got %v", from, err)
		}
	}
}
