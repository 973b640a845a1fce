package search

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/internal/platform/sqldb"
)

// postgresIndex has tokens in a tsvector of search_doc. The index of tokens gives records in no order,
// and reads all that have a token before it gives the first: a common word costs as much as there are
// records. The index of places gives them in their order, and reads records that do not have the
// tokens. So the records that were changed last are looked through first. When many of them have the
// tokens they are enough; else few records have them all, or one of them, and that is looked up.
type postgresIndex struct{ *Search }

// putTokens stores records. The last value of a row is its tokens, none of which has a space.
var putTokens = sqldb.NewInsertSelect(
	"search_doc (tenant_id, object, id, place, version, updated_at, digest, campaigns, tokens)",
	"w.a, w.b, w.c, w.d, w.e, w.f, w.g, w.h, array_to_tsvector(string_to_array(w.i, ' '))",
	`AS w (a, b, c, d, e, f, g, h, i) ON CONFLICT (tenant_id, object, id) DO UPDATE SET place = excluded.place,
		version = excluded.version, updated_at = excluded.updated_at, digest = excluded.digest,
		campaigns = excluded.campaigns, tokens = excluded.tokens`,
	"text", "text", "text", "bigint", "bigint", "bigint", "bigint", "text", "text")

func (postgresIndex) write(ctx context.Context, w *writer, all []change) error {
	stmts, put := w.sort(all)
	return w.putTokens(ctx, stmts, put)
}

func (postgresIndex) replace(ctx context.Context, w *writer, all []change) error {
	var stmts []sqldb.Stmt
	var put []change
	for _, c := range all {
		if c.want == nil {
			stmts = append(stmts, w.delete(c.have))
		} else {
			put = append(put, c)
		}
	}
	return w.putTokens(ctx, stmts, put)
}

func (w *writer) putTokens(ctx context.Context, stmts []sqldb.Stmt, put []change) error {
	rows := make([]any, 0, 9*len(put))
	for _, c := range put {
		d := c.want
		rows = append(rows, w.tenant, w.object, d.id, placeAt(d.updatedAt), d.version, d.updatedAt, d.digest,
			d.campaigns, strings.Join(d.tokens, " "))
	}
	return w.tx.Batch(ctx, append(stmts, putTokens.Stmts(w.tx, rows)...)...)
}

func (postgresIndex) sweep(context.Context) (more bool, err error) { return false, nil }

const (
	selectPlaces = ` FROM search_doc WHERE tenant_id = $1 AND place >= $2 AND (place, id) < ($3, $4) `
	inPlaces     = "ORDER BY place DESC, id DESC LIMIT "

	// byPlace goes on until it has so many.
	byPlace = "SELECT place, id, object" + selectPlaces + "AND tokens @@ CAST($6 AS tsquery) " + inPlaces + "$5"
	// newest looks at so many records and no more.
	newest = "SELECT place, id, object FROM (SELECT place, id, object, tokens" + selectPlaces + inPlaces +
		"$7) AS d WHERE tokens @@ CAST($6 AS tsquery) " + inPlaces + "$5"

	// PostgreSQL does not know how many have the tokens, and would take any index but that
	// of the tokens; the sums keep it from the other. OFFSET keeps it from looking up what
	// only the records are asked for.
	byTokens = `SELECT place, id, object FROM (SELECT place, id, object, tokens FROM search_doc
		WHERE tenant_id = $1 AND place + 0 >= $2 AND (place + 0, id) < ($3, $4) AND tokens @@ CAST($7 AS tsquery)
		OFFSET 0) AS d WHERE tokens @@ CAST($6 AS tsquery) LIMIT $5`
)

// commonPart is which part of the records a token is in, at least, that is not looked up
// when there is one that is in less.
const commonPart = 8

func (postgresIndex) next(ctx context.Context, s *source) ([]candidate, error) {
	if !s.many {
		some, err := s.fromNewest(ctx)
		if err != nil || len(some) == s.size {
			return some, err
		}
		if s.few {
			return s.buffered(), nil
		}
	}
	return s.read(ctx, byPlace, s.size, tsquery(s.parts()))
}

func (postgresIndex) gather(ctx context.Context, s *source) (all []candidate, few bool, err error) {
	s.size = s.firstSize()
	_, err = s.fromNewest(ctx)
	return s.all, s.few, err
}

// fromNewest gives as many candidates as are wanted, if records that were changed last have
// the tokens often enough; else it finds out whether few records or many have them.
func (s *source) fromNewest(ctx context.Context) ([]candidate, error) {
	parts := s.parts()
	some, err := s.read(ctx, newest, s.size, tsquery(parts), max(s.cfg.limits.pass, 2*s.size))
	if err != nil || len(some) == s.size {
		return some, err
	}
	rare, err := s.rare(ctx, parts)
	if err != nil {
		return nil, err
	}
	most := s.cfg.limits.few
	all, err := s.read(ctx, byTokens, most+1, tsquery(parts), tsquery(rare))
	if err != nil {
		return nil, err
	}
	if s.many = len(all) > most; s.many {
		return nil, nil
	}
	slices.SortFunc(all, func(a, b candidate) int { return b.at.compare(a.at) })
	s.all, s.few = all, true
	return nil, nil
}

// read reads the candidates after those that were read.
func (s *source) read(ctx context.Context, query string, most int, more ...any) ([]candidate, error) {
	return candidates(ctx, s.tx, query, append(s.behind(most), more...)...)
}

func (s *source) behind(most int) []any {
	return []any{s.caller.Tenant, placeAt(s.ask.Since), s.after.num, s.after.id, most}
}

// rare are those of some parts of a condition that few records have, going by those that
// were changed last; all of them when there is none.
func (s *source) rare(ctx context.Context, parts []string) ([]string, error) {
	if len(parts) == 1 {
		return parts, nil
	}
	args, n := s.behind(s.cfg.limits.pass), make([]int, 1+len(parts))
	counts, to := "count(*)", []any{&n[0]}
	for i, part := range parts {
		args, to = append(args, part), append(to, &n[i+1])
		counts += ", count(*) FILTER (WHERE tokens @@ CAST($" + strconv.Itoa(len(args)) + " AS tsquery))"
	}
	err := s.tx.Row(ctx, "SELECT "+counts+" FROM (SELECT tokens"+selectPlaces+inPlaces+"$5) AS d", args...).Scan(to...)
	if err != nil {
		return nil, err
	}
	var rare []string
	for i, part := range parts {
		if n[i+1]*commonPart < n[0] {
			rare = append(rare, part)
		}
	}
	if len(rare) == 0 {
		return parts, nil
	}
	return rare, nil
}

// parts are what candidates have, each in the language of PostgreSQL's tsquery.
func (s *source) parts() (all []string) {
	for _, w := range s.wants() {
		part := `'` + w.token + `'`
		if w.start {
			part += ":*"
		}
		all = append(all, part)
	}
	if len(s.any) > 0 {
		all = append(all, `('`+strings.Join(s.any, `' | '`)+`')`)
	}
	return all
}

// tsquery is the condition that all parts are true.
func tsquery(parts []string) string { return strings.Join(parts, " & ") }

// recount compares the stored tokens of records with those of their texts.
func (postgresIndex) recount(ctx context.Context, tx *sqldb.Tx, r *recount, p chunk) error {
	stored := map[string]string{}
	for row, err := range tx.Query(ctx, `SELECT id, array_to_string(tsvector_to_array(tokens), ' ') FROM search_doc
		WHERE tenant_id = $1 AND object = $2 AND `+between, r.tenant, p.object, p.after, p.last) {
		var id, list string
		if err == nil {
			err = row.Scan(&id, &list)
		}
		if err != nil {
			return err
		}
		stored[id] = list
	}
	for _, c := range p.both {
		slices.Sort(c.want.tokens)
		got := withoutCampaigns(strings.Fields(stored[c.want.id]))
		if !slices.Equal(got, withoutCampaigns(c.want.tokens)) {
			r.say("%s %s has other tokens in the index than its texts", p.object, c.want.id)
		}
	}
	return nil
}

func (postgresIndex) recountRest(context.Context, *recount) error { return nil }
