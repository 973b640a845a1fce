package bus_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet"
	"renga.dev/renga/internal/platform/bus/jet/jettest"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/test/tier"
)

// outside is a connection to a NATS server in a process of its own.
func outside(t testing.TB, n *jettest.Node) *jet.Server {
	t.Helper()
	s, err := jet.Open(t.Context(), jet.Config{URL: n.URL()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// ask asks JetStream for something that an operator does.
func ask(t testing.TB, s *jet.Server, what string) {
	t.Helper()
	reply, err := s.Conn().Request("$JS.API."+what, nil, 10*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	t.Logf("%s: %s", what, reply.Data)
}

// TestEventsSurviveWhatOperatorsDoToJetStream deletes the stream, empties it, and
// deletes it again, while events come.
func TestEventsSurviveWhatOperatorsDoToJetStream(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		s, err := jet.Open(t.Context(), jet.Config{Dir: t.TempDir()})
		r.must(err)
		t.Cleanup(s.Close)
		c := newCrew()
		b, stop := r.launch(s.Carrier(), bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		var all []events.Event
		come := func() {
			more := r.events(60, 9)
			r.publishAll(b, more[:30]...)
			r.publish(b, more[30:]...)
			all = append(all, more...)
		}
		come()
		r.took("c", all)
		for _, what := range []string{
			"STREAM.DELETE.RENGA_EVENTS", "STREAM.PURGE.RENGA_EVENTS",
			"STREAM.DELETE.RENGA_EVENTS",
		} {
			ask(t, s, what)
			come()
			r.took("c", all)
			r.published()
		}
		stop()
		inOrderAtLast(t, messages(t, s.Carrier(), events.Events), all)
	})
}

// TestEventsSurviveAServerThatLosesItsEnd kills the server and gives it back its files as
// they were some time before, as a machine does that had not synced them.
func TestEventsSurviveAServerThatLosesItsEnd(t *testing.T) {
	tier.System(t)
	if testing.Short() {
		t.Skip("SKIP: it waits for servers to start")
	}
	onEvery(t, func(t *testing.T, r *rig) {
		n := jettest.Start(t)
		s := outside(t, n)
		carrier := &heldCarrier{Carrier: s.Carrier()}
		c := newCrew()
		slow := c.consumer("slow")
		slow.Types = someTypes
		b, stop := r.launch(carrier, bus.Config{Consumers: []bus.Consumer{c.consumer("quick"), slow}})
		var all []events.Event
		come := func(n int) {
			more := r.events(n, 9)
			r.publish(b, more...)
			all = append(all, more...)
		}
		come(50)
		r.took("slow", all)
		for range 2 {
			n.Kill() // its files are as they are now
			before := filepath.Join(t.TempDir(), "before")
			r.must(os.CopyFS(before, os.DirFS(n.Dir())))
			n.Start()
			carrier.close()
			come(40)
			r.took("quick", all)
			r.published()
			n.Kill()
			r.must(os.RemoveAll(n.Dir()))
			r.must(os.CopyFS(n.Dir(), os.DirFS(before)))
			come(5)
			n.Start()
			come(20)
			carrier.open()
			r.took("quick", all)
			r.took("slow", all)
			r.published()
		}
		stop()
		if n := r.count("SELECT count(*) FROM bus_relay WHERE epoch > 1"); n == 0 {
			t.Error("no relay has noticed a loss")
		}
		inOrderAtLast(t, messages(t, s.Carrier(), events.Events), all)
	})
}

// TestEventsSurviveServersThatAreKilled kills the only server again and again.
func TestEventsSurviveServersThatAreKilled(t *testing.T) {
	tier.System(t)
	if testing.Short() {
		t.Skip("SKIP: it waits for servers to start")
	}
	onEvery(t, func(t *testing.T, r *rig) {
		n := jettest.Start(t)
		s := outside(t, n)
		c := newCrew()
		b, stop := r.launch(s.Carrier(), bus.Config{Consumers: []bus.Consumer{c.consumer("c")}})
		var all []events.Event
		for range count(3, 20) {
			more := r.events(40, 9)
			r.publish(b, more[:20]...)
			n.Kill()
			r.publish(b, more[20:30]...)
			n.Start()
			r.publish(b, more[30:]...)
			all = append(all, more...)
			r.took("c", all)
		}
		r.published()
		stop()
		if n := r.count("SELECT count(*) FROM bus_relay WHERE epoch > 1"); n != 0 {
			t.Errorf("%d relays took the end of the server for a loss", n)
		}
		inOrder(t, messages(t, s.Carrier(), events.Events), all)
	})
}
