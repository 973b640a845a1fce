package fault

// ReasonClass says which side of the system a refusal or failure came from. The
// values are those of the workflow events document; every surface shares them.
type ReasonClass string

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
