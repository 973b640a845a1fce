// Package seal makes cursors and positions opaque: callers can neither read nor forge them, nor use one for another
// purpose.
//
// All processes share the secret in the database, so a cursor survives restarts. Seals protect from callers, not from
// operators who can read the database.
//
// The invariant: a seal, its length included, shows nothing of its content.
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
	"sync/atomic"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

//go:embed migrations
var files embed.FS

func Migration() sqldb.Migration { return sqldb.Tables("seal", files) }

const SecretSize = 32

// Seals makes sealers from the secret.
type Seals struct {
	db     *sqldb.DB
	secret atomic.Pointer[[]byte]
}

// New uses the secret of a database. It does no I/O.
func New(db *sqldb.DB) *Seals { return &Seals{db: db} }

// Fixed uses a secret of SecretSize bytes; nil: a random one, valid as long as these Seals.
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

// Prepare makes the secret of a new database, so that lists can be read later, when the disk is full. Where it
// fails, the next use tries again.
func (s *Seals) Prepare(ctx context.Context) { _, _ = s.load(ctx) }

// Sealer seals for one purpose and opens only its own seals.
type Sealer struct {
	text  cipher.AEAD
	place cipher.Block
}

// For returns the sealer of a purpose: what is sealed, for whom, and in answer to what.
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

// derive is the key of a purpose. Words are length-prefixed, so that no two purposes collide.
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

// Text seals bytes, differently each time.
func (s *Sealer) Text(plain []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.text.Seal(nil, nil, plain, nil))
}

// OpenText reverses Text; false: the text is forged or from another sealer.
func (s *Sealer) OpenText(text string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, false
	}
	plain, err := s.text.Open(nil, nil, raw, nil)
	return plain, err == nil
}

const selectSecret = "SELECT secret FROM seal_secret WHERE n = 1"

// load returns the secret, made once and stored in the database.
func (s *Seals) load(ctx context.Context) ([]byte, error) {
	if known := s.secret.Load(); known != nil {
		return *known, nil
	}
	var secret []byte
	err := s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, selectSecret).Scan(&secret)
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
