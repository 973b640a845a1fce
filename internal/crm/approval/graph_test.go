package approval

import (
	"context"
	"slices"
	"testing"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// graphStore is an engine that stores graphs, and nothing else.
type graphStore struct {
	Engine
	put []string
}

func (s *graphStore) PutGraph(_ context.Context, tenant, id string, _ flow.Graph) (engine.GraphRow, bool, error) {
	s.put = append(s.put, tenant+" "+id)
	return engine.GraphRow{Version: len(s.put)}, true, nil
}

// TestGraphsAreStoredOnceForATenantAndASize asks for two sizes in two tenants, twice.
func TestGraphsAreStoredOnceForATenantAndASize(t *testing.T) {
	stored := &graphStore{}
	s := &Approvals{cfg: Config{Engine: stored}, graphs: graphs{version: map[graphKey]int{}}}
	var want []string
	for range 2 {
		version := 0
		for _, tenant := range []string{"a", "b"} {
			for _, n := range []int{1, 2} {
				if version++; len(want) < 4 {
					want = append(want, tenant+" "+graphID(n))
				}
				if got, err := s.version(t.Context(), tenant, n); err != nil || got != version {
					t.Errorf("%s, %d: got version %d %v, want %d", tenant, n, got, err, version)
				}
			}
		}
	}
	if !slices.Equal(stored.put, want) {
		t.Errorf("got %v, want %v", stored.put, want)
	}
}
