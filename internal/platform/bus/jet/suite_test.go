package jet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/bustest"
	"renga.dev/renga/internal/platform/bus/jet/jettest"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/test/tier"
)

func TestTheSuiteOfCarriersInside(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bustest.System {
		t.Parallel()
		in := &inside{streams: streams{dir: filepath.Join(t.TempDir(), "nats")}}
		in.open(t)
		t.Cleanup(func() { in.s.Close() })
		return in
	})
}

func TestTheSuiteOfCarriersOutside(t *testing.T) {
	bustest.Run(t, func(t *testing.T) bustest.System {
		t.Parallel()
		n := jettest.Start(t)
		return &outer{streams: streams{s: open(t, Config{URL: n.URL()}), dir: n.Dir()}, node: n}
	})
}

func TestTheSuiteOfCarriersInACluster(t *testing.T) {
	tier.System(t)
	t.Parallel() // it waits a lot
	three := jettest.Cluster(t, 3)
	bustest.Run(t, func(t *testing.T) bustest.System {
		s := open(t, Config{URL: jettest.URLs(three)})
		c := &clustered{streams: streams{s: s}, nodes: three}
		c.settle(t)
		for _, st := range []events.Stream{events.Events, events.Executions} {
			if err := s.stream.DeleteStream(t.Context(), st.String()); err != nil &&
				!errors.Is(err, jetstream.ErrStreamNotFound) {
				t.Fatal(err)
			}
		}
		return c
	})
}

// streams is what all systems on JetStream have in common.
type streams struct {
	s   *Server
	dir string
}

func (x *streams) Carrier() bus.Carrier { return x.s.Carrier() }

func (x *streams) Delete(t *testing.T, s events.Stream) {
	if err := x.s.stream.DeleteStream(t.Context(), s.String()); err != nil {
		t.Fatal(err)
	}
}

func (x *streams) Expire(t *testing.T, s events.Stream, before uint64) {
	stream, err := x.s.stream.Stream(t.Context(), s.String())
	if err == nil {
		err = stream.Purge(t.Context(), jetstream.WithPurgeSequence(before))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// copy copies the files of the server, which does not run.
func (x *streams) copy(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// inside is a server in this process. A restart is that of the process.
type inside struct{ streams }

func (x *inside) open(t *testing.T) {
	t.Helper()
	s, err := Open(t.Context(), Config{Dir: x.dir})
	if err != nil {
		t.Fatal(err)
	}
	x.s = s
}

func (x *inside) Restart(t *testing.T) { x.s.Close(); x.open(t) }

func (x *inside) Save(t *testing.T) bool {
	x.s.Close()
	x.copy(t, x.dir, x.dir+".saved")
	x.open(t)
	return true
}

func (x *inside) Restore(t *testing.T) bool {
	x.s.Close()
	x.copy(t, x.dir+".saved", x.dir)
	x.open(t)
	return true
}

// outer is a server in another process. The connection is made again by itself.
type outer struct {
	streams
	node *jettest.Node
}

// pause ends the server, does something and starts it again.
func (x *outer) pause(t *testing.T, fn func()) {
	t.Helper()
	before := x.s.Carrier().Connections()
	x.node.Stop()
	fn()
	x.node.Start()
	until(t, func() bool { return x.s.Carrier().Connections() > before })
}

// until waits for something that happens on the way back to a server.
func until(t *testing.T, fn func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	for !fn() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("what was waited for did not come within %v", maxWait)
		}
	}
}

func (x *outer) Restart(t *testing.T) { x.pause(t, func() {}) }

func (x *outer) Save(t *testing.T) bool {
	x.pause(t, func() { x.copy(t, x.dir, x.dir+".saved") })
	return true
}

func (x *outer) Restore(t *testing.T) bool {
	x.pause(t, func() { x.copy(t, x.dir+".saved", x.dir) })
	return true
}

// clustered is a cluster of three.
type clustered struct {
	streams
	nodes []*jettest.Node
}

// settle waits until the cluster answers.
func (x *clustered) settle(t *testing.T) {
	t.Helper()
	until(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return x.s.Check(ctx) == nil
	})
}

// Restart kills the server that this process is connected to.
func (x *clustered) Restart(t *testing.T) {
	at, before := x.s.conn.ConnectedServerName(), x.s.Carrier().Connections()
	for _, n := range x.nodes {
		if n.Name() == at {
			n.Kill()
			n.Start()
		}
	}
	until(t, func() bool { return x.s.Carrier().Connections() > before })
	x.settle(t)
}

func (x *clustered) Save(*testing.T) bool    { return false }
func (x *clustered) Restore(*testing.T) bool { return false }
