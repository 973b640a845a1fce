package sharing

import (
	"slices"

	"renga.dev/renga/internal/crm/model"
)

// Member says that a user has a principal.
type Member struct {
	User, Principal string
}

// Reach says that a principal has access to all records of an owner: under a model, or
// under all with 0.
type Reach struct {
	Model            int64
	Principal, Owner string
	Level            Level
	Cause, CauseID   string
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

// closure is what follows from the directory alone.
type closure struct {
	members []Member // sorted, each once
	reach   []Reach  // sorted, each once
}

// frozen is a model of an object, as far as its rules on owners matter.
type frozen struct {
	num   int64
	setup Setup
}

// closureOf works out which principals users have and whose records they reach, beside
// their own. Nobody who is not active has any.
func closureOf(m *model.Model, tree *Tree, models []frozen) closure {
	var c closure
	for _, u := range model.List[*model.User](m, model.KindUser) {
		if u.IsActive {
			c.addUser(m, tree, u)
		}
		c.addAbove(m, u)
	}
	for _, g := range model.List[*model.Group](m, model.KindGroup) { // only queues own records, but any group may become one
		c.reach = append(c.reach, Reach{
			Principal: principal(groupKind, g.ID), Owner: g.ID, Level: Full,
			Cause: CauseQueue, CauseID: g.ID,
		})
	}
	for i := range models {
		for j := range models[i].setup.Rules {
			c.addRule(m, models[i].num, &models[i].setup.Rules[j])
		}
	}
	slices.SortFunc(c.members, Member.compare)
	slices.SortFunc(c.reach, Reach.compare)
	c.members, c.reach = slices.Compact(c.members), slices.Compact(c.reach)
	return c
}

// addUser gives an active user its principals.
func (c *closure) addUser(m *model.Model, tree *Tree, u *model.User) {
	add := func(kind, id string) { c.members = append(c.members, Member{u.ID, principal(kind, id)}) }
	add(userKind, u.ID)
	if u.RoleID != "" {
		add(roleKind, u.RoleID)
		add(subordinatesKind, u.RoleID)
		for _, above := range m.RoleAncestors(u.RoleID) {
			add(subordinatesKind, above)
		}
	}
	for _, group := range m.GroupsOf(u.ID) {
		add(groupKind, group)
	}
	for _, territory := range tree.reachedBy(u.ID) {
		add(territoryKind, territory)
	}
}

// addAbove gives the records of a user to the roles above its own.
func (c *closure) addAbove(m *model.Model, u *model.User) {
	for _, above := range m.RoleAncestors(u.RoleID) {
		c.reach = append(c.reach, Reach{
			Principal: principal(roleKind, above), Owner: u.ID, Level: Full,
			Cause: CauseRole, CauseID: above,
		})
	}
}

// addRule gives the records of the owners that a rule names to its target. The source of
// a group is the group itself, too: a queue owns records.
func (c *closure) addRule(m *model.Model, edition int64, r *Rule) {
	if r.Kind != model.OwnerRule || r.Source == nil {
		return
	}
	owners := slices.Clone(m.Resolve(*r.Source))
	if r.Source.Type == model.TypeGroup {
		owners = append(owners, r.Source.ID)
	}
	for _, owner := range owners {
		c.reach = append(c.reach, Reach{
			Model: edition, Principal: principalOf(r.Target), Owner: owner, Level: levelOf(r.Access), Cause: CauseRule,
			CauseID: r.ID,
		})
	}
}
