package metadata

import (
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
)

// service names what is published here, as the document of the events does.
const service = "metadata-service"

// publication is one event of a change: what its key is of, and its payload once the version of
// the change is known.
type publication struct {
	kind, id string
	payload  func(at canonical.Stamp) events.Payload
}

// changes are the events of a change, in their order. before is nil when something was
// defined first, after when it is gone.
func changes(kind model.Kind, before, after any) []publication {
	switch kind {
	case model.KindObject:
		o := after.(*model.Object)
		return []publication{metadataChanged("Object", o.Name, o.Name, "ObjectUpdated")}
	case model.KindField:
		return fieldChanges(of[model.Field](before), of[model.Field](after))
	case model.KindStages:
		f := model.StandardField("Opportunity", "StageName")
		return []publication{metadataChanged("Field", f.ID, f.Object, "PicklistChanged")}
	case model.KindPermissionSet:
		return setChanges(of[model.PermissionSet](before), of[model.PermissionSet](after))
	case model.KindUser:
		return userChanges(of[model.User](before), of[model.User](after))
	case model.KindRole:
		return roleChanges(of[model.Role](before), of[model.Role](after))
	case model.KindGroup:
		return groupChanges(of[model.Group](before), of[model.Group](after))
	case model.KindOWD, model.KindSharingRule, model.KindTeamRoles:
		return sharingChanges(kind, before, after)
	case model.KindApprovalProcess:
		return processChanges(of[model.ApprovalProcess](before), of[model.ApprovalProcess](after))
	}
	return automationChanges(before, after)
}

// of is a definition as what it is, nil when there is none.
func of[T any](v any) *T {
	t, _ := v.(*T)
	return t
}

// either is what a change is about: the definition after it, or before it when it is gone.
func either[T any](before, after *T) *T {
	if after != nil {
		return after
	}
	return before
}

// verb is what happened to a definition, in the words of the events.
func verb[T any](before, after *T) string {
	switch {
	case before == nil:
		return "Created"
	case after == nil:
		return "Deleted"
	}
	return "Updated"
}

func metadataChanged(kind, id, object, changeType string) publication {
	return publication{kind, id, func(at canonical.Stamp) events.Payload {
		return events.MetadataChanged{ChangeType: changeType, ObjectName: object, ResourceID: id, EffectiveAt: at}
	}}
}

func fieldChanges(before, after *model.Field) []publication {
	f := either(before, after)
	say := func(changeType string) publication { return metadataChanged("Field", f.ID, f.Object, changeType) }
	switch {
	case before == nil:
		return []publication{say("FieldAdded")}
	case after == nil:
		return []publication{say("FieldDeleted")}
	case slices.Equal(before.Values, after.Values):
		return []publication{say("FieldUpdated")}
	}
	rest := *after
	if rest.Values = before.Values; same(before, &rest) {
		return []publication{say("PicklistChanged")}
	}
	return []publication{say("FieldUpdated"), say("PicklistChanged")}
}

func permissionChanged(subject, id, changeType string) publication {
	return publication{"Permission", id, func(at canonical.Stamp) events.Payload {
		return events.PermissionChanged{
			ChangeType: changeType, Subject: events.PermissionSubject{Type: subject, ID: id},
			EffectiveAt: at,
		}
	}}
}

func setChanges(before, after *model.PermissionSet) []publication {
	return []publication{
		permissionChanged("PermissionSet", either(before, after).ID, "PermissionSet"+verb(before, after)),
	}
}

func userChanges(before, after *model.User) (all []publication) {
	u := either(before, after)
	say := func(changeType string) { all = append(all, permissionChanged(model.TypeUser, u.ID, changeType)) }
	if before == nil || after == nil {
		say("User" + verb(before, after))
		return all
	}
	if before.Name != after.Name || before.Email != after.Email || before.Subject != after.Subject {
		say("UserUpdated")
	}
	if before.RoleID != after.RoleID {
		say("UserRoleChanged")
	}
	if before.ManagerID != after.ManagerID {
		say("UserManagerChanged")
	}
	if before.IsActive != after.IsActive {
		if after.IsActive {
			say("UserActivated")
		} else {
			say("UserDeactivated")
		}
	}
	if len(without(after.PermissionSetIDs, before.PermissionSetIDs)) > 0 {
		say("PermissionSetAssigned")
	}
	if len(without(before.PermissionSetIDs, after.PermissionSetIDs)) > 0 {
		say("PermissionSetUnassigned")
	}
	return all
}

func roleChanges(before, after *model.Role) (all []publication) {
	r := either(before, after)
	say := func(changeType string) {
		all = append(all, publication{"Role", r.ID, func(at canonical.Stamp) events.Payload {
			return events.RoleHierarchyChanged{
				ChangeType: changeType, RoleID: r.ID, RoleName: r.Name,
				ParentRoleID: events.OrNull(r.ParentRoleID), EffectiveAt: at,
			}
		}})
	}
	if before == nil || after == nil {
		say("Role" + verb(before, after))
		return all
	}
	if before.Name != after.Name {
		say("RoleUpdated")
	}
	if before.ParentRoleID != after.ParentRoleID {
		say("ParentChanged")
	}
	return all
}

// groupChanges tells who came and who went. What nobody is in is of no interest.
func groupChanges(before, after *model.Group) (all []publication) {
	g := either(before, after)
	say := func(changeType string, m model.Member) {
		all = append(all, publication{"Group", g.ID, func(at canonical.Stamp) events.Payload {
			return events.GroupMemberChanged{
				ChangeType: changeType, GroupID: g.ID, GroupName: g.Name, GroupType: string(g.Type), MemberType: m.Type,
				MemberID: m.ID, EffectiveAt: at,
			}
		}})
	}
	var was, is []model.Member
	if before != nil {
		was = before.Members
	}
	if after != nil {
		is = after.Members
	}
	for _, m := range without(is, was) {
		say("MemberAdded", m)
	}
	for _, m := range without(was, is) {
		say("MemberRemoved", m)
	}
	return all
}

func sharingChanges(kind model.Kind, before, after any) []publication {
	var n publication
	p := events.SharingConfigChanged{}
	switch kind {
	case model.KindOWD:
		was, is := before.(*model.Default), after.(*model.Default)
		n.kind, n.id = "OWD", is.Object
		p.ChangeType, p.ObjectName, p.OldOWD, p.NewOWD = "OWDChanged", is.Object, string(was.Access), string(is.Access)
	case model.KindTeamRoles:
		n.kind, n.id = "TeamRole", after.(*model.TeamRoles).Object
		p.ChangeType, p.ObjectName = "TeamRoleSettingChanged", n.id
	default:
		was, is := of[model.SharingRule](before), of[model.SharingRule](after)
		r := either(was, is)
		n.kind, n.id = "Rule", r.ID
		p.ChangeType, p.ObjectName, p.ResourceID = "ShareRule"+verb(was, is), r.Object, r.ID
	}
	n.payload = func(at canonical.Stamp) events.Payload {
		p.EffectiveAt = at
		return p
	}
	return []publication{n}
}

func automationChanges(before, after any) []publication {
	p := events.AutomationConfigChanged{}
	kind := "Rule"
	what, it := "Updated", after
	switch {
	case before == nil:
		what = "Created"
	case after == nil:
		what, it = "Deleted", before
	}
	is := func(automation, object, id, name string, active bool) {
		p.AutomationType, p.ChangeType, p.ObjectName = automation, automation+what, events.OrNull(object)
		p.AutomationID, p.AutomationName, p.IsActive = id, name, active && after != nil
	}
	switch v := it.(type) {
	case *model.ValidationRule:
		is("ValidationRule", v.Object, v.ID, v.Name, v.IsActive)
	case *model.WorkflowRule:
		is("WorkflowRule", v.Object, v.ID, v.Name, v.IsActive)
	case *model.ScheduledJob:
		kind = "Job"
		is("ScheduledJob", v.Object, v.ID, v.Name, v.IsActive)
	}
	return []publication{{kind, p.AutomationID, func(at canonical.Stamp) events.Payload {
		p.EffectiveAt = at
		return p
	}}}
}

func processChanges(before, after *model.ApprovalProcess) (all []publication) {
	p := either(before, after)
	say := func(changeType string) {
		all = append(all, publication{"Process", p.ID, func(at canonical.Stamp) events.Payload {
			return events.ApprovalConfigChanged{
				ChangeType: changeType, ObjectName: p.Object, ProcessID: p.ID, ProcessName: p.Name,
				IsActive: after != nil && p.IsActive, EffectiveAt: at,
			}
		}})
	}
	if before == nil || after == nil {
		say("Process" + verb(before, after))
		return all
	}
	rest := *after
	if rest.IsActive = before.IsActive; !same(before, &rest) {
		say("ProcessUpdated")
	}
	switch {
	case after.IsActive && !before.IsActive:
		say("ProcessActivated")
	case !after.IsActive && before.IsActive:
		say("ProcessDeactivated")
	}
	return all
}

// without is what is in a list and not in another.
func without[T comparable](list, other []T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return slices.Contains(other, v) })
}
