package gate

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

const (
	minKeyBits  = 2048            // of an RSA key
	maxKeyFile  = 1 << 20         // bytes
	keysRecheck = 5 * time.Second // how old the knowledge of the file may be
)

// keySet is the public keys of one reading of their source.
type keySet struct{ find jwt.Keyfunc }

// keySource gives the keys that tokens are verified with.
type keySource interface {
	// keys are the keys as of now. It waits for nobody.
	keys(now time.Time) *keySet
	// newer is asked when a token names a key that a set does not have: another set, if
	// one can be had soon, else nil. A source may limit how often it looks.
	newer(now time.Time, than *keySet) *keySet
}

// openKeys opens the source that a text names: a URL or a file.
func openKeys(from string, now time.Time, log *slog.Logger) (keySource, error) {
	if IsURL(from) {
		return openKeyURL(from, now, log)
	}
	return openKeyFile(from, now, log)
}

// keyFile holds the keys of a file and reads it again when it has changed. A file
// that cannot be read any more leaves the keys as they were.
type keyFile struct {
	path    string
	log     *slog.Logger
	current atomic.Pointer[keySet]
	checked atomic.Int64 // unix nanoseconds
	mu      sync.Mutex   // held while reading
	stamp   fileStamp
}

type fileStamp struct {
	modified time.Time
	size     int64
}

// openKeyFile reads a file with PEM public keys or a JWKS.
func openKeyFile(path string, now time.Time, log *slog.Logger) (*keyFile, error) {
	f := &keyFile{path: path, log: log}
	if err := f.read(now); err != nil {
		return nil, err
	}
	return f, nil
}

// keys are the keys as of now.
func (f *keyFile) keys(now time.Time) *keySet {
	if now.UnixNano()-f.checked.Load() > int64(keysRecheck) && f.mu.TryLock() {
		err := f.read(now)
		f.mu.Unlock()
		if err != nil {
			f.log.Error("key file not taken, the keys stay as they were", keyError, err)
		}
	}
	return f.current.Load()
}

// newer has nothing to add: the file is looked at every few seconds.
func (f *keyFile) newer(time.Time, *keySet) *keySet { return nil }

// read takes the file if it has changed since the last time.
func (f *keyFile) read(now time.Time) error {
	f.checked.Store(now.UnixNano())
	info, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("gate: key file: %w", err)
	}
	stamp := fileStamp{info.ModTime(), info.Size()}
	if f.current.Load() != nil && stamp == f.stamp {
		return nil
	}
	if info.Size() > maxKeyFile {
		return fmt.Errorf("gate: key file %s is larger than %d bytes", f.path, maxKeyFile)
	}
	data, err := os.ReadFile(f.path)
	if err != nil {
		return fmt.Errorf("gate: key file: %w", err)
	}
	set, err := parseKeys(data)
	if err != nil {
		return fmt.Errorf("gate: key file %s: %w", f.path, err)
	}
	f.stamp = stamp
	f.current.Store(set)
	return nil
}

func parseKeys(data []byte) (*keySet, error) {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return parseJWKS(data)
	}
	return parsePEM(data)
}

// parsePEM reads one or more public keys; several let keys be exchanged without a
// gap. The key id of a token is not looked at.
func parsePEM(data []byte) (*keySet, error) {
	var keys jwt.VerificationKeySet
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		key, err := parseBlock(block)
		if err != nil {
			return nil, err
		}
		if err := checkKey(key); err != nil {
			return nil, err
		}
		keys.Keys = append(keys.Keys, key)
	}
	if len(keys.Keys) == 0 {
		return nil, errors.New("it holds neither a PEM public key nor a JWKS")
	}
	return &keySet{find: func(*jwt.Token) (any, error) { return keys, nil }}, nil
}

func parseBlock(block *pem.Block) (any, error) {
	switch block.Type {
	case "PUBLIC KEY":
		return x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		return x509.ParsePKCS1PublicKey(block.Bytes)
	}
	return nil, fmt.Errorf("it holds a %q, expected a public key", block.Type)
}

// parseJWKS reads a JSON Web Key Set. A token's key id chooses its key, without one
// all are tried; keys of other kinds than RSA are left alone, since RS256 is the
// only method accepted.
func parseJWKS(data []byte) (*keySet, error) {
	set, err := keyfunc.NewJWKSetJSON(data)
	if err != nil {
		return nil, fmt.Errorf("it is not a JWKS: %w", err)
	}
	all, err := set.Storage().KeyReadAll(context.Background())
	if err != nil {
		return nil, err
	}
	usable := 0
	for _, jwk := range all {
		key, ok := jwk.Key().(*rsa.PublicKey)
		if !ok {
			if _, private := jwk.Key().(*rsa.PrivateKey); private {
				return nil, errors.New("it holds a private key, expected public keys")
			}
			continue
		}
		if err := checkKey(key); err != nil {
			return nil, err
		}
		usable++
	}
	if usable == 0 {
		return nil, errors.New("the JWKS holds no RSA public key")
	}
	return &keySet{find: func(t *jwt.Token) (any, error) {
		key, err := set.Keyfunc(t)
		if _, named := t.Header["kid"]; err != nil && named {
			return nil, errUnknownKey
		}
		return key, err
	}}, nil
}

func checkKey(key any) error {
	public, ok := key.(*rsa.PublicKey)
	if !ok {
		return errors.New("it holds a public key that is not RSA")
	}
	if bits := public.N.BitLen(); bits < minKeyBits {
		return fmt.Errorf("it holds an RSA key of %d bits, expected at least %d", bits, minKeyBits)
	}
	return nil
}
