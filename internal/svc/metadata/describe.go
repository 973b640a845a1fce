package metadata

import (
	"context"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/fault"
)

// Description is an object as one user may see it.
type Description struct {
	Name        string               `json:"name"`
	Label       string               `json:"label"`
	PluralLabel string               `json:"pluralLabel"`
	Description string               `json:"description,omitzero"`
	Permissions crm.ObjectPermission `json:"permissions"`
	OWD         crm.OWD              `json:"owd"`
	Fields      []DescribedField     `json:"fields"`
	Stages      []crm.Stage          `json:"stages,omitzero"`    // of opportunities
	TeamRoles   []crm.TeamRole       `json:"teamRoles,omitzero"` // where records have teams
	Limits      Limits               `json:"limits"`
}

// DescribedField is a field and whether the user may write it.
type DescribedField struct {
	crm.Field
	Editable bool `json:"editable"`
}

// Limits are the limits of an object.
type Limits struct {
	CustomFields   int `json:"customFields"`
	PicklistValues int `json:"picklistValues"`
	Text           int `json:"text"`
	LongText       int `json:"longText"`
}

// Describe is an object as a caller may see it. Fields that it may not read are not in
// it; who may do nothing with the object is told nothing of it.
func (s *Metadata) Describe(ctx context.Context, tenant, subject, object string) (d Description, err error) {
	m, err := s.model(ctx, tenant)
	if err != nil {
		return d, fault.Wrap("metadata.describe", err)
	}
	u, err := who(m, subject)
	if err != nil {
		return d, err
	}
	o := m.Object(object)
	if o == nil {
		return d, invalidObject(m, object)
	}
	may := crm.ObjectPermission{
		Create: m.Can(u.ID, object, crm.CreateOp), Read: m.Can(u.ID, object, crm.ReadOp),
		Update: m.Can(u.ID, object, crm.UpdateOp), Delete: m.Can(u.ID, object, crm.DeleteOp),
	}
	if !may.Read {
		return d, fault.New(fault.Forbidden, "", "no permission set lets the user %s read %s", u.ID, object)
	}
	d = Description{
		Name: o.Name, Label: o.Label, PluralLabel: o.PluralLabel, Description: o.Description, Permissions: may, OWD: m.OWD(object),
		Fields: []DescribedField{}, TeamRoles: m.TeamRoles(object),
		Limits: Limits{CustomFields: MaxFields, PicklistValues: MaxValues, Text: MaxText, LongText: MaxLongText},
	}
	for i := range o.Fields {
		if f := &o.Fields[i]; m.Readable(u.ID, object, f.Name) {
			d.Fields = append(d.Fields, DescribedField{*f, m.Editable(u.ID, object, f.Name)})
		}
	}
	if object == "Opportunity" {
		d.Stages = m.Stages()
	}
	return d, nil
}
