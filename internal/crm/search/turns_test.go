package search

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestSearchesOfATenantGoOnInTurns holds the turn of one tenant: its next search waits, those
// of others do not, up to as many as there may be.
func TestSearchesOfATenantGoOnInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(2)
		acquire := func(tenant string) (leave func()) {
			t.Helper()
			leave, err := turns.acquire(t.Context(), tenant)
			if err != nil {
				t.Fatal(err)
			}
			return leave
		}
		// waits reports whether a search of a tenant has to wait now.
		waits := func(tenant string) bool {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			got := make(chan error, 1)
			go func() {
				leave, err := turns.acquire(ctx, tenant)
				if err == nil {
					leave()
				}
				got <- err
			}()
			synctest.Wait()
			cancel()
			return errors.Is(<-got, context.Canceled)
		}
		first := acquire("a")
		if !waits("a") || waits("b") {
			t.Error("a tenant has two turns, or holds up another")
		}
		second := acquire("b")
		if !waits("c") {
			t.Error("there are more turns than two")
		}
		first()
		if waits("a") || waits("c") || !waits("b") {
			t.Error("a turn that was given back is not free")
		}
		second()
		if len(turns.tenants) != 0 {
			t.Errorf("tenants that nobody waits for are kept: %v", turns.tenants)
		}
	})
}
