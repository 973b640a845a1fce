package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of failure; use them with errors.Is.
var (
	// a guard of the state refused the command: 409 COMMAND_REJECTED; of a record or a definition that others need,
	// or of a workflow event: 409
	ErrRefused     = errors.New("refused")
	ErrCanceled    = errors.New("canceled")                   // refused because a cancel has won; also ErrRefused
	ErrKeyConflict = errors.New("key used with another body") // 409 IDEMPOTENCY_CONFLICT
	// 412 VERSION_MISMATCH: somebody has changed it meanwhile
	ErrVersion      = errors.New("another version")
	ErrInvalid      = errors.New("invalid")      // 422, 400, 413, 415: the request breaks a rule
	ErrNotFound     = errors.New("not found")    // 404
	ErrUnauthorized = errors.New("unauthorized") // 401
	ErrForbidden    = errors.New("forbidden")    // 403
	ErrRateLimited  = errors.New("rate limited") // 429, and the time for repeating is over
	ErrUnavailable  = errors.New("unavailable")  // 502, 503, 504 or no connection, and the time for repeating is over
)

// guardCancel is the guard that stands for "cancel has won".
const guardCancel = "cancel_fence"

// Error is an answer of the server that says no.
type Error struct {
	Status  int    // of HTTP; 0 for a request that cannot be sent
	Code    string // such as COMMAND_REJECTED
	Message string // one sentence for people

	// Of a refused command: the guard, what it saw, the event that made it so, the
	// place in the log where cancel won, and whether the result was kept as evidence.
	Guard          string
	State          RefusedState
	Cause          *EventRef
	CancelSeq      uint64
	LateResultKept bool
	ExecutionID    string // that has the business key, of a creation that was refused

	// NewKey says that the key remembers the refusal: what RetryAdvice says works under a new key only. A command
	// without a key of the caller's gets a new one each time that it is sent.
	NewKey bool

	ReasonClass   string
	ReasonCode    string // of a workflow event, such as invalid_year_month
	RetryAdvice   string
	Field         string          // the member, parameter or header that breaks a rule
	Details       json.RawMessage // all details as they were sent
	RetryAfter    time.Duration
	CorrelationID string
}

// RefusedState is what a guard saw.
type RefusedState struct {
	Execution  Status     `json:"execution,omitempty"`
	Node       string     `json:"node,omitempty"`
	NodeStatus NodeStatus `json:"nodeStatus,omitempty"`
	Attempt    int        `json:"attempt,omitempty"`
	Bulk       BulkStatus `json:"bulk,omitempty"`

	DeadLetter DeadLetterStatus `json:"deadLetter,omitempty"`
	Verdict    Verdict          `json:"verdict,omitempty"`
	Replay     ReplayStatus     `json:"replay,omitempty"`
}

// EventRef names an event.
type EventRef struct {
	EventID    string    `json:"eventId"`
	Type       string    `json:"type"`
	Seq        uint64    `json:"seq"`
	OccurredAt time.Time `json:"occurredAt"`
}

func (e *Error) Error() string {
	switch {
	case e.Status == 0 && e.Code == "":
		return "client: " + e.Message
	case e.Code == "":
		return fmt.Sprintf("%d %s", e.Status, e.Message)
	}
	return fmt.Sprintf("%s (%d %s)", e.Message, e.Status, e.Code)
}

// refusals are the codes of what the state refuses.
var refusals = []string{
	"COMMAND_REJECTED", "IN_USE", "STANDARD_DEFINITION", "RECORD_REFERENCED", "RECORD_LOCKED", "FIELD_LOCKED",
	"LEAD_CONVERTED", "TEAM_FULL",
	"NO_APPROVAL_PROCESS", "APPROVAL_PROCESS_UNCLEAR", "NO_APPROVER", "APPROVAL_PENDING", "APPROVAL_ENDED",
	"APPROVAL_STAGE_PASSED", "ALREADY_DECIDED", "MESSAGE_EXISTS",
}

// Is reports whether the error is of a kind.
func (e *Error) Is(kind error) bool {
	switch kind {
	case ErrRefused:
		return slices.Contains(refusals, e.Code) || e.ReasonCode != "" && e.Status == http.StatusConflict
	case ErrCanceled:
		return e.Guard == guardCancel
	case ErrVersion:
		return e.Status == http.StatusPreconditionFailed
	case ErrKeyConflict:
		return e.Code == "IDEMPOTENCY_CONFLICT"
	case ErrInvalid:
		return e.Status == http.StatusUnprocessableEntity || e.Status == http.StatusBadRequest ||
			e.Status == http.StatusRequestEntityTooLarge ||
			e.Status == http.StatusUnsupportedMediaType
	case ErrNotFound:
		return e.Status == http.StatusNotFound
	case ErrUnauthorized:
		return e.Status == http.StatusUnauthorized
	case ErrForbidden:
		return e.Status == http.StatusForbidden
	case ErrRateLimited:
		return e.Status == http.StatusTooManyRequests
	case ErrUnavailable:
		return passing(e.Status)
	}
	return false
}

// passing reports whether a status says "not now".
func passing(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable ||
		status == http.StatusGatewayTimeout
}

// repeatable reports whether the same request may be answered otherwise later.
func (e *Error) repeatable() bool { return passing(e.Status) || e.Status == http.StatusTooManyRequests }

// errorBody is an error as the server sends it.
type errorBody struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
}

// errorDetails are the details that have a field of their own.
type errorDetails struct {
	Guard          string       `json:"guard"`
	State          RefusedState `json:"state"`
	Cause          *EventRef    `json:"cause"`
	CancelSeq      uint64       `json:"cancelSeq"`
	LateResultKept bool         `json:"lateResultKept"`
	ExecutionID    string       `json:"executionId"`
	ReasonClass    string       `json:"reasonClass"`
	RetryAdvice    string       `json:"retryAdvice"`
	NewKey         bool         `json:"newKey"`
	Field          string       `json:"field"`
}

// UnmarshalJSON reads code, message and details.
func (e *Error) UnmarshalJSON(raw []byte) error {
	var b errorBody
	if err := json.Unmarshal(raw, &b); err != nil {
		return err
	}
	e.Code, e.Message, e.Details = b.Code, b.Message, b.Details
	var d errorDetails
	if len(b.Details) > 0 {
		if err := json.Unmarshal(b.Details, &d); err != nil {
			return err
		}
	}
	e.Guard, e.State, e.Cause, e.CancelSeq, e.LateResultKept = d.Guard, d.State, d.Cause, d.CancelSeq, d.LateResultKept
	e.ReasonClass, e.RetryAdvice, e.Field, e.ExecutionID = d.ReasonClass, d.RetryAdvice, d.Field, d.ExecutionID
	e.NewKey = d.NewKey
	return nil
}

// MarshalJSON writes the error as the server sent it.
func (e *Error) MarshalJSON() ([]byte, error) {
	return json.Marshal(errorBody{e.Code, e.Message, e.Details})
}

// readDetail reads the error of a workflow event: a message, and the reason in headers.
// Its code is the reason's.
func readDetail(header http.Header, body []byte) *Error {
	var sent struct {
		Detail string `json:"detail"`
	}
	code := header.Get("X-Reason-Code")
	if code == "" || json.Unmarshal(body, &sent) != nil {
		return nil
	}
	return &Error{
		Code: strings.ToUpper(code), Message: sent.Detail,
		ReasonClass: header.Get("X-Reason-Class"), ReasonCode: code, RetryAdvice: header.Get("X-Retry-Advice"),
	}
}

// readFlat reads the error of the re-check API: a code and a message.
func readFlat(body []byte) *Error {
	var sent struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &sent) != nil || sent.Error == "" {
		return nil
	}
	return &Error{Code: sent.Error, Message: sent.Message}
}

// readError makes an Error of an answer. One that is not the server's own, such as
// the page of a proxy, has a status and no code.
func readError(status int, header http.Header, body []byte) *Error {
	var sent struct {
		Error *Error `json:"error"`
	}
	e := &Error{Message: http.StatusText(status)}
	if json.Unmarshal(body, &sent) == nil && sent.Error != nil && sent.Error.Code != "" {
		e = sent.Error
	} else if detail := readDetail(header, body); detail != nil {
		e = detail
	} else if flat := readFlat(body); flat != nil {
		e = flat
	}
	e.Status = status
	e.CorrelationID = header.Get("X-Correlation-Id")
	if seconds, err := strconv.Atoi(header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}
