package metadata

import (
	"bytes"
	"context"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Bus announces changes in their transaction. *bus.Bus is one.
type Bus interface {
	Publish(ctx context.Context, tx *sqldb.Tx, batch ...events.Event) error
	NextVersion(ctx context.Context, tx *sqldb.Tx, key string) (canonical.Stamp, error)
}

// Config is what the service works with.
type Config struct {
	Models *Models
	Bus    Bus
	// Graph reports whether a tenant has a graph; nil: graphs are not looked for.
	Graph func(ctx context.Context, tenant, id string) (bool, error)
	// InUse counts the records that use a definition, by object; nil: nobody is asked.
	InUse func(ctx context.Context, tx *sqldb.Tx, tenant string, kind model.Kind, id string) ([]model.Use, error)
}

// Metadata keeps the definitions of all tenants.
type Metadata struct {
	db  *sqldb.DB
	cfg Config
}

// New is the definitions in a database that has the tables of Migration. It does no I/O.
func New(db *sqldb.DB, cfg Config) *Metadata { return &Metadata{db, cfg} }

// Change is what somebody wants of a definition.
type Change struct {
	Tenant        string
	Actor         string // who wants it, for the audit log
	CorrelationID string
	Kind          model.Kind
	ID            string
	Match         string // the version that the definition must have; "": any
}

// The codes of what the state refuses.
const (
	CodeVersion  = "VERSION_MISMATCH"
	CodeInUse    = "IN_USE"
	CodeStandard = "STANDARD_DEFINITION"
	CodeNotFound = "DEFINITION_NOT_FOUND"
)

// Version is a definition's version as callers see it.
func Version(d model.Definition) string { return strconv.FormatInt(d.Version, 10) }

// Put defines something, or defines it anew: what the body does not say is as it is at
// first. created says that there was nothing with this id. A body that changes nothing
// is not a change.
func (s *Metadata) Put(ctx context.Context, c Change, body []byte) (stored model.Definition, created bool, err error) {
	if err := s.findGraphs(ctx, c, body); err != nil {
		return stored, false, fault.Wrap("metadata.put", err)
	}
	err = s.change(ctx, c, func(m *model.Model) (any, error) { return parse(m, c.Kind, c.ID, body) },
		func(d model.Definition, isNew bool) {
			stored, created = d, isNew
		})
	return stored, created, fault.Wrap("metadata.put", err)
}

// Delete takes a definition away. What others need, or every tenant has, stays.
func (s *Metadata) Delete(ctx context.Context, c Change) error {
	err := s.change(ctx, c, func(m *model.Model) (any, error) { return nil, deletable(m, c.Kind, c.ID) },
		func(model.Definition, bool) {})
	return fault.Wrap("metadata.delete", err)
}

// change decides about a definition on the model as it is and writes what comes of it.
// Both functions may be called again when the transaction is.
func (s *Metadata) change(ctx context.Context, c Change, decide func(*model.Model) (any, error),
	done func(d model.Definition, created bool),
) error {
	return s.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		m, err := s.lock(ctx, tx, c.Tenant)
		if err != nil {
			return err
		}
		before, was := m.Get(c.Kind, c.ID)
		if was || possible(m, c.Kind, c.ID) { // else decide says what is wrong with the id
			if err := match(c, before, was); err != nil {
				return err
			}
		}
		after, err := decide(m)
		if err != nil {
			return err
		}
		if after == nil && s.cfg.InUse != nil {
			uses, err := s.cfg.InUse(ctx, tx, c.Tenant, c.Kind, c.ID)
			if err == nil {
				err = refuseStored(m, uses, the(c.Kind))
			}
			if err != nil {
				return err
			}
		}
		body, err := json.Marshal(after, json.Deterministic(true))
		if err != nil {
			return err
		}
		if was && after != nil {
			if same, err := json.Marshal(before.Value, json.Deterministic(true)); err != nil ||
				bytes.Equal(same, body) {
				done(before, false)
				return err
			}
		}
		d := model.Definition{Kind: c.Kind, ID: c.ID, Version: m.Revision + 1, Value: after}
		if err := s.write(ctx, tx, c, m.With(d.Version, d), d, string(body)); err != nil {
			return err
		}
		done(d, !was)
		return s.publish(ctx, tx, c, changes(c.Kind, before.Value, after))
	})
}

// lock holds the row of a tenant until the transaction ends, and gives its model: what is
// decided on it holds when it is written.
func (s *Metadata) lock(ctx context.Context, tx *sqldb.Tx, tenant string) (*model.Model, error) {
	var stamp string
	err := tx.Row(ctx, `INSERT INTO metadata_tenant AS t (tenant_id, revision, stamp) VALUES ($1, 0, '')
		ON CONFLICT (tenant_id) DO UPDATE SET revision = t.revision RETURNING stamp`, tenant).Scan(&stamp)
	if err != nil {
		return nil, err
	}
	if m := s.cfg.Models.find(tenant, stamp); m != nil {
		return m, nil
	}
	m, stamp, err := load(ctx, tx, tenant)
	if err == nil {
		s.cfg.Models.keep(tenant, stamp, m)
	}
	return m, err
}

// possible reports whether a definition that does not exist could: its id fits the pattern of
// its kind. Where tenants add none, all that can be are there.
func possible(m *model.Model, kind model.Kind, id string) bool {
	switch kind {
	case model.KindObject, model.KindStages, model.KindOWD, model.KindTeamRoles:
		return false
	case model.KindField:
		object, name, _ := strings.Cut(id, ".")
		return m.Object(object) != nil && customName.MatchString(name)
	}
	return model.ValidID(id)
}

// match holds a definition against the version that the caller knows.
func match(c Change, d model.Definition, was bool) error {
	switch {
	case c.Match == "":
		return nil
	case c.Match == "*" && was:
		return nil
	case !was:
		return fault.New(fault.Conflict, CodeVersion, "If-Match names a version of %s %s, which does not exist", c.Kind,
			c.ID)
	case c.Match != Version(d):
		return fault.New(fault.Conflict, CodeVersion, "%s %s has the version %s; read it again and decide anew", c.Kind,
			c.ID, Version(d)).
			With(map[string]string{"version": Version(d)})
	}
	return nil
}

// write stores a definition, or its absence, with a new stamp and its entry in the audit
// log. The next model is put into memory when all of it is committed.
func (s *Metadata) write(ctx context.Context, tx *sqldb.Tx, c Change, next *model.Model, d model.Definition,
	body string,
) error {
	stamp := uuid.NewString()
	save := sqldb.Stmt{
		Query: `INSERT INTO metadata_definition (tenant_id, kind, id, body, revision) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (tenant_id, kind, id) DO UPDATE SET body = excluded.body, revision = excluded.revision`,
		Args: []any{c.Tenant, string(c.Kind), c.ID, body, d.Version},
	}
	action := "metadata.put"
	if d.Value == nil {
		save = sqldb.Stmt{
			Query: "DELETE FROM metadata_definition WHERE tenant_id = $1 AND kind = $2 AND id = $3",
			Args:  []any{c.Tenant, string(c.Kind), c.ID},
		}
		action = "metadata.delete"
	}
	tx.OnCommit(func() { s.cfg.Models.keep(c.Tenant, stamp, next) })
	err := tx.Batch(ctx, save, sqldb.Stmt{
		Query: "UPDATE metadata_tenant SET revision = $2, stamp = $3 WHERE tenant_id = $1",
		Args:  []any{c.Tenant, d.Version, stamp},
	})
	if err != nil {
		return err
	}
	return audit.Write(ctx, tx, audit.Entry{
		Tenant: c.Tenant, Actor: c.Actor, Action: action, Subject: string(c.Kind) + " " + c.ID,
		CorrelationID: c.CorrelationID, Outcome: audit.Accepted,
	})
}

// publish publishes the events of a change. Those of one key have one version.
func (s *Metadata) publish(ctx context.Context, tx *sqldb.Tx, c Change, publication []publication) error {
	batch := make([]events.Event, 0, len(publication))
	var key string
	var version canonical.Stamp
	index := 0
	for _, n := range publication {
		if of := events.RecordKey(n.kind, c.Tenant, n.id); of != key {
			var err error
			if version, err = s.cfg.Bus.NextVersion(ctx, tx, of); err != nil {
				return err
			}
			key, index = of, 0
		}
		payload := n.payload(version)
		text, err := events.NewPayload(payload)
		if err != nil {
			return err
		}
		batch = append(batch, events.Event{
			Type: payload.EventType(), Tenant: c.Tenant, Producer: events.Producer{Service: service},
			CorrelationID: c.CorrelationID, Key: key, Version: version, Index: index, Payload: text,
		})
		index++
	}
	return s.cfg.Bus.Publish(ctx, tx, batch...)
}
