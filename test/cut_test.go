package test

import (
	"math/rand/v2"
	"testing"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/tier"
)

// TestNothingIsLostWhenConnectionsAreCutAroundACommit cuts the connections of two
// processes to PostgreSQL just before a COMMIT, just after it was sent, and just before
// its answer arrives. Whether it took effect must not be guessed.
func TestNothingIsLostWhenConnectionsAreCutAroundACommit(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	cuts := 90
	if long() {
		cuts = 1_000
	}
	at := newSite(t)
	proxy := pgtest.NewProxy(t, at.database)
	at.database = proxy.URL()
	r := newRig(t, killHands, at, at.beside(t))
	places := []pgtest.Cut{pgtest.Before, pgtest.During, pgtest.AfterAnswer}
	done := func() (n int) {
		for _, place := range places {
			n += proxy.Cuts(place)
		}
		return n
	}
	random, i := rand.New(rand.NewPCG(4, 4)), 0
	proxy.Choose(func(int) pgtest.Cut {
		if random.IntN(10) > 0 {
			return pgtest.Whole
		}
		i++
		return places[i%len(places)]
	})
	enough := r.work()
	defer enough()
	for done() < cuts && !t.Failed() {
		r.answers(50)
	}
	proxy.Choose(nil)
	enough()
	for _, place := range places {
		if n := proxy.Cuts(place); n < cuts/4 {
			t.Errorf("too weak: %d connections were cut at place %d", n, place)
		}
	}
	r.clear()
	r.audit()
	t.Logf("%d connections were cut before a COMMIT, %d during, %d before its answer, of %d; %d requests answered, "+
		"%d times 503, %d of these had taken effect",
		proxy.Cuts(pgtest.Before), proxy.Cuts(pgtest.During), proxy.Cuts(pgtest.AfterAnswer), proxy.Commits(),
		r.stress.answered.Load(), r.stress.refused.Load(), r.stress.remembered.Load())
	if n := r.stress.broken.Load(); n > 0 {
		t.Errorf("%d requests were left without any answer", n)
	}
	r.end()
}
