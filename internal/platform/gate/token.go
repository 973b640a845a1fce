package gate

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/golang-jwt/jwt/v5"
)

const (
	clockLeeway     = 30 * time.Second // how far the issuer's clock may be from ours
	maxToken        = 8 << 10          // bytes
	maxVerified     = 10_000           // tokens that are remembered as verified
	maxSubject      = 255              // bytes of `sub`
	defaultIssuer   = "noctria.auth"
	defaultAudience = "renga"
)

// token is what a verified token says.
type token struct {
	principal Principal
	audiences []string
	hasScope  bool
	expires   time.Time
	keys      *keySet // the keys it was verified with
}

// verifier checks tokens: RS256 and nothing else. It caches verified tokens by their hash until they
// expire or the keys change, so that a signature is checked once.
type verifier struct {
	keys   keySource
	parser *jwt.Parser
	mu     sync.RWMutex
	known  map[[sha256.Size]byte]*token
}

func newVerifier(keys keySource, issuer string, now func() time.Time) *verifier {
	return &verifier{
		keys: keys,
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodRS256.Alg()}),
			jwt.WithIssuer(issuer),
			jwt.WithExpirationRequired(),
			jwt.WithIssuedAt(),
			jwt.WithLeeway(clockLeeway),
			jwt.WithStrictDecoding(),
			jwt.WithTimeFunc(now),
		),
		known: map[[sha256.Size]byte]*token{},
	}
}

// Why a token is refused, in words for its bearer.
var (
	errTokenMalformed = errors.New("the token is malformed")
	errTokenSubject   = errors.New("the token names no subject, or one that cannot be used")
	errTokenTenant    = errors.New("the token's tenant is not a UUID")
	errUnknownKey     = errors.New("the token's signature cannot be verified")
	errTokenCritical  = errors.New("the token needs an extension that is not known here")
)

// verify is what a token says, if it can be trusted. The error is for its bearer.
func (v *verifier) verify(raw string, now time.Time) (*token, error) {
	keys := v.keys.keys(now)
	if len(raw) > maxToken {
		return nil, errTokenMalformed
	}
	hash := sha256.Sum256([]byte(raw))
	v.mu.RLock()
	known := v.known[hash]
	v.mu.RUnlock()
	if known != nil && known.keys == keys && now.Before(known.expires.Add(clockLeeway)) {
		return known, nil
	}
	fresh, err := v.parse(raw, keys)
	if errors.Is(err, errUnknownKey) {
		if newer := v.keys.newer(now, keys); newer != nil {
			fresh, err = v.parse(raw, newer)
		}
	}
	if err == nil {
		v.remember(hash, fresh, now)
	}
	return fresh, err
}

func (v *verifier) remember(hash [sha256.Size]byte, t *token, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.known) >= maxVerified {
		for other, old := range v.known {
			if old.keys != t.keys || now.After(old.expires) || len(v.known) > maxVerified*9/10 {
				delete(v.known, other)
			}
		}
	}
	v.known[hash] = t
}

func (v *verifier) parse(raw string, keys *keySet) (*token, error) {
	if !soundHeader(raw) {
		return nil, errTokenMalformed
	}
	var c claims
	parsed, err := v.parser.ParseWithClaims(raw, &c, keys.find)
	if err != nil {
		return nil, tokenFault(err)
	}
	if _, critical := parsed.Header["crit"]; critical {
		return nil, errTokenCritical
	}
	if c.Subject == "" || len(c.Subject) > maxSubject || strings.ContainsFunc(c.Subject, unicode.IsControl) {
		return nil, errTokenSubject
	}
	t := &token{
		principal: Principal{
			Tenant: defaultTenant, Subject: c.Subject, Scopes: c.Scope, Roles: c.Roles, Groups: c.Groups,
		},
		audiences: c.Audience, hasScope: c.Scope != nil, expires: c.ExpiresAt.date().Time, keys: keys,
	}
	if c.Tenant.given {
		tenant, ok := parseTenant(c.Tenant.tenant)
		if !ok {
			return nil, errTokenTenant
		}
		t.principal.Tenant = tenant
	}
	return t, nil
}

// hasAudience reports whether the token is meant for one of these.
func (t *token) hasAudience(wanted []string) bool {
	return slices.ContainsFunc(wanted, func(aud string) bool { return slices.Contains(t.audiences, aud) })
}

// tokenFault says why a token was refused, in words that hold nothing of it.
func tokenFault(err error) error {
	if errors.Is(err, errUnknownKey) {
		return errUnknownKey
	}
	for _, reason := range []struct {
		is  error
		say string
	}{
		{jwt.ErrTokenMalformed, "the token is malformed"},
		{jwt.ErrTokenExpired, "the token has expired"},
		{jwt.ErrTokenNotValidYet, "the token is not valid yet"},
		{jwt.ErrTokenUsedBeforeIssued, "the token was issued in the future"},
		{jwt.ErrTokenInvalidIssuer, "the token's issuer is not accepted"},
		{jwt.ErrTokenRequiredClaimMissing, "the token lacks a claim that is required"},
		{jwt.ErrTokenSignatureInvalid, "the token's signature is not valid"},
		{jwt.ErrTokenUnverifiable, "the token's signature cannot be verified"},
	} {
		if errors.Is(err, reason.is) {
			return errors.New(reason.say)
		}
	}
	return errors.New("the token is not valid")
}
