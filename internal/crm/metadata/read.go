package metadata

import (
	"context"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Get is a definition as it is.
func (s *Metadata) Get(ctx context.Context, tenant string, kind model.Kind, id string) (model.Definition, error) {
	m, err := s.model(ctx, tenant)
	if err != nil {
		return model.Definition{}, fault.Wrap("metadata.get", err)
	}
	d, ok := m.Get(kind, id)
	if ok {
		return d, nil
	}
	if object, _, _ := strings.Cut(id, "."); kind == model.KindField && m.Object(object) == nil ||
		kind == model.KindObject {
		return d, invalidObject(m, object)
	}
	return d, noSuch(kind, id)
}

// List is a page of the definitions of a kind by id, and how many there are. With an
// object only those of it are meant.
func (s *Metadata) List(ctx context.Context, tenant string, kind model.Kind, object string, offset, limit int) (
	page []any, total int, err error,
) {
	m, err := s.model(ctx, tenant)
	if err != nil {
		return nil, 0, fault.Wrap("metadata.list", err)
	}
	if object != "" && m.Object(object) == nil {
		if kind == model.KindField {
			return nil, 0, invalidObject(m, object)
		}
		return nil, 0, unfit("object", "%s is not an object; the objects are %s", quoted(object), m.ObjectNames())
	}
	all := inOrder(m, kind, object)
	return all[min(offset, len(all)):min(offset+limit, len(all))], len(all), nil
}

// inOrder are the definitions of a kind, of one object or all: objects and fields as the
// model has them, others by id.
func inOrder(m *model.Model, kind model.Kind, object string) (all []any) {
	switch kind {
	case model.KindObject:
		for _, o := range m.Objects() {
			all = append(all, o)
		}
		return all
	case model.KindField:
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
	case *model.SharingRule:
		return v.Object
	case *model.ValidationRule:
		return v.Object
	case *model.WorkflowRule:
		return v.Object
	case *model.ScheduledJob:
		return v.Object
	case *model.ApprovalProcess:
		return v.Object
	}
	return ""
}

// model is the model of a tenant as it is now.
func (s *Metadata) model(ctx context.Context, tenant string) (m *model.Model, err error) {
	err = s.db.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
		m, err = s.cfg.Models.Model(ctx, tx, tenant)
		return err
	})
	return m, err
}
