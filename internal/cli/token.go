package cli

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"renga.dev/renga/internal/flow"
)

// tokenCmd is `renga token`.
type tokenCmd struct {
	Make   tokenMakeCmd   `cmd:"" default:"withargs" help:"Make a token from a private key."`
	Keygen tokenKeygenCmd `cmd:"" help:"Write a new pair of keys."`
}

// tokenMakeCmd is `renga token`.
type tokenMakeCmd struct {
	Key      string        `required:"" placeholder:"FILE" help:"Private RSA key, in PEM (PKCS #8 or #1)."`
	Sub      string        `default:"developer" placeholder:"NAME" help:"Who the token is for (${default})."`
	Scope    []string      `placeholder:"SCOPE" help:"What the bearer may do; without it everything: ${scopes}."`
	Issuer   string        `default:"noctria.auth" placeholder:"NAME" help:"Issuer that the server expects (${default})."`
	Audience string        `default:"renga" placeholder:"NAME" help:"Audience that the server expects (${default})."`
	Expires  time.Duration `default:"1h" placeholder:"DURATION" help:"How long the token is valid (${default})."`
	KeyID    string        `placeholder:"ID" help:"Id of the key (kid), for a server whose keys are a JWKS."`
}

// scopes are all scopes that a route asks for.
var scopes = []string{"executions:read", "executions:write", "graphs:write", "tasks:work", "events:read", "events:write", "audit:read"}

// Help shows examples.
func (tokenMakeCmd) Help() string {
	return `Makes an RS256 token as a server with --auth jwt expects it and prints it; --tenant names the tenant of its bearer. This
is for development and tests: in production tokens come from an issuer, and its private key is nowhere near this program.

Examples:
  renga token keygen --out dev
  renga serve --auth jwt --jwt-keys dev.public.pem &
  export RENGA_TOKEN=$(renga token --key dev.private.pem --sub mika --scope executions:read --scope executions:write)
  renga execution list`
}

// madeToken is a token as scripts see it.
type madeToken struct {
	Token     string    `json:"token"`
	Sub       string    `json:"sub"`
	Tenant    string    `json:"tenant,omitzero"`
	Scope     string    `json:"scope"`
	ExpiresAt flow.Time `json:"expiresAt"`
}

// Run makes the token.
func (c *tokenMakeCmd) Run(a *App) error {
	key, err := a.privateKey(c.Key)
	if err != nil {
		return err
	}
	if _, err := flow.ParseID(a.Tenant); a.Tenant != "" && err != nil {
		return usage("a tenant is a UUID, and %q is none", a.Tenant)
	}
	if c.Expires <= 0 {
		return usage("--expires must be longer than nothing")
	}
	for _, one := range c.Scope {
		if !slices.Contains(scopes, one) {
			return usage("--scope: no route asks for %q; there are %s", one, strings.Join(scopes, ", "))
		}
	}
	scope := c.Scope
	if len(scope) == 0 {
		scope = scopes
	}
	now := a.now()
	made := madeToken{Sub: c.Sub, Tenant: a.Tenant, Scope: strings.Join(slices.Compact(scope), " "), ExpiresAt: flow.At(now.Add(c.Expires))}
	claims := jwt.MapClaims{
		"iss": c.Issuer, "aud": c.Audience, "sub": c.Sub, "scope": made.Scope,
		"iat": now.Unix(), "exp": now.Add(c.Expires).Unix(),
	}
	if a.Tenant != "" {
		claims["tenant"] = a.Tenant
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	if c.KeyID != "" {
		token.Header["kid"] = c.KeyID
	}
	if made.Token, err = token.SignedString(key); err != nil {
		return err
	}
	return a.Answer(made, func() error { return a.line("%s", made.Token) })
}

func (a *App) privateKey(name string) (*rsa.PrivateKey, error) {
	raw, err := a.read(name)
	if err != nil {
		return nil, err
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(raw)
	if err == nil {
		return key, nil
	}
	if block, _ := pem.Decode(raw); block != nil && strings.HasSuffix(block.Type, "PUBLIC KEY") {
		return nil, usage("%s holds a public key; tokens are made with the private one", name)
	}
	return nil, usage("%s holds no private RSA key in PEM (PKCS #8 or #1); make one with renga token keygen", name)
}

// tokenKeygenCmd is `renga token keygen`.
type tokenKeygenCmd struct {
	Out   string `default:"renga" placeholder:"PREFIX" help:"The files are PREFIX.private.pem and PREFIX.public.pem (${default})."`
	Force bool   `help:"Replace files that exist."`
}

// Help shows examples.
func (tokenKeygenCmd) Help() string {
	return `Writes an RSA key of 2048 bits: the private half, readable by you alone, makes tokens (renga token --key), the
public half lets a server check them (renga serve --auth jwt --jwt-keys).

Examples:
  renga token keygen
  renga token keygen --out /run/secrets/dev --force`
}

const keyBits = 2048

// Run writes both files; what is there is not replaced unless asked for.
func (c *tokenKeygenCmd) Run(a *App) error {
	made := map[string]string{"privateKey": c.Out + ".private.pem", "publicKey": c.Out + ".public.pem"}
	for _, name := range made {
		if _, err := os.Lstat(name); err == nil && !c.Force {
			return usage("%s exists: name another prefix with --out, or replace it with --force", name)
		}
	}
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	if err := c.write(made["privateKey"], "PRIVATE KEY", private, 0o600); err != nil {
		return err
	}
	if err := c.write(made["publicKey"], "PUBLIC KEY", public, 0o644); err != nil {
		return err
	}
	return a.Answer(made, func() error {
		return a.pairs([2]string{"private key", made["privateKey"]}, [2]string{"public key", made["publicKey"]})
	})
}

func (c *tokenKeygenCmd) write(name, kind string, der []byte, mode fs.FileMode) error {
	if c.Force {
		// Removed first, so that a key never stands in a file that others could read before.
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cannotWrite(name, err)
		}
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return cannotWrite(name, err)
	}
	err = pem.Encode(file, &pem.Block{Type: kind, Bytes: der})
	return errors.Join(err, file.Close())
}

func cannotWrite(name string, err error) error {
	return usage("cannot write %s: %v", name, innermost(err))
}
