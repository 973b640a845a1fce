package gate

import (
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
)

func TestRefusalsOfTheRecheckSurfaceKeepToItsCatalogue(t *testing.T) {
	limited := fault.New(fault.RateLimited, "", "slowly")
	limited.RetryAfter = 1500 * time.Millisecond
	for _, tt := range []struct {
		err    error
		status int
		body   string
	}{
		{
			fault.New(fault.Invalid, "INVALID_INPUT", "window is invalid"), 400,
			`{"error":"BAD_REQUEST","message":"window is invalid"}`,
		},
		{
			fault.New(fault.Invalid, "IDEMPOTENCY_KEY_REQUIRED", "a key"), 400,
			`{"error":"BAD_REQUEST","message":"a key"}`,
		},
		{fault.New(fault.Unauthorized, "", "no"), 401, `{"error":"UNAUTHORIZED","message":"no"}`},
		{fault.New(fault.Forbidden, "CROSS_ORIGIN", "no"), 403, `{"error":"FORBIDDEN","message":"no"}`},
		{fault.New(fault.NotFound, "STRATEGY_NOT_FOUND", "none"), 404, `{"error":"NOT_FOUND","message":"none"}`},
		{fault.New(fault.MethodNotAllowed, "", "no"), 405, `{"error":"METHOD_NOT_ALLOWED","message":"no"}`},
		{
			fault.New(fault.Conflict, "IDEMPOTENCY_CONFLICT", "no"), 409,
			`{"error":"IDEMPOTENCY_CONFLICT","message":"no"}`,
		},
		{fault.New(fault.TooLarge, "", "no"), 413, `{"error":"PAYLOAD_TOO_LARGE","message":"no"}`},
		{fault.New(fault.Unsupported, "", "no"), 415, `{"error":"UNSUPPORTED_MEDIA_TYPE","message":"no"}`},
		{limited, 429, `{"error":"RATE_LIMITED","message":"slowly","retry_after":2}`},
		{fault.New(fault.Unavailable, "STORAGE_FULL", "not now"), 503, `{"error":"UNAVAILABLE","message":"not now"}`},
		{fault.New(fault.Unavailable, "AIRFLOW_DOWN", "not now"), 502, `{"error":"AIRFLOW_DOWN","message":"not now"}`},
		{&fault.Error{Message: "the password is 123"}, 500, `{"error":"INTERNAL_ERROR","message":"internal error"}`},
	} {
		p := Recheck.Problem(tt.err)
		if got := string(Recheck.Render(p)); p.Status != tt.status || got != tt.body {
			t.Errorf("%v: got %d %s, want %d %s", tt.err, p.Status, got, tt.status, tt.body)
		}
	}
}
