package store

import (
	"context"
	"errors"
	"math"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

const (
	selectNewest = `SELECT commit_no, first_seq, last_seq FROM engine_log
		WHERE execution = $1 ORDER BY commit_no DESC LIMIT 1`
	selectSnapshot = `SELECT commit_no, snapshot FROM engine_log
		WHERE execution = $1 AND reducer = $2 AND last_seq <= $3 ORDER BY commit_no DESC LIMIT 1`
	selectHistory = `SELECT commit_no, first_seq, last_seq, body FROM engine_log
		WHERE execution = $1 AND commit_no >= $2 ORDER BY commit_no`
	selectRows = `SELECT commit_no, first_seq, last_seq, reducer, body, snapshot FROM engine_log
		WHERE execution = $1 AND commit_no >= $2 ORDER BY commit_no LIMIT $3`
	selectAfter = `SELECT commit_no, first_seq, last_seq, body FROM engine_log
		WHERE execution = $1 AND commit_no > $2 ORDER BY commit_no LIMIT $3`
	selectRow = "SELECT first_seq, last_seq, body FROM engine_log WHERE execution = $1 AND commit_no = $2"

	// selectCommitOf finds the first commit whose last_seq is $2 or more by halving the range:
	// last_seq never falls along a log.
	selectCommitOf = `WITH RECURSIVE half (low, high) AS (
			SELECT CAST(1 AS BIGINT), (SELECT coalesce(max(commit_no), 0) + 1 FROM engine_log WHERE execution = $1)
			UNION ALL
			SELECT CASE WHEN l.last_seq >= $2 THEN half.low ELSE l.commit_no + 1 END,
			CASE WHEN l.last_seq >= $2 THEN l.commit_no ELSE half.high END
			FROM half JOIN engine_log AS l ON l.execution = $1 AND l.commit_no = (half.low + half.high) / 2
			WHERE half.low < half.high)
		SELECT low FROM half WHERE low = high`
)

func (s *Store) Head(ctx context.Context, tenant string, id flow.ID) (head engine.Head, row engine.LogRow, err error) {
	err = s.read(ctx, "store.head", func(ctx context.Context, sql *sqldb.Tx) error {
		if head, err = headByID(ctx, sql, tenant, id); err != nil {
			return err
		}
		row.Execution = head.Num
		return sql.Row(ctx, selectNewest, head.Num).Scan(&row.CommitNo, &row.FirstSeq, &row.LastSeq)
	})
	return head, row, err
}

const (
	selectCommits = `SELECT coalesce(max(l.commit_no), 0)
		FROM engine_execution e JOIN engine_log l ON l.execution = e.num WHERE e.id = $1`
	pgCommits = `SELECT w.i, e.commit_no FROM unnest($1::uuid[]) WITH ORDINALITY AS w (id, i)
		LEFT JOIN engine_execution AS e ON e.id = w.id`
)

func (s *Store) Commits(ctx context.Context, ids []flow.ID) (commits []int64, err error) {
	commits = make([]int64, len(ids))
	err = s.read(ctx, "store.commits", func(ctx context.Context, sql *sqldb.Tx) error {
		if s.pg {
			asked := column(ids, func(id *flow.ID) []byte { return id[:] })
			return sql.Batch(ctx, sqldb.Stmt{Query: pgCommits, Args: []any{asked}, Row: func(r *sqldb.Row) error {
				var i, no int64
				err := r.Scan(&i, &no)
				commits[i-1] = no
				return err
			}})
		}
		for i := range ids {
			if err := sql.Row(ctx, selectCommits, ids[i][:]).Scan(&commits[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return commits, err
}

func (s *Store) History(ctx context.Context, tenant string, id flow.ID, upTo uint64) (h engine.History, err error) {
	if upTo == 0 {
		upTo = maxSeq
	}
	err = s.read(ctx, "store.history", func(ctx context.Context, sql *sqldb.Tx) error {
		if s.pg {
			h, err = pgHistory(ctx, sql, engine.Want{Tenant: tenant, ID: id}, int64(upTo))
			return err
		}
		head, err := headByID(ctx, sql, tenant, id)
		if err != nil {
			return err
		}
		h, err = history(ctx, sql, head, upTo)
		return err
	})
	return h, err
}

// maxSeq is beyond every event.
const maxSeq = math.MaxInt64

func (s *Store) Row(ctx context.Context, execution, commitNo int64) (row engine.LogRow, err error) {
	err = s.read(ctx, "store.row", func(ctx context.Context, sql *sqldb.Tx) error {
		row, err = logRow(ctx, sql, execution, commitNo)
		return err
	})
	return row, err
}

func (s *Store) Rows(ctx context.Context, execution int64, from uint64, limit int) (rows []engine.LogRow, err error) {
	err = s.read(ctx, "store.rows", func(ctx context.Context, sql *sqldb.Tx) error {
		rows, err = logRows(ctx, sql, execution, from, limit)
		return err
	})
	return rows, err
}

func (s *Store) RowsAfter(
	ctx context.Context, execution, commitNo int64, limit int,
) (rows []engine.LogRow, err error) {
	err = s.read(ctx, "store.rows", func(ctx context.Context, sql *sqldb.Tx) error {
		rows, err = sqldb.Collect(ctx, sql, func(r *sqldb.Row) (engine.LogRow, error) {
			row := engine.LogRow{Execution: execution}
			return row, r.Scan(&row.CommitNo, &row.FirstSeq, &row.LastSeq, &row.Body)
		}, selectAfter, execution, commitNo, limit)
		return err
	})
	return rows, err
}

func history(ctx context.Context, sql *sqldb.Tx, head engine.Head, upTo uint64) (engine.History, error) {
	h := engine.History{Found: true, Head: head}
	var from int64
	var snapshot []byte
	err := sql.Row(ctx, selectSnapshot, head.Num, engine.ReducerVersion, upTo).Scan(&from, &snapshot)
	if err != nil && !errors.Is(err, sqldb.ErrNoRow) {
		return h, err
	}
	for row, err := range sql.Query(ctx, selectHistory, head.Num, from) {
		if err != nil {
			return h, err
		}
		r := engine.LogRow{Execution: head.Num}
		if err := row.Scan(&r.CommitNo, &r.FirstSeq, &r.LastSeq, &r.Body); err != nil {
			return h, err
		}
		if r.FirstSeq > upTo && r.CommitNo > from {
			break // FirstSeq never falls along a log
		}
		h.Rows = append(h.Rows, r)
	}
	if from > 0 {
		h.Rows[0].Snapshot, h.Rows[0].Reducer = snapshot, engine.ReducerVersion
	}
	return h, nil
}

func logRow(ctx context.Context, sql *sqldb.Tx, execution, commitNo int64) (engine.LogRow, error) {
	r := engine.LogRow{Execution: execution, CommitNo: commitNo}
	err := sql.Row(ctx, selectRow, execution, commitNo).Scan(&r.FirstSeq, &r.LastSeq, &r.Body)
	return r, err
}

// rowsPage is how many rows of a log are read at a time.
const rowsPage = 200

// logRows are the rows with LastSeq >= from until limit events are covered.
func logRows(
	ctx context.Context, sql *sqldb.Tx, execution int64, from uint64, limit int,
) (rows []engine.LogRow, err error) {
	next := int64(1)
	if from > 1 {
		if err := sql.Row(ctx, selectCommitOf, execution, from).Scan(&next); err != nil {
			return nil, err
		}
	}
	page := min(max(limit, 1), rowsPage)
	for {
		n := 0
		for row, err := range sql.Query(ctx, selectRows, execution, next, page) {
			if err != nil {
				return nil, err
			}
			r := engine.LogRow{Execution: execution}
			if err := row.Scan(&r.CommitNo, &r.FirstSeq, &r.LastSeq, &r.Reducer, &r.Body, &r.Snapshot); err != nil {
				return nil, err
			}
			rows = append(rows, r)
			if r.LastSeq >= from && r.LastSeq-from+1 >= uint64(limit) {
				return rows, nil
			}
			n, next = n+1, r.CommitNo+1
		}
		if n < page {
			return rows, nil
		}
	}
}
