package sharing

import (
	"cmp"
	"slices"

	"renga.dev/renga/internal/crm/model"
)

// Territory is a part of the market: accounts are in it, and users work in it.
type Territory struct {
	ID       string
	Name     string
	ParentID string       // "": at the top
	Access   model.Access // what its users, and those of the territories above, have on its accounts
	Version  int64        // rises with every change of these
}

// Tree is the territories of a tenant with their users.
type Tree struct {
	byID     map[string]Territory
	children map[string][]string
	users    map[string][]string // territories of a user
}

// newTree puts territories together; users are pairs of user and territory.
func newTree(all []Territory, users []Member) *Tree {
	t := &Tree{byID: map[string]Territory{}, children: map[string][]string{}, users: map[string][]string{}}
	for _, one := range all {
		t.byID[one.ID] = one
		if one.ParentID != "" {
			t.children[one.ParentID] = append(t.children[one.ParentID], one.ID)
		}
	}
	for _, u := range users {
		t.users[u.User] = append(t.users[u.User], u.Principal)
	}
	return t
}

// reachedBy are the territories whose accounts a user sees: its own and all below.
func (t *Tree) reachedBy(user string) []string {
	if t == nil {
		return nil
	}
	reached := slices.Clone(t.users[user])
	for i := 0; i < len(reached); i++ {
		for _, child := range t.children[reached[i]] {
			if !slices.Contains(reached, child) {
				reached = append(reached, child)
			}
		}
	}
	return reached
}

// path is the way up from a territory: itself, its parent and so on, or what leads around
// in a circle, up to and with the first one that comes twice.
func (t *Tree) path(id string) (way []string, circle bool) {
	for ; id != ""; id = t.byID[id].ParentID {
		if slices.Contains(way, id) {
			return append(way, id), true
		}
		way = append(way, id)
	}
	return way, false
}

func (m Member) compare(n Member) int {
	return cmp.Or(cmp.Compare(m.User, n.User), cmp.Compare(m.Principal, n.Principal))
}

func (r Reach) compare(s Reach) int {
	return cmp.Or(cmp.Compare(r.Model, s.Model), cmp.Compare(r.Principal, s.Principal), cmp.Compare(r.Owner, s.Owner),
		cmp.Compare(r.Cause, s.Cause), cmp.Compare(r.CauseID, s.CauseID), cmp.Compare(r.Level, s.Level))
}
