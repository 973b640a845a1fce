package gate

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/test/stalltest"
)

// TestLargeBodiesShareABudget holds one large body and sends another: it is
// refused before it is read, a small one is not, and the room comes back.
func TestLargeBodiesShareABudget(t *testing.T) {
	var d *door
	inside := func() {}
	d = openDoor(
		t,
		Config{},
		Route{Pattern: "POST /large", MaxBody: MaxBodies, Do: func(ctx context.Context, c *Call) (
			Reply, error,
		) {
			inside()
			return ok(ctx, c)
		}},
	)
	large := strings.Repeat(" ", MaxBodies/2+1)
	inside = func() {
		inside = func() {}
		w := d.ask(http.MethodPost, "/large", large)
		if got := decodeError(t, w); w.Code != http.StatusServiceUnavailable || got.Error.Code != "OVERLOADED" ||
			w.Header().Get("Retry-After") != "1" {
			t.Errorf("a second large body: %d %s %v", w.Code, w.Body, w.Header())
		}
		if w := d.ask(http.MethodPost, "/large", strings.Repeat(" ", smallBody)); w.Code != http.StatusOK {
			t.Errorf("a small body beside a large one: %d %s", w.Code, w.Body)
		}
	}
	for range 3 {
		if w := d.ask(http.MethodPost, "/large", large); w.Code != http.StatusOK {
			t.Errorf("a large body alone: %d %s", w.Code, w.Body)
		}
	}
	if left := d.bodies.all; left != 0 || len(d.bodies.of) != 0 {
		t.Errorf("%d bytes are still reserved, of %v", left, d.bodies.of)
	}
}

// TestABodyMustComeWithinTheTimeOfItsRequest sends the beginning of a body and no more.
func TestABodyMustComeWithinTheTimeOfItsRequest(t *testing.T) {
	d := openDoor(t, Config{}, Route{
		Pattern: "POST /quick", MaxBody: quickBody, Timeout: 100 * time.Millisecond,
		Do: ok,
	})
	server := httptest.NewUnstartedServer(d)
	server.Config.ReadTimeout = readTimeout
	server.Start()
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stalls, began := stalltest.New(t), time.Now()
	const request = "POST /quick HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
		"Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusUnprocessableEntity {
		t.Fatalf("got %v (%v)", answer, err)
	}
	defer answer.Body.Close()
	if took := stalls.Since(began); took > readTimeout/2 {
		t.Errorf("it took %v", took)
	}
}
