package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// placeBits are for the number of a record among those that were changed in the same
// millisecond. PostgreSQL has the id for that.
const placeBits = 21

// placeAt is the first place of an instant.
func placeAt(at wire.Stamp) int64 { return int64(at) << placeBits }

const (
	entryColumns = "id, place, version, updated_at, digest, campaigns"

	selectSome    = "SELECT " + entryColumns + " FROM search_doc"
	selectEntries = "SELECT " + entryColumns + " FROM search_doc WHERE tenant_id = $1 AND object = $2 AND id > $3 AND id <= $4 ORDER BY id"

	updateVersion = "UPDATE search_doc SET version = $4 WHERE tenant_id = $1 AND object = $2 AND id = $3"
	deleteEntry   = "DELETE FROM search_doc WHERE tenant_id = $1 AND object = $2 AND id = $3"

	// SQLite.
	nextPlace = `SELECT max(coalesce((SELECT max(place) FROM search_doc WHERE place >= $1 AND place < $2), $1 - 1),
		coalesce((SELECT max(place) FROM search_gone WHERE place >= $1 AND place < $2), $1 - 1)) + 1`
	putEntry = `INSERT INTO search_doc (place, tenant_id, object, id, version, updated_at, digest, campaigns) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (tenant_id, object, id) DO UPDATE SET place = excluded.place, version = excluded.version, updated_at = excluded.updated_at,
			digest = excluded.digest, campaigns = excluded.campaigns`
	insertText = "INSERT INTO search_text (rowid, tokens) VALUES ($1, $2)"
	deleteText = "DELETE FROM search_text WHERE rowid = $1"
	insertGone = "INSERT INTO search_gone (place) VALUES ($1)"

	// PostgreSQL.
	putTokens = `INSERT INTO search_doc (tenant_id, object, id, place, version, updated_at, digest, campaigns, tokens)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, array_to_tsvector($9))
		ON CONFLICT (tenant_id, object, id) DO UPDATE SET place = excluded.place, version = excluded.version, updated_at = excluded.updated_at,
			digest = excluded.digest, campaigns = excluded.campaigns, tokens = excluded.tokens`
)

// behindAll is behind every id.
const behindAll = "~"

// entries are the records that a statement finds in the index, by id.
func entries(ctx context.Context, tx *sqldb.Tx, query string, args ...any) (map[string]*entry, error) {
	all := map[string]*entry{}
	for row, err := range tx.Query(ctx, query, args...) {
		e := &entry{}
		if err == nil {
			err = row.Scan(&e.id, &e.place, &e.version, &e.updatedAt, &e.digest, &e.campaigns)
		}
		if err != nil {
			return nil, err
		}
		all[e.id] = e
	}
	return all, nil
}

// refresh writes records of an object into the index as they are now, or takes them out.
// The ids are in order, each once.
func (s *Search) refresh(ctx context.Context, tx *sqldb.Tx, tenant, object string, ids ...string) error {
	if err := holdRecords(ctx, tx, tenant, object, ids); err != nil {
		return err
	}
	m, err := s.cfg.Models.Model(ctx, tx, tenant)
	if err != nil {
		return err
	}
	o := m.Object(object)
	if o == nil {
		return nil
	}
	if err := s.define(ctx, tx, tenant, o); err != nil {
		return err
	}
	t, _, err := s.tokens(ctx, tx, tenant, true)
	if err != nil {
		return err
	}
	want, err := s.want(ctx, tx, t, tenant, o, ids)
	if err != nil {
		return err
	}
	var b sqldb.Binds
	query := selectSome + " WHERE tenant_id = " + b.Add(tenant) + " AND object = " + b.Add(object) + " AND " + b.OneOf(tx.Dialect(), "id", ids)
	have, err := entries(ctx, tx, query, b.Args()...)
	if err != nil {
		return err
	}
	all := make([]change, len(ids))
	for i, id := range ids {
		all[i] = change{have[id], want[id]}
	}
	w := &writer{tx: tx, tenant: tenant, object: object}
	return w.some(ctx, all)
}

// want is records as the index is to have them now; those that it is not to have are not
// among them.
func (s *Search) want(ctx context.Context, tx *sqldb.Tx, t tokens, tenant string, o *crm.Object, ids []string) (map[string]*doc, error) {
	records, err := s.cfg.Records.Some(ctx, tx, tenant, o.Name, ids)
	if err != nil {
		return nil, err
	}
	var campaigns map[string][]string
	if slices.Contains(memberObjects, o.Name) {
		if campaigns, err = s.cfg.Records.CampaignsAmong(ctx, tx, tenant, o.Name, ids); err != nil {
			return nil, err
		}
	}
	want := make(map[string]*doc, len(records))
	for id, r := range records {
		if hidden(&r) {
			continue
		}
		if want[id], err = docOf(t, o, &r, campaigns[id]); err != nil {
			return nil, err
		}
	}
	return want, nil
}

// writer writes records of an object into the index.
type writer struct {
	tx             *sqldb.Tx
	tenant, object string
	instant        wire.Stamp // of the last place that was given out
	last           int64
}

// some writes what is different of some records. Their tokens of before are deleted
// later: in FTS5 that is cheap for many and dear for one. What is written is written in
// the order of its place, which FTS5 keeps in memory until it is all there.
func (w *writer) some(ctx context.Context, all []change) error {
	var stmts []sqldb.Stmt
	var put []*doc
	for _, c := range all {
		switch {
		case c.want == nil && c.have == nil:
		case c.want == nil:
			stmts = append(w.gone(stmts, c.have), sqldb.Stmt{Query: deleteEntry, Args: []any{w.tenant, w.object, c.have.id}})
		case c.have != nil && c.have.is(c.want):
			if c.have.version != c.want.version {
				stmts = append(stmts, sqldb.Stmt{Query: updateVersion, Args: []any{w.tenant, w.object, c.want.id, c.want.version}})
			}
		case w.tx.Dialect() == sqldb.Postgres:
			stmts = append(stmts, w.putTokens(c.want))
		default:
			stmts, put = w.gone(stmts, c.have), append(put, c.want)
		}
	}
	if err := w.tx.Batch(ctx, stmts...); err != nil {
		return err
	}
	slices.SortStableFunc(put, func(a, b *doc) int { return cmp.Compare(a.updatedAt, b.updatedAt) })
	for _, d := range put {
		if err := w.put(ctx, d, 0); err != nil {
			return err
		}
	}
	return nil
}

// gone notes that the tokens at the place of a record are not used any more.
func (w *writer) gone(to []sqldb.Stmt, have *entry) []sqldb.Stmt {
	if have == nil || w.tx.Dialect() == sqldb.Postgres {
		return to
	}
	return append(to, sqldb.Stmt{Query: insertGone, Args: []any{have.place}})
}

// put writes a record on SQLite, at a place or (0) at one of its own.
func (w *writer) put(ctx context.Context, d *doc, place int64) (err error) {
	if place == 0 {
		if place, err = w.place(ctx, d.updatedAt); err != nil {
			return err
		}
	}
	if _, err := w.tx.Exec(ctx, putEntry, place, w.tenant, w.object, d.id, d.version, d.updatedAt, d.digest, d.campaigns); err != nil {
		return err
	}
	_, err = w.tx.Exec(ctx, insertText, place, strings.Join(d.tokens, " "))
	return err
}

// place is the next place of an instant. Bulks give many records the same one, of which
// only the first has to be looked for.
func (w *writer) place(ctx context.Context, instant wire.Stamp) (int64, error) {
	if w.instant == instant && w.instant != 0 {
		w.last++
		return w.last, nil
	}
	at := placeAt(instant)
	err := w.tx.Row(ctx, nextPlace, at, at+1<<placeBits).Scan(&w.last)
	w.instant = instant
	return w.last, err
}

// putTokens writes a record on PostgreSQL.
func (w *writer) putTokens(d *doc) sqldb.Stmt {
	return sqldb.Stmt{Query: putTokens, Args: []any{
		w.tenant, w.object, d.id, placeAt(d.updatedAt), d.version, d.updatedAt, d.digest, d.campaigns, d.tokens,
	}}
}

// change is what becomes of a record in the index.
type change struct {
	have *entry // nil: it is not there
	want *doc   // nil: it is to go
}

// many writes records at once: what is deleted, then what is written, each by place,
// which FTS5 keeps in memory until it is all there.
func (w *writer) many(ctx context.Context, all []change) error {
	if w.tx.Dialect() == sqldb.Postgres {
		return w.manyTokens(ctx, all)
	}
	had := slices.DeleteFunc(slices.Clone(all), func(c change) bool { return c.have == nil })
	slices.SortFunc(had, func(a, b change) int { return cmp.Compare(a.have.place, b.have.place) })
	for _, c := range had {
		if _, err := w.tx.Exec(ctx, deleteText, c.have.place); err != nil {
			return err
		}
		if c.want == nil {
			if _, err := w.tx.Exec(ctx, deleteEntry, w.tenant, w.object, c.have.id); err != nil {
				return err
			}
		}
	}
	put := slices.DeleteFunc(slices.Clone(all), func(c change) bool { return c.want == nil })
	slices.SortStableFunc(put, func(a, b change) int { return cmp.Compare(a.want.updatedAt, b.want.updatedAt) })
	for _, c := range put {
		place := int64(0)
		if c.have != nil && c.have.updatedAt == c.want.updatedAt {
			place = c.have.place
		}
		if err := w.put(ctx, c.want, place); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) manyTokens(ctx context.Context, all []change) error {
	stmts := make([]sqldb.Stmt, 0, len(all))
	for _, c := range all {
		if c.want == nil {
			stmts = append(stmts, sqldb.Stmt{Query: deleteEntry, Args: []any{w.tenant, w.object, c.have.id}})
		} else {
			stmts = append(stmts, w.putTokens(c.want))
		}
	}
	if len(stmts) == 0 {
		return nil
	}
	return w.tx.Batch(ctx, stmts...)
}

// sweep deletes tokens that are not used any more and reports whether there may be more.
func (s *Search) sweep(ctx context.Context) (more bool, err error) {
	if s.db.Dialect() == sqldb.Postgres {
		return false, nil
	}
	some := false
	err = s.read(ctx, "search.sweep", func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT count(*) FROM (SELECT 1 FROM search_gone LIMIT 1)").Scan(&some)
	})
	if err != nil || !some {
		return false, err
	}
	err = s.write(ctx, "search.sweep", func(ctx context.Context, tx *sqldb.Tx) error {
		var places []int64
		for row, err := range tx.Query(ctx, "SELECT place FROM search_gone ORDER BY place LIMIT $1", s.cfg.limits.sweep) {
			var place int64
			if err == nil {
				err = row.Scan(&place)
			}
			if err != nil {
				return err
			}
			places = append(places, place)
		}
		more = len(places) == s.cfg.limits.sweep
		for _, place := range places {
			if _, err := tx.Exec(ctx, deleteText, place); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, "DELETE FROM search_gone WHERE place = $1", place); err != nil {
				return err
			}
		}
		return nil
	})
	return more, err
}
