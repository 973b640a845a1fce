package inbound

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestATenantWaitsForItsOwnDeliveriesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := &turns{of: map[string]*turn{}}
		take := func(ctx context.Context, tenant string) <-chan error {
			got := make(chan error, 1)
			go func() {
				_, err := turns.take(ctx, tenant)
				got <- err
			}()
			synctest.Wait()
			return got
		}
		first := take(t.Context(), "acme")
		gone, stop := context.WithCancel(t.Context())
		second, left, other := take(t.Context(), "acme"), take(gone, "acme"), take(t.Context(), "zeta")
		if len(first) != 1 || len(second) != 0 || len(other) != 1 {
			t.Fatalf("turns of the first %d, of the second %d, of another tenant %d; want 1, 0, 1",
				len(first), len(second), len(other))
		}
		stop()
		if err := <-left; !errors.Is(err, errLate) {
			t.Errorf("who leaves: got %v, want %v", err, errLate)
		}
		turns.give("acme")
		synctest.Wait()
		if len(second) != 1 {
			t.Fatal("the turn was given back, and nobody has it")
		}
		turns.give("acme")
		turns.give("zeta")
		if len(turns.of) != 0 {
			t.Errorf("%d tenants are left", len(turns.of))
		}
	})
}
