package test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus/jet/jettest"
	"renga.dev/renga/test/tier"
)

// TestNoEventIsLostWhenJetStreamRestarts restarts the NATS server under load: stopped in
// order, killed, and with the files of an earlier time, so that it has lost what it
// acknowledged since. Then its stream is deleted. A consumer that comes after that must
// find everything in the stream that was made anew, in order.
func TestNoEventIsLostWhenJetStreamRestarts(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	restarts := 5
	if long() {
		restarts = 50
	}
	load := busLoad
	node := jettest.Start(t)
	load.NATS, load.Log = node.URL(), true
	r := newBusRig(t, 1, load)
	c := r.start(0)
	random, copied := rand.New(rand.NewPCG(3, uint64(restarts))), filepath.Join(t.TempDir(), "copy")
	for n := range restarts {
		r.acks(busAcksPerKill + random.IntN(2*busAcksPerKill))
		if n%3 > 0 { // at times it has not even noticed the last one
			c.ask("flow", "flows")
		}
		if n%2 == 0 {
			node.Kill()
		} else {
			node.Stop()
		}
		switch n % 5 {
		case 1:
			replaceDir(t, copied, node.Dir())
		case 4:
			replaceDir(t, node.Dir(), copied)
		}
		pause(time.Duration(random.Int64N(int64(300 * time.Millisecond)))) // producers go on
		node.Start()
	}
	r.acks(2 * busAcksPerKill)
	c.ask("forget", "forgotten")
	r.acks(2 * busAcksPerKill)
	r.kill(0)
	r.setup.Late = true
	r.start(0)
	b := r.finish()
	b.check(r.consumers()...)
	r.report(b, restarts)
	r.atLeast("events that came late", len(b.effects[late]), len(b.events))
}

// replaceDir makes one folder a copy of another.
func replaceDir(t *testing.T, to, from string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestNoEventIsLostWhenServersOfANATSClusterAreKilled kills one server of a cluster after
// the other under load.
func TestNoEventIsLostWhenServersOfANATSClusterAreKilled(t *testing.T) {
	tier.System(t)
	onSQLite(t)
	kills := 2
	if long() {
		kills = 24
	}
	load := busLoad
	nodes := jettest.Cluster(t, 3)
	load.NATS = jettest.URLs(nodes)
	r := newBusRig(t, 1, load)
	c := r.start(0)
	r.acks(busAcksPerKill)
	c.ask("flow", "flows")
	for n := range kills {
		next := time.After(5 * time.Second)
		node := nodes[n%len(nodes)]
		node.Kill()
		pause(2 * time.Second)
		node.Start()
		<-next
	}
	r.acks(busAcksPerKill)
	c.ask("flow", "flows")
	r.kill(0)
	r.setup.Late = true
	r.start(0)
	b := r.finish()
	b.check(r.consumers()...)
	t.Logf("%d servers killed: %d events acknowledged, %d a second", kills, len(r.acked), r.rate())
	r.atLeast("acknowledged events", len(r.acked), kills*5*busAcksPerKill)
}
