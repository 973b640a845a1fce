package gate

import (
	"time"

	"renga.dev/renga/internal/fault"
)

// Surface is what differs between the APIs on purpose: how an error looks and
// what headers are called. It is data; a new surface is a new value.
type Surface struct {
	Name      string
	Prefixes  []string               // paths whose unknown members are refused in this shape
	KeyHeader string                 // canonical spelling: "X-Idempotency-Key"
	Audiences []string               // `aud` of tokens, any of them; nil: the gate's default
	Invalid   int                    // status of fault.Invalid
	Codes     map[fault.Kind]string  // error codes in place of the default ones
	Render    func(p Problem) []byte // the body of an error
}

// Problem is a failure as a surface shows it. Nothing in it names a cause.
type Problem struct {
	Kind       fault.Kind
	Status     int
	Code       string
	Message    string
	Details    any           // marshals to a JSON object; nil: none
	Reason     fault.ReasonClass
	Advice     fault.RetryAdvice
	RetryAfter time.Duration // with 429 and 503
}
