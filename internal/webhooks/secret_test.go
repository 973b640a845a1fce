package webhooks

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// signed is a request with the headers of a message.
func signed(with []secret, id string, at time.Time, body string) http.Header {
	h := http.Header{}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(HeaderSignature, signature(with, id, at, []byte(body)))
	return h
}

// verify verifies a message as receivers do: with the official library, and its Ed25519 signatures.
func verify(h http.Header, body []byte, secretText string, public ...string) error {
	official, err := standardwebhooks.NewWebhook(secretText)
	if err != nil {
		return err
	}
	if err := official.Verify(body, h); err != nil {
		return err
	}
	for _, key := range public {
		raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, publicPrefix))
		if err != nil {
			return err
		}
		message := h.Get(HeaderID) + "." + h.Get(HeaderTimestamp) + "." + string(body)
		found := false
		for part := range strings.SplitSeq(h.Get(HeaderSignature), " ") {
			if text, is := strings.CutPrefix(part, "v1a,"); is {
				sig, err := base64.StdEncoding.DecodeString(text)
				found = found || err == nil && ed25519.Verify(raw, []byte(message), sig)
			}
		}
		if !found {
			return fmt.Errorf("no signature fits the key %s", key)
		}
	}
	return nil
}

func TestReceiversVerifySignatures(t *testing.T) {
	one, two, other := newSecret(), newSecret(), newSecret()
	now := time.Now()
	h := signed([]secret{one}, "msg_1", now, `{"a":1}`)
	if err := verify(h, []byte(`{"a":1}`), one.text(), one.public()); err != nil {
		t.Error(err)
	}
	if err := verify(h, []byte(`{"a":2}`), one.text()); err == nil {
		t.Error("another body is verified")
	}
	if err := verify(h, []byte(`{"a":1}`), other.text()); err == nil {
		t.Error("another secret verifies")
	}
	if err := verify(h, []byte(`{"a":1}`), one.text(), other.public()); err == nil {
		t.Error("another public key verifies")
	}
	if err := verify(signed([]secret{one}, "msg_1", now.Add(-time.Hour), "{}"), []byte("{}"), one.text()); err == nil {
		t.Error("an old message is verified")
	}
	h = signed([]secret{two, one}, "msg_2", now, "{}")
	for _, s := range []secret{one, two} {
		if err := verify(h, []byte("{}"), s.text(), s.public()); err != nil {
			t.Errorf("while secrets rotate: %v", err)
		}
	}
}

// TestASignatureIsTheOneOfTheStandard compares with a value of the official library.
func TestASignatureIsTheOneOfTheStandard(t *testing.T) {
	s := secret{shared: []byte("0123456789abcdef0123456789abcdef"), seed: make([]byte, secretSize)}
	at := time.Unix(1_674_087_231, 0)
	official, err := standardwebhooks.NewWebhook(s.text())
	if err != nil {
		t.Fatal(err)
	}
	want, err := official.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`))
	if err != nil {
		t.Fatal(err)
	}
	got := signature([]secret{s}, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(`{"test": 2432232314}`))
	if first, _, _ := strings.Cut(got, " "); first != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAPreviousSecretEnds(t *testing.T) {
	s := secrets{current: newSecret(), previous: newSecret(), until: 100}
	if n := len(s.at(99)); n != 2 {
		t.Errorf("before its end %d secrets count", n)
	}
	if n := len(s.at(100)); n != 1 {
		t.Errorf("at its end %d secrets count", n)
	}
}

func TestASecretIsNotPrinted(t *testing.T) {
	s := newSecret()
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		text := fmt.Sprintf(format, s) + fmt.Sprintf(format, secrets{current: s}) + fmt.Sprintf(format, &s)
		if strings.Contains(text, string(s.shared)) || strings.Contains(text, s.text()) || strings.Contains(text,
			fmt.Sprint(s.shared)[1:20]) {
			t.Errorf("%s prints the secret: %s", format, text)
		}
	}
}
