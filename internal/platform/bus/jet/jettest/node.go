// Package jettest runs real NATS servers with JetStream for tests, alone or as a cluster,
// each in a process of its own that can be killed. The process is the test binary: its
// TestMain calls Main.
package jettest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// startWithin is how long servers may take to answer.
const startWithin = 30 * time.Second

// asNode makes the test binary a server: the value is a setup.
const asNode = "RENGA_TEST_AS_NATS"

// setup is what a server is started with.
type setup struct {
	Name, Dir string
	Port      int
	Cluster   int   // port for the others of the cluster; 0: it is alone
	Routes    []int // of the others
}

// Main is the server, if this process was started as one, and does not return then.
func Main() {
	text := os.Getenv(asNode)
	if text == "" {
		return
	}
	fmt.Fprintln(os.Stderr, run(text))
	os.Exit(1)
}

// run serves until it is told to end, when it does not return, or its parent has ended.
func run(text string) error {
	var s setup
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	opts := &server.Options{
		ServerName: s.Name, Host: "127.0.0.1", Port: s.Port, JetStream: true, StoreDir: s.Dir,
		JetStreamMaxStore: 16 << 30, JetStreamMaxMemory: 256 << 20,
	}
	if s.Cluster != 0 {
		opts.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: s.Cluster}
		for _, port := range s.Routes {
			opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: address(port)})
		}
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	srv.Start() // it ends by SIGTERM
	if !srv.ReadyForConnections(startWithin) {
		return errors.New("the NATS server does not take connections")
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errors.New("the parent has ended")
}

// Node is a NATS server of a test. Its methods are for one goroutine. Its streams
// survive until the test ends.
type Node struct {
	t     testing.TB
	setup setup
	cmd   *exec.Cmd // nil when it does not run
}

// Start starts a server that is alone.
func Start(t testing.TB) *Node {
	t.Helper()
	n := &Node{t: t, setup: setup{Name: "alone", Dir: t.TempDir(), Port: freePort(t)}}
	n.Start()
	t.Cleanup(n.Kill)
	n.await(n.URL())
	return n
}

// Cluster starts servers that keep streams together.
func Cluster(t testing.TB, size int) []*Node {
	t.Helper()
	dir := t.TempDir()
	var routes []int
	for range size {
		routes = append(routes, freePort(t))
	}
	var all []*Node
	for i := range size {
		name := "n" + strconv.Itoa(i)
		n := &Node{t: t, setup: setup{
			Name: name, Dir: filepath.Join(dir, name), Port: freePort(t), Cluster: routes[i],
			Routes: routes,
		}}
		n.Start()
		t.Cleanup(n.Kill)
		all = append(all, n)
	}
	all[0].await(URLs(all))
	return all
}

// URLs is the addresses of a cluster, as a client takes them.
func URLs(nodes []*Node) string {
	var list []string
	for _, n := range nodes {
		list = append(list, n.URL())
	}
	return strings.Join(list, ",")
}

// URL is the address of the server. It stays the same when it is started again.
func (n *Node) URL() string { return "nats://" + address(n.setup.Port) }

// Name is what the server calls itself.
func (n *Node) Name() string { return n.setup.Name }

// Dir is the folder of its streams. It may be changed while the server does not run.
func (n *Node) Dir() string { return n.setup.Dir }

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Start starts a server that was stopped or killed, and returns when it takes
// connections. It may not have found its streams or its cluster then.
func (n *Node) Start() {
	n.t.Helper()
	self, err := os.Executable()
	if err != nil {
		n.t.Fatal(err)
	}
	text, err := json.Marshal(n.setup)
	if err != nil {
		n.t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), asNode+"="+string(text))
	if _, err := cmd.StdinPipe(); err != nil { // open until Wait, or the end of this process
		n.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	n.cmd = cmd
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		n.t.Fatalf("the NATS server %s did not start: %q %v", n.setup.Name, line, err)
	}
}

// Stop ends the server in order.
func (n *Node) Stop() { n.end(syscall.SIGTERM) }

// Kill ends the server as a power switch would.
func (n *Node) Kill() { n.end(syscall.SIGKILL) }

// Freeze makes the server stand still, with its connections open, until Kill.
func (n *Node) Freeze() {
	n.t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		n.t.Fatal(err)
	}
	for n.t.Context().Err() == nil { // the signal takes its time
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
		if err != nil {
			n.t.Fatal(err)
		}
		if _, state, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(state, "T") {
			return
		}
	}
}

func (n *Node) end(signal syscall.Signal) {
	if n.cmd == nil {
		return
	}
	_ = n.cmd.Process.Signal(signal)
	_ = n.cmd.Wait() // a signal is how it should end
	n.cmd = nil
}

// await waits until JetStream answers at an address.
func (n *Node) await(address string) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), startWithin)
	defer cancel()
	conn, err := nats.Connect(address, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		n.t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		n.t.Fatal(err)
	}
	for {
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := js.AccountInfo(try)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			n.t.Fatalf("JetStream does not answer: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// freePort finds a port below those that the system gives to outgoing connections,
// which could take it while the server is down.
func freePort(t testing.TB) int {
	t.Helper()
	const first, last = 20_000, 32_000
	for range 100 {
		port := first + rand.IntN(last-first)
		if l, err := net.Listen("tcp", address(port)); err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}
