package flow

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Assignees are who may resume a Wait: one of these is enough.
type Assignees struct {
	Users  []string `json:"users,omitempty"`
	Roles  []string `json:"roles,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// Principal is who resumes a node: what the user is called, its roles and its groups. It is asked only of an Actor
// that is a user.
type Principal struct{ Users, Roles, Groups []string }

// Have reports whether somebody is one of them.
func (a *Assignees) Have(p *Principal) bool {
	for _, side := range [...][2][]string{{a.Users, p.Users}, {a.Roles, p.Roles}, {a.Groups, p.Groups}} {
		if slices.ContainsFunc(side[0], func(name string) bool { return slices.Contains(side[1], name) }) {
			return true
		}
	}
	return false
}

// String names them, for people.
func (a *Assignees) String() string {
	if a == nil {
		return "everybody"
	}
	var some []string
	for _, side := range [...]struct {
		what  string
		names []string
	}{{"user ", a.Users}, {"role ", a.Roles}, {"group ", a.Groups}} {
		for _, name := range side.names {
			some = append(some, side.what+name)
		}
	}
	if len(some) > 5 {
		some = append(some[:5], fmt.Sprintf("%d others", len(some)-5))
	}
	return strings.Join(some, ", ")
}

func checkAssignees(n *NodeSpec) error {
	a := n.Assignees
	if a == nil {
		return nil
	}
	if len(a.Users)+len(a.Roles)+len(a.Groups) == 0 {
		return refuseField(n, "assignees", "names nobody; leave it out where everybody may resume the Wait")
	}
	for _, side := range [...]struct {
		field string
		names []string
	}{{"assignees.users", a.Users}, {"assignees.roles", a.Roles}, {"assignees.groups", a.Groups}} {
		if len(side.names) > MaxAssignees {
			return refuseField(n, side.field, "has %d names; at most %d are allowed", len(side.names), MaxAssignees)
		}
		for i, name := range side.names {
			field := fmt.Sprintf("%s[%d]", side.field, i)
			switch {
			case name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > MaxAssignee ||
				strings.ContainsFunc(name, unicode.IsControl):
				return refuseField(n, field, "must be 1 to %d characters", MaxAssignee)
			case slices.Contains(side.names[:i], name):
				return refuseField(n, field, "%q is there twice", shorten(name))
			}
		}
	}
	return nil
}

// assigned is the guard of who may resume a node. The server itself may: a message has no roles.
func (c *Resume) assigned(d *draft, n *Node) error {
	if n.Assignees == nil || d.facts.Actor.Kind != KindUser || n.Assignees.Have(&c.As) {
		return nil
	}
	err := d.refuseNode(n, GuardAssignee, "node %s is for %s", n.ID, n.Assignees)
	err.(*Refusal).Needs = n.Assignees
	return err
}
