package gate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/test/stalltest"
)

// TestAHandlerThatDoesNotHeedItsTimeIsAnsweredFor has handlers that wait for something
// that never comes, as on a database that hangs: their callers are answered all the same.
func TestAHandlerThatDoesNotHeedItsTimeIsAnsweredFor(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{}, 2)
	hang := func(context.Context, *Call) (Reply, error) {
		<-release
		ended <- struct{}{}
		return Reply{Body: "too late"}, nil
	}
	d := openDoor(t, Config{},
		Route{Pattern: "GET /hang", Timeout: 20 * time.Millisecond, Do: hang},
		Route{
			Pattern: "POST /refused", Timeout: 20 * time.Millisecond, MaxBody: 1, Do: ok,
			Refused: func(ctx context.Context, c *Call, err error) error {
				_, _ = hang(ctx, c)
				return err
			},
		})
	server := httptest.NewServer(d)
	defer server.Close()
	client := &http.Client{Timeout: time.Minute} // hangs are told, not waited for by the runner
	defer client.CloseIdleConnections()
	get := func(method, path, body string) {
		t.Helper()
		req, _ := http.NewRequest(method, server.URL+path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if answer.StatusCode != 503 || !strings.Contains(string(text), "TIMEOUT") || err != nil {
			t.Errorf("%s: got %d %s (%v)", path, answer.StatusCode, text, err)
		}
	}
	get("GET", "/hang", "")
	get("POST", "/refused", "{}")
	close(release)
	for range 2 {
		stalltest.Within(t, "the handler ends", ended)
	}
}

// TestAWaitThatHasEndedIsNotACallerWhoLeft has a handler that fails after its wait, as a claim does when the
// database goes away: it is answered, and not with nothing.
func TestAWaitThatHasEndedIsNotACallerWhoLeft(t *testing.T) {
	d := openDoor(t, Config{}, Route{
		Pattern: "GET /claim", Timeout: NoTimeout,
		Do: func(ctx context.Context, c *Call) (Reply, error) {
			_, stop := c.Wait(ctx, time.Minute)
			defer stop()
			return Reply{}, fault.New(fault.Unavailable, "UNAVAILABLE", "the database cannot be reached")
		},
	})
	server := httptest.NewServer(d)
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/claim")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "cannot be reached") ||
		err != nil {
		t.Errorf("got %d %s (%v)", answer.StatusCode, text, err)
	}
}

// TestABodyThatIsTooLargeIsAnswered sends all of a body before it reads, as simple clients do.
func TestABodyThatIsTooLargeIsAnswered(t *testing.T) {
	d := openDoor(t, Config{}, Route{Pattern: "POST /small", MaxBody: 1 << 10, Do: ok})
	server := httptest.NewServer(d)
	defer server.Close()
	const size = 8 << 20 // more than the buffers on the way hold
	for name, send := range map[string]func(w io.Writer) error{
		"with a length": func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", size, strings.Repeat("x", size))
			return err
		},
		"in chunks": func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", size,
				strings.Repeat("x", size))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, err = io.WriteString(conn,
				"POST /small HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n")
			if err == nil {
				err = send(conn)
			}
			if err != nil {
				t.Fatalf("the body could not be sent: %v", err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge {
				t.Fatalf("got %v (%v)", answer, err)
			}
			text, err := io.ReadAll(answer.Body)
			if err != nil || !strings.Contains(string(text), "1024 bytes") {
				t.Errorf("got %s (%v)", text, err)
			}
		})
	}
}

// TestWhoWaitsToBeAskedSendsNothingTooLarge: with Expect: 100-continue the answer comes first.
func TestWhoWaitsToBeAskedSendsNothingTooLarge(t *testing.T) {
	d := openDoor(t, Config{}, Route{Pattern: "POST /small", MaxBody: 1 << 10, Do: ok})
	server := httptest.NewServer(d)
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, err = io.WriteString(conn, "POST /small HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "+
		"application/json\r\nContent-Length: 2000\r\nExpect: 100-continue\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("got %v (%v)", answer, err)
	}
}
