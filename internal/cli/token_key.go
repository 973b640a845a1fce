package cli

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
)

type tokenNewKeyCmd struct {
	Out   string `default:"renga" placeholder:"PREFIX"`
	Force bool   `help:"Replace files that exist."`
}

func (tokenNewKeyCmd) Help() string {
	return `Writes an RSA key of 2048 bits: the private half, readable by you alone, makes tokens (renga token mint
--key), the public half, as PEM and as a JWKS, lets a server check them (renga serve --auth jwt --jwt-keys).

Examples:
  renga token new-key
  renga token new-key --out /run/secrets/dev --force`
}

const keyBits = 2048

type newKeys struct {
	PrivateKey string `json:"privateKey"`
	PublicKey  string `json:"publicKey"`
	JWKS       string `json:"jwks"`
	KeyID      string `json:"keyId"`
}

// Run writes the files; what is there is not replaced unless asked for.
func (c *tokenNewKeyCmd) Run(a *App) error {
	made := newKeys{PrivateKey: c.Out + ".private.pem", PublicKey: c.Out + ".public.pem", JWKS: c.Out + ".jwks.json"}
	for _, name := range []string{made.PrivateKey, made.PublicKey, made.JWKS} {
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
	made.KeyID = thumbprint(&key.PublicKey)
	for _, file := range []struct {
		name string
		text []byte
		mode fs.FileMode
	}{
		{made.PrivateKey, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600},
		{made.PublicKey, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644},
		{made.JWKS, jwks(&key.PublicKey), 0o644},
	} {
		if err := c.write(file.name, file.text, file.mode); err != nil {
			return err
		}
	}
	return a.print(made, func(p *printer) {
		p.pairs("private key", made.PrivateKey, "public key", made.PublicKey, "JWKS", made.JWKS, "key id", made.KeyID)
	})
}

func (c *tokenNewKeyCmd) write(name string, text []byte, mode fs.FileMode) error {
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
	_, err = file.Write(text)
	return errors.Join(err, file.Close())
}

func cannotWrite(name string, err error) error {
	return usage("cannot write %s: %v", name, innermost(err))
}

func jwks(key *rsa.PublicKey) []byte {
	n, e := numbers(key)
	return fmt.Appendf(nil, `{"keys":[{"kty":"RSA","use":"sig","alg":"RS256","kid":%q,"n":%q,"e":%q}]}`+"\n",
		thumbprint(key), n, e)
}

// thumbprint names a public key by what it is (RFC 7638).
func thumbprint(key *rsa.PublicKey) string {
	n, e := numbers(key)
	digest := sha256.Sum256(fmt.Appendf(nil, `{"e":%q,"kty":"RSA","n":%q}`, e, n))
	return base64.RawURLEncoding.EncodeToString(digest[:])
}

func numbers(key *rsa.PublicKey) (n, e string) {
	encode := base64.RawURLEncoding.EncodeToString
	return encode(key.N.Bytes()), encode(big.NewInt(int64(key.E)).Bytes())
}
