package cli

import (
	"crypto/rsa"
	"encoding/pem"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"renga.dev/renga/api"
	"renga.dev/renga/internal/workflow/flow"
)

type tokenCmd struct {
	Mint   tokenMintCmd   `cmd:"" default:"withargs" help:"Make a token from a private key."`
	NewKey tokenNewKeyCmd `cmd:"" name:"new-key" aliases:"keygen" help:"Create a key pair."`
}

type tokenMintCmd struct {
	Key    string        `required:"" placeholder:"FILE" help:"Private RSA key, in PEM (PKCS #8 or #1)."`
	Sub    string        `default:"developer" placeholder:"NAME" help:"Who the token is for (${default})."`
	Scope  []string      `placeholder:"SCOPE" help:"What the bearer may do; without it everything: ${scopes}."`
	Role   []string      `placeholder:"NAME" help:"Role of the bearer (claim roles); several times for several."`
	Group  []string      `placeholder:"NAME" help:"Group of the bearer (claim groups); likewise."`
	Issuer string        `default:"noctria.auth" placeholder:"NAME" help:"Issuer that the server expects (${default})."`
	Aud    []string      `aliases:"audience" default:"renga" placeholder:"NAME"`
	TTL    time.Duration `name:"ttl" aliases:"expires" default:"1h" placeholder:"DURATION"`
	KeyID  string        `placeholder:"ID"`
}

func (tokenMintCmd) Help() string {
	return `Makes an RS256 token as a server with --auth jwt expects it and prints it; --tenant names the tenant of
its bearer. This is for development and tests: in production tokens come from an issuer, and its private key is
nowhere near this program.

Examples:
  renga token new-key --out dev
  renga serve --auth jwt --jwt-keys dev.public.pem &
  export RENGA_TOKEN=$(renga token mint --key dev.private.pem --sub mika ` +
		`--scope executions:read --scope executions:write)
  renga execution list
  renga token mint --key dev.private.pem --aud pdca --aud pdca.gui --scope pdca:read --ttl 10m`
}

// madeToken is a token as scripts see it.
type madeToken struct {
	Token     string    `json:"token"`
	Sub       string    `json:"sub"`
	Tenant    string    `json:"tenant,omitzero"`
	Scope     string    `json:"scope"`
	ExpiresAt flow.Time `json:"expiresAt"`
}

func (c *tokenMintCmd) Run(a *App) error {
	key, err := a.privateKey(c.Key)
	if err != nil {
		return err
	}
	if _, err := flow.ParseID(a.Tenant); a.Tenant != "" && err != nil {
		return usage("a tenant is a UUID, and %q is none", a.Tenant)
	}
	if c.TTL <= 0 {
		return usage("--ttl must be longer than nothing")
	}
	scopes := api.Scopes()
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
	made := madeToken{
		Sub: c.Sub, Tenant: a.Tenant, Scope: strings.Join(slices.Compact(scope), " "),
		ExpiresAt: flow.At(now.Add(c.TTL)),
	}
	claims := jwt.MapClaims{
		"iss": c.Issuer, "aud": c.Aud, "sub": c.Sub, "scope": made.Scope,
		"iat": now.Unix(), "exp": now.Add(c.TTL).Unix(),
	}
	if a.Tenant != "" {
		claims["tenant"] = a.Tenant
	}
	if len(c.Role) > 0 {
		claims["roles"] = c.Role
	}
	if len(c.Group) > 0 {
		claims["groups"] = c.Group
	}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	if token.Header["kid"] = c.KeyID; c.KeyID == "" {
		token.Header["kid"] = thumbprint(&key.PublicKey)
	}
	if made.Token, err = token.SignedString(key); err != nil {
		return err
	}
	return a.print(made, func(p *printer) { p.line("%s", made.Token) })
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
	return nil, usage("%s holds no private RSA key in PEM (PKCS #8 or #1); make one with renga token new-key", name)
}
