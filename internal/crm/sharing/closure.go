package sharing

import (
	"cmp"
	"slices"

	"renga.dev/renga/internal/crm/model"
)

// Member says that a user has a principal.
type Member struct {
	User, Principal string
}

func (m Member) compare(n Member) int {
	return cmp.Or(cmp.Compare(m.User, n.User), cmp.Compare(m.Principal, n.Principal))
}

// Reach says that a principal has access to all records of an owner: under a model, or
// under all with 0.
type Reach struct {
	Model            int64
	Principal, Owner string
	Cause, CauseID   string
	Level            Level
}

func (r Reach) compare(s Reach) int {
	return cmp.Or(cmp.Compare(r.Model, s.Model), cmp.Compare(r.Principal, s.Principal), cmp.Compare(r.Owner, s.Owner),
		cmp.Compare(r.Cause, s.Cause), cmp.Compare(r.CauseID, s.CauseID), cmp.Compare(r.Level, s.Level))
}

// The causes of access.
const (
	CauseOwner     = "owner"     // it is the user's own
	CauseRole      = "role"      // the user's role is above the owner's
	CauseQueue     = "queue"     // the user is in the queue that owns it
	CauseDefault   = "default"   // everybody has it: the organization-wide default
	CauseRule      = "rule"      // a sharing rule
	CauseTeam      = "team"      // the user is in the record's team
	CauseTerritory = "territory" // the account is in a territory of the user, or below one
	CauseAccount   = "account"   // the user has the account, or is in its team or territory
	CauseAll       = "all"       // a permission set gives all records
)

// closure is the contents of sharing_principal and sharing_reach, sorted, each row once.
type closure struct {
	members []Member
	reach   []Reach
}

// closureOf computes the closure of the directory, the territories and the rules on owners. A
// user who is not active has no principals.
func closureOf(m *model.Model, tree *Tree, models []Model) closure {
	var c closure
	for _, u := range model.List[*model.User](m, model.KindUser) {
		above := m.RoleAncestors(u.RoleID)
		if u.IsActive {
			c.addUser(m, tree, u, above)
		}
		for _, role := range above {
			c.reach = append(c.reach, Reach{0, principal(roleKind, role), u.ID, CauseRole, role, Full})
		}
	}
	// Only queues own records, but any group may become one.
	for _, g := range model.List[*model.Group](m, model.KindGroup) {
		c.reach = append(c.reach, Reach{0, principal(groupKind, g.ID), g.ID, CauseQueue, g.ID, Full})
	}
	for i := range models {
		for j := range models[i].Rules {
			c.addRule(m, models[i].num, &models[i].Rules[j])
		}
	}
	slices.SortFunc(c.members, Member.compare)
	slices.SortFunc(c.reach, Reach.compare)
	c.members, c.reach = slices.Compact(c.members), slices.Compact(c.reach)
	return c
}

// addUser gives an active user its principals; above are the roles above its own.
func (c *closure) addUser(m *model.Model, tree *Tree, u *model.User, above []string) {
	add := func(kind string, ids ...string) {
		for _, id := range ids {
			c.members = append(c.members, Member{u.ID, principal(kind, id)})
		}
	}
	add(userKind, u.ID)
	if u.RoleID != "" {
		add(roleKind, u.RoleID)
		add(subordinatesKind, u.RoleID)
		add(subordinatesKind, above...)
	}
	add(groupKind, m.GroupsOf(u.ID)...)
	add(territoryKind, tree.reachedBy(u.ID)...)
}

// addRule gives the records of the owners that a rule names to its target. The source of
// a group is the group itself, too: a queue owns records.
func (c *closure) addRule(m *model.Model, num int64, r *Rule) {
	if r.Kind != model.OwnerRule || r.Source == nil {
		return
	}
	owners := slices.Clone(m.Resolve(*r.Source))
	if r.Source.Type == model.TypeGroup {
		owners = append(owners, r.Source.ID)
	}
	for _, owner := range owners {
		c.reach = append(c.reach, Reach{num, principalOf(r.Target), owner, CauseRule, r.ID, levelOf(r.Access)})
	}
}
