package records

import (
	"context"
	"strings"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	// MaxNames is how many ids one request may ask the names of.
	MaxNames = 500

	maxSubject = 255
)

// The kinds of names beside those of definitions.
const (
	recordKind    model.Kind = "record"
	territoryKind model.Kind = "territory"
)

// Name is what an id stands for.
type Name struct {
	Of     string     `json:"of"` // what was asked for: the id, or the subject of a user
	Kind   model.Kind `json:"kind"`
	ID     string     `json:"id"`
	Object string     `json:"object,omitzero"` // of a record
	Label  string     `json:"label"`
}

// Names says what ids stand for, in their order, without those that the caller may not see.
func (s *Records) Names(ctx context.Context, c Caller, ids []string) (all []Name, err error) {
	err = s.Read(ctx, "names", s.as(c, func(ctx context.Context, w *session) error {
		defined, rest := w.defined(ids)
		stored, err := w.namesOfRecords(ctx, rest)
		if err != nil {
			return err
		}
		territories := map[string]string{}
		if s.cfg.Territories != nil {
			if territories, err = s.cfg.Territories.TerritoryNames(ctx, w.Tx, c.Tenant, rest); err != nil {
				return err
			}
		}
		all = make([]Name, 0, len(ids))
		for _, of := range ids {
			id := strings.ToLower(of)
			n, ok := defined[of]
			if !ok {
				n, ok = stored[id]
			}
			if label := territories[id]; !ok && label != "" {
				n, ok = Name{Kind: territoryKind, ID: id, Label: label}, true
			}
			if ok {
				n.Of = of
				all = append(all, n)
			}
		}
		return nil
	}))
	return all, err
}

// defined are the names that the model knows, by what was asked for, and the ids that it does not know.
func (w *session) defined(ids []string) (known map[string]Name, rest []string) {
	known = map[string]Name{}
	for _, of := range ids {
		id := strings.ToLower(of)
		if n, ok := w.Model.Name(id); ok {
			known[of] = Name{Kind: n.Kind, ID: id, Label: n.Label}
		} else if u := w.Model.Who(of); u != nil {
			known[of] = Name{Kind: model.KindUser, ID: u.ID, Label: u.Name}
		} else if model.ValidID(id) {
			rest = append(rest, id)
		}
	}
	return known, rest
}

// namesOfRecords are the names of records that the caller sees, by their ids.
func (w *session) namesOfRecords(ctx context.Context, ids []string) (map[string]Name, error) {
	names := map[string]Name{}
	if len(ids) == 0 {
		return names, nil
	}
	for _, o := range w.Model.Objects() {
		v := view{w.Model.View(w.User, o.Name)}
		if !v.May.Read || o.Field(nameField) == nil || !v.Shows(nameField) {
			continue
		}
		rows, err := w.load(ctx, o.Name, ids, loose)
		if err != nil {
			return nil, err
		}
		for id, r := range rows {
			if label, ok := r.Fields[nameField].(string); ok {
				names[id] = Name{Kind: recordKind, ID: id, Object: o.Name, Label: label}
			}
		}
	}
	return names, nil
}

// nameField is the field that names a record.
const nameField = "Name"

type namesBody struct {
	IDs []string `json:"ids"`
}

// names answers POST /names.
func (a *api) names(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	var b namesBody
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	if n := len(b.IDs); n < 1 || n > MaxNames {
		return gate.Reply{}, rest.Invalid("ids", "ids must have 1 to %d members", MaxNames)
	}
	for _, id := range b.IDs {
		if id == "" || len(id) > maxSubject {
			return gate.Reply{}, rest.Invalid("ids", "an id has 1 to %d bytes", maxSubject)
		}
	}
	all, err := a.records.Names(ctx, kit.CallerOf(c), b.IDs)
	return gate.Reply{Body: map[string][]Name{"items": all}}, err
}

// Territories names territories.
type Territories interface {
	// TerritoryNames are the names of those of the tenant that have one of the ids.
	TerritoryNames(ctx context.Context, tx *sqldb.Tx, tenant string, ids []string) (map[string]string, error)
}
