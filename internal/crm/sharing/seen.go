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
	fewRecords   = 10_000 // up to so many records that a user sees are looked up by what gives the access
	fewUnreached = 300    // up to so many records that owners do not give are looked at one by one
)

const noOwners = "SELECT owner_id FROM sharing_reach WHERE " + nothing

// Seen says by owner which records of an object a user may read: the records of which
// owners, and which beyond them. The arguments of its queries are added to binds.
func (v *Visible) Seen(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, binds *sqldb.Binds) (
	model.Seen, error,
) {
	seen, _, err := v.seen(ctx, tx, question{tenant: tenant, object: object, user: user}, binds,
		(*asked).besideOwners)
	return seen, err
}

// SeenShared is Seen with all records that shares and accounts give, also those of these
// owners: to compare each record with the owners is half of the work, and a caller that looks
// at the owners of the records anyway can do without.
func (v *Visible) SeenShared(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, binds *sqldb.Binds) (
	model.Seen, error,
) {
	seen, _, err := v.seen(ctx, tx, question{tenant: tenant, object: object, user: user}, binds, (*asked).beside)
	return seen, err
}

// SeenOwners is Seen with owners alone; more says that there are Records, too.
func (v *Visible) SeenOwners(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, binds *sqldb.Binds) (
	seen model.Seen, more bool, err error,
) {
	return v.seen(ctx, tx, question{tenant: tenant, object: object, user: user}, binds,
		func(*asked) string { return "" })
}

func (v *Visible) seen(
	ctx context.Context, tx *sqldb.Tx, q question, binds *sqldb.Binds, records func(*asked) string,
) (seen model.Seen, more bool, err error) {
	q.level = Read
	switch all, err := v.ask(ctx, tx, &q); {
	case err != nil:
		return model.Seen{}, false, fault.Wrap("sharing.seen", err)
	case all == everything:
		return model.Seen{All: true}, false, nil
	case all == nothing:
		return model.Seen{Owners: noOwners}, false, nil
	}
	a := q.bind(binds)
	return model.Seen{Owners: a.owners(), Records: records(a)}, q.beyondOwners(), nil
}

// See is how many living records of an object a user has at least this access to, exactly,
// and which, in order, when they are few; else ids is nil, and Where selects them. What owners
// give is added up from the counts of records; only what shares and accounts give beyond that
// is counted.
func (v *Visible) See(ctx context.Context, tx *sqldb.Tx, tenant, object, user string, level model.Access) (
	total int, ids []string, err error,
) {
	q := question{tenant: tenant, object: object, user: user, level: levelOf(level)}
	switch all, err := v.ask(ctx, tx, &q); {
	case err != nil:
		return 0, nil, fault.Wrap("sharing.see", err)
	case all == nothing:
		return 0, []string{}, nil
	case all == everything:
		err := tx.Row(ctx, "SELECT CAST(coalesce(sum(c.n), 0) AS bigint) FROM "+v.records.Counts("c", "$1", "$2"),
			tenant, object).Scan(&total)
		return total, nil, fault.Wrap("sharing.see", err)
	}
	total, ids, err = q.see(ctx, tx, v.limits)
	return total, ids, fault.Wrap("sharing.see", err)
}

func (q *question) see(ctx context.Context, tx *sqldb.Tx, most limits) (total int, ids []string, err error) {
	var all, reached, beside int
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
	b = sqldb.Binds{}
	switch unreached := all - reached; {
	case unreached == 0 || !q.beyondOwners():
	case unreached <= most.unreached:
		err = tx.Row(ctx, q.bind(&b).amongUnreached(), b.Args()...).Scan(&beside)
	default:
		ids, _, err = collect(ctx, tx, q.bind(&b).besideOwners(), &b)
		beside = len(ids)
	}
	return reached + beside, nil, err
}

// ids are all records that the user sees, in order, when there are no more rows that give
// access than so many.
func (q *question) ids(ctx context.Context, tx *sqldb.Tx, most int) (ids []string, few bool, err error) {
	var b sqldb.Binds
	a := q.bind(&b)
	query := a.rows() + " AND o.owner_id IN (" + a.owners() + ")"
	if q.beyondOwners() {
		query += " UNION ALL " + a.beside()
	}
	ids, rows, err := collect(ctx, tx, query+" LIMIT "+b.Add(most+1), &b)
	return ids, rows <= most, err
}

// collect are the ids that a statement gives, in order and each once, and how many rows it
// gave. They travel as one text and are sorted here: as rows, and in a temporary table, they
// cost several times as much.
func collect(ctx context.Context, tx *sqldb.Tx, query string, b *sqldb.Binds) (ids []string, rows int, err error) {
	var text string
	err = tx.Row(ctx, "SELECT coalesce(string_agg(x.id, ','), '') FROM ("+query+") AS x", b.Args()...).Scan(&text)
	if err != nil || text == "" {
		return []string{}, 0, err
	}
	ids = strings.Split(text, ",")
	rows = len(ids)
	slices.Sort(ids)
	return slices.Compact(ids), rows, nil
}

// rows are the living records of the object.
func (a *asked) rows() string { return "SELECT o.id AS id FROM " + a.living("o") }

// reached counts the records, and those of owners whom the user reaches.
func (a *asked) reached() string {
	return `SELECT CAST(coalesce(sum(c.n), 0) AS bigint), CAST(coalesce(sum(CASE WHEN c.owner_id IN (` + a.owners() +
		`) THEN c.n ELSE 0 END), 0) AS bigint) FROM ` + a.counts()
}

// beside are all records that shares and accounts give the user, some more than once.
func (a *asked) beside() string { return a.besideOf(func(string) string { return "" }) }

// besideOwners are those of owners whom the user does not reach.
func (a *asked) besideOwners() string {
	return a.besideOf(func(owner string) string { return ` AND ` + owner + ` NOT IN (` + a.owners() + `)` })
}

func (a *asked) besideOf(beyond func(owner string) string) string {
	var parts []string
	if a.shares {
		parts = append(parts, a.shared()+beyond("s.owner_id"))
	}
	if a.cascade {
		parts = append(parts, a.rows()+` AND o.account_id <> '' AND o.account_id IN (`+a.accounts()+`)`+
			beyond("o.owner_id"))
	}
	return strings.Join(parts, " UNION ALL ")
}

// amongUnreached counts them by looking at each record of these owners, who have few.
func (a *asked) amongUnreached() string {
	return "SELECT count(*) FROM " + a.living("r") + ` AND r.owner_id IN (SELECT c.owner_id FROM ` + a.counts() +
		` AND c.owner_id NOT IN (` + a.owners() + `)) AND (` + strings.Join(a.eachUnreached(), " OR ") + `)`
}
