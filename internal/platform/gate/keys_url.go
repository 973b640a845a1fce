package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How keys are fetched from a URL.
const (
	keysAge       = 10 * time.Minute // after which they are fetched again
	keysGap       = 10 * time.Second // between fetches for tokens that name an unknown key
	keysAgain     = 30 * time.Second // between fetches while they fail
	keysTimeout   = 5 * time.Second  // of one fetch
	keysRedirects = 3                // that one fetch follows
)

// IsURL reports whether a text that may name a file names a URL.
func IsURL(text string) bool { return strings.Contains(text, "://") }

// keyURL holds the keys of a URL and fetches them again: by age, and when a token names a key that
// it does not have. While the URL cannot be used, the last good keys stay.
type keyURL struct {
	url     string
	client  *http.Client
	log     *slog.Logger
	current atomic.Pointer[keySet]
	due     atomic.Int64 // unix nanoseconds of the next fetch by age

	mu      sync.Mutex
	tried   time.Time     // the last fetch began
	running chan struct{} // of the fetch under way, closed at its end; nil: there is none
	last    []byte        // what was fetched
	away    bool          // the last fetch failed
}

// openKeyURL fetches keys for the first time: without any, nobody could be let in.
func openKeyURL(from string, now time.Time, log *slog.Logger) (*keyURL, error) {
	at, err := url.Parse(from)
	switch {
	case err != nil:
		return nil, errors.New("gate: the URL of keys is malformed")
	case at.Scheme != "https" && !(at.Scheme == "http" && loopbackHost(at.Host)):
		return nil, fmt.Errorf("gate: keys are fetched over https, or over http from this machine; %s://%s is neither",
			at.Scheme, at.Host)
	case at.Host == "":
		return nil, errors.New("gate: the URL of keys names no host")
	case at.User != nil:
		return nil, errors.New("gate: the URL of keys holds credentials; public keys need none")
	}
	u := &keyURL{url: from, log: log, tried: now, client: &http.Client{
		Timeout: keysTimeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true,
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: stayThere,
	}}
	if err := u.fetch(); err != nil {
		return nil, fmt.Errorf("gate: keys of %s: %w", at.Host, err)
	}
	u.due.Store(now.Add(keysAge).UnixNano())
	return u, nil
}

// stayThere follows redirects on the host that was asked, and to no other: whoever can
// make it redirect must not name the keys.
func stayThere(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
		return errors.New("it redirects to another host")
	}
	if len(via) > keysRedirects {
		return errors.New("it redirects too often")
	}
	return nil
}

// keys are the last good keys; when they are old a fetch begins.
func (u *keyURL) keys(now time.Time) *keySet {
	if now.UnixNano() >= u.due.Load() {
		u.begin(now, keysAgain)
	}
	return u.current.Load()
}

// newer waits for a fetch that is under way or may begin now.
func (u *keyURL) newer(now time.Time, than *keySet) *keySet {
	if running := u.begin(now, keysGap); running != nil {
		<-running // no longer than keysTimeout
	}
	if got := u.current.Load(); got != than {
		return got
	}
	return nil
}

// begin starts a fetch unless the last one began less than gap ago. It gives the end
// of the fetch under way; nil: there is none.
func (u *keyURL) begin(now time.Time, gap time.Duration) <-chan struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running != nil {
		return u.running
	}
	if since := now.Sub(u.tried); since >= 0 && since < gap { // a clock that went back must not stop it
		return nil
	}
	running := make(chan struct{})
	u.tried, u.running = now, running
	u.due.Store(now.Add(keysAge).UnixNano())
	go func() {
		err := u.fetch()
		u.mu.Lock()
		defer u.mu.Unlock()
		if err != nil {
			u.log.Warn("keys could not be fetched, the last ones stay", keyError, err)
			u.due.Store(now.Add(keysAgain).UnixNano())
		} else if u.away {
			u.log.Info("keys can be fetched again")
		}
		u.away, u.running = err != nil, nil
		close(running)
	}()
	return running
}

// fetch takes the keys of the URL. Keys that did not change stay the same set, so that
// verified tokens stay verified.
func (u *keyURL) fetch() error {
	raw, err := u.get()
	if err != nil || bytes.Equal(raw, u.last) {
		return err
	}
	set, err := parseKeys(raw)
	if err != nil {
		return err
	}
	u.last = raw // by one fetch at a time
	u.current.Store(set)
	return nil
}

func (u *keyURL) get() ([]byte, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, u.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/jwk-set+json, application/json, application/x-pem-file")
	resp, err := u.client.Do(req)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the URL, whose query may be nobody's business
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the answer is %d", resp.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxKeyFile+1))
	if err == nil && len(raw) > maxKeyFile {
		err = fmt.Errorf("the answer is larger than %d bytes", maxKeyFile)
	}
	return raw, err
}
