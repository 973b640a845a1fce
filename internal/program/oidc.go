package program

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/session"
)

// oidcFlags are where people sign in to the console.
type oidcFlags struct {
	Issuer     string   `name:"issuer" env:"RENGA_OIDC_ISSUER" placeholder:"URL"`
	ClientID   string   `name:"client-id" env:"RENGA_OIDC_CLIENT_ID" placeholder:"NAME"`
	SecretFile string   `name:"client-secret-file" env:"RENGA_OIDC_CLIENT_SECRET_FILE" placeholder:"FILE" type:"path"`
	Scopes     []string `name:"scope" default:"openid" env:"RENGA_OIDC_SCOPES" placeholder:"NAME,…"`
}

// config is what the flags ask for; nil: people sign in with tokens.
func (f *oidcFlags) config(mode gate.Mode, public string) (*session.OIDC, error) {
	switch {
	case f.Issuer == "" && (f.ClientID != "" || f.SecretFile != ""):
		return nil, errors.New("--oidc-client-id and --oidc-client-secret-file have no effect without --oidc-issuer")
	case f.Issuer == "":
		return nil, nil
	case mode != gate.ModeJWT:
		return nil, errors.New("--oidc-issuer has no effect with --auth none: add --auth jwt, or leave it out")
	case f.ClientID == "":
		return nil, errors.New("--oidc-issuer needs --oidc-client-id: the name that the OpenID provider knows this " +
			"server by")
	case !private(f.Issuer):
		return nil, errors.New("--oidc-issuer must be an https URL, or an http URL of this machine, without " +
			"credentials or a query")
	case !private(public):
		return nil, errors.New("--oidc-issuer needs --public-url: the https URL, or an http URL of this machine, to " +
			"which the OpenID provider sends people back")
	}
	o := &session.OIDC{Issuer: f.Issuer, Client: f.ClientID, Scopes: f.Scopes}
	if f.SecretFile != "" {
		text, err := readClosed(f.SecretFile, "the secret")
		if err != nil {
			return nil, fmt.Errorf("--oidc-client-secret-file: %w", err)
		}
		if o.Secret = strings.TrimSpace(string(text)); o.Secret == "" {
			return nil, errors.New("--oidc-client-secret-file holds no secret")
		}
	}
	return o, nil
}

// private reports whether nobody on the way can read what goes to a URL.
func private(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}
