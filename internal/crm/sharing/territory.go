package sharing

import (
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
)

// Territory is a part of the market: accounts are in it, and users work in it.
type Territory struct {
	ID       string       `json:"id"`
	Name     string       `json:"name"`
	ParentID string       `json:"parentTerritoryId,omitzero"` // "": at the top
	Access   model.Access `json:"access"`                     // of its users, and of those above, on its accounts
	Version  int64        `json:"-"`                          // rises with every change of these
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

// check reports why a territory cannot be among the others.
func (t *Tree) check(one Territory) error {
	before, had := t.byID[one.ID]
	if _, ok := t.byID[one.ParentID]; one.ParentID != "" && one.ParentID != one.ID && !ok {
		return invalid("parentTerritoryId", "there is no territory %s; make it first", one.ParentID)
	}
	if !had && len(t.byID) >= MaxTerritories {
		return invalid("id", "a tenant has at most %d territories", MaxTerritories)
	}
	t.byID[one.ID] = one
	way, circle := t.path(one.ID)
	if delete(t.byID, one.ID); had {
		t.byID[one.ID] = before
	}
	if circle {
		return invalid("parentTerritoryId", "the territories would be above themselves: %s",
			strings.Join(way, " is in "))
	}
	return nil
}
