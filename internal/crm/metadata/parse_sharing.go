package metadata

import (
	"fmt"
	"slices"

	"renga.dev/renga/internal/crm/model"
)

func (p *parser) owd() (any, error) {
	if p.m.Object(p.id) == nil {
		return nil, invalidObject(p.m, p.id)
	}
	d := model.Default{Object: p.id}
	if err := p.decode(&d); err != nil {
		return nil, err
	}
	if d.Object != p.id {
		return nil, unfit("object", "object is not the one in the path")
	}
	return &d, oneOf("access", string(d.Access), string(model.Private), string(model.ReadOnly), string(model.ReadWrite))
}

func (p *parser) teamRoles() (any, error) {
	if !slices.Contains(model.TeamObjects, p.id) {
		return nil, noSuch(model.KindTeamRoles, p.id)
	}
	t := model.TeamRoles{Object: p.id}
	if err := p.decode(&t); err != nil {
		return nil, err
	}
	if t.Object != p.id {
		return nil, unfit("object", "object is not the one in the path")
	}
	if err := few("roles", len(t.Roles), 1, MaxTeamRoles); err != nil {
		return nil, err
	}
	var names []string
	for i, r := range t.Roles {
		at := fmt.Sprintf("roles[%d]", i)
		if err := first(line(at+".name", r.Name, MaxName), access(at+".access", r.Access)); err != nil {
			return nil, err
		}
		names = append(names, r.Name)
	}
	return &t, distinct("roles", names)
}

func access(field string, a model.Access) error {
	return oneOf(field, string(a), string(model.Read), string(model.Edit))
}

func (p *parser) sharingRule() (any, error) {
	r := model.SharingRule{IsActive: true}
	if err := first(p.decode(&r), p.named(&r.ID, r.Name)); err != nil {
		return nil, err
	}
	was := of[model.SharingRule](p.now(model.KindSharingRule))
	o, err := p.objectOf(r.Object, p.now(model.KindSharingRule))
	if err != nil {
		return nil, err
	}
	if err := oneOf("kind", r.Kind, model.OwnerRule, model.CriteriaRule); err != nil {
		return nil, err
	}
	switch {
	case was != nil && r.Kind != was.Kind:
		return nil, unfit("kind", "kind is %s and cannot be changed; delete the rule and define another", was.Kind)
	case r.Kind == model.OwnerRule && r.Source == nil:
		return nil, unfit("source", "source is missing: it says whose records an owner rule shares")
	case r.Kind == model.OwnerRule && r.Criteria != "":
		return nil, unfit("criteria", "criteria is only for rules of the kind criteria")
	case r.Kind == model.CriteriaRule && r.Source != nil:
		return nil, unfit("source", "source is only for rules of the kind owner")
	case r.Kind == model.CriteriaRule && r.Criteria == "":
		return nil, unfit("criteria", "criteria is missing: it says which records a criteria rule shares")
	}
	if r.Source != nil {
		if err := p.member("source", *r.Source, model.TypeRole, model.TypeRoleAndSubordinates,
			model.TypeGroup); err != nil {
			return nil, err
		}
	}
	return &r, first(
		condition(o, "criteria", r.Criteria, false),
		p.member("target", r.Target, model.TypeUser, model.TypeRole, model.TypeRoleAndSubordinates, model.TypeGroup),
		access("access", r.Access),
	)
}

// now is the definition as it is, nil when there is none.
func (p *parser) now(kind model.Kind) any {
	d, _ := p.m.Get(kind, p.id)
	return d.Value
}
