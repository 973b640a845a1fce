package search

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// sqliteIndex has tokens in an FTS5 table, by place. What is no longer used waits in search_gone.
type sqliteIndex struct{ *Search }

const (
	nextPlace = `SELECT max(coalesce((SELECT max(place) FROM search_doc WHERE place >= $1 AND place < $2), $1 - 1),
		coalesce((SELECT max(place) FROM search_gone WHERE place >= $1 AND place < $2), $1 - 1)) + 1`
	insertText = "INSERT INTO search_text (rowid, tokens) VALUES ($1, $2)"
	deleteText = "DELETE FROM search_text WHERE rowid = $1"
)

var (
	putEntries = sqldb.NewInsert("search_doc (place, tenant_id, object, id, version, updated_at, digest, campaigns)",
		`ON CONFLICT (tenant_id, object, id) DO UPDATE SET place = excluded.place, version = excluded.version,
			updated_at = excluded.updated_at, digest = excluded.digest, campaigns = excluded.campaigns`,
		"bigint", "text", "text", "text", "bigint", "bigint", "bigint", "text")
	insertGone = sqldb.NewInsert("search_gone (place)", "", "bigint")
)

// write leaves old tokens to sweep: to delete from FTS5 is cheap for many and expensive for one.
func (sqliteIndex) write(ctx context.Context, w *writer, all []change) error {
	var gone []any
	stmts, put := w.sort(all)
	for _, c := range all {
		if c.have != nil && (c.want == nil || !c.have.is(c.want)) {
			gone = append(gone, c.have.place)
		}
	}
	// What is no longer used keeps its place until it is deleted.
	if err := w.tx.Batch(ctx, append(stmts, insertGone.Stmts(w.tx, gone)...)...); err != nil {
		return err
	}
	return w.put(ctx, put, false)
}

func (sqliteIndex) replace(ctx context.Context, w *writer, all []change) error {
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
	return w.put(ctx, slices.DeleteFunc(slices.Clone(all), func(c change) bool { return c.want == nil }), true)
}

// put stores records in the order of their places: FTS5 has new ones in memory until all are there.
// With keep, a record that has not changed since keeps its place.
func (w *writer) put(ctx context.Context, all []change, keep bool) error {
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.want.updatedAt, b.want.updatedAt) })
	places, entries := make([]int64, len(all)), make([]any, 0, 8*len(all))
	for i, c := range all {
		d, err := c.want, error(nil)
		if keep && c.have != nil && c.have.updatedAt == d.updatedAt {
			places[i] = c.have.place
		} else if places[i], err = w.place(ctx, d.updatedAt); err != nil {
			return err
		}
		entries = append(entries, places[i], w.tenant, w.object, d.id, d.version, d.updatedAt, d.digest, d.campaigns)
	}
	if err := w.tx.Batch(ctx, putEntries.Stmts(w.tx, entries)...); err != nil {
		return err
	}
	// Each in a statement of its own: before one that may have to be undone in part, FTS5 flushes
	// what it has in memory.
	for i, c := range all {
		if _, err := w.tx.Exec(ctx, insertText, places[i], strings.Join(c.want.tokens, " ")); err != nil {
			return err
		}
	}
	return nil
}

// place is the next place of an instant. A bulk gives many records the same one, of which only the
// first is looked up.
func (w *writer) place(ctx context.Context, instant canonical.Stamp) (int64, error) {
	if w.instant == instant && w.instant != 0 {
		w.last++
		return w.last, nil
	}
	at := placeAt(instant)
	err := w.tx.Row(ctx, nextPlace, at, at+1<<placeBits).Scan(&w.last)
	w.instant = instant
	return w.last, err
}

func (s sqliteIndex) sweep(ctx context.Context) (more bool, err error) {
	var places []int64
	gone := func(ctx context.Context, tx *sqldb.Tx, limit int) (err error) {
		places, err = sqldb.Collect(ctx, tx, sqldb.Column[int64],
			"SELECT place FROM search_gone ORDER BY place LIMIT $1", limit)
		return err
	}
	err = s.Read(ctx, "sweep", func(ctx context.Context, tx *sqldb.Tx) error { return gone(ctx, tx, 1) })
	if err != nil || len(places) == 0 {
		return false, err
	}
	err = s.Write(ctx, "sweep", func(ctx context.Context, tx *sqldb.Tx) error {
		if err := gone(ctx, tx, s.cfg.limits.sweep); err != nil {
			return err
		}
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
	return len(places) == s.cfg.limits.sweep, err
}

// selectText reads the index from its end in the order of the places. Candidates that are no longer in
// search_doc are left out.
const selectText = `SELECT d.place, d.id, d.object FROM search_text CROSS JOIN search_doc d
		WHERE search_text MATCH $1 AND search_text.rowid < $2 AND search_text.rowid >= $3
		AND d.place = search_text.rowid AND d.tenant_id = $4 ORDER BY search_text.rowid DESC LIMIT $5`

func (sqliteIndex) next(ctx context.Context, s *source) ([]candidate, error) {
	if s.match == "" {
		lists, err := s.spell(ctx)
		if err != nil || lists == nil {
			return nil, err
		}
		s.match = match(lists)
	}
	return s.matching(ctx, s.size)
}

func (s *source) matching(ctx context.Context, most int) ([]candidate, error) {
	return candidates(ctx, s.tx, selectText, s.match, s.after.num, placeAt(s.ask.Since), s.caller.Tenant, most)
}

// gather is for several words only: one word is cheap to look up again for each relevance.
func (sqliteIndex) gather(ctx context.Context, s *source) (all []candidate, few bool, err error) {
	if len(s.wants()) < 2 {
		return nil, false, nil
	}
	lists, err := s.spell(ctx)
	if err != nil || lists == nil {
		return nil, err == nil, err
	}
	if lists, err = s.rarest(ctx, lists); err != nil {
		return nil, false, err
	}
	s.match = match(lists)
	if len(lists) > 1 {
		if n, err := s.count(ctx, lists); err != nil || n > s.cfg.limits.look {
			return nil, false, err
		}
	}
	all, err = s.matching(ctx, s.cfg.limits.look+1)
	return all, len(all) <= s.cfg.limits.look, err
}

// countText counts the records that have tokens, up to a limit.
const countText = "SELECT count(*) FROM (SELECT 1 FROM search_text WHERE search_text MATCH $1 AND rowid >= $2 LIMIT $3)"

// count is how many records have a token of each list, up to one more than are looked at. It is
// cheaper than to read them.
func (s *source) count(ctx context.Context, lists [][]string) (n int, err error) {
	err = s.tx.Row(ctx, countText, match(lists), placeAt(s.ask.Since), s.cfg.limits.look+1).Scan(&n)
	return n, err
}

// rarest is the list of tokens that few records have any of, or else all lists. FTS5 would read all
// records that have the common ones; the record itself decides about the other lists.
func (s *source) rarest(ctx context.Context, lists [][]string) ([][]string, error) {
	for i := range lists {
		n, err := s.count(ctx, lists[i:i+1])
		if err != nil {
			return nil, err
		}
		if n <= s.cfg.limits.look {
			return lists[i : i+1], nil
		}
	}
	return lists, nil
}

// spell gives the tokens that candidates have, one of each list; nil: there are none. FTS5 would merge
// the lists of all tokens that begin alike before it gives the first record, so they are looked up
// and named. When they are too many the prefix is left out: the record decides, and many tokens have
// many records.
func (s *source) spell(ctx context.Context) (all [][]string, err error) {
	for _, w := range s.wants() {
		if !w.start {
			all = append(all, []string{w.token})
			continue
		}
		forms, err := s.forms(ctx, w.token)
		switch {
		case err != nil || len(forms) == 0:
			return nil, err
		case len(forms) <= s.maxForms():
			all = append(all, forms)
		}
	}
	switch {
	case len(s.any) > 0:
		all = append(all, s.any)
	case len(all) == 0: // any record of the tenant
		var objects []string
		for name := range s.fields {
			objects = append(objects, s.tokens.object(name))
		}
		slices.Sort(objects)
		all = append(all, objects)
	}
	return all, nil
}

// maxForms is how many tokens that begin alike are named. When there is much to look at, it pays to
// name more.
func (s *source) maxForms() int {
	if s.deep {
		return s.cfg.limits.named
	}
	return s.cfg.limits.forms
}

// forms are the tokens that begin alike, up to one more than are named.
func (s *source) forms(ctx context.Context, start string) (forms []string, err error) {
	for from := start; len(forms) <= s.maxForms(); {
		next := ""
		err = s.tx.Row(ctx, "SELECT term FROM search_vocabulary WHERE term >= $1 LIMIT 1", from).Scan(&next)
		if errors.Is(err, sqldb.ErrNoRow) || err == nil && !strings.HasPrefix(next, start) {
			return forms, nil
		}
		if err != nil {
			return nil, err
		}
		forms = append(forms, next)
		from = next + "\x01" // the least that follows it
	}
	return forms, nil
}

// match writes a condition in the language of FTS5: one token of each list.
func match(all [][]string) string {
	lists := make([]string, len(all))
	for i, any := range all {
		lists[i] = `("` + strings.Join(any, `" OR "`) + `")`
	}
	return strings.Join(lists, " AND ")
}

// recount notes what tokens the places must have; recountRest reads them by token.
func (sqliteIndex) recount(_ context.Context, _ *sqldb.Tx, r *recount, p chunk) error {
	for _, c := range p.both {
		r.sums[c.have.place] = sum(withoutCampaigns(c.want.tokens))
	}
	return nil
}

func (s sqliteIndex) recountRest(ctx context.Context, r *recount) error {
	have := map[int64]uint64{}
	for _, kind := range []byte{nameToken, objectToken, textToken} {
		for from, more := "", true; more; {
			err := s.Read(ctx, "recount", func(ctx context.Context, tx *sqldb.Tx) error {
				t, ok, err := s.tokens(ctx, tx, r.tenant, false)
				if err != nil || !ok {
					more = false
					return err
				}
				first := t.of(kind, "")
				from, more, err = addTokens(ctx, tx, max(from, first), first[:len(first)-1]+"y", have)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	var gone []int64
	err := s.Read(ctx, "recount", func(ctx context.Context, tx *sqldb.Tx) (err error) {
		gone, err = sqldb.Collect(ctx, tx, sqldb.Column[int64], "SELECT place FROM search_gone")
		return err
	})
	for place, n := range r.sums {
		if have[place] != n {
			r.say("place %d of the index has other tokens than the record that is there", place)
		}
		delete(have, place)
	}
	for _, place := range gone {
		delete(have, place)
	}
	for place := range have {
		r.say("place %d of the index has tokens of no record", place)
	}
	return err
}

// addTokens adds up the tokens in a range by place, and gives where to continue.
func addTokens(ctx context.Context, tx *sqldb.Tx, from, to string, sums map[int64]uint64) (
	next string, more bool, err error,
) {
	n, last, value := 0, "", uint64(0)
	for row, err := range tx.Query(ctx, "SELECT term, doc FROM search_vocabulary WHERE term >= $1 AND term < $2", from,
		to) {
		var term string
		var place int64
		if err == nil {
			err = row.Scan(&term, &place)
		}
		if err != nil {
			return "", false, err
		}
		if term != last {
			if n >= recountTokens {
				return term, true, nil
			}
			last, value = term, sum([]string{term})
		}
		sums[place] += value
		n++
	}
	return "", false, nil
}
