package sharing

import (
	"renga.dev/renga/internal/crm/model"
)

// world is everything that access depends on, as plain as it can be.
type world struct {
	users       map[string]*model.User
	roles       map[string]*model.Role
	groups      map[string]*model.Group
	sets        map[string]*model.PermissionSet
	defaults    map[string]model.OWD
	rules       map[string]*model.SharingRule
	records     map[string]*model.Record // those that live
	teams       map[string]map[string]model.Access
	territories map[string]*Territory
	workers     map[string]map[string]bool // users of a territory
	accounts    map[string]map[string]bool // accounts of a territory
}

func newWorld() *world {
	return &world{
		map[string]*model.User{},
		map[string]*model.Role{},
		map[string]*model.Group{},
		map[string]*model.PermissionSet{},
		map[string]model.OWD{},
		map[string]*model.SharingRule{},
		map[string]*model.Record{},
		map[string]map[string]model.Access{},
		map[string]*Territory{},
		map[string]map[string]bool{},
		map[string]map[string]bool{},
	}
}

// criteria are the conditions of rules, with what they mean.
var criteria = map[string]func(r *model.Record) bool{
	`record.Name == "red"`:              func(r *model.Record) bool { return r.Fields["Name"] == "red" },
	`record.Description != null`:        func(r *model.Record) bool { return r.Fields["Description"] != nil },
	`record.OwnerId.endsWith("1")`:      func(r *model.Record) bool { return r.OwnerID[len(r.OwnerID)-1] == '1' },
	`record.Description.size() > 100`:   func(*model.Record) bool { return false }, // it fails of those that have none
	`record.Name.startsWith("r")==true`: func(r *model.Record) bool { return r.Fields["Name"].(string)[0] == 'r' },
}

// access works out from nothing what a user may do with a record. It is slow and plain on
// purpose: everything else is held against it.
func (w *world) access(user, record string) Level {
	u, r := w.users[user], w.records[record]
	if !u.IsActive {
		return None
	}
	best := w.fromSets(u)
	if w.owns(u, r.OwnerID) || w.above(u, r.OwnerID) {
		best = Full
	}
	switch w.defaults[r.Object] {
	case model.ReadOnly:
		best = max(best, Read)
	case model.ReadWrite:
		best = max(best, Edit)
	}
	for _, rule := range w.rules {
		if rule.Object == r.Object && rule.IsActive && w.covers(rule, r) && w.in(user, rule.Target) {
			best = max(best, levelOf(rule.Access))
		}
	}
	best = max(best, levelOf(w.teams[record][user]))
	if r.Object == "Account" {
		best = max(best, w.fromTerritories(user, record))
	}
	if a := w.records[r.AccountID]; a != nil && (w.owns(u, a.OwnerID) || w.teams[a.ID][user] != "" ||
		w.fromTerritories(user, a.ID) > None) {
		best = max(best, Read)
	}
	return best
}

func (w *world) fromSets(u *model.User) (best Level) {
	for _, id := range u.PermissionSetIDs {
		if w.sets[id].ModifyAll {
			best = Full
		}
		if w.sets[id].ViewAll {
			best = max(best, Read)
		}
	}
	return best
}

// owns reports whether somebody is the owner, or in the queue that is.
func (w *world) owns(u *model.User, owner string) bool {
	return owner == u.ID || w.groups[owner] != nil && w.in(u.ID, model.Member{Type: model.TypeGroup, ID: owner})
}

// above reports whether somebody's role is above that of an owner.
func (w *world) above(u *model.User, owner string) bool {
	o := w.users[owner]
	if o == nil || o.RoleID == "" || u.RoleID == "" {
		return false
	}
	for role := w.roles[o.RoleID].ParentRoleID; role != ""; role = w.roles[role].ParentRoleID {
		if role == u.RoleID {
			return true
		}
	}
	return false
}

// in reports whether a user is among those that a member stands for.
func (w *world) in(user string, m model.Member) bool {
	u := w.users[user]
	if u == nil {
		return false
	}
	switch m.Type {
	case model.TypeUser:
		return user == m.ID
	case model.TypeRole:
		return u.RoleID == m.ID
	case model.TypeRoleAndSubordinates:
		for role := u.RoleID; role != ""; role = w.roles[role].ParentRoleID {
			if role == m.ID {
				return true
			}
		}
		return false
	}
	for _, member := range w.groups[m.ID].Members {
		if w.in(user, member) {
			return true
		}
	}
	return false
}

// covers reports whether a rule is about a record.
func (w *world) covers(rule *model.SharingRule, r *model.Record) bool {
	if rule.Kind == model.CriteriaRule {
		return criteria[rule.Criteria](r)
	}
	return w.in(r.OwnerID, *rule.Source) || rule.Source.Type == model.TypeGroup && rule.Source.ID == r.OwnerID
}

// fromTerritories is what the territories of an account give to a user.
func (w *world) fromTerritories(user, account string) (best Level) {
	for id, t := range w.territories {
		if !w.accounts[id][account] {
			continue
		}
		for at := id; at != ""; at = w.territories[at].ParentID {
			if w.workers[at][user] {
				best = max(best, levelOf(t.Access))
			}
		}
	}
	return best
}
