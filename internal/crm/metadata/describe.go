package metadata

import (
	"context"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

// Description is an object as one user may see it.
type Description struct {
	Name        string                 `json:"name"`
	Label       string                 `json:"label"`
	PluralLabel string                 `json:"pluralLabel"`
	Description string                 `json:"description,omitzero"`
	Permissions model.ObjectPermission `json:"permissions"`
	OWD         model.OWD              `json:"owd"`
	Fields      []DescribedField       `json:"fields"`
	Stages      []model.Stage          `json:"stages,omitzero"`    // of opportunities
	TeamRoles   []model.TeamRole       `json:"teamRoles,omitzero"` // where records have teams
	Limits      Limits                 `json:"limits"`
}

// DescribedField is a field and whether the user may write it.
type DescribedField struct {
	model.Field
	Editable bool `json:"editable"`
}

// Limits are the limits of an object.
type Limits struct {
	CustomFields   int `json:"customFields"`
	PicklistValues int `json:"picklistValues"`
	Text           int `json:"text"`
	LongText       int `json:"longText"`
}

// Describe is an object as a caller may see it, without the fields that it may not read.
// A caller without any permission on the object gets no description of it.
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
	v := m.View(u.ID, object)
	if !v.May.Read {
		return d, fault.New(fault.Forbidden, "", "no permission set lets the user %s read %s", u.ID, object)
	}
	d = Description{
		Name: o.Name, Label: o.Label, PluralLabel: o.PluralLabel, Description: o.Description, Permissions: v.May,
		OWD: m.OWD(object), Fields: []DescribedField{}, TeamRoles: m.TeamRoles(object),
		Limits: Limits{CustomFields: MaxFields, PicklistValues: MaxValues, Text: MaxText, LongText: MaxLongText},
	}
	for _, f := range v.Readable {
		d.Fields = append(d.Fields, DescribedField{*f, v.Edits(f.Name)})
	}
	if object == "Opportunity" {
		d.Stages = m.Stages()
	}
	return d, nil
}
