package gate

import (
	"net/http"
	"strings"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// Once is a route's idempotency policy.
type Once uint8

// The idempotency policies.
const (
	None     Once = iota // no key is read
	Required             // without a key: 422 IDEMPOTENCY_KEY_REQUIRED (in the status of the surface)
	Optional             // a key counts when it is sent
)

// The two names of the header that holds an idempotency key. The contract of a surface names one; every surface takes
// both.
const (
	KeyHeader  = "Idempotency-Key"
	XKeyHeader = "X-Idempotency-Key"
)

const codeKeyInvalid = "IDEMPOTENCY_KEY_INVALID"

// StrayKey is the name of a header that was meant to hold an idempotency key and that nobody reads, such as
// Acme-Idempotency-Key; "": there is none.
func StrayKey(h http.Header) (stray string) {
	for name := range h {
		at := len(name) - len(KeyHeader)
		if at > 0 && strings.EqualFold(name[at:], KeyHeader) && name != XKeyHeader && (stray == "" || name < stray) {
			stray = name
		}
	}
	return stray
}

// key reads the idempotency key. Who sends one under a name that nobody reads believes a repetition to be safe, and it
// is not.
func (x *exchange) key() error {
	name, other := x.surface.KeyHeader, XKeyHeader
	if name == XKeyHeader {
		other = KeyHeader
	}
	if !x.route.Foreign && x.r.Method != http.MethodGet && x.r.Method != http.MethodHead {
		if stray := StrayKey(x.r.Header); stray != "" {
			return x.strayed(stray)
		}
	}
	if x.route.Once == None {
		return nil
	}
	key, n := header(x.r, name)
	switch second, also := header(x.r, other); {
	case n == 0:
		if key, n = second, also; also > 0 {
			name = other
		}
	case also > 0 && second != key:
		return fault.New(fault.Invalid, codeKeyInvalid, "the headers %s and %s hold different keys; send one of them",
			name, other)
	}
	switch {
	case n == 0 || n == 1 && key == "":
		if x.route.Once == Optional && n == 0 {
			return nil
		}
		return fault.New(fault.Invalid, "IDEMPOTENCY_KEY_REQUIRED",
			"the header %s is required: repeat a request with the key of its first try", name)
	case n > 1 || !canonical.Key(key):
		return fault.New(fault.Invalid, codeKeyInvalid,
			"the header %s must be there once, as 1..%d printable ASCII characters", name, canonical.MaxKey)
	}
	if form := x.surface.KeyForm; form != nil && !form.Pattern.MatchString(key) {
		return fault.New(fault.Invalid, codeKeyInvalid, "the header %s must be %s", name, form.Words)
	}
	x.call.Key = key
	return nil
}

func (x *exchange) strayed(name string) error {
	if x.route.Once == None {
		return fault.New(fault.Invalid, codeKeyInvalid,
			"the header %.64s is unknown, and this request takes no idempotency key; leave it out", name)
	}
	return fault.New(fault.Invalid, codeKeyInvalid,
		"the header %.64s is unknown; send the idempotency key in the header %s", name, x.surface.KeyHeader)
}
