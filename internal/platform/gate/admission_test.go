package gate

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	loud  = "X-Tenant-Id: 00000000-0000-0000-0000-00000000000a"
	quiet = "X-Tenant-Id: 00000000-0000-0000-0000-00000000000b"
)

// held answers when it is let go, and says when it has begun.
func held(begun chan<- string, release <-chan struct{}) func(context.Context, *Call) (Reply, error) {
	return func(ctx context.Context, c *Call) (Reply, error) {
		begun <- c.Principal.Tenant
		select {
		case <-release:
		case <-ctx.Done():
		}
		return ok(ctx, c)
	}
}

// TestHeavyRequestsOfOneTenantRunInTurn sends many heavy requests of one tenant: one runs at a
// time, and one with a large body, some wait, the others are refused, and another tenant has a
// place of its own. Small requests run at once.
func TestHeavyRequestsOfOneTenantRunInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, release := make(chan string, 1000), make(chan struct{})
		d := openDoor(
			t, Config{Heavy: 2},
			Route{Pattern: "GET /report", Heavy: true, Timeout: NoTimeout, Do: held(begun, release)},
			Route{Pattern: "POST /notes", Timeout: NoTimeout, Do: held(begun, release)},
			Route{Pattern: "POST /cancel", Do: ok},
		)
		var all sync.WaitGroup
		var answers sync.Map
		ask := func(n int, method, path, body, tenant string) {
			for i := range n {
				all.Go(func() { answers.Store(fmt.Sprint(path, tenant, i), d.ask(method, path, body, tenant)) })
				synctest.Wait()
			}
		}
		ask(1, http.MethodGet, "/report", "", loud)
		// One of the large bodies begins, the others wait for it.
		ask(3, http.MethodPost, "/notes", strings.Repeat(" ", smallBody)+"{}", loud)
		ask(MaxTenantWaiting, http.MethodGet, "/report", "", loud)
		if len(begun) != 2 {
			t.Errorf("%d heavy requests of a tenant run at a time", len(begun))
		}
		w := d.ask(http.MethodGet, "/report", "", loud)
		if got := decodeError(t, w); w.Code != http.StatusTooManyRequests || got.Error.Code != "RATE_LIMITED" ||
			w.Header().Get("Retry-After") != "1" {
			t.Errorf("beyond those who wait: %d %s", w.Code, w.Body)
		}
		ask(1, http.MethodGet, "/report", "", quiet)
		if len(begun) != 3 {
			t.Error("another tenant waits for the first one")
		}
		if w := d.ask(http.MethodPost, "/cancel", "{}", loud); w.Code != http.StatusOK {
			t.Errorf("a small request: %d %s", w.Code, w.Body)
		}
		close(release)
		all.Wait()
		answers.Range(func(what, w any) bool {
			if code := w.(*httptest.ResponseRecorder).Code; code != http.StatusOK {
				t.Errorf("%s was answered %d", what, code)
			}
			return true
		})
		if err := d.heavy.Enter(t.Context(), "c"); err != nil {
			t.Error(err)
		}
	})
}

// TestReadsWithLargeAnswersRunInTurn reads where the last answer was large, also for its head: the tenant that got
// it has a quarter of the places of other heavy requests, until it got none for a while.
func TestReadsWithLargeAnswersRunInTurn(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		t.Run(method, func(t *testing.T) { readsRunInTurn(t, method) })
	}
}

func readsRunInTurn(t *testing.T, method string) {
	synctest.Test(t, func(t *testing.T) {
		begun, release := make(chan string, 10), make(chan struct{})
		wait := held(begun, release)
		d := openDoor(
			t, Config{Heavy: 4},
			Route{Pattern: "GET /thing", Timeout: NoTimeout, Do: func(ctx context.Context, c *Call) (Reply, error) {
				if c.Request.URL.RawQuery == "" {
					return Reply{Status: http.StatusOK, Body: make([]byte, largeAnswer)}, nil
				}
				return wait(ctx, c)
			}},
		)
		var all sync.WaitGroup
		reads := func(tenant string) int {
			before := len(begun)
			for range 3 {
				all.Go(func() { d.ask(method, "/thing?wait", "", tenant) })
				synctest.Wait()
			}
			return len(begun) - before
		}
		d.ask(method, "/thing", "", loud)
		if n := reads(loud); n != 1 {
			t.Errorf("%d reads with large answers run at a time, want 1", n)
		}
		if n := reads(quiet); n != 3 {
			t.Errorf("%d reads of another tenant run at a time, want all 3", n)
		}
		close(release)
		all.Wait()
		time.Sleep(largeFor)
		release = make(chan struct{})
		wait = held(begun, release)
		if n := reads(loud); n != 3 {
			t.Errorf("%d reads run at a time once answers are small, want all 3", n)
		}
		close(release)
		all.Wait()
	})
}

// TestAHandlerGivesItsPlaceBack lets a handler wait without its place.
func TestAHandlerGivesItsPlaceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, waiting := make(chan struct{}), 0
		d := openDoor(t, Config{}, Route{
			Pattern: "GET /report", Heavy: true, Timeout: NoTimeout,
			Do: func(ctx context.Context, c *Call) (Reply, error) {
				c.Yield()
				c.Yield()
				waiting++
				<-release
				return ok(ctx, c)
			},
		})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { d.ask(http.MethodGet, "/report", "", loud) })
			synctest.Wait()
		}
		if waiting != 10 {
			t.Errorf("%d handlers wait, want all", waiting)
		}
		close(release)
		all.Wait()
	})
}

// TestAPanicGivesThePlaceBack lets a heavy handler fail in the worst way, more often than there
// are places.
func TestAPanicGivesThePlaceBack(t *testing.T) {
	d := openDoor(t, Config{}, Route{Pattern: "GET /report", Heavy: true, Do: func(context.Context, *Call) (Reply,
		error,
	) {
		panic("no")
	}})
	for range 2 * MaxTenantWaiting {
		if w := d.ask(http.MethodGet, "/report", "", loud); w.Code != http.StatusInternalServerError {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
	}
}

// TestLargeBodiesOfOneTenantLeaveRoomForOthers holds as many large bodies as a tenant may have.
func TestLargeBodiesOfOneTenantLeaveRoomForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, release := make(chan string, 10), make(chan struct{})
		d := openDoor(t, Config{}, Route{
			Pattern: "POST /large", MaxBody: MaxBodies, Timeout: NoTimeout,
			Do: held(begun, release),
		})
		large := strings.Repeat(" ", MaxTenantBodies/2)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { d.ask(http.MethodPost, "/large", large, loud) })
			synctest.Wait()
		}
		w := d.ask(http.MethodPost, "/large", large, loud)
		if got := decodeError(t, w); w.Code != http.StatusTooManyRequests || got.Error.Code != "RATE_LIMITED" ||
			w.Header().Get("Retry-After") != "1" {
			t.Errorf("a third large body: %d %s", w.Code, w.Body)
		}
		all.Go(func() {
			if w := d.ask(http.MethodPost, "/large", large, quiet); w.Code != http.StatusOK {
				t.Errorf("another tenant's: %d %s", w.Code, w.Body)
			}
		})
		synctest.Wait()
		close(release)
		all.Wait()
	})
}

// TestOpenRequestsHaveMaxima opens streams and claims up to their maxima, of a caller, of a tenant
// and of the process, and one more once one of them has ended.
func TestOpenRequestsHaveMaxima(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, release := make(chan string, 100), make(chan struct{})
		maxima, err := ParseOpen([]string{"streams=2/5", "claims=1/2"})
		if err != nil {
			t.Fatal(err)
		}
		d := openDoor(
			t, Config{Open: maxima},
			Route{Pattern: "GET /stream", Open: OpenStreams, Stream: true, Do: held(begun, release)},
			Route{Pattern: "POST /claim", Open: OpenClaims, Timeout: NoTimeout, Do: held(begun, release)},
		)
		var all sync.WaitGroup
		opened := func(method, path, user, tenant string) func() {
			ctx, leave := context.WithCancel(t.Context())
			all.Go(func() { d.askIn(ctx, method, path, "", "X-User-Id: "+user, tenant) })
			synctest.Wait()
			return leave
		}
		refused := func(method, path, user, tenant string, status int, code, text string) {
			t.Helper()
			w := d.ask(method, path, "", "X-User-Id: "+user, tenant)
			got := decodeError(t, w)
			if w.Code != status || got.Error.Code != code || !strings.Contains(got.Error.Message, text) ||
				w.Header().Get("Retry-After") == "" {
				t.Errorf("%s of %s: %d %s", path, user, w.Code, w.Body)
			}
		}
		leave := opened(http.MethodGet, "/stream", "ada", loud)
		opened(http.MethodGet, "/stream", "ada", loud)
		refused(http.MethodGet, "/stream", "ada", loud, 429, "RATE_LIMITED", "2 streams of this caller are open")
		opened(http.MethodGet, "/stream", "bob", loud)
		refused(http.MethodGet, "/stream", "cid", loud, 429, "RATE_LIMITED", "3 streams of this tenant are open")
		opened(http.MethodGet, "/stream", "ada", quiet)
		opened(http.MethodGet, "/stream", "bob", quiet)
		refused(http.MethodGet, "/stream", "cid", quiet, 503, "OVERLOADED", "5 streams are open in this process")
		opened(http.MethodPost, "/claim", "ada", loud)
		refused(http.MethodPost, "/claim", "ada", loud, 429, "RATE_LIMITED", "1 claims of this caller are open")
		refused(http.MethodPost, "/claim", "bob", loud, 429, "RATE_LIMITED", "1 claims of this tenant are open")
		opened(http.MethodPost, "/claim", "ada", quiet)
		leave()
		synctest.Wait()
		opened(http.MethodGet, "/stream", "cid", loud)
		if len(begun) != 8 {
			t.Errorf("%d requests were let in, want 8", len(begun))
		}
		close(release)
		all.Wait()
		route, _, _ := d.router.find(http.MethodGet, "/stream")
		if !route.opened.Empty() {
			t.Errorf("some are still counted: %+v", route.opened)
		}
	})
}

// TestATenantHasHalfOfTheOpenRequests compares what a tenant may have with what one caller and
// all may have.
func TestATenantHasHalfOfTheOpenRequests(t *testing.T) {
	for o, want := range map[Open]int{{200, 2000}: 1000, {1, 5}: 3, {1, 1}: 1, {5, 6}: 5} {
		if got := o.Tenant(); got != want {
			t.Errorf("%v: a tenant may have %d, want %d", o, got, want)
		}
	}
}

func TestMaximaOfOpenRequestsAreRead(t *testing.T) {
	got, err := ParseOpen([]string{"streams=5/10", " claims=1/1"})
	if err != nil || got[OpenStreams] != (Open{5, 10}) || got[OpenClaims] != (Open{1, 1}) ||
		got[OpenWatches] != DefaultOpen[OpenWatches] {
		t.Errorf("got %v (%v)", got, err)
	}
	for _, text := range []string{
		"", "streams", "streams=5", "streams=0/5", "streams=5/4", "streams=a/b",
		"streams=1/1000000", "tails=1/2",
	} {
		if got, err := ParseOpen([]string{text}); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
