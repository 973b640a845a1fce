package program

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// startTLS runs `renga serve` with a certificate until the test ends, and gives its URL and the certificate's name.
func startTLS(t *testing.T) (url, cert string) {
	t.Helper()
	cert, key := issue(t, t.TempDir(), 1)
	ctx, stop := context.WithCancel(context.Background())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, []string{
			"serve", "--addr", "127.0.0.1:0", "--data-dir", t.TempDir(), "--tls-cert", cert, "--tls-key", key,
		}, io.Discard, write)
		_ = write.Close()
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the server ended with %d", code)
		}
	})
	log := bufio.NewScanner(read)
	address := regexp.MustCompile(`msg=serving address=(\S+) tls=true`)
	for log.Scan() {
		if found := address.FindStringSubmatch(log.Text()); found != nil {
			go func() { _, _ = io.Copy(io.Discard, read) }()
			return "https://" + found[1], cert
		}
	}
	t.Fatal("the server does not say where it serves")
	return "", ""
}

// TestServeSpeaksHTTP2OverTLS opens more streams than a browser has HTTP/1.1 connections, on one connection, and
// still gets answers.
func TestServeSpeaksHTTP2OverTLS(t *testing.T) {
	url, cert := startTLS(t)
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true, MaxConnsPerHost: 1,
	}
	defer transport.CloseIdleConnections()
	get := func(ctx context.Context, path string) *http.Response {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return resp
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for range 8 {
		stream := get(ctx, "/events/stream")
		defer stream.Body.Close()
		if stream.StatusCode != 200 || stream.ProtoMajor != 2 {
			t.Fatalf("a stream: got %s over %s", stream.Status, stream.Proto)
		}
	}
	page := get(ctx, "/ui/queues")
	defer page.Body.Close()
	if page.StatusCode != 200 || page.ProtoMajor != 2 || page.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("got %s over %s, %v", page.Status, page.Proto, page.Header)
	}
}

func TestTheCommandLineTrustsACAFile(t *testing.T) {
	url, cert := startTLS(t)
	run := func(args ...string) (string, int) {
		var out bytes.Buffer
		code := Run(t.Context(), append([]string{"whoami", "--server", url}, args...), &out, &out)
		return out.String(), code
	}
	if out, code := run("--ca-file", cert); code != 0 {
		t.Errorf("with the CA: code %d: %s", code, out)
	}
	if out, code := run(); code == 0 || !strings.Contains(out, "certificate") {
		t.Errorf("without it: code %d: %s", code, out)
	}
	empty := cert + ".empty"
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := run("--ca-file", empty); code != 2 || !strings.Contains(out, "--ca-file") {
		t.Errorf("with an empty file: code %d: %s", code, out)
	}
	t.Setenv("RENGA_CA_FILE", cert)
	if out, code := run(); code != 0 {
		t.Errorf("with the variable: code %d: %s", code, out)
	}
}
