package fault

import "strconv"

// ReasonClass says which side of the system a refusal or failure came from. The
// values are those of the workflow events document; every surface shares them.
type ReasonClass string

// ReasonCode says what the refusal or failure was. It is a guard, an error code, or
// one of the codes below.
type ReasonCode string

// RetryAdvice says whether sending the same again can help.
type RetryAdvice string

// The reason classes and the retry advices.
const (
	ReasonAuth              ReasonClass = "auth"
	ReasonValidation        ReasonClass = "validation"
	ReasonTemplateConflict  ReasonClass = "template_conflict"
	ReasonRunConflict       ReasonClass = "run_conflict"
	ReasonUnsupportedAction ReasonClass = "unsupported_action"
	ReasonInfra             ReasonClass = "infra"

	DoNotRetry       RetryAdvice = "do_not_retry"
	RetryAfterFix    RetryAdvice = "retry_after_fix"
	RetryWithBackoff RetryAdvice = "retry_with_backoff"
)

// The reason codes that are not the status of an answer (HTTPCode).
const (
	CodeInvalidYearMonth ReasonCode = "invalid_year_month"
	CodeDuplicateKey     ReasonCode = "duplicate_idempotency_key"
)

// Reason is why something was refused, failed or left undone, in the three words that
// answers, the audit log and reports share. The zero value is no reason.
type Reason struct {
	Class  ReasonClass // "": of what was left undone without being at fault
	Code   ReasonCode
	Advice RetryAdvice
}

// The reasons of workflow events, one for each way a delivery can end without a run.
// What is not here has the reason of its kind (Kind.Reason).
var (
	RefusedToken     = Reason{ReasonAuth, HTTPCode(401), RetryAfterFix}
	RefusedField     = Reason{ReasonValidation, HTTPCode(400), RetryAfterFix}
	RefusedYearMonth = Reason{ReasonValidation, CodeInvalidYearMonth, RetryAfterFix}
	NoTemplate       = Reason{ReasonTemplateConflict, HTTPCode(404), RetryAfterFix}
	// another first step, or too many fit
	UnfitTemplate     = Reason{ReasonTemplateConflict, HTTPCode(409), RetryAfterFix}
	UnsupportedAction = Reason{ReasonUnsupportedAction, HTTPCode(409), RetryAfterFix}
	RunActive         = Reason{ReasonRunConflict, HTTPCode(409), RetryWithBackoff}
	DuplicateKey      = Reason{"", CodeDuplicateKey, DoNotRetry}

	// Damaged is the reason of whatever meets damage in the database: sending it again does not help.
	Damaged = Reason{ReasonInfra, HTTPCode(500), RetryAfterFix}
)

// HTTPCode is the reason code of a failure that has no better one than the status of
// its answer: "http_503".
func HTTPCode(status int) ReasonCode { return ReasonCode("http_" + strconv.Itoa(status)) }

// Reason is that of a failure of which nothing is known but its kind and the status of
// its answer.
func (k Kind) Reason(status int) Reason {
	class, advice := k.Advice()
	return Reason{class, HTTPCode(status), advice}
}

// Advice is the reason class and retry advice that a kind of failure has unless
// a surface knows better.
func (k Kind) Advice() (ReasonClass, RetryAdvice) {
	switch k {
	case Unauthorized, Forbidden:
		return ReasonAuth, RetryAfterFix
	case Invalid, NotFound, MethodNotAllowed, TooLarge, Unsupported:
		return ReasonValidation, RetryAfterFix
	case Conflict:
		return ReasonRunConflict, DoNotRetry
	}
	return ReasonInfra, RetryWithBackoff
}
