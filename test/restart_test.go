package test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// backWithin is how soon after PostgreSQL accepts connections again a process must
// serve again.
const backWithin = 5 * time.Second

// TestNothingIsLostWhenPostgreSQLEnds restarts PostgreSQL, and kills its main process,
// under two processes at work. Meanwhile they say when to come back, and nothing else;
// soon after they serve again, and everything that was acknowledged is there, once.
func TestNothingIsLostWhenPostgreSQLEnds(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	restarts, kills := 3, 2
	if long() {
		restarts, kills = 20, 10
	}
	db := pgtest.Launch(t)
	at := newSite(t)
	at.database = db.Database(t)
	o := &outages{rig: newRig(t, killHands, at, at.beside(t)), db: db, rand: rand.New(rand.NewPCG(3, 3))}
	ends := append(slices.Repeat([]func(){db.Stop}, restarts), slices.Repeat([]func(){db.KillPostmaster}, kills)...)
	o.rand.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
	enough := o.work()
	defer enough()
	for i, end := range ends {
		if o.outage(i, end); t.Failed() {
			break
		}
	}
	enough()
	o.clear()
	o.audit()
	t.Logf("%d restarts and %d kills of PostgreSQL: %d requests answered, %d times 503; serving again after %v p50, "+
		"%v p99, %v max",
		restarts, kills, o.stress.answered.Load(), o.stress.refused.Load(), round(o.back.at(50)), round(o.back.at(99)),
		round(slices.Max(o.back)))
	if slow := o.back.at(99); slow > backWithin {
		t.Errorf("99 %% of the processes serve again within %v, the limit is %v", slow, backWithin)
	}
	if n := o.stress.broken.Load(); n > 0 {
		t.Errorf("%d requests were left without any answer", n)
	}
	o.end()
}

// outages is one run of the test.
type outages struct {
	*rig
	db   *pgtest.Server
	rand *rand.Rand
	back spans // of every process, from PostgreSQL accepting connections to the first command that was accepted
}

const refusalsPerOutage = 50 // at least, so that every process was asked meanwhile

// outage ends PostgreSQL in the midst of work, waits until the processes have said so,
// starts it again and waits until they serve.
func (o *outages) outage(n int, end func()) {
	o.answers(100 + o.rand.Int64N(200))
	pause(time.Duration(o.rand.Int64N(int64(5 * time.Millisecond)))) // anywhere between two commits
	before := o.stress.refused.Load()
	end()
	o.refusals(before + refusalsPerOutage)
	if o.t.Failed() {
		return
	}
	o.unready()
	o.db.Start(o.t)
	stalls, up := stalltest.New(o.t), time.Now()
	back := make([]time.Duration, len(o.servers))
	probes := make([]*client, len(o.servers))
	var wg sync.WaitGroup
	for i, server := range o.servers {
		probes[i] = newClient(o.t, server, "probe"+strconv.Itoa(n)+"-"+strconv.Itoa(i))
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(o.t.Context(), maxWait)
			defer cancel()
			made := probes[i].request("CreateExecution", "", "", `"graphId":"line"`)
			if err := probes[i].do(ctx, made); err != nil {
				o.t.Errorf("after PostgreSQL came back: %v\n%s", err, server.log)
			}
			back[i] = stalls.Since(up)
		})
	}
	wg.Wait()
	o.back = append(o.back, back...)
	for _, probe := range probes {
		o.others = append(o.others, probe.ledger...)
	}
}

// refusals waits until so many requests were refused in all.
func (o *outages) refusals(n int64) {
	ctx, cancel := context.WithTimeout(o.t.Context(), maxWait)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for o.stress.refused.Load() < n && !o.t.Failed() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			o.t.Errorf("without PostgreSQL only %d of %d requests were refused within %v\n%s", o.stress.refused.Load(),
				n, maxWait, o.logs())
		}
	}
}

// unready checks that the processes say that they are not ready, and why.
func (o *outages) unready() {
	for _, server := range o.servers {
		if status, body := ready(o.t, server); status != http.StatusServiceUnavailable ||
			body != `{"status":"not ready","checks":{"database":"failed","nats":"ok"}}` {
			o.t.Errorf("without PostgreSQL readyz answers %d %s", status, body)
		}
	}
}

// TestAProcessDoesNotStartWithoutItsPostgreSQL starts one when PostgreSQL is down. It
// says so, without the password, and ends.
func TestAProcessDoesNotStartWithoutItsPostgreSQL(t *testing.T) {
	onPostgres(t)
	db := pgtest.Launch(t)
	at := newSite(t)
	at.database = db.Database(t)
	db.Stop()
	c, _ := launch(t, at)
	if code := c.code(maxWait); code != 1 {
		t.Errorf("the process ended with code %d, want 1", code)
	}
	if !c.log.has("database cannot be reached") || c.log.has(db.Password()) {
		t.Errorf("it says\n%s", c.log)
	}
	db.Start(t)
	serve(t, at).stop()
}
