package webhooks

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"

	"renga.dev/renga/internal/platform/canonical"
)

// The forms of Standard Webhooks.
const (
	secretPrefix = "whsec_"
	publicPrefix = "whpk_"

	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// secretSize is how many bytes a secret has, and the seed of a key pair.
const secretSize = 32

// secret is what one generation of signatures is made with. It leaves the process in two forms only: text, shown to
// whoever made it, and signatures. The zero value is none.
type secret struct{ shared, seed []byte }

func newSecret() secret {
	s := secret{make([]byte, secretSize), make([]byte, secretSize)}
	_, _ = rand.Read(s.shared) // never fails
	_, _ = rand.Read(s.seed)
	return s
}

// String hides the secret from whoever prints it by mistake.
func (secret) String() string { return "[secret]" }

// GoString hides it from %#v.
func (secret) GoString() string { return "[secret]" }

func (s secret) isNone() bool { return len(s.shared) == 0 }

// text is the secret as receivers configure it.
func (s secret) text() string { return secretPrefix + base64.StdEncoding.EncodeToString(s.shared) }

// public is the key that receivers verify asymmetric signatures with.
func (s secret) public() string {
	key := ed25519.NewKeyFromSeed(s.seed).Public().(ed25519.PublicKey)
	return publicPrefix + base64.StdEncoding.EncodeToString(key)
}

// sign appends the two signatures of a message: v1, HMAC-SHA256, and v1a, Ed25519.
func (s secret) sign(dst, message []byte) []byte {
	mac := hmac.New(sha256.New, s.shared)
	mac.Write(message)
	dst = base64.StdEncoding.AppendEncode(append(dst, "v1,"...), mac.Sum(nil))
	dst = append(dst, " v1a,"...)
	return base64.StdEncoding.AppendEncode(dst, ed25519.Sign(ed25519.NewKeyFromSeed(s.seed), message))
}

// secrets are the newest secret, and while secrets rotate the one before.
type secrets struct {
	current  secret
	previous secret
	until    canonical.Stamp // when the previous one ends
}

// String hides the secrets, also those of a row: fmt asks no unexported member how it is printed.
func (secrets) String() string { return "[secrets]" }

// GoString hides them from %#v.
func (secrets) GoString() string { return "[secrets]" }

// at are the secrets that count at an instant, the newest first.
func (s *secrets) at(now canonical.Stamp) []secret {
	if s.previous.isNone() || now >= s.until {
		return []secret{s.current}
	}
	return []secret{s.current, s.previous}
}

// signature is the value of webhook-signature for a message.
func signature(with []secret, id string, at time.Time, body []byte) string {
	message := append([]byte(id), '.')
	message = strconv.AppendInt(message, at.Unix(), 10)
	message = append(append(message, '.'), body...)
	var out []byte
	for i, s := range with {
		if i > 0 {
			out = append(out, ' ')
		}
		out = s.sign(out, message)
	}
	return string(out)
}
