package session

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/session/oidctest"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// rig is two processes on one database, with a provider and a clock that tests turn.
type rig struct {
	*testing.T
	db       *sqldb.DB
	provider *oidctest.Provider
	a, b     *Sessions
	ahead    atomic.Int64
	began    time.Time
}

func (r *rig) now() time.Time { return r.began.Add(time.Duration(r.ahead.Load())) }

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) {
		test(newRig(t, sqldb.Config{URL: pgtest.New(t)}))
	})
}

func newRig(t *testing.T, where sqldb.Config) *rig {
	t.Helper()
	r := &rig{T: t, began: time.Now()}
	r.db = sqltest.Open(t, where, Migration(), seal.Migration(), audit.Migration())
	r.provider = oidctest.New(t, r.now)
	for _, s := range []**Sessions{&r.a, &r.b} {
		*s = New(r.db, seal.New(r.db), Config{
			OIDC:   &OIDC{Issuer: r.provider.URL, Client: oidctest.Client, Secret: oidctest.Secret},
			Public: "http://127.0.0.1:8080", Now: r.now,
		})
		auth, err := gate.OpenAuth(gate.AuthConfig{
			Mode: gate.ModeJWT, Keys: r.provider.Keys, Issuer: r.provider.URL, Sessions: *s, Now: r.now,
		})
		if err != nil {
			t.Fatal(err)
		}
		(*s).Trust(auth)
		t.Cleanup((*s).provider.client.CloseIdleConnections)
	}
	return r
}

// open opens a session at the first process, with a token that can be renewed.
func (r *rig) open(change jwt.MapClaims) (cookie string) {
	r.Helper()
	l := newLogin("/ui/", r.now())
	to, err := r.a.provider.start(r.Context(), l)
	if err != nil {
		r.Fatal(err)
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, to, http.NoBody)
	if err != nil {
		r.Fatal(err)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		r.Fatal(err)
	}
	_ = resp.Body.Close()
	back, err := resp.Location()
	if err != nil {
		r.Fatal(err)
	}
	got, err := r.a.provider.exchange(r.Context(), back.Query().Get("code"), l.Verifier)
	if err != nil {
		r.Fatal(err)
	}
	if change != nil {
		got = tokens{Access: r.provider.Sign(change)}
	}
	said, err := r.a.auth.Verify(got.Access)
	if err != nil {
		r.Fatal(err)
	}
	cookie, _, err = r.a.Open(r.Context(), Caller{Address: "10.0.0.1"}, got, said, "")
	if err != nil {
		r.Fatal(err)
	}
	return cookie
}

// token is the token of a session at a process; "": there is none any more.
func (r *rig) token(at *Sessions, cookie string) string {
	r.Helper()
	token, err := at.Token(r.Context(), cookie)
	if err != nil && fault.KindOf(err) != fault.Unauthorized {
		r.Fatal(err)
	}
	return token
}

func TestEveryProcessTakesASessionAndItsEnd(t *testing.T) {
	onEvery(t, func(r *rig) {
		cookie := r.open(nil)
		if a, b := r.token(r.a, cookie), r.token(r.b, cookie); a == "" || a != b {
			t.Fatalf("the processes have %q and %q", a, b)
		}
		if err := r.a.Close(r.Context(), Caller{}, cookie); err != nil {
			t.Fatal(err)
		}
		if r.token(r.a, cookie) != "" {
			t.Error("the process that ended it goes on with it")
		}
		r.ahead.Add(int64(cacheFor))
		if r.token(r.b, cookie) != "" {
			t.Errorf("after %v the other process goes on with it", cacheFor)
		}
	})
}

func TestOneOfAllProcessesRenewsAToken(t *testing.T) {
	onEvery(t, func(r *rig) {
		cookie := r.open(nil)
		before := r.token(r.a, cookie)
		for n := 1; n <= 3; n++ {
			r.ahead.Add(int64(2 * oidctest.Life))
			var all sync.WaitGroup
			got := make([]string, 16)
			for i := range got {
				all.Go(func() {
					got[i], _ = map[bool]*Sessions{true: r.a, false: r.b}[i%2 == 0].Token(r.Context(), cookie)
				})
			}
			all.Wait()
			for _, token := range got {
				if token == "" || token == before || token != got[0] {
					t.Fatalf("round %d: one has %q, another %q, before it was %q", n, token, got[0], before)
				}
			}
			if count := r.provider.Counted(); count.Renewals != n || count.Misused != 0 {
				t.Fatalf("round %d: %+v", n, count)
			}
			before = got[0]
		}
	})
}

// TestOthersGoOnWhileATokenIsRenewed holds a renewal up: who has a token that lives goes on with it, and a session that
// is closed meanwhile stays closed.
func TestOthersGoOnWhileATokenIsRenewed(t *testing.T) {
	onEvery(t, func(r *rig) {
		cookie := r.open(nil)
		before := r.token(r.a, cookie)
		r.ahead.Add(int64(oidctest.Life - renewAhead))
		begun, release := make(chan struct{}), make(chan struct{})
		r.provider.Fail(oidctest.Faults{Renewing: func() { close(begun); <-release }})
		ended := make(chan error, 1)
		go func() {
			_, err := r.a.Token(r.Context(), cookie)
			ended <- err
		}()
		<-begun
		if got := r.token(r.b, cookie); got != before {
			t.Errorf("the other process has %q", got)
		}
		if err := r.b.Close(r.Context(), Caller{}, cookie); err != nil {
			t.Error(err)
		}
		close(release)
		if err := <-ended; !errors.Is(err, errEnded) {
			t.Errorf("who renewed it gets %v", err)
		}
		if r.token(r.a, cookie) != "" || r.token(r.b, cookie) != "" {
			t.Error("a session that was closed came back")
		}
	})
}

// TestALeaseOfAProcessThatDiedExpires leaves a lease behind.
func TestALeaseOfAProcessThatDiedExpires(t *testing.T) {
	onEvery(t, func(r *rig) {
		cookie := r.open(nil)
		c, err := r.a.open(r.Context(), cookie)
		if err != nil {
			t.Fatal(err)
		}
		r.ahead.Add(int64(oidctest.Life - renewAhead))
		for want := range 2 {
			if leased, err := r.a.lease(r.Context(), c.key(), 1, r.now()); err != nil || leased != (want == 0) {
				t.Fatalf("leased: %t, %v", leased, err)
			}
		}
		r.token(r.b, cookie)
		if got := r.provider.Counted().Renewals; got != 0 {
			t.Errorf("%d renewals beside a lease", got)
		}
		r.ahead.Add(int64(leaseFor))
		r.token(r.b, cookie)
		if got := r.provider.Counted(); got.Renewals != 1 || got.Misused != 0 {
			t.Errorf("after the lease: %+v", got)
		}
	})
}

func TestASubjectHasSoManySessions(t *testing.T) {
	onEvery(t, func(r *rig) {
		other := r.open(jwt.MapClaims{"sub": "ada"})
		var all []string
		for range MaxSessions + 2 {
			all = append(all, r.open(jwt.MapClaims{"exp": r.now().Add(time.Hour).Unix()}))
			r.ahead.Add(int64(time.Millisecond))
		}
		for i, want := range map[int]bool{0: false, 1: false, 2: true, MaxSessions + 1: true} {
			if got := r.token(r.b, all[i]) != ""; got != want {
				t.Errorf("session %d is there: %t", i, got)
			}
		}
		if r.token(r.b, other) == "" {
			t.Error("a session of somebody else was ended")
		}
	})
}

func TestSessionsThatHaveEndedAreDeleted(t *testing.T) {
	onEvery(t, func(r *rig) {
		for range 3 {
			r.open(jwt.MapClaims{"exp": r.now().Add(time.Minute).Unix()})
		}
		stays := r.open(jwt.MapClaims{"exp": r.now().Add(time.Hour).Unix()})
		r.ahead.Add(int64(time.Minute))
		for _, want := range []int64{2, 1, 0} {
			if n, err := r.a.Retain(r.Context(), 2); err != nil || n != want {
				t.Errorf("%d were deleted, want %d: %v", n, want, err)
			}
		}
		if r.token(r.b, stays) == "" {
			t.Error("one that has not ended was deleted")
		}
	})
}

func TestWhoReadsTheDatabaseHasNoToken(t *testing.T) {
	onEvery(t, func(r *rig) {
		cookie := r.open(nil)
		c, err := r.a.open(r.Context(), cookie)
		if err != nil {
			t.Fatal(err)
		}
		row, err := r.a.read(r.Context(), c.key())
		if err != nil {
			t.Fatal(err)
		}
		// Somebody who has the secret of the database, and all of its rows, lacks what the cookie holds.
		for name, guess := range map[string]secret{
			"nothing": {tenant: c.tenant}, "the id": {c.tenant, [secretSize]byte([]byte(c.key().id))},
			"another tenant": {"00000000-0000-4000-8000-0000000000bb", c.bytes},
		} {
			sealer, err := r.b.sealer(r.Context(), &guess)
			if err != nil {
				t.Fatal(err)
			}
			for _, sealed := range []string{row.token, row.refresh} {
				if _, ok := sealer.OpenText(sealed); ok || sealed == "" {
					t.Errorf("%s opens a token", name)
				}
			}
		}
	})
}

func TestTheCacheIsBounded(t *testing.T) {
	var c cache
	now := time.Now()
	f := found{token: "t", ends: now.Add(time.Hour)}
	for i := range maxCached + 1 {
		c.put(key{"tenant", fmt.Sprint(i)}, f, now)
	}
	if len(c.rows) > maxCached {
		t.Errorf("it holds %d sessions", len(c.rows))
	}
	last := key{"tenant", fmt.Sprint(maxCached)}
	if _, ok := c.get(last, now.Add(cacheFor-1)); !ok {
		t.Error("the last one is not there")
	}
	for what, at := range map[string]time.Time{
		"later": now.Add(cacheFor), "after a clock that went back": now.Add(-1),
	} {
		if _, ok := c.get(last, at); ok {
			t.Errorf("%s it is still there", what)
		}
	}
	if _, ok := c.get(key{"other", last.id}, now); ok {
		t.Error("another tenant has it")
	}
}
