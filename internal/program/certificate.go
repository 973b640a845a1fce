package program

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateEvery is how often a server looks whether its certificate was renewed.
const certificateEvery = time.Second

// certificate is what a server proves its name with, from two files that are replaced while it runs. Those that do
// not fit together, as in the middle of a renewal, leave the last good pair in force.
type certificate struct {
	cert, key string        // files
	every     time.Duration // between two looks
	log       *slog.Logger

	mu     sync.Mutex
	looked time.Time
	texts  [2][]byte // of the pair
	pair   *tls.Certificate
	flaw   string // that was logged last
}

// openTLS is how callers are let in over TLS; nil: they are not.
func openTLS(cert, key string, log *slog.Logger) (*tls.Config, error) {
	switch {
	case cert == "" && key == "":
		return nil, nil
	case cert == "" || key == "":
		return nil, errors.New("--tls-cert and --tls-key go together")
	}
	c := &certificate{cert: cert, key: key, every: certificateEvery, log: log, looked: time.Now()}
	if err := c.load(); err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key cannot be used: %w", err)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: c.get}, nil
}

// load reads the files and takes what is new in them.
func (c *certificate) load() error {
	cert, err := os.ReadFile(c.cert)
	if err != nil {
		return err
	}
	key, err := readClosed(c.key, "the private key")
	if err != nil {
		return err
	}
	if c.pair != nil && bytes.Equal(cert, c.texts[0]) && bytes.Equal(key, c.texts[1]) {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	if c.pair != nil {
		c.log.Info("the TLS certificate was renewed", "certificate", c.cert, "notAfter", pair.Leaf.NotAfter.UTC())
	}
	c.pair, c.texts = &pair, [2][]byte{cert, key}
	return nil
}

// get is the certificate for a new connection.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= c.every {
		c.looked = now
		flaw := ""
		if err := c.load(); err != nil {
			flaw = err.Error()
		}
		if flaw != "" && flaw != c.flaw {
			c.log.Warn("the TLS certificate cannot be read anew; the last one stays in force", "error", flaw)
		}
		c.flaw = flaw
	}
	return c.pair, nil
}
