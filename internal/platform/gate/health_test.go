package gate

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"renga.dev/renga/test/stalltest"
)

// TestWhoReadsMetricsSlowlyIsCutOff asks for a page that is larger than the buffers on the way,
// and reads none of it.
func TestWhoReadsMetricsSlowlyIsCutOff(t *testing.T) {
	text := strings.Repeat("x", 16<<20)
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })
	closed := make(chan struct{}, 1)
	server := httptest.NewUnstartedServer(openDoor(t, Config{}, Pages{Metrics: page}.Routes()...))
	server.Config.WriteTimeout = 100 * time.Millisecond
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
	stalltest.Within(t, "the connection of a slow reader is cut", closed)
}

// TestMetricsWaitForNoTenant asks for a large page again while no request with a large answer
// may run.
func TestMetricsWaitForNoTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Repeat("x", largeAnswer)
		page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "identity")
			fmt.Fprint(w, text)
		})
		d := openDoor(t, Config{Heavy: 4}, Pages{Metrics: page}.Routes()...)
		if err := d.bulky.Enter(t.Context(), defaultTenant); err != nil {
			t.Fatal(err)
		}
		defer d.bulky.Leave(defaultTenant)
		for range 2 {
			began := time.Now()
			w := d.ask("GET", "/metrics", "")
			if w.Code != 200 || w.Body.String() != text || w.Header().Get("Content-Encoding") != "identity" ||
				time.Since(began) > 0 {
				t.Errorf("got %d, %d bytes and %v after %v", w.Code, w.Body.Len(), w.Header(), time.Since(began))
			}
		}
	})
}
