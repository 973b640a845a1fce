package gate

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// TestLargeBodiesShareABudget holds one large body and sends another: it is
// refused before it is read, a small one is not, and the room comes back.
func TestLargeBodiesShareABudget(t *testing.T) {
	var d *door
	inside := func() {}
	d = openDoor(t, Config{}, Route{Pattern: "POST /large", MaxBody: MaxBodies, Do: func(ctx context.Context, c *Call) (Reply, error) {
		inside()
		return ok(ctx, c)
	}})
	large := strings.Repeat(" ", MaxBodies/2+1)
	inside = func() {
		inside = func() {}
		w := d.ask(http.MethodPost, "/large", large)
		if got := decodeError(t, w); w.Code != http.StatusServiceUnavailable || got.Error.Code != "OVERLOADED" || w.Header().Get("Retry-After") != "1" {
			t.Errorf("a second large body: %d %s %v", w.Code, w.Body, w.Header())
		}
		if w := d.ask(http.MethodPost, "/large", strings.Repeat(" ", smallBody)); w.Code != http.StatusOK {
			t.Errorf("a small body beside a large one: %d %s", w.Code, w.Body)
		}
	}
	for range 3 {
		if w := d.ask(http.MethodPost, "/large", large); w.Code != http.StatusOK {
			t.Errorf("a large body alone: %d %s", w.Code, w.Body)
		}
	}
	if left := d.bodies.Load(); left != 0 {
		t.Errorf("%d bytes are still reserved", left)
	}
}
