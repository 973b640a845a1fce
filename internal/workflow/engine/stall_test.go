package engine_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestAClaimThatIsHeldUpIsExplained lets a task be ready for two seconds before the loop comes
// to the claim that wants it.
func TestAClaimThatIsHeldUpIsExplained(t *testing.T) {
	r := newRig(t)
	var said strings.Builder
	r.log = slog.New(slog.NewTextHandler(&said, nil))
	r.restart()
	id := r.started("line")
	r.settle()
	r.clock.Move(time.Hour) // nobody wanted it: that is no fault of the server's
	quick := r.claim(r.claiming("w1", 1, 0))
	r.settle()
	r.tasks(quick, id)
	if r.Metrics().Stalls != 0 {
		t.Errorf("a claim that was served at once counts as held up:\n%s", &said)
	}
	other := r.started("line")
	late := r.claim(r.claiming("w2", 1, 0))
	r.clock.Move(2 * time.Second)
	r.settle()
	r.tasks(late, other)
	if got := r.Metrics().Stalls; got != 1 || !strings.Contains(said.String(),
		`msg="a claim was held up" reason=queue ms=2000`) {
		t.Errorf("%d claims were held up, and the log says:\n%s", got, &said)
	}
}
