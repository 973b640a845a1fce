package fault_test

import (
	"testing"

	"renga.dev/renga/internal/platform/fault"
)

// TestReasonsAreThoseOfTheRequirements holds every reason to its three words as TRG-2a
// spells them.
func TestReasonsAreThoseOfTheRequirements(t *testing.T) {
	for _, tt := range []struct {
		got                 fault.Reason
		class, code, advice string
	}{
		{fault.RefusedToken, "auth", "http_401", "retry_after_fix"},
		{fault.RefusedField, "validation", "http_400", "retry_after_fix"},
		{fault.RefusedYearMonth, "validation", "invalid_year_month", "retry_after_fix"},
		{fault.NoTemplate, "template_conflict", "http_404", "retry_after_fix"},
		{fault.UnfitTemplate, "template_conflict", "http_409", "retry_after_fix"},
		{fault.UnsupportedAction, "unsupported_action", "http_409", "retry_after_fix"},
		{fault.RunActive, "run_conflict", "http_409", "retry_with_backoff"},
		{fault.DuplicateKey, "", "duplicate_idempotency_key", "do_not_retry"},
		{fault.Unauthorized.Reason(fault.Unauthorized.Status()), "auth", "http_401", "retry_after_fix"},
		{fault.Invalid.Reason(fault.Invalid.Status()), "validation", "http_400", "retry_after_fix"},
		{fault.Forbidden.Reason(fault.Forbidden.Status()), "auth", "http_403", "retry_after_fix"},
		{fault.NotFound.Reason(fault.NotFound.Status()), "validation", "http_404", "retry_after_fix"},
		{fault.MethodNotAllowed.Reason(fault.MethodNotAllowed.Status()), "validation", "http_405", "retry_after_fix"},
		{fault.Conflict.Reason(fault.Conflict.Status()), "run_conflict", "http_409", "do_not_retry"},
		{fault.TooLarge.Reason(fault.TooLarge.Status()), "validation", "http_413", "retry_after_fix"},
		{fault.Unsupported.Reason(fault.Unsupported.Status()), "validation", "http_415", "retry_after_fix"},
		{fault.RateLimited.Reason(fault.RateLimited.Status()), "infra", "http_429", "retry_with_backoff"},
		{fault.Internal.Reason(fault.Internal.Status()), "infra", "http_500", "retry_with_backoff"},
		{fault.Unavailable.Reason(fault.Unavailable.Status()), "infra", "http_503", "retry_with_backoff"},
	} {
		want := fault.Reason{
			Class: fault.ReasonClass(tt.class), Code: fault.ReasonCode(tt.code),
			Advice: fault.RetryAdvice(tt.advice),
		}
		if tt.got != want {
			t.Errorf("got %+v, want %+v", tt.got, want)
		}
	}
}

func TestAWrappedErrorKeepsItsReason(t *testing.T) {
	err := fault.Wrap("outer", fault.New(fault.Conflict, "", "no").Because(fault.RunActive))
	if failure, ok := fault.As(err); !ok || failure.Reason != fault.RunActive {
		t.Errorf("got %+v", failure)
	}
}
