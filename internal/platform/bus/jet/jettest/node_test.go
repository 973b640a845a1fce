package jettest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/test/tier"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// publish puts a message into a stream, which it makes if it is missing, trying until
// it is acknowledged, and gives the number of messages there.
func publish(t *testing.T, url string, replicas int) uint64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startWithin)
	defer cancel()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond),
		nats.RetryOnFailedConnect(true))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for ctx.Err() == nil {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err = js.CreateOrUpdateStream(try, jetstream.StreamConfig{
			Name: "S", Subjects: []string{"s"},
			Replicas: replicas,
		})
		var ack *jetstream.PubAck
		if err == nil {
			ack, err = js.Publish(try, "s", []byte("text"))
		}
		cancel()
		if err == nil {
			return ack.Sequence
		}
	}
	t.Fatalf("the message was not acknowledged: %v", err)
	return 0
}

func TestAServerKeepsItsStreamWhenItIsKilledOrStopped(t *testing.T) {
	tier.System(t)
	n := Start(t)
	for i, end := range []func(){n.Kill, n.Stop, func() {}} {
		if got := publish(t, n.URL(), 1); got != uint64(i+1) {
			t.Errorf("message %d has sequence %d", i+1, got)
		}
		end()
		if n.cmd == nil {
			n.Start()
		}
	}
}

func TestAClusterGoesOnWithoutOneOfItsServers(t *testing.T) {
	tier.System(t)
	nodes := Cluster(t, 3)
	publish(t, URLs(nodes), 3)
	nodes[0].Kill()
	if got := publish(t, URLs(nodes), 3); got != 2 {
		t.Errorf("the sequence is %d after 2 messages", got)
	}
	nodes[0].Start()
	nodes[1].Kill()
	if got := publish(t, URLs(nodes), 3); got < 3 {
		t.Errorf("the sequence is %d after 3 messages", got)
	}
}
