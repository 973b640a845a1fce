package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
)

// placeBits are for the number of a record among those that were changed in the same
// millisecond. PostgreSQL has the id for that.
const placeBits = 21

// placeAt is the first place of an instant.
func placeAt(at wire.Stamp) int64 { return int64(at) << placeBits }

const (
	entryColumns = "id, place, version, updated_at, digest, campaigns"

	selectSome    = "SELECT " + entryColumns + " FROM search_doc"
	selectEntries = "SELECT " + entryColumns +
		" FROM search_doc WHERE tenant_id = $1 AND object = $2 AND id > $3 AND id <= $4 ORDER BY id"

	updateVersion = "UPDATE search_doc SET version = $4 WHERE tenant_id = $1 AND object = $2 AND id = $3"
	deleteEntry   = "DELETE FROM search_doc WHERE tenant_id = $1 AND object = $2 AND id = $3"

	// SQLite.
	nextPlace = `SELECT max(coalesce((SELECT max(place) FROM search_doc WHERE place >= $1 AND place < $2), $1 - 1),
		coalesce((SELECT max(place) FROM search_gone WHERE place >= $1 AND place < $2), $1 - 1)) + 1`
	insertText = "INSERT INTO search_text (rowid, tokens) VALUES ($1, $2)"
	deleteText = "DELETE FROM search_text WHERE rowid = $1"
)

var (
	// SQLite.
	putEntries = sqldb.NewInsert("search_doc (place, tenant_id, object, id, version, updated_at, digest, campaigns)",
		`ON CONFLICT (tenant_id, object, id) DO UPDATE SET place = excluded.place, version = excluded.version, updated_at = excluded.updated_at,
			digest = excluded.digest, campaigns = excluded.campaigns`, "bigint", "text", "text", "text", "bigint",
		"bigint", "bigint", "text")
	insertGone = sqldb.NewInsert("search_gone (place)", "", "bigint")

	// PostgreSQL. The last value of a row is its tokens, none of which has a space.
	putTokens = sqldb.NewInsertSelect(
		"search_doc (tenant_id, object, id, place, version, updated_at, digest, campaigns, tokens)",
		"w.a, w.b, w.c, w.d, w.e, w.f, w.g, w.h, array_to_tsvector(string_to_array(w.i, ' '))",
		`AS w (a, b, c, d, e, f, g, h, i) ON CONFLICT (tenant_id, object, id) DO UPDATE SET place = excluded.place, version = excluded.version,
			updated_at = excluded.updated_at, digest = excluded.digest, campaigns = excluded.campaigns, tokens = excluded.tokens`,
		"text", "text", "text", "bigint", "bigint", "bigint", "bigint", "text", "text")
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
	query := selectSome + " WHERE tenant_id = " + b.Add(tenant) + " AND object = " + b.Add(object) + " AND " +
		b.OneOf(tx, "id", ids)
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
func (s *Search) want(ctx context.Context, tx *sqldb.Tx, t tokens, tenant string, o *model.Object, ids []string) (
	map[string]*doc, error,
) {
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
	var gone, tokens []any
	var put []*doc
	for _, c := range all {
		switch {
		case c.want == nil && c.have == nil:
		case c.want == nil:
			gone = append(gone, c.have.place)
			stmts = append(stmts, sqldb.Stmt{Query: deleteEntry, Args: []any{w.tenant, w.object, c.have.id}})
		case c.have != nil && c.have.is(c.want):
			if c.have.version != c.want.version {
				stmts = append(stmts, sqldb.Stmt{Query: updateVersion, Args: []any{
					w.tenant, w.object, c.want.id,
					c.want.version,
				}})
			}
		case w.tx.Dialect() == sqldb.Postgres:
			tokens = w.addTokens(tokens, c.want)
		default:
			if c.have != nil {
				gone = append(gone, c.have.place)
			}
			put = append(put, c.want)
		}
	}
	if w.tx.Dialect() == sqldb.Postgres {
		return w.tx.Batch(ctx, append(stmts, putTokens.Stmts(w.tx, tokens)...)...)
	}
	// What is not used any more keeps its place until it is deleted.
	if err := w.tx.Batch(ctx, append(stmts, insertGone.Stmts(w.tx, gone)...)...); err != nil {
		return err
	}
	slices.SortStableFunc(put, func(a, b *doc) int { return cmp.Compare(a.updatedAt, b.updatedAt) })
	return w.put(ctx, put, func(int) int64 { return 0 })
}

// put writes records on SQLite, each at a place or (0) at one of its own. They are in the
// order of their changes.
func (w *writer) put(ctx context.Context, all []*doc, at func(i int) int64) (err error) {
	places, entries := make([]int64, len(all)), make([]any, 0, 8*len(all))
	for i, d := range all {
		if places[i] = at(i); places[i] == 0 {
			if places[i], err = w.place(ctx, d.updatedAt); err != nil {
				return err
			}
		}
		entries = append(entries, places[i], w.tenant, w.object, d.id, d.version, d.updatedAt, d.digest, d.campaigns)
	}
	if err := w.tx.Batch(ctx, putEntries.Stmts(w.tx, entries)...); err != nil {
		return err
	}
	// Each in a statement of its own: FTS5 writes what it has in memory down before one
	// that may have to be undone in part.
	for i, d := range all {
		if _, err := w.tx.Exec(ctx, insertText, places[i], strings.Join(d.tokens, " ")); err != nil {
			return err
		}
	}
	return nil
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

// addTokens adds a record to those that putTokens writes.
func (w *writer) addTokens(to []any, d *doc) []any {
	return append(to, w.tenant, w.object, d.id, placeAt(d.updatedAt), d.version, d.updatedAt, d.digest, d.campaigns,
		strings.Join(d.tokens, " "))
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
	docs := make([]*doc, len(put))
	for i := range put {
		docs[i] = put[i].want
	}
	return w.put(ctx, docs, func(i int) int64 {
		if c := put[i]; c.have != nil && c.have.updatedAt == c.want.updatedAt {
			return c.have.place
		}
		return 0
	})
}

func (w *writer) manyTokens(ctx context.Context, all []change) error {
	var stmts []sqldb.Stmt
	var tokens []any
	for _, c := range all {
		if c.want == nil {
			stmts = append(stmts, sqldb.Stmt{Query: deleteEntry, Args: []any{w.tenant, w.object, c.have.id}})
		} else {
			tokens = w.addTokens(tokens, c.want)
		}
	}
	return w.tx.Batch(ctx, append(stmts, putTokens.Stmts(w.tx, tokens)...)...)
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
		for row, err := range tx.Query(ctx, "SELECT place FROM search_gone ORDER BY place LIMIT $1",
			s.cfg.limits.sweep) {
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
