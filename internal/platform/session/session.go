package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/sqldb"
)

// Named limits.
const (
	MaxLife     = 24 * time.Hour  // of a session, however often its token is renewed
	MaxSessions = 100             // of a subject; another one ends the oldest
	lookWithin  = 9 * time.Second // that a look at a session may take, also while its token is renewed
	secretSize  = 32
)

//go:embed migrations
var files embed.FS

// Migration is the table of sessions.
func Migration() sqldb.Migration { return sqldb.Tables("session", files) }

// Config says how sessions work.
type Config struct {
	OIDC   *OIDC            // nil: people sign in with tokens alone
	Public string           // the URL at which people reach this server; with OIDC
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: slog.Default()
}

// Sessions are the sessions of web pages, over a database that processes may share.
type Sessions struct {
	db    *sqldb.DB
	seals *seal.Seals
	now   func() time.Time
	log   *slog.Logger
	auth  *gate.Auth
	cache cache
	home  string // the path of the console

	provider *provider // nil: there is none
}

// New makes them. It does no I/O. Trust comes before the first request.
func New(db *sqldb.DB, seals *seal.Seals, cfg Config) *Sessions {
	s := &Sessions{db: db, seals: seals, now: cfg.Now, log: cmp.Or(cfg.Log, slog.Default())}
	if s.now == nil {
		s.now = time.Now
	}
	public := strings.TrimSuffix(cfg.Public, "/")
	if at, err := url.Parse(public); err == nil {
		s.home = at.EscapedPath() + "/ui/"
	}
	if cfg.OIDC != nil {
		s.provider = newProvider(*cfg.OIDC, public+"/session/callback", s.now)
	}
	return s
}

// Trust says who checks tokens. The gate needs sessions as sessions need it.
func (s *Sessions) Trust(auth *gate.Auth) { s.auth = auth }

// key names a session: what its row is found by.
type key struct{ tenant, id string }

// secret is what a cookie holds.
type secret struct {
	tenant string
	bytes  [secretSize]byte
}

func newSecret(tenant string) secret {
	c := secret{tenant: tenant}
	_, _ = rand.Read(c.bytes[:]) // it never fails
	return c
}

// key is the row of a secret. A digest tells nothing of so much chance.
func (c *secret) key() key {
	digest := sha256.Sum256(c.bytes[:])
	return key{c.tenant, hex.EncodeToString(digest[:])}
}

// shortID is what the audit log calls a session.
func (k key) shortID() string { return k.id[:16] }

// sealer seals tokens: only who has the cookie can open them.
func (s *Sessions) sealer(ctx context.Context, c *secret) (*seal.Sealer, error) {
	return s.seals.For(ctx, "session.token", c.tenant, string(c.bytes[:]))
}

// cookie is the value of a secret's cookie.
func (s *Sessions) cookie(ctx context.Context, c *secret) (string, error) {
	sealer, err := s.seals.For(ctx, "session.cookie")
	if err != nil {
		return "", err
	}
	tenant, err := uuid.Parse(c.tenant)
	if err != nil {
		return "", fault.Wrap("session.cookie", err)
	}
	return sealer.Text(append(tenant[:], c.bytes[:]...)), nil
}

// errEnded is the end of whoever shows the cookie of no session.
var errEnded = fault.New(fault.Unauthorized, "", "the session has ended, or there never was one: sign in again")

// open reverses cookie.
func (s *Sessions) open(ctx context.Context, cookie string) (*secret, error) {
	sealer, err := s.seals.For(ctx, "session.cookie")
	if err != nil {
		return nil, err
	}
	raw, ok := sealer.OpenText(cookie)
	if !ok || len(raw) != 16+secretSize {
		return nil, errEnded
	}
	return &secret{uuid.UUID(raw[:16]).String(), [secretSize]byte(raw[16:])}, nil
}

// Token is the token of the session that a cookie names, renewed if need be.
func (s *Sessions) Token(ctx context.Context, cookie string) (string, error) {
	found, err := s.find(ctx, cookie)
	return found.token, err
}

// found is a session that has not ended.
type found struct {
	token string
	ends  time.Time // of the session
	due   time.Time // when the token is renewed; zero: it is not
}

// find looks for a session.
func (s *Sessions) find(ctx context.Context, cookie string) (found, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	c, err := s.open(ctx, cookie)
	if err != nil {
		return found{}, err
	}
	ctx, now := sqldb.For(ctx, c.tenant), s.now()
	if f, ok := s.cache.get(c.key(), now); ok {
		return f, nil
	}
	r, err := s.read(ctx, c.key())
	if err != nil {
		return found{}, err
	}
	if !now.Before(r.ends) {
		return found{}, errEnded
	}
	if r, err = s.renewed(ctx, c, r); err != nil {
		return found{}, err
	}
	f, err := s.unseal(ctx, c, &r)
	if err == nil {
		s.cache.put(c.key(), f, now)
	}
	return f, err
}

// unseal opens the token of a row.
func (s *Sessions) unseal(ctx context.Context, c *secret, r *row) (found, error) {
	sealer, err := s.sealer(ctx, c)
	if err != nil {
		return found{}, err
	}
	token, ok := sealer.OpenText(r.token)
	if !ok { // of another row
		return found{}, errEnded
	}
	return found{token: string(token), ends: r.ends, due: r.due()}, nil
}
