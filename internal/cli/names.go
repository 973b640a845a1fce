package cli

import (
	"context"
	"io"
	"slices"

	"github.com/google/uuid"

	"renga.dev/renga/client"
)

// What a cell may be where people shall read names in place of ids.
type (
	named  string // an id, which stands there as what it names, where the caller may know that
	phrase []any  // cells behind each other
)

// names are what the ids on a screen stand for; nil asks nobody.
type names struct {
	labels map[string]string
	wanted []string // ids that were not known when they were printed
}

// of is the name of an id, or the id.
func (n *names) of(id string) string {
	if n == nil {
		return id
	}
	if label := n.labels[id]; label != "" {
		return label
	}
	if uuid.Validate(id) == nil && !slices.Contains(n.wanted, id) {
		n.wanted = append(n.wanted, id)
	}
	return id
}

// maxNames is how many ids one request may ask the names of.
const maxNames = 500

// learn prints for nobody, to find the ids of which names are wanted, and asks for these. Without
// an answer the ids stand for themselves.
func (r *remote) learn(people func(*printer)) {
	r.screen.names = &names{labels: map[string]string{}}
	r.silent = true
	people(&printer{screen: r.screen, w: io.Discard})
	r.silent = false
	ctx, done := context.WithTimeout(context.Background(), retryFor)
	defer done()
	for ids := range slices.Chunk(r.screen.names.wanted, maxNames) {
		found, err := r.Records.Names(ctx, ids...)
		if err != nil {
			return
		}
		for _, n := range found {
			r.screen.names.labels[n.Of] = n.Label
		}
	}
}

// userID is the id of a user who is named by it or, as --as does, by what tokens call it.
func (r *remote) userID(ctx context.Context, flag, user string) (string, error) {
	if user == "" || uuid.Validate(user) == nil {
		return user, nil
	}
	found, err := r.Records.Names(ctx, user)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(found, func(n client.NameOfID) bool { return n.Kind == "user" }); i >= 0 {
		return found[i].ID, nil
	}
	return "", usage("%s: there is no user %q; renga metadata list user shows them with their subjects", flag, user)
}
