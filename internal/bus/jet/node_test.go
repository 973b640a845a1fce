package jet

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// nodeEnv has the node that a child of the tests is.
const nodeEnv = "RENGA_TEST_NATS_NODE"

// node is a NATS server in a process of its own, so that it can be killed as a machine
// would: without a word.
type node struct {
	Name   string
	Port   int
	Routes []int // ports of the cluster, its own first; none: it is alone
	Dir    string

	cmd *exec.Cmd
}

// runNode is a node, until it is asked to end.
func runNode(config string) {
	var n node
	if err := json.Unmarshal([]byte(config), &n); err != nil {
		panic(err)
	}
	opts := &server.Options{
		ServerName: n.Name, Host: "127.0.0.1", Port: n.Port, NoSigs: true, NoLog: true, JetStream: true, StoreDir: n.Dir,
		JetStreamMaxMemory: MaxMemory, JetStreamMaxStore: MaxStore,
	}
	if len(n.Routes) > 0 {
		opts.Cluster = server.ClusterOpts{Name: "renga", Host: "127.0.0.1", Port: n.Routes[0]}
		var urls []string
		for _, port := range n.Routes {
			urls = append(urls, "nats://127.0.0.1:"+strconv.Itoa(port))
		}
		opts.Routes = server.RoutesFromStr(strings.Join(urls, ","))
	}
	s, err := server.NewServer(opts)
	if err != nil {
		panic(err)
	}
	s.Start()
	if !s.ReadyForConnections(maxWait) {
		panic("it does not start")
	}
	fmt.Println("ready")
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
	s.Shutdown()
	s.WaitForShutdown()
}

// nodes makes a cluster of several servers, or a server alone. None is started.
func nodes(t *testing.T, n int) (list []*node) {
	t.Helper()
	ports := freePorts(t, 2*n)
	for i := range n {
		one := &node{Name: fmt.Sprint("node", i), Port: ports[i], Dir: filepath.Join(t.TempDir(), "nats")}
		if n > 1 {
			one.Routes = append(one.Routes, ports[n+i])
			for j := range n {
				if j != i {
					one.Routes = append(one.Routes, ports[n+j])
				}
			}
		}
		list = append(list, one)
		t.Cleanup(func() { one.end(syscall.SIGKILL) })
	}
	return list
}

// freePorts finds ports that nobody listens on.
func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // when all are known, so that they differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// start starts a node and waits until it listens.
func (n *node) start(t *testing.T) {
	t.Helper()
	config, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	n.cmd = exec.Command(self)
	n.cmd.Env = append(os.Environ(), nodeEnv+"="+string(config))
	n.cmd.Stderr = os.Stderr
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 6)
	if _, err := out.Read(said); err != nil || string(said) != "ready\n" {
		t.Fatalf("%s says %q, %v", n.Name, said, err)
	}
}

// stop makes a node stand still, and waits until it does.
func (n *node) stop(t *testing.T) {
	t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		_, state, _ := strings.Cut(string(stat), ") ")
		return strings.HasPrefix(state, "T")
	})
}

// end ends a node and waits until it is gone.
func (n *node) end(how syscall.Signal) {
	if n.cmd != nil {
		_ = n.cmd.Process.Signal(how)
		_ = n.cmd.Wait()
		n.cmd = nil
	}
}

// reach is where nodes are reached.
func reach(list ...*node) string {
	var urls []string
	for _, n := range list {
		urls = append(urls, "nats://127.0.0.1:"+strconv.Itoa(n.Port))
	}
	return strings.Join(urls, ",")
}
