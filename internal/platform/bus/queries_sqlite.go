package bus

import (
	"context"
	"encoding/json"
	"strconv"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

var queriesSQLite = queries{
	unpublished: "SELECT " + outboxColumns + ` FROM outbox_events
		WHERE part = $1 AND published_at IS NULL AND id > $2 ORDER BY id LIMIT $3`,
	published: "SELECT " + outboxColumns + ` FROM outbox_events
		WHERE id > $1 AND id <= $2 AND part = $3 AND published_at >= $4 ORDER BY id LIMIT $5`,
	backfill:     "SELECT " + outboxColumns + ", published_at FROM outbox_events WHERE " + backfillWhere,
	tail:         selectTail,
	lastPosition: "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'outbox_events'), 0)",
	renewLease:   "UPDATE bus_lease SET until = $4 WHERE name = $1 AND part = $2 AND epoch = $3",
	trimProcessed: `DELETE FROM processed_events WHERE (day, consumer, tenant_id, event_id) IN (
		SELECT day, consumer, tenant_id, event_id FROM processed_events WHERE day < $1
		ORDER BY day, consumer, tenant_id, event_id LIMIT $2)`,

	fence:        fenceSQLite,
	insertOutbox: insertOutboxSQLite,
	nextVersion:  nextVersionSQLite,
	markOutbox:   markOutboxSQLite,
	markEvents:   markEventsSQLite,
}

// stampOf is the time of a clock; on SQLite one process writes.
func stampOf(c Clock) canonical.Stamp { return canonical.Stamp(c.Now().UnixMilli()) }

// A page is a range of ids: the index of published rows would need a sort per page.
const backfillWhere = `id > $1 AND id <= $2 AND part + 0 = $3 AND published_at >= $4 AND published_at < $5
		AND created_at >= $6 AND created_at < $7 AND ($8 = '' OR tenant_id = $8) ORDER BY id LIMIT $9`

// selectTail has bodies of wanted events only.
const selectTail = `SELECT id, event_type, CASE WHEN tenant_id = $2 AND created_at >= $3
		AND ($4 = '' OR event_type = $4) AND ($5 = '' OR partition_key = $5) THEN body END AS body
	FROM outbox_events WHERE id > $1 ORDER BY id LIMIT $6`

// fenceSQLite reads the epoch; with one writer, nobody can change it before the commit.
func fenceSQLite(ctx context.Context, tx *sqldb.Tx, cfg *Config, l lease) (canonical.Stamp, error) {
	var epoch int64
	err := tx.Row(ctx, "SELECT epoch FROM bus_lease WHERE name = $1 AND part = $2", l.name, l.part).Scan(&epoch)
	if err == nil && epoch != l.epoch {
		err = errLeaseLost
	}
	return stampOf(cfg.Clock), err
}

const outboxInto = `outbox_events (created_at, occurred_at, part, event_id, tenant_id, event_type, partition_key,
	service, body)`

var insertOutbox = sqldb.NewInsert(outboxInto, "",
	"bigint", "bigint", "bigint", "text", "text", "text", "text", "text", "bytea")

// insertOutboxSQLite returns the ids of the rows.
func insertOutboxSQLite(ctx context.Context, tx *sqldb.Tx, c Clock, msgs []Message) (ids []int64, err error) {
	values, now := make([]any, 0, 9*len(msgs)), stampOf(c)
	for i := range msgs {
		m := &msgs[i]
		values = append(values, now, m.OccurredAt, m.Part, m.ID, m.Tenant, m.Type, m.Key, m.Service, m.Body)
	}
	stmts := insertOutbox.Stmts(tx, values)
	last, rows := make([]int64, len(stmts)), make([]int64, len(stmts))
	for i := range stmts {
		stmts[i].Inserted, stmts[i].Changed = &last[i], &rows[i]
	}
	if err := tx.Batch(ctx, stmts...); err != nil {
		return nil, err
	}
	for i := range stmts { // a statement's ids are consecutive
		for id := last[i] - rows[i] + 1; id <= last[i]; id++ {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func nextVersionSQLite(ctx context.Context, tx *sqldb.Tx, c Clock, key string) (version canonical.Stamp, err error) {
	err = tx.Row(ctx, `INSERT INTO bus_key (partition_key, version) VALUES ($1, $2)
		ON CONFLICT (partition_key) DO UPDATE SET version =
			CASE WHEN excluded.version > bus_key.version THEN excluded.version ELSE bus_key.version + 1 END
		RETURNING version`, key, stampOf(c)).Scan(&version)
	return version, err
}

func markOutboxSQLite(ids []int64, at canonical.Stamp) sqldb.Stmt {
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, id, 10)
	}
	return sqldb.Stmt{
		Query: `UPDATE outbox_events SET published_at = $2
			WHERE id IN (SELECT value FROM json_each($1)) AND published_at IS NULL`,
		Args: []any{string(append(list, ']')), at},
	}
}

// markEventsSQLite passes the ids of a tenant and day as one argument; with one writer, their order does not matter.
func markEventsSQLite(_ *sqldb.Tx, consumer string, todo []*item) (stmts []sqldb.Stmt, err error) {
	type group struct {
		day    int64
		tenant string
	}
	groups := map[group][]string{}
	for _, it := range todo {
		g := group{dayOf(it.event.OccurredAt), it.event.Tenant}
		groups[g] = append(groups[g], it.event.ID)
	}
	for g, ids := range groups {
		list, err := json.Marshal(ids)
		if err != nil {
			return nil, err
		}
		stmts = append(stmts, sqldb.Stmt{
			Query: `INSERT INTO processed_events (day, consumer, tenant_id, event_id)
				SELECT $1, $2, $3, value FROM json_each($4) WHERE true ` + onceOnly,
			Args: []any{g.day, consumer, g.tenant, string(list)},
		})
	}
	return stmts, nil
}
