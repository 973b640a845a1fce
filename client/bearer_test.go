package client_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"renga.dev/renga/client"
	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/gate"
)

// issuer makes tokens that a server accepts.
type issuer struct {
	t   *testing.T
	key *rsa.PrivateKey
}

func newIssuer(t *testing.T) (issuer, gate.AuthConfig) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keys.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return issuer{t, key}, gate.AuthConfig{Mode: gate.ModeJWT, Keys: path}
}

// token is what client.Config.Token gives for a caller with these scopes.
func (i issuer) token(scopes string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		return jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
			"aud": "renga", "iss": "noctria.auth", "sub": "mika", "scope": scopes,
			"exp": time.Now().Add(time.Hour).Unix(),
		}).SignedString(i.key)
	}
}

// TestWithoutAnEventTokenTheClientShowsItsOther sends workflow events to servers with and without a token for them.
func TestWithoutAnEventTokenTheClientShowsItsOther(t *testing.T) {
	issuer, auth := newIssuer(t)
	const both = "workflow:read workflow:write"
	for _, c := range []struct {
		name             string
		asked            string // the server's token of workflow events; "": it has none
		shown, scopes    string // of the client; scopes "": it has no other token
		put, send, count error
	}{
		{"a bearer token where there is no other", "", "", both, nil, nil, nil},
		{"one without the scope to write", "", "", "workflow:read", client.ErrForbidden, client.ErrForbidden, nil},
		{"no token", "", "", "", client.ErrUnauthorized, client.ErrUnauthorized, client.ErrUnauthorized},
		{
			"an event token that nobody asks for", "", eventToken, both,
			client.ErrUnauthorized, client.ErrUnauthorized, client.ErrUnauthorized,
		},
		{"the event token where it is asked for", eventToken, eventToken, both, nil, nil, nil},
		{
			"a bearer token where the event token is asked for", eventToken, "", both,
			client.ErrUnauthorized, client.ErrUnauthorized, client.ErrUnauthorized,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			pass, err := gate.NewEventToken(c.asked, "", false)
			if err != nil {
				t.Fatal(err)
			}
			s, err := serveApp(app.Config{
				Place: app.Place{DataDir: t.TempDir()}, Addr: "127.0.0.1:0", Shards: 2, EventPass: pass, Auth: auth,
				Override: app.Override{Idle: append(slices.Clip(idle), "bus")},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.close(); err != nil {
					t.Error(err)
				}
			})
			cfg := client.Config{URL: s.url, EventToken: c.shown}
			if c.scopes != "" {
				cfg.Token = issuer.token(c.scopes)
			}
			with, ctx := client.New(cfg), soon(t)
			t.Cleanup(with.Close)
			is := func(what string, got, want error) {
				t.Helper()
				if want == nil && got != nil || want != nil && !errors.Is(got, want) {
					t.Errorf("%s: got %v, want %v", what, got, want)
				}
			}
			_, _, err = with.Templates.Put(ctx, "closing", closing)
			is("put", err, c.put)
			_, err = with.WorkflowEvents.Send(ctx, client.WorkflowEvent{TemplateID: "closing", Key: "bank-1"})
			is("send", err, c.send)
			_, err = with.WorkflowEvents.Summary(ctx, "2026-01", 1)
			is("summary", err, c.count)
		})
	}
}
