// Package oidctest is an OpenID provider for tests: authorization code with PKCE, RS256 keys, refresh tokens that are
// good for once. It holds clients to the standards, and fails on demand.
package oidctest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The one client of the provider, and its person.
const (
	Client  = "renga-console"
	Secret  = "s3cret of the client"
	Subject = "mika"
	Life    = 5 * time.Minute // of an access token
)

// Provider is an OpenID provider.
type Provider struct {
	URL  string
	Keys string           // the URL of its keys
	Now  func() time.Time // of its tokens

	mu       sync.Mutex
	key      *rsa.PrivateKey
	codes    map[string]request
	renewals map[string]bool // refresh tokens, and whether they are still good
	faults   Faults
	count    Count
}

// Faults are what goes wrong.
type Faults struct {
	Down     bool           // it answers 503
	Huge     bool           // its answers are endless
	Deny     string         // it refuses to renew, with this code
	Claims   jwt.MapClaims  // in place of those of an access token
	IDClaims jwt.MapClaims  // in place of those of an ID token
	NoID     bool           // it gives no ID token
	Once     bool           // it gives no refresh token
	Renewing func()         // called while it renews a token
	Metadata map[string]any // in place of its own
}

// Count is what was asked of the provider.
type Count struct {
	Codes, Renewals int
	Misused         int // codes and refresh tokens that came again
}

// request is a sign-in whose code has not been exchanged.
type request struct{ challenge, nonce, redirect string }

// New starts a provider that ends with the test.
func New(t testing.TB, now func() time.Time) *Provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &Provider{Now: now, key: key, codes: map[string]request{}, renewals: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.metadata)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	server := httptest.NewServer(p.failing(mux))
	t.Cleanup(server.Close)
	p.URL, p.Keys = server.URL, server.URL+"/keys"
	return p
}

// Fail lets things go wrong from now on.
func (p *Provider) Fail(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
}

// Counted is what was asked so far.
func (p *Provider) Counted() Count {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

func (p *Provider) now() Faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults
}

func (p *Provider) failing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := p.now()
		switch {
		case r.URL.Path == "/keys":
			next.ServeHTTP(w, r)
		case f.Down:
			http.Error(w, "down", http.StatusServiceUnavailable)
		case f.Huge:
			for chunk := make([]byte, 64<<10); r.Context().Err() == nil; {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func (p *Provider) metadata(w http.ResponseWriter, _ *http.Request) {
	all := map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		"jwks_uri": p.Keys, "token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
	}
	maps.Copy(all, p.now().Metadata)
	answer(w, http.StatusOK, all)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	encode := base64.RawURLEncoding.EncodeToString
	answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": encode(p.key.N.Bytes()),
		"e": encode(big.NewInt(int64(p.key.E)).Bytes()),
	}}})
}

// authorize lets the person in without a word.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != Client || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("state") == "" || q.Get("nonce") == "" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := random()
	p.mu.Lock()
	p.codes[code] = request{q.Get("code_challenge"), q.Get("nonce"), q.Get("redirect_uri")}
	p.mu.Unlock()
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {p.URL}, "session_state": {"whatever"}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func random() string {
	var b [24]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func deny(w http.ResponseWriter, code string) {
	answer(w, http.StatusBadRequest, map[string]string{"error": code})
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	name, secret, _ := r.BasicAuth()
	want := url.QueryEscape(Secret)
	if name != Client || subtle.ConstantTimeCompare([]byte(secret), []byte(want)) != 1 {
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	switch r.FormValue("grant_type") {
	case "authorization_code":
		p.exchange(w, r)
	case "refresh_token":
		p.renew(w, r)
	default:
		deny(w, "unsupported_grant_type")
	}
}

func (p *Provider) exchange(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	asked, ok := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	p.count.Codes++
	if !ok {
		p.count.Misused++
	}
	p.mu.Unlock()
	digest := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !ok || base64.RawURLEncoding.EncodeToString(digest[:]) != asked.challenge ||
		r.FormValue("redirect_uri") != asked.redirect {
		deny(w, "invalid_grant")
		return
	}
	p.give(w, asked.nonce)
}

func (p *Provider) renew(w http.ResponseWriter, r *http.Request) {
	old := r.FormValue("refresh_token")
	f := p.now()
	if f.Renewing != nil {
		f.Renewing()
	}
	p.mu.Lock()
	good := p.renewals[old]
	p.count.Renewals++
	if !good {
		p.count.Misused++
	}
	if f.Deny == "" {
		p.renewals[old] = false
	}
	p.mu.Unlock()
	switch {
	case f.Deny != "":
		deny(w, f.Deny)
	case !good:
		deny(w, "invalid_grant")
	default:
		p.give(w, "")
	}
}

// give answers tokens; those of a sign-in with an ID token.
func (p *Provider) give(w http.ResponseWriter, nonce string) {
	f := p.now()
	all := map[string]any{"token_type": "Bearer", "expires_in": int(Life / time.Second)}
	all["access_token"] = p.Sign(f.Claims)
	if !f.Once {
		next := random()
		p.mu.Lock()
		p.renewals[next] = true
		p.mu.Unlock()
		all["refresh_token"] = next
	}
	if nonce != "" && !f.NoID {
		id := jwt.MapClaims{"aud": Client, "nonce": nonce, "scope": nil}
		maps.Copy(id, f.IDClaims)
		all["id_token"] = p.Sign(id)
	}
	answer(w, http.StatusOK, all)
}

// Sign makes an access token; change puts claims in place of its own, nil takes one away.
func (p *Provider) Sign(change jwt.MapClaims) string {
	now := p.Now()
	claims := jwt.MapClaims{
		"iss": p.URL, "aud": "renga", "sub": Subject, "iat": now.Unix(), "exp": now.Add(Life).Unix(), "jti": random(),
		"scope": "executions:read pdca:read",
	}
	maps.Copy(claims, change)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = "1"
	raw, err := token.SignedString(p.key)
	if err != nil {
		panic("oidctest: " + err.Error()) // the claims are texts and numbers
	}
	return raw
}
