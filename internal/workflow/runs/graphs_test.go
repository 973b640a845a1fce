package runs

import (
	"context"
	"slices"
	"testing"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// graphStore counts what it stores.
type graphStore struct{ put []string }

func (s *graphStore) PutGraph(_ context.Context, tenant, id string, _ flow.Graph) (engine.GraphRow, bool, error) {
	s.put = append(s.put, tenant+" "+id)
	return engine.GraphRow{Version: len(s.put)}, true, nil
}

// TestGraphsAreStoredOnceForATenant asks for two graphs in two tenants, twice.
func TestGraphsAreStoredOnceForATenant(t *testing.T) {
	var graphs Graphs
	stored := &graphStore{}
	for range 2 {
		version := 0
		for _, tenant := range []string{"a", "b"} {
			for _, id := range []string{"x:1", "x:2"} {
				version++
				got, err := graphs.Version(t.Context(), stored, tenant, id, func() (g flow.Graph) { return g })
				if err != nil || got != version {
					t.Errorf("%s, %s: got version %d %v, want %d", tenant, id, got, err, version)
				}
			}
		}
	}
	if want := []string{"a x:1", "a x:2", "b x:1", "b x:2"}; !slices.Equal(stored.put, want) {
		t.Errorf("got %v, want %v", stored.put, want)
	}
}
