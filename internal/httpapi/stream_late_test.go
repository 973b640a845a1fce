package httpapi

import (
	"testing"
	"time"

	"renga.dev/renga/internal/workflow/flow"
)

func TestAFrameThatIsHeldUpHasAReason(t *testing.T) {
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, tc := range []struct {
		name string
		pace pace
		want string
	}{
		{"history is no frame that anybody waits for", pace{oldest: flow.At(ago(time.Hour))}, ""},
		{"nothing was sent", pace{began: ago(time.Minute)}, ""},
		{"in time", pace{began: ago(time.Millisecond), oldest: flow.At(now)}, ""},
		{"the read took long", pace{began: ago(3 * time.Second), oldest: flow.At(now), read: 2 * time.Second}, "read"},
		{
			"the client took long",
			pace{began: ago(3 * time.Second), oldest: flow.At(now), wrote: 2 * time.Second},
			"client",
		},
		{"nobody woke it", pace{began: now, oldest: flow.At(ago(5 * time.Second))}, "wake"},
		{"it was woken late, and the read took long", pace{
			began:  ago(2 * time.Second),
			oldest: flow.At(ago(9 * time.Second)), read: 2 * time.Second,
		}, "wake"},
		{"it was busy when the event came", pace{idle: now, began: now, oldest: flow.At(ago(5 * time.Second))}, ""},
		{"it was woken at once", pace{began: now, oldest: flow.At(ago(time.Second / 2))}, ""},
	} {
		if got := tc.pace.held(now); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
