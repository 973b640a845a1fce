package store

import (
	"context"

	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/sqldb"
)

const (
	pgNumbers       = "SELECT news, execution, commit_no, length(body) FROM engine_log WHERE news > $1 ORDER BY news LIMIT $2"
	pgOldestRunning = "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
	pgNewID         = "SELECT pg_current_xact_id()::text::bigint"

	pgBodies = `SELECT w.i, coalesce(e.tenant, ''), e.id, l.commit_no, l.first_seq, l.last_seq, l.body
		FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS w (execution, commit_no, i)
		LEFT JOIN engine_log AS l ON l.execution = w.execution AND l.commit_no = w.commit_no
		LEFT JOIN engine_execution AS e ON e.num = w.execution`
)

// numbered is a row that has a number.
type numbered struct {
	rowPlace
	number int64
	size   int64 // of its body
}

// sight is what a source sees of the log at one instant.
type sight struct {
	rows   []numbered // those behind the number asked for, in order
	wanted map[string]engine.Publicity
	oldest int64 // the oldest transaction that is running
}

// pgPage reads the notices behind a number up to one that may still appear. When the
// first is such, it looks twice: mostly the transaction was undone and is gone.
func (s *Source) pgPage(ctx context.Context, number int64, limit int) ([]*notice, error) {
	for again := false; ; again = true {
		seen, err := s.look(ctx, number, limit)
		if err != nil {
			return nil, err
		}
		s.holes.settle(seen.oldest)
		n := s.holes.passable(number, seen.rows)
		if n < len(seen.rows) && s.holes.top == 0 {
			mark, err := s.mark(ctx)
			if err != nil {
				return nil, err
			}
			s.holes.wait(seen.rows[len(seen.rows)-1].number, mark)
			if n == 0 && !again {
				continue
			}
		}
		return s.pgNotices(ctx, seen.rows[:n], seen.wanted)
	}
}

// look reads which rows there are, in one trip.
func (s *Source) look(ctx context.Context, number int64, limit int) (*sight, error) {
	seen := &sight{wanted: map[string]engine.Publicity{}}
	err := s.store.db.Read(ctx, func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx, publicity(seen.wanted),
			sqldb.Stmt{Query: pgOldestRunning, Row: func(r *sqldb.Row) error { return r.Scan(&seen.oldest) }},
			sqldb.Stmt{Query: pgNumbers, Args: []any{number, limit}, Row: func(r *sqldb.Row) error {
				var n numbered
				err := r.Scan(&n.number, &n.execution, &n.commitNo, &n.size)
				seen.rows = append(seen.rows, n)
				return err
			}})
	})
	s.store.news.known.Store(&seen.wanted)
	return seen, err
}

// mark gives out an id.
func (s *Source) mark(ctx context.Context) (id int64, err error) {
	err = s.store.db.Write(ctx, sqldb.Other, func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Row(ctx, pgNewID).Scan(&id)
	})
	return id, err
}

// pgNotices is what rows tell. Those that this process has not just written are read, as
// many as fit into maxPage and one more.
func (s *Source) pgNotices(ctx context.Context, rows []numbered, wanted map[string]engine.Publicity) ([]*notice, error) {
	out := s.store.recent.take(rows, wanted)
	var missing []int
	var size int64
	for i := range rows {
		if out[i] != nil {
			continue
		}
		if size >= maxPage {
			out = out[:i]
			break
		}
		missing = append(missing, i)
		size += rows[i].size
	}
	if len(missing) == 0 {
		return out, nil
	}
	executions := column(missing, func(i *int) int64 { return rows[*i].execution })
	commits := column(missing, func(i *int) int64 { return rows[*i].commitNo })
	err := s.store.db.Read(ctx, func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx, sqldb.Stmt{Query: pgBodies, Args: []any{executions, commits}, Row: func(r *sqldb.Row) error {
			n, err := scanNews(r)
			i := missing[n.number-1]
			n.number = rows[i].number
			out[i] = s.notice(&n, wanted)
			return err
		}})
	})
	return out, err
}
