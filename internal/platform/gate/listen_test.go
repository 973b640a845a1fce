package gate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestModeNoneListensOnLoopbackOnly(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:8080": true, "127.1.2.3:0": true, "[::1]:8080": true, "localhost:8080": true,
		"[::ffff:127.0.0.1]:1": true,
		":8080":                false, "0.0.0.0:8080": false, "[::]:8080": false, "10.0.0.1:8080": false,
		"[fe80::1]:80": false,
		"127.0.0.1":    false, "": false, "[::ffff:10.0.0.1]:1": false,
	} {
		if err := CheckListen(t.Context(), addr, ModeNone); (err == nil) != want {
			t.Errorf("%q: got %v", addr, err)
		}
	}
	for _, addr := range []string{":8080", "0.0.0.0:8080", "10.0.0.1:1"} {
		if err := CheckListen(t.Context(), addr, ModeJWT); err != nil {
			t.Errorf("%q with jwt: %v", addr, err)
		}
	}
}

func TestModeNoneServesLoopbackHostsOnly(t *testing.T) {
	d := openDoor(
		t,
		Config{},
		Route{Pattern: "GET /things", Do: ok},
		Route{Pattern: "GET /open", Public: true, Do: ok},
	)
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST:1": true, "127.0.0.1": true, "127.0.0.1:8080": true,
		"127.9.9.9:65535": true,
		"[::1]":           true, "[::1]:8080": true,
		"": false, "example.com": false, "localhost.example.com": false, "localhost:8080.example.com": false,
		"localhost:":            false,
		"127.0.0.1.example.com": false, "127.0.0.1:8080:1": false, "10.0.0.1": false, "0.0.0.0": false, "[::]": false,
		"[::1":   false,
		"[::1]x": false, "[::1].example.com": false, "::1": false, "127.1": false, "2130706433": false,
		"0x7f000001":  false,
		"[127.0.0.1]": false, "localhost@example.com": false, "user@localhost": false, "localhost:80a": false,
		"[::ffff:10.0.0.1]": false,
	} {
		for _, target := range []string{"/things", "/open", "/nothing"} {
			w := d.ask("GET", target, "", "Host: "+host)
			if refused := w.Code == 403; refused == want {
				t.Errorf("host %q, %s: got %d", host, target, w.Code)
			}
		}
	}
}

// serve runs a real server for a gate until the test ends.
func serve(t *testing.T, d *door) (addr string, server *http.Server) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server = Server(listener.Addr().String(), d, slog.New(slog.DiscardHandler))
	server.RegisterOnShutdown(d.Drain)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		<-done
	})
	return listener.Addr().String(), server
}

// raw sends bytes as they are and returns everything that comes back.
func raw(t *testing.T, addr, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, request) }()
	all, err := io.ReadAll(conn)
	if err != nil && len(all) == 0 {
		t.Fatal(err)
	}
	return string(all)
}

func TestRequestsThatTwoReadersCouldReadDifferently(t *testing.T) {
	seen := 0
	d := openDoor(t, Config{}, Route{Pattern: "POST /things", MaxBody: 100, Do: func(context.Context, *Call) (Reply,
		error,
	) {
		seen++
		return Reply{Status: 202}, nil
	}})
	addr, _ := serve(t, d)
	head := "POST /things HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
	for _, tc := range []struct{ name, request, want string }{
		{"an honest request", head + "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 202"},
		{"an honest chunked request", head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "HTTP/1.1 202"},
		{"two lengths", head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "HTTP/1.1 400"},
		{"a negative length", head + "Content-Length: -1\r\n\r\n{}", "HTTP/1.1 400"},
		{"an unknown coding", head + "Transfer-Encoding: xchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "HTTP/1.1 501"},
		{"a header with a space before the colon", head + "Content-Length : 2\r\n\r\n{}", "HTTP/1.1 400"},
		{"no host", "GET /things HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},
		{"two hosts", "GET /things HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", "HTTP/1.1 400"},
		{
			"a foreign absolute target",
			"GET http://evil/things HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
			"HTTP/1.1 403",
		},
		{"headers without end", "GET /things HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 64<<10) +
			"\r\n\r\n", "HTTP/1.1 431"},
		{"a chunked body that is too large", head + "Transfer-Encoding: chunked\r\n\r\nc8\r\n" + strings.Repeat("x",
			200) + "\r\n0\r\n\r\n", "HTTP/1.1 413"},
		{"a length that promises too much", head + "Content-Length: 99999999999\r\n\r\n", "HTTP/1.1 413"},
		{"a chunk that is malformed", head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 422"},
	} {
		before := seen
		got := raw(t, addr, tc.request)
		if !strings.HasPrefix(got, tc.want) || strings.Count(got, "HTTP/1.1 ") != 1 {
			t.Errorf("%s: got %.200q, want %s", tc.name, got, tc.want)
		}
		if reached := seen > before; reached != strings.HasSuffix(tc.want, "202") {
			t.Errorf("%s: the handler was reached: %v", tc.name, reached)
		}
	}
}

func TestStreamsFlowAndEndWhenTheProcessDrains(t *testing.T) {
	d := openDoor(t, Config{}, Route{Pattern: "GET /stream", Stream: true, Do: func(ctx context.Context, c *Call) (
		Reply, error,
	) {
		if c.Query().Get("refuse") != "" {
			return Reply{Status: 204}, nil
		}
		c.Stream.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(c.Stream, "data: 1\n\n")
		if err := http.NewResponseController(c.Stream).Flush(); err != nil {
			return Reply{}, err
		}
		<-ctx.Done()
		fmt.Fprint(c.Stream, "data: end\n\n")
		return Reply{}, context.Cause(ctx)
	}}, Pages{}.Routes()[1])
	addr, server := serve(t, d)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	get := func(target string) *http.Response {
		t.Helper()
		response, err := client.Get("http://" + addr + target)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { response.Body.Close() })
		return response
	}
	if got := get("/stream?refuse=1").StatusCode; got != 204 {
		t.Errorf("a stream that did not begin: got %d", got)
	}
	stream := get("/stream")
	lines := bufio.NewReader(stream.Body)
	if line, err := lines.ReadString('\n'); line != "data: 1\n" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	if got := get("/readyz").StatusCode; got != 200 {
		t.Errorf("before draining: got %d", got)
	}
	d.Drain()
	rest, err := io.ReadAll(lines)
	if string(rest) != "\ndata: end\n\n" || err != nil {
		t.Errorf("got %q, %v", rest, err)
	}
	if response := get("/readyz"); response.StatusCode != 503 || response.Header.Get("Retry-After") == "" {
		t.Errorf("while draining: got %d", response.StatusCode)
	}
	if server.MaxHeaderBytes == 0 || server.ReadHeaderTimeout == 0 {
		t.Error("the server has no limits")
	}
}

func TestAStreamThatPanicsIsCutOff(t *testing.T) {
	d := openDoor(
		t,
		Config{},
		Route{Pattern: "GET /stream", Stream: true, Do: func(_ context.Context, c *Call) (Reply,
			error,
		) {
			fmt.Fprint(c.Stream, "data: 1\n\n")
			panic("half way")
		}},
	)
	addr, _ := serve(t, d)
	got := raw(t, addr, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if strings.HasSuffix(got, "0\r\n\r\n") {
		t.Errorf("the stream looks complete: %q", got)
	}
}

func TestAStreamThatMustBeWholeIsCutOffWhenItFails(t *testing.T) {
	d := openDoor(t, Config{}, Route{Pattern: "GET /stream", Stream: true, Whole: true, Do: func(_ context.Context,
		c *Call,
	) (Reply, error) {
		fmt.Fprint(c.Stream, "data: 1\n\n")
		return Reply{}, errors.New("half way")
	}})
	addr, _ := serve(t, d)
	got := raw(t, addr, "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if strings.HasSuffix(got, "0\r\n\r\n") || !strings.Contains(d.log.String(), "half way") {
		t.Errorf("the stream looks complete: %q\n%s", got, d.log)
	}
}
