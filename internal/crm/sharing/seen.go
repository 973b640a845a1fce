package sharing

import (
	"context"
	"slices"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

const (
	// fewRecords is up to how many records somebody who sees few of them sees: they are
	// looked up by what gives the access.
	fewRecords = 10_000
	// fewUnreached is up to how many records that their owners do not give somebody are
	// looked at one by one.
	fewUnreached = 300
)

// See is how many living records of an object a user has at least this access to, exactly,
// and which, in order, when they are few; else ids is nil, and Where tells. What owners
// give is added up from the counts of records; only what shares and accounts give beside
// is counted.
func (s *Sharing) See(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access) (
	total int, ids []string, err error,
) {
	q, all, err := s.ask(ctx, tx, tenant, object, user, levelOf(level))
	switch {
	case err != nil:
	case all == nothing:
		return 0, []string{}, nil
	case all == everything:
		query := "SELECT CAST(coalesce(sum(c.n), 0) AS bigint) FROM " + s.cfg.Records.Counts("c", "$1", "$2")
		err = tx.Row(ctx, query, tenant, object).Scan(&total)
	default:
		total, ids, err = q.see(ctx, tx, s.cfg.limits)
	}
	return total, ids, fault.Wrap("sharing.see", err)
}

func (q *question) see(ctx context.Context, tx *sqldb.Tx, most limits) (total int, ids []string, err error) {
	var all, reached int
	var b sqldb.Binds
	if err := tx.Row(ctx, q.bind(&b).reached(), b.Args()...).Scan(&all, &reached); err != nil {
		return 0, nil, err
	}
	if reached <= most.few {
		ids, few, err := q.ids(ctx, tx, most.few)
		if few || err != nil {
			return len(ids), ids, err
		}
	}
	var beside int
	switch unreached := all - reached; {
	case unreached == 0 || !q.shares && !q.cascade:
	case unreached <= most.unreached:
		var b sqldb.Binds
		err = tx.Row(ctx, q.bind(&b).amongUnreached(), b.Args()...).Scan(&beside)
	default:
		var b sqldb.Binds
		ids, err := collect(ctx, tx, q.bind(&b).beside(true), &b)
		return reached + len(sorted(ids)), nil, err
	}
	return reached + beside, nil, err
}

// ids are all records that the user sees, in order, when there are no more rows that give
// access than so many.
func (q *question) ids(ctx context.Context, tx *sqldb.Tx, most int) (ids []string, few bool, err error) {
	var b sqldb.Binds
	a := q.bind(&b)
	query := a.rows() + " AND o.owner_id IN (" + a.owners() + ")"
	if q.shares || q.cascade {
		query += " UNION ALL " + a.beside(false)
	}
	ids, err = collect(ctx, tx, query+" LIMIT "+b.Add(most+1), &b)
	return sorted(ids), len(ids) <= most, err
}

// collect are the ids that a statement gives. They travel as one text, and are sorted by
// who wants it: as rows, and in a temporary table, they cost several times as much.
func collect(ctx context.Context, tx *sqldb.Tx, query string, b *sqldb.Binds) ([]string, error) {
	together := "string_agg"
	if tx.Dialect() == sqldb.SQLite {
		together = "group_concat"
	}
	var text string
	err := tx.Row(ctx, "SELECT coalesce("+together+"(x.id, ','), '') FROM ("+query+") AS x", b.Args()...).Scan(&text)
	if err != nil || text == "" {
		return []string{}, err
	}
	return strings.Split(text, ","), nil
}

// sorted are ids in order, each once.
func sorted(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// rows are the living records of the object.
func (a *asked) rows() string {
	return "SELECT o.id AS id FROM " + a.q.records.Living("o", a.tenant(), a.object())
}

// reached counts the records, and those of owners whom the user reaches.
func (a *asked) reached() string {
	return `SELECT CAST(coalesce(sum(c.n), 0) AS bigint), CAST(coalesce(sum(CASE WHEN c.owner_id IN (` + a.owners() +
		`) THEN c.n ELSE 0 END), 0) AS bigint)
		FROM ` + a.q.records.Counts("c", a.tenant(), a.object())
}

// beside are the records that shares and accounts give the user, some more than once: all
// of them, or those of owners whom it does not reach.
func (a *asked) beside(unreached bool) string {
	beyond := func(column string) string {
		if !unreached {
			return ""
		}
		return ` AND ` + column + ` NOT IN (` + a.owners() + `)`
	}
	var parts []string
	if a.q.shares {
		parts = append(parts, a.shared()+beyond("s.owner_id"))
	}
	if a.q.cascade {
		parts = append(parts, a.rows()+` AND o.account_id <> '' AND o.account_id IN (`+a.accounts()+`)`+
			beyond("o.owner_id"))
	}
	return strings.Join(parts, " UNION ALL ")
}

// amongUnreached counts them by looking at each record of these owners, who have few.
func (a *asked) amongUnreached() string {
	return "SELECT count(*) FROM " + a.q.records.Living("r", a.tenant(), a.object()) + `
		AND r.owner_id IN (SELECT c.owner_id FROM ` + a.q.records.Counts("c", a.tenant(), a.object()) +
		` AND c.owner_id NOT IN (` + a.owners() + `))
		AND (` + strings.Join(a.eachUnreached(), " OR ") + `)`
}
