package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// seen is a request that passed the proxy.
type seen struct {
	method, path, key, correlation, body string
}

// proxy stands between client and server, notes every request and, where it is
// told to, does harm.
type proxy struct {
	url    string
	target *url.URL
	next   *http.Transport
	mu     sync.Mutex
	all    []seen
	harm   func(n int, r seen) string // of the n-th request, from 1: what to do to it
}

// What a proxy may do to a request.
const (
	cutBefore = "cut before" // the server never sees it
	cutAfter  = "cut after"  // the server answers, the client sees nothing
	cutInside = "cut inside" // the client sees a part of the answer
)

func newProxy(t testing.TB, s *server, harm func(n int, r seen) string) *proxy {
	t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: target, harm: harm, next: &http.Transport{}}
	web := httptest.NewServer(p)
	p.url = web.URL
	t.Cleanup(func() {
		web.Close()
		p.next.CloseIdleConnections()
	})
	return p
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request := seen{
		r.Method, r.URL.Path, r.Header.Get("X-Idempotency-Key"), r.Header.Get("X-Correlation-Id"),
		string(body),
	}
	p.mu.Lock()
	p.all = append(p.all, request)
	n := len(p.all)
	p.mu.Unlock()
	what := ""
	if p.harm != nil {
		what = p.harm(n, request)
	}
	if what == cutBefore {
		panic(http.ErrAbortHandler)
	}
	if status, rest, ok := strings.Cut(what, " Retry-After "); ok {
		w.Header().Set("Retry-After", rest)
		w.WriteHeader(map[string]int{"429": 429, "502": 502, "503": 503, "504": 504}[status])
		return
	}
	p.forward(w, r, body, what)
}

func (p *proxy) forward(w http.ResponseWriter, r *http.Request, body []byte, what string) {
	out := r.Clone(r.Context())
	out.RequestURI, out.URL.Scheme, out.URL.Host, out.Host = "", p.target.Scheme, p.target.Host, p.target.Host
	out.Body = io.NopCloser(strings.NewReader(string(body)))
	resp, err := p.next.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	if what == cutAfter {
		_, _ = io.Copy(io.Discard, resp.Body)
		panic(http.ErrAbortHandler)
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if what == cutInside {
		_, _ = io.CopyN(w, resp.Body, 10)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	p.copy(w, resp.Body)
}

// copy passes an answer on piece by piece: streams must not be held back.
func (p *proxy) copy(w http.ResponseWriter, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, broken := w.Write(buffer[:n]); broken != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// requests are those of a path that were seen so far.
func (p *proxy) requests(path string) []seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	var some []seen
	for _, r := range p.all {
		if r.path == path {
			some = append(some, r)
		}
	}
	return some
}
