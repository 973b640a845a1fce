package store

import (
	"context"

	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/sqldb"
)

const (
	pgNumbers = "SELECT news, execution, commit_no, length(body) FROM engine_log WHERE news > $1 ORDER BY news LIMIT $2"

	// Who has inserted into the log, or is about to, and has not ended.
	pgHolders = `SELECT virtualtransaction FROM pg_locks WHERE locktype = 'relation' AND relation = 'engine_log'::regclass
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND mode = 'RowExclusiveLock'`

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

// pgPage reads the notices behind a number up to one that may still appear. When the
// first is such, it looks twice: mostly the transaction was undone and is gone.
func (s *Source) pgPage(ctx context.Context, number int64, limit int) ([]*notice, error) {
	for again := false; ; again = true {
		if err := s.settle(ctx); err != nil {
			return nil, err
		}
		rows, wanted, err := s.look(ctx, number, limit)
		if err != nil {
			return nil, err
		}
		n := s.holes.passable(number, rows)
		if n < len(rows) && s.holes.top == 0 {
			holders, err := s.holders(ctx)
			if err != nil {
				return nil, err
			}
			s.holes.wait(rows[len(rows)-1].number, holders)
			if n == 0 && !again {
				continue
			}
		}
		return s.pgNotices(ctx, rows[:n], wanted)
	}
}

// settle gives up what is missing when nobody is left who could have it.
func (s *Source) settle(ctx context.Context) error {
	if s.holes.top == 0 {
		return nil
	}
	running, err := s.holders(ctx)
	if err == nil {
		s.holes.settle(running)
	}
	return err
}

// holders are the transactions that may have numbers which cannot be seen.
func (s *Source) holders(ctx context.Context) (all []string, err error) {
	err = s.store.db.Read(ctx, func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx, sqldb.Stmt{Query: pgHolders, Row: func(r *sqldb.Row) error {
			var holder string
			err := r.Scan(&holder)
			all = append(all, holder)
			return err
		}})
	})
	return all, err
}

// look reads which rows there are behind a number, in order, and what tenants want.
func (s *Source) look(ctx context.Context, number int64, limit int) (rows []numbered, wanted map[string]engine.Publicity, err error) {
	wanted = map[string]engine.Publicity{}
	err = s.store.db.Read(ctx, func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx, publicity(wanted),
			sqldb.Stmt{Query: pgNumbers, Args: []any{number, limit}, Row: func(r *sqldb.Row) error {
				var n numbered
				err := r.Scan(&n.number, &n.execution, &n.commitNo, &n.size)
				rows = append(rows, n)
				return err
			}})
	})
	if err == nil {
		s.store.news.known.Store(&wanted)
	}
	return rows, wanted, err
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
