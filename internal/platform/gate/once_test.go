package gate

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// keyed answers the key that it got.
func keyed(_ context.Context, c *Call) (Reply, error) {
	return Reply{Body: map[string]string{"key": c.Key}}, nil
}

func TestEverySurfaceTakesBothNamesOfTheKeyHeader(t *testing.T) {
	d := openDoor(t, Config{},
		Route{Pattern: "POST /things", Once: Required, Do: keyed},
		Route{Pattern: "POST /notes", Once: Optional, Do: keyed},
		Route{Pattern: "POST /pdca/recheck", Surface: flat, Once: Required, Do: keyed},
	)
	const hyphen, x = "Idempotency-Key: ", "X-Idempotency-Key: "
	for _, path := range []string{"/things", "/notes", "/pdca/recheck"} {
		bad := 422
		if path == "/pdca/recheck" {
			bad = 400
		}
		for _, tc := range []struct {
			headers []string
			status  int
			want    string
		}{
			{[]string{hyphen + "k"}, 200, `{"key":"k"}`},
			{[]string{x + "k"}, 200, `{"key":"k"}`},
			{[]string{"x-IDEMPOTENCY-key: k"}, 200, `{"key":"k"}`},
			{[]string{hyphen + "k", x + "k"}, 200, `{"key":"k"}`},
			{[]string{hyphen + "k", x + "l"}, bad, "hold different keys"},
			{[]string{hyphen + "k", x + ""}, bad, "hold different keys"},
			{[]string{hyphen + "k", hyphen + "k"}, bad, "the header Idempotency-Key must be there once"},
			{[]string{x + "k", x + "l"}, bad, "the header X-Idempotency-Key must be there once"},
			{[]string{x + "\x01"}, bad, "the header X-Idempotency-Key must be there once"},
			{[]string{hyphen}, bad, "the header Idempotency-Key is required"},
		} {
			w := d.ask("POST", path, "{}", tc.headers...)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("%s with %q: got %d %s, want %d %s", path, tc.headers, w.Code, w.Body, tc.status, tc.want)
			}
		}
	}
}

func TestAKeyInAHeaderThatNobodyReadsIsRefused(t *testing.T) {
	foreign := Route{Pattern: "POST /events", Foreign: true, Do: keyed}
	d := openDoor(t, Config{}, foreign,
		Route{Pattern: "POST /things", Once: Required, Do: keyed},
		Route{Pattern: "GET /things", Do: keyed},
		Route{Pattern: "PUT /things", Do: keyed},
		Route{Pattern: "POST /pdca/recheck", Surface: flat, Once: Required, Do: keyed},
	)
	for _, stray := range []string{"Acme-Idempotency-Key", "XIdempotency-Key", "x-acme-idempotency-key"} {
		shown := http.CanonicalHeaderKey(stray)
		for _, tc := range []struct {
			method, target string
			status         int
			want           string
		}{
			{"POST", "/things", 422, shown + " is unknown; send the idempotency key in the header X-"},
			{"POST", "/pdca/recheck", 400, shown + " is unknown; send the idempotency key in the header Idem"},
			{"PUT", "/things", 422, shown + " is unknown, and this request takes no idempotency key; leave it out"},
			{"GET", "/things", 200, "{}"},
			{"POST", "/events", 200, "{}"},
		} {
			w := d.ask(tc.method, tc.target, "{}", stray+": k", "X-Idempotency-Key: k")
			if w.Code != tc.status || tc.status != 200 && !strings.Contains(w.Body.String(), tc.want) {
				t.Errorf("%s %s with %s: got %d %s, want %d %s", tc.method, tc.target, stray, w.Code, w.Body, tc.status,
					tc.want)
			}
		}
	}
	for _, fine := range []string{"Idempotency-Key-Hint", "X-Idempotency", "Key"} {
		if w := d.ask("POST", "/things", "{}", fine+": k", "X-Idempotency-Key: k"); w.Code != 200 {
			t.Errorf("%s: got %d %s", fine, w.Code, w.Body)
		}
	}
}

func TestTheStrayKeyIsTheFirstOfItsNames(t *testing.T) {
	h := http.Header{"Idempotency-Key": {"k"}, "X-Idempotency-Key": {"k"}}
	if got := StrayKey(h); got != "" {
		t.Errorf("of both names: got %q", got)
	}
	for i := range 9 {
		h[fmt.Sprintf("H%d-Idempotency-Key", i)] = []string{"k"}
	}
	if got := StrayKey(h); got != "H0-Idempotency-Key" {
		t.Errorf("of nine: got %q", got)
	}
}
