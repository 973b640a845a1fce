package metadata

import (
	"context"
	"strings"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/sqldb"
)

// Get is a definition as it is.
func (s *Metadata) Get(ctx context.Context, tenant string, kind crm.Kind, id string) (crm.Definition, error) {
	m, err := s.model(ctx, tenant)
	if err != nil {
		return crm.Definition{}, fault.Wrap("metadata.get", err)
	}
	d, ok := m.Get(kind, id)
	if ok {
		return d, nil
	}
	if object, _, _ := strings.Cut(id, "."); kind == crm.KindField && m.Object(object) == nil || kind == crm.KindObject {
		return d, invalidObject(m, object)
	}
	return d, noSuch(kind, id)
}

// List is a page of the definitions of a kind by id, and how many there are. With an
// object only those of it are meant.
func (s *Metadata) List(ctx context.Context, tenant string, kind crm.Kind, object string, offset, limit int) (page []any, total int, err error) {
	m, err := s.model(ctx, tenant)
	if err != nil {
		return nil, 0, fault.Wrap("metadata.list", err)
	}
	if object != "" && m.Object(object) == nil {
		if kind == crm.KindField {
			return nil, 0, invalidObject(m, object)
		}
		return nil, 0, unfit("object", "%s is not an object; the objects are %s", quoted(object), m.ObjectNames())
	}
	all := inOrder(m, kind, object)
	return all[min(offset, len(all)):min(offset+limit, len(all))], len(all), nil
}

// inOrder are the definitions of a kind, of one object or all: objects and fields as the
// model has them, others by id.
func inOrder(m *crm.Model, kind crm.Kind, object string) (all []any) {
	switch kind {
	case crm.KindObject:
		for _, o := range m.Objects() {
			all = append(all, o)
		}
		return all
	case crm.KindField:
		o := m.Object(object)
		for i := range o.Fields {
			all = append(all, &o.Fields[i])
		}
		return all
	}
	for _, v := range m.All(kind) {
		if object == "" || objectOf(v) == object {
			all = append(all, v)
		}
	}
	return all
}

// objectOf is the object that a definition is for, "" for none.
func objectOf(v any) string {
	switch v := v.(type) {
	case *crm.SharingRule:
		return v.Object
	case *crm.ValidationRule:
		return v.Object
	case *crm.WorkflowRule:
		return v.Object
	case *crm.ScheduledJob:
		return v.Object
	case *crm.ApprovalProcess:
		return v.Object
	}
	return ""
}

// model is the model of a tenant as it is now.
func (s *Metadata) model(ctx context.Context, tenant string) (m *crm.Model, err error) {
	err = s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		m, err = s.cfg.Models.Model(ctx, tx, tenant)
		return err
	})
	return m, err
}
