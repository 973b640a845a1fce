package test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/program"
)

// fakeNATS is as much of a NATS server as processes ask: it takes connections, carries
// plain messages between them, and answers every request as JetStream answers for an
// account. The real one is tested where it may be imported.
type fakeNATS struct {
	addr     string
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
	subs     []subscription
	carried  int // plain messages that somebody got
	done     sync.WaitGroup
}

// subscription is who wants which messages.
type subscription struct {
	conn         net.Conn
	subject, sid string
}

// startFakeNATS listens on an address.
func startFakeNATS(t *testing.T, addr string) *fakeNATS {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeNATS{addr: listener.Addr().String(), listener: listener}
	f.done.Go(f.accept)
	t.Cleanup(f.stop)
	return f
}

func (f *fakeNATS) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.mu.Lock()
		f.conns = append(f.conns, conn)
		f.mu.Unlock()
		f.done.Go(func() { f.talk(conn) })
	}
}

// stop cuts all connections off.
func (f *fakeNATS) stop() {
	_ = f.listener.Close()
	f.mu.Lock()
	for _, conn := range f.conns {
		_ = conn.Close()
	}
	f.mu.Unlock()
	f.done.Wait()
}

// talk speaks the protocol with one client until it goes away.
func (f *fakeNATS) talk(conn net.Conn) {
	const account = `{"type":"io.nats.jetstream.api.v1.account_info_response"}`
	defer conn.Close()
	fmt.Fprint(conn, `INFO {"server_id":"fake","version":"2.11.0","proto":1,"headers":true,"max_payload":1048576}`+
		"\r\n")
	for in := bufio.NewReader(conn); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		switch words[0] {
		case "PING":
			fmt.Fprint(conn, "PONG\r\n")
		case "SUB":
			f.subscribe(subscription{conn, words[1], words[len(words)-1]})
		case "PUB", "HPUB": // subject, where to answer, sizes
			size, err := strconv.Atoi(words[len(words)-1])
			if err != nil {
				return
			}
			body := make([]byte, size+len("\r\n"))
			if _, err := io.ReadFull(in, body); err != nil {
				return
			}
			if words[0] == "PUB" && len(words) == 3 {
				f.carry(words[1], body[:size])
			} else {
				f.carry(words[2], []byte(account))
			}
		}
	}
}

func (f *fakeNATS) subscribe(s subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs = append(f.subs, s)
}

// carry gives a message to everybody who wants it. The only wildcard is a star at the end.
func (f *fakeNATS) carry(subject string, body []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.subs {
		if prefix, wild := strings.CutSuffix(s.subject, "*"); s.subject == subject || wild &&
			strings.HasPrefix(subject, prefix) {
			fmt.Fprintf(s.conn, "MSG %s %s %d\r\n%s\r\n", subject, s.sid, len(body), body)
			f.carried++
		}
	}
}

// count is how many messages somebody got.
func (f *fakeNATS) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.carried
}

// ready asks a server whether it is ready.
func ready(t testing.TB, c *child) (status int, body string) {
	t.Helper()
	resp, err := http.Get(c.url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func TestServeRunsNATSInside(t *testing.T) {
	onSQLite(t)
	dir := filepath.Join(t.TempDir(), "data")
	for range 2 { // the second finds what the first left
		c := serve(t, site{dir: dir})
		if status, body := ready(t, c); status != http.StatusOK ||
			body != `{"status":"ready","checks":{"database":"ok","nats":"ok"}}` {
			t.Errorf("readyz answers %d %s", status, body)
		}
		c.stop()
		if c.log.has(`msg="NATS `) {
			t.Errorf("there is something to say of NATS:\n%s", c.log)
		}
		if info, err := os.Stat(filepath.Join(dir, app.NATSFolder)); err != nil || !info.IsDir() {
			t.Errorf("it left %v (%v)", info, err)
		}
	}
}

// TestServeGoesOnWithoutNATS takes the server away that --nats-url names, and brings
// it back: that shows in /readyz, and commands do not care. Whether a load balancer is to
// send requests meanwhile is the operator's to choose.
func TestServeGoesOnWithoutNATS(t *testing.T) {
	t.Run("ready", func(t *testing.T) {
		goOnWithoutNATS(t, http.StatusOK, `{"status":"ready","checks":{"database":"ok","nats":"failed"}}`)
	})
	t.Run("not ready", func(t *testing.T) {
		goOnWithoutNATS(t, http.StatusServiceUnavailable,
			`{"status":"not ready","checks":{"database":"ok","nats":"failed"}}`, "RENGA_READY_NEEDS_NATS=true")
	})
}

func goOnWithoutNATS(t *testing.T, want int, says string, env ...string) {
	onSQLite(t)
	nats := startFakeNATS(t, "127.0.0.1:0")
	dir := filepath.Join(t.TempDir(), "data")
	c := serve(t, site{dir: dir, env: append(env, "RENGA_NATS_URL=nats://renga:s3cret@"+nats.addr)})
	ctx, cancel := context.WithTimeout(t.Context(), maxWait)
	defer cancel()
	nats.stop()
	if !c.log.wait(ctx, "connection to NATS lost") {
		t.Fatalf("the server does not miss NATS:\n%s", c.log)
	}
	if status, body := ready(t, c); status != want || body != says {
		t.Errorf("without NATS readyz answers %d %s", status, body)
	}
	caller := newClient(t, c, "caller")
	caller.put("line", graphs["line"])
	q := caller.request("CreateExecution", "", "", `"graphId":"line"`)
	if got, err := caller.try(ctx, q); err != nil || got.status != http.StatusAccepted {
		t.Errorf("without NATS a command is answered %d %s (%v)", got.status, got.body, err)
	}
	startFakeNATS(t, nats.addr)
	if !c.log.wait(ctx, "connected to NATS again") {
		t.Fatalf("the server does not find NATS again:\n%s", c.log)
	}
	if status, body := ready(t, c); status != http.StatusOK {
		t.Errorf("with NATS again readyz answers %d %s", status, body)
	}
	c.stop()
	if c.log.has("s3cret") {
		t.Errorf("the log has the password:\n%s", c.log)
	}
	if _, err := os.Stat(filepath.Join(dir, app.NATSFolder)); !os.IsNotExist(err) {
		t.Errorf("a server ran inside too (%v)", err)
	}
}

func TestServeRefusesToStartWithoutTheNATSItWasGiven(t *testing.T) {
	onSQLite(t)
	nats := startFakeNATS(t, "127.0.0.1:0")
	nats.stop()
	var out, errs bytes.Buffer
	code := program.Run(t.Context(), []string{
		"serve", "--addr", "127.0.0.1:0", "--data-dir", t.TempDir(), "--nats-url", "nats://renga:s3cret@" + nats.addr,
	}, &out, &errs)
	if code != 1 || !strings.Contains(errs.String(), "NATS cannot be reached at nats://"+nats.addr) {
		t.Errorf("it ended with %d and said %s%s", code, &out, &errs)
	}
	if strings.Contains(out.String()+errs.String(), "s3cret") {
		t.Errorf("it says the password: %s%s", &out, &errs)
	}
}
