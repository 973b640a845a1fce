// Package fault names the kinds of failure of the whole program, once.
//
// Every error that crosses a package border has a kind, an operation and, where a
// caller may see it, a code, a message and details. What has no kind is internal:
// it is logged with its cause and shown without it. Kinds have their status codes
// and reasons here, once; nobody matches an error by its text.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is what went wrong, as far as a caller can act on it.
type Kind uint8

// The kinds. Internal is the zero value on purpose: what nobody classified is ours.
const (
	Internal         Kind = iota
	Invalid               // the input breaks a rule of the contract
	Unauthorized          // who is calling is not known
	Forbidden             // who is calling may not
	NotFound              // what the call names does not exist
	MethodNotAllowed      // the path exists, the method does not
	Conflict              // the state refuses the command (guard), or a key was used for another input
	TooLarge              // a named maximum was passed
	Unsupported           // a media type that is not spoken here
	RateLimited           // too many calls
	Unavailable           // cannot be done now; nothing was done; try again
)

var kindNames = [...]string{
	"internal", "invalid", "unauthorized", "forbidden", "not found", "method not allowed",
	"conflict", "too large", "unsupported", "rate limited", "unavailable",
}

func (k Kind) String() string { return kindNames[k] }

var kindStatuses = [...]int{500, 400, 401, 403, 404, 405, 409, 413, 415, 429, 503}

// Status is the status code of an answer with this kind, unless a surface
// has another.
func (k Kind) Status() int { return kindStatuses[k] }

// Error is a failure with a kind. Code, Message and Details may be shown to the
// caller; Op and Err are for the log alone.
type Error struct {
	Kind       Kind
	Op         string        // where: "store.append"
	Code       string        // machine-readable, upper case: "EXECUTION_NOT_FOUND"
	Message    string        // one sentence that says what to do
	Details    any           // marshals to a JSON object
	RetryAfter time.Duration // with Unavailable and RateLimited
	Reason     Reason        // in place of the one that follows from Kind
	Err        error         // the cause
}

func (e *Error) Error() string {
	s := e.Op
	if s != "" {
		s += ": "
	}
	if e.Message != "" {
		s += e.Message
	} else {
		s += e.Kind.String()
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// New makes an error that a caller may see.
func New(kind Kind, code, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// With adds details for the caller and returns the same error.
func (e *Error) With(details any) *Error { e.Details = details; return e }

// Because gives a reason in place of the one that follows from the kind, and returns
// the same error.
func (e *Error) Because(r Reason) *Error { e.Reason = r; return e }

// Wrap adds an operation to an error and keeps its kind; nil stays nil.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindOf(err), Op: op, Err: err}
}

// As finds the outermost Error in a chain that has a message for the caller, or,
// failing that, the outermost Error at all.
func As(err error) (*Error, bool) {
	var first *Error
	for err != nil {
		var e *Error
		if !errors.As(err, &e) {
			break
		}
		if e.Message != "" {
			return e, true
		}
		if first == nil {
			first = e
		}
		err = e.Err
	}
	return first, first != nil
}

// KindOf is the kind of the outermost Error in a chain, Internal if there is none.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}
