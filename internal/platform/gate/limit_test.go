package gate

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRateClassesLimitEachClient(t *testing.T) {
	now := time.Now()
	d := openDoor(t, Config{Now: func() time.Time { return now }, Rates: map[string]Rate{
		"reads": {Limit: 3, Per: time.Minute},
	}},
		Route{Pattern: "GET /a", Rate: "reads", Do: ok}, Route{Pattern: "GET /b", Rate: "reads", Do: ok},
		Route{Pattern: "GET /free", Rate: "other", Do: ok})
	ask := func(target, user string) (int, string, string) {
		w := d.ask("GET", target, "", "X-User-Id: "+user)
		return w.Code, w.Header().Get("X-RateLimit-Remaining"), w.Header().Get("Retry-After")
	}
	expect := func(target, user string, status int, remaining, retry string) {
		t.Helper()
		if a, b, c := ask(target, user); a != status || b != remaining || c != retry {
			t.Errorf("got %d, remaining %q, retry %q, want %d, %q, %q", a, b, c, status, remaining, retry)
		}
	}
	expect("/a", "ada", 200, "2", "")
	expect("/b", "ada", 200, "1", "")
	expect("/a", "ada", 200, "0", "")
	expect("/a", "ada", 429, "0", "20")
	expect("/a", "bob", 200, "2", "")
	expect("/free", "ada", 200, "", "")
	w := d.ask("GET", "/a", "", "X-User-Id: ada", "X-Tenant-Id: 00000000-0000-0000-0000-00000000000b")
	if left := w.Header().Get("X-RateLimit-Remaining"); w.Code != 200 || left != "2" {
		t.Errorf("ada of another tenant: got %d, remaining %q, want a limit of her own", w.Code, left)
	}
	now = now.Add(20 * time.Second)
	expect("/a", "ada", 200, "0", "")
	w = d.ask("GET", "/a", "", "X-User-Id: ada")
	if got := decodeError(t, w); got.Error.Code != "RATE_LIMITED" || w.Header().Get("X-RateLimit-Limit") != "3" ||
		w.Header().Get("X-RateLimit-Reset") != "60" {
		t.Errorf("got %s %v", w.Body, w.Header())
	}
}

// In no window of the period are there more calls than twice the limit, and a
// client that waits as told is let in.
func TestLimiterHoldsItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Rate{Limit: rapid.IntRange(1, 50).Draw(t, "limit"), Per: time.Minute}
		l, now := newLimiter(rate), time.Unix(1_700_000_000, 0)
		var let []time.Time
		for range 200 {
			now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "pause")) * time.Millisecond)
			a := l.admit("x", now)
			if a.ok {
				let = append(let, now)
				continue
			}
			if a.retry <= 0 || a.retry > rate.Per {
				t.Fatalf("told to wait %s", a.retry)
			}
			if again := l.admit("x", now.Add(a.retry)); !again.ok {
				t.Fatalf("waited %s as told and was refused", a.retry)
			}
			now = now.Add(a.retry)
			let = append(let, now)
		}
		for i, from := range let {
			n := 0
			for _, at := range let[i:] {
				if at.Sub(from) < rate.Per {
					n++
				}
			}
			if n > 2*rate.Limit {
				t.Fatalf("%d calls in one period of %d", n, rate.Limit)
			}
		}
	})
}

func TestLimiterRemembersABoundedNumberOfClients(t *testing.T) {
	l, now := newLimiter(Rate{Limit: 1, Per: time.Hour}), time.Now()
	for i := range maxClients + 1000 {
		l.admit(strconv.Itoa(i), now)
	}
	if n := len(l.arrivals); n > maxClients {
		t.Errorf("%d clients are remembered", n)
	}
	l.admit("late", now.Add(2*time.Hour))
	l.dropIdle(now.Add(2 * time.Hour))
	if n := len(l.arrivals); n != 1 {
		t.Errorf("%d clients are remembered after all had their quota again", n)
	}
}
