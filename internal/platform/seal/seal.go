// Package seal makes cursors and positions opaque: callers can neither read what is in
// them nor make some of their own, and one is good for nobody and nothing but what it was
// given out for.
//
// The secret is in the database, so that all processes of a system share it and a cursor
// outlives a restart. Whoever can read the database can open every seal: seals keep things
// from callers, not from operators.
//
// The invariant: what a seal shows, its length included, does not depend on what is in it.
package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io/fs"
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

// Migration is the table of this package, for sqldb.Config.
func Migration() sqldb.Migration {
	sub, err := fs.Sub(files, "migrations")
	if err != nil {
		panic(err) // the folder is compiled in
	}
	return sqldb.Migration{Name: "seal", FS: sub}
}

// SecretSize is the length of a secret.
const SecretSize = 32

// Seals hands out sealers.
type Seals struct {
	db     *sqldb.DB
	secret atomic.Pointer[[]byte]
}

// New seals with the secret of a database that has the table of Migration. It does no I/O.
func New(db *sqldb.DB) *Seals { return &Seals{db: db} }

// Fixed seals with a secret of SecretSize bytes that the caller has; nil: with one that
// nobody else has, so that what was sealed is good as long as these Seals are.
func Fixed(secret []byte) *Seals {
	if secret == nil {
		secret = fresh()
	}
	s := &Seals{}
	s.secret.Store(&secret)
	return s
}

func fresh() []byte {
	secret := make([]byte, SecretSize)
	_, _ = rand.Read(secret) // it never fails
	return secret
}

// Sealer seals for one purpose. What another one sealed it does not open.
type Sealer struct {
	text  cipher.AEAD
	place cipher.Block
}

// For is the sealer of a purpose, which all its words make: what is sealed, for whom, and
// as the answer to what.
func (s *Seals) For(ctx context.Context, purpose ...string) (*Sealer, error) {
	secret, err := s.load(ctx)
	if err != nil {
		return nil, fault.Wrap("seal.for", err)
	}
	text, err := aes.NewCipher(derive(secret, "text", purpose))
	if err != nil {
		return nil, fault.Wrap("seal.for", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(text)
	if err != nil {
		return nil, fault.Wrap("seal.for", err)
	}
	place, err := aes.NewCipher(derive(secret, "place", purpose))
	return &Sealer{aead, place}, fault.Wrap("seal.for", err)
}

// derive is the key of a purpose. Each word has its length before it, so that no two
// purposes are the same bytes.
func derive(secret []byte, kind string, purpose []string) []byte {
	mac := hmac.New(sha256.New, secret)
	for _, word := range append([]string{kind}, purpose...) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(word)))
		mac.Write(size[:])
		mac.Write([]byte(word))
	}
	return mac.Sum(nil)
}

// Text seals bytes. Two seals of the same bytes are not alike.
func (s *Sealer) Text(plain []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.text.Seal(nil, nil, plain, nil))
}

// OpenText is what was sealed; false: this sealer did not make it, or somebody changed it.
func (s *Sealer) OpenText(text string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, false
	}
	plain, err := s.text.Open(nil, nil, raw, nil)
	return plain, err == nil
}

const selectSecret = "SELECT secret FROM seal_secret WHERE n = 1"

// load is the secret: made once and kept in the database.
func (s *Seals) load(ctx context.Context) ([]byte, error) {
	if known := s.secret.Load(); known != nil {
		return *known, nil
	}
	var secret []byte
	err := s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, selectSecret).Scan(
			&secret)
	})
	if errors.Is(err, sqldb.ErrNoRow) {
		made := fresh()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		err = s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO seal_secret (n, secret) VALUES (1, $1) ON CONFLICT (n) DO NOTHING",
				made); err != nil {
				return err
			}
			return tx.Row(ctx, selectSecret).Scan(&secret)
		})
	}
	if err != nil {
		return nil, err
	}
	s.secret.Store(&secret)
	return secret, nil
}
