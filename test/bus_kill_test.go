package test

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet/jettest"
	"renga.dev/renga/test/tier"
)

// busLoad is what the processes of the kill tests do.
var busLoad = busSetup{Rate: 400, Keys: 200}

const (
	busAcksPerKill = 60
	busRate        = 200 // events a second, at least
)

// TestNoEventIsLostWhenTheProcessIsKilled kills a process with SIGKILL at random moments
// while it publishes, relays and consumes. What it acknowledged, and what it committed
// without being able to say so, must reach every consumer once and in order.
func TestNoEventIsLostWhenTheProcessIsKilled(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	load := busLoad
	load.Log = true
	killBus(t, newBusRig(t, 1, load))
}

// TestNoEventIsLostWhenProcessesAreKilledInTurn does the same to two processes that share
// PostgreSQL and a NATS server.
func TestNoEventIsLostWhenProcessesAreKilledInTurn(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	load := busLoad
	load.NATS = jettest.Start(t).URL()
	killBus(t, newBusRig(t, 2, load))
}

func killBus(t *testing.T, r *busRig) {
	kills := 6
	if long() {
		kills = 100
	}
	random := rand.New(rand.NewPCG(1, uint64(kills)))
	for i := range r.procs {
		r.start(i)
	}
	for n := range kills {
		r.acks(busAcksPerKill + random.IntN(4*busAcksPerKill))
		pause(time.Duration(random.Int64N(int64(4 * time.Millisecond)))) // anywhere between two commits
		i := n % len(r.procs)
		r.kill(i)
		if n%5 == 2 { // while it starts, too
			r.launch(i)
			pause(time.Duration(random.Int64N(int64(80 * time.Millisecond))))
			r.kill(i)
		}
		r.start(i)
	}
	r.acks(2 * busAcksPerKill)
	b := r.finish()
	b.check(r.consumers()...)
	r.report(b, kills)
}

// report says what a run asked of the bus, and fails if that was too little.
func (r *busRig) report(b *busBooks, faults int) {
	r.t.Helper()
	busy, undone := r.busy()
	dead, parked := b.letters()
	r.t.Logf("%d faults: %d events acknowledged (%d a second), %d more committed; %d starts found %d things to be "+
		"done; %d tries failed, %d dead letters, %d parked",
		faults, len(r.acked), r.rate(), len(b.events)-len(r.acked), busy, undone, max(b.retries, b.tries), dead, parked)
	if long() { // a short run shares its machine with other tests
		r.atLeast("events a second", r.rate(), busRate)
	}
	r.atLeast("acknowledged events", len(r.acked), busAcksPerKill*faults)
	r.atLeast("failed tries", max(b.retries, b.tries), faults)
	r.atLeast("dead letters", dead, max(1, faults/4))
}

// TestNoEventIsLostWhenTheProcessIsKilledAtANamedPoint kills a process at every point
// that the bus names, the first time that it comes by there and a later time.
func TestNoEventIsLostWhenTheProcessIsKilledAtANamedPoint(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	points := bus.Points
	load := busLoad
	load.Log = true
	r := newBusRig(t, 1, load)
	kills := 0
	for _, point := range points {
		times := []int64{1}
		if long() {
			times = []int64{1, 2, 5, 17}
		}
		if stimulus[point] != "" || point == "retain.chunk" { // a process comes by a few times only
			times = times[:min(len(times), 2)]
		}
		for _, nth := range times {
			r.setup.Point, r.setup.Nth = point, nth
			c := r.launch(0)
			if stimulus[point] != "" {
				c.await("ready")
				c.tell(stimulus[point])
			}
			r.gone(0)
			kills++
		}
	}
	r.setup.Point = ""
	r.start(0)
	r.acks(5 * busAcksPerKill)
	b := r.finish()
	b.check(r.consumers()...)
	busy, undone := r.busy()
	dead, _ := b.letters()
	t.Logf("%d kills at %d points: %d events acknowledged, %d more committed; %d starts found %d things to be done; "+
		"%d dead letters",
		kills, len(points), len(r.acked), len(b.events)-len(r.acked), busy, undone, dead)
	r.atLeast("kills", kills, 20)
	r.atLeast("starts with something to be done", busy, kills/2)
	r.atLeast("dead letters", dead, 1)
}

// stimulus is what a process is told so that it comes to a point; points that are not here
// are on everybody's way.
var stimulus = map[string]string{
	"reader.doubt":      "cull",
	"reader.replay":     "replay",
	"relay.loss-found":  "forget",
	"relay.loss-noted":  "forget",
	"relay.replay-page": "forget",
	"relay.replayed":    "forget",
}

// TestAStoppedProcessTakesNoEventUnderALostLease stops a process (SIGSTOP) for longer than
// its leases last and lets it go on (SIGCONT) when the other one has taken its posts.
func TestAStoppedProcessTakesNoEventUnderALostLease(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	stops := 3
	if long() {
		stops = 30
	}
	load := busLoad
	load.NATS = jettest.Start(t).URL()
	r := newBusRig(t, 2, load)
	for i := range r.procs {
		r.start(i)
	}
	random := rand.New(rand.NewPCG(5, 5))
	var meanwhile []int
	for n := range stops {
		r.acks(2*busAcksPerKill + random.IntN(busAcksPerKill))
		pause(time.Duration(random.Int64N(int64(5 * time.Millisecond)))) // anywhere between two commits
		c := r.procs[n%2]
		if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		before := r.count()
		stopped := time.Now()
		pause(3 * r.setup.Lease)
		// On a busy machine the other one is slow.
		for r.count()-before < busAcksPerKill && time.Since(stopped) < 10*r.setup.Lease {
			pause(r.setup.Lease / 10)
		}
		meanwhile = append(meanwhile, r.count()-before)
		if err := c.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	r.acks(2 * busAcksPerKill)
	b := r.finish()
	b.check(r.consumers()...)
	t.Logf("%d stops of %v and more; the other process acknowledged meanwhile: %v; leases changed hands %d times",
		stops, 3*r.setup.Lease, meanwhile, b.changes(r.consumers()...))
	// Now and then what was stopped holds the rows of a transaction, and the other waits.
	r.atLeast("events meanwhile (median)", slices.Sorted(slices.Values(meanwhile))[stops/2], busAcksPerKill)
	r.atLeast("changes of leases", b.changes(r.consumers()...), stops)
	r.report(b, stops)
}
