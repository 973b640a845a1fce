package model

import (
	"slices"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/expr"
)

// What conditions may name of a record beside its fields.
const (
	memberID    = "Id"
	memberOwner = "OwnerId"
)

// Condition compiles a condition on records of an object: CEL over record and, where
// withOld says so, old. It may name fields of the object, Id and OwnerId, nothing else.
func (o *Object) Condition(src string, withOld bool) (*expr.Program, error) {
	p, err := expr.Rule(src)
	if err != nil {
		return nil, err
	}
	if !withOld && p.Uses("old") {
		return nil, fault.New(
			fault.Invalid,
			canonical.CodeInvalid,
			"the expression names old; here there is only record",
		)
	}
	for _, variable := range []string{"record", "old"} {
		for _, name := range p.Members(variable) {
			if o.Field(name) == nil && name != memberID && name != memberOwner {
				return nil, fault.New(
					fault.Invalid,
					canonical.CodeInvalid,
					"%s has no field %s, which the expression names",
					o.Name,
					name,
				)
			}
		}
	}
	return p, nil
}

// CheckCondition says what is wrong with a condition that is to be defined: what Condition
// does not compile, and what has a part that can never be true or false where it has to be,
// so that it would never hold.
func (o *Object) CheckCondition(src string, withOld bool) error {
	p, err := o.Condition(src, withOld)
	if err != nil {
		return err
	}
	boolean := func(member string) bool {
		f := o.Field(member)
		return f != nil && f.Type == Boolean
	}
	if part := p.Untrue(boolean); part != "" {
		return fault.New(
			fault.Invalid,
			canonical.CodeInvalid,
			"%s is never true or false; compare it with something",
			part,
		)
	}
	return nil
}

// Vars is a record as conditions see it: all fields of the object, null where the record
// has none, its Id and its OwnerId. A record that is not there (the old one of a new
// record) is nil and has no members.
func (o *Object) Vars(id, owner string, fields map[string]any) map[string]any {
	vars := make(map[string]any, len(o.Fields)+2)
	for i := range o.Fields {
		vars[o.Fields[i].Name] = fields[o.Fields[i].Name]
	}
	vars[memberID], vars[memberOwner] = id, owner
	return vars
}

// Names are the members of a record that a condition names. It is not ok when it may look
// at others, too.
func Names(src string) (names []string, ok bool) {
	p, err := expr.Rule(src)
	if err != nil || p.Whole("record") {
		return nil, false
	}
	return p.Members("record"), true
}

// Uses reports whether a condition names a field. One that does not compile names none.
func Uses(src, field string) bool {
	if src == "" {
		return false
	}
	p, err := expr.Rule(src)
	return err == nil && (slices.Contains(p.Members("record"), field) || slices.Contains(p.Members("old"), field))
}
