package test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

const (
	stormClients = 16
	undecided    = time.Minute
)

// storm is clients that do operations through all processes, two on PostgreSQL, while processes are killed and
// connections to the database are cut, and the history of what they were answered. What the operations are about, such
// as an execution, is a part of the history and is checked by itself.
type storm struct {
	*rig
	proxy *pgtest.Proxy // before PostgreSQL
	rand  *rand.Rand    // of the troubles
	epoch time.Time
	calm  int64 // at least so many answers to commands are between two troubles
	kills int
	cuts  int

	mu      sync.Mutex
	history map[string][]porcupine.Operation // by part
	count   atomic.Int64                     // operations
	unknown atomic.Int64                     // of these, without an answer
}

func newStorm(t *testing.T, seed uint64, calm int64) *storm {
	at := newSite(t)
	sites := []site{at}
	s := &storm{
		calm: calm, rand: rand.New(rand.NewPCG(seed, seed)), epoch: time.Now(),
		history: map[string][]porcupine.Operation{},
	}
	if postgres() {
		s.proxy = pgtest.NewProxy(t, at.database)
		at.database = s.proxy.URL()
		sites = []site{at, at.beside(t)}
	}
	s.rig = newRig(t, 1, sites...)
	return s
}

// rage lets clients operate, amid trouble, until there are enough operations.
func (s *storm) rage(operations int64, operate func(*client)) {
	var wg sync.WaitGroup
	var done atomic.Bool
	for i := range stormClients {
		c := newClientAt(s.t, s.home, "client"+strconv.Itoa(i), s.stress)
		c.roams = rand.New(rand.NewPCG(7, uint64(i)))
		wg.Go(func() {
			for !done.Load() && !s.t.Failed() {
				operate(c)
			}
		})
	}
	s.trouble(operations)
	done.Store(true)
	wg.Wait()
}

// trouble kills and cuts until there are enough operations.
func (s *storm) trouble(operations int64) {
	places := []pgtest.Cut{pgtest.Before, pgtest.During, pgtest.AfterAnswer}
	if s.proxy != nil {
		random := rand.New(rand.NewPCG(8, 8))
		s.proxy.Choose(func(int) pgtest.Cut {
			if random.IntN(40) > 0 {
				return pgtest.Whole
			}
			return places[random.IntN(len(places))]
		})
	}
	for i := 0; s.count.Load() < operations && !s.t.Failed(); i++ {
		s.answers(s.calm + s.rand.Int64N(s.calm))
		if s.proxy != nil && i%2 == 0 {
			s.proxy.Sever()
			continue
		}
		server := s.rand.IntN(len(s.servers))
		s.servers[server].signal(syscall.SIGKILL)
		s.lose(server)
		s.start(server)
		s.kills++
	}
	if s.proxy == nil {
		return
	}
	s.proxy.Choose(nil)
	for _, place := range places {
		s.cuts += s.proxy.Cuts(place)
	}
}

// say sends a request that is no command. One with a key is repeated until it is answered or, now and then, left as it
// is; without a key a request that reached a server is sent once. known says that there is an answer.
func (s *storm) say(c *client, method, path, key, body string) (got answer, known bool) {
	c.move()
	for began := time.Now(); time.Since(began) < maxWait; {
		got, err := c.call(s.t.Context(), method, path, key, "", body)
		switch {
		case errors.Is(err, errNobody):
			c.turn()
			continue
		case err == nil && got.status != http.StatusServiceUnavailable:
			s.stress.answer(1)
			return got, true
		case err != nil && !errors.Is(err, errUnanswered):
			s.t.Errorf("%s %s: %v", method, path, err)
			return answer{}, false
		}
		c.turn()
		if key == "" || c.roams.IntN(3) == 0 {
			return answer{}, false
		}
	}
	s.t.Errorf("%s %s was not answered in %v\n%s", method, path, maxWait, s.logs())
	return answer{}, false
}

// now is the time of an event of the history.
func (s *storm) now() int64 { return int64(time.Since(s.epoch)) }

// note adds an operation that has returned.
func (s *storm) note(part string, input, output any, called int64) {
	op := porcupine.Operation{Input: input, Output: output, Call: called, Return: s.now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.history[part] = append(s.history[part], op)
	s.count.Add(1)
}

// always is the same model, whatever the history is.
func always(model porcupine.Model) func([]porcupine.Operation) porcupine.Model {
	return func([]porcupine.Operation) porcupine.Model { return model }
}

// judge asks the checker about every part. unknown says that an operation had no answer.
func (s *storm) judge(model func([]porcupine.Operation) porcupine.Model, unknown func(output any) bool) {
	last, met, total := s.now(), 0, 0
	began := time.Now()
	for part, history := range s.history {
		for i := range history {
			op := &history[i]
			op.ClientId = i
			if unknown(op.Output) {
				op.Return = last // its client goes on, it may still take effect
				s.unknown.Add(1)
			}
		}
		total += len(history)
		met += meetings(history)
		switch porcupine.CheckOperationsTimeout(model(history), history, undecided) {
		case porcupine.Illegal:
			s.t.Errorf("the history of %s is not linearizable:\n%s", part, story(history))
		case porcupine.Unknown:
			s.t.Errorf("the checker did not decide on the %d operations of %s within %v", len(history), part,
				undecided)
		}
	}
	s.t.Logf("%d operations on %d parts, %d at the same time as another, %d with unknown outcome; %d kills, "+
		"%d cuts around a COMMIT; checked in %v", total, len(s.history), met, s.unknown.Load(), s.kills, s.cuts,
		round(time.Since(began)))
	s.atLeast("operations at the same time as another", met, total/2)
	s.atLeast("operations with unknown outcome", int(s.unknown.Load()), total/1000)
	s.atLeast("kills", s.kills, total/1000)
	if s.proxy != nil {
		s.atLeast("cuts", s.cuts, total/500)
	}
}

// atLeast says that a test was too weak.
func (s *storm) atLeast(what string, got, want int) {
	if got < want {
		s.t.Errorf("too weak: %d %s, want at least %d", got, what, want)
	}
}

// meetings is how many operations are at the same time as one before them.
func meetings(history []porcupine.Operation) (n int) {
	for i, op := range history {
		if slices.ContainsFunc(history[:i], func(other porcupine.Operation) bool {
			return other.Call < op.Return && op.Call < other.Return
		}) {
			n++
		}
	}
	return n
}

// story tells a history in the order of the calls.
func story(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var out strings.Builder
	for _, op := range history {
		fmt.Fprintf(&out, "%12d – %12d %+v: %+v\n", op.Call/1000, op.Return/1000, op.Input, op.Output)
	}
	return out.String()
}
