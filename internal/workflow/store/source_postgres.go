package store

import (
	"context"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
)

const (
	pgNumbers = "SELECT news, execution, commit_no, length(body) FROM engine_log WHERE news > $1 ORDER BY news LIMIT $2"

	pgBodies = `SELECT w.i, coalesce(e.tenant, ''), e.id, l.commit_no, l.first_seq, l.last_seq, l.body
		FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS w (execution, commit_no, i)
		LEFT JOIN engine_log AS l ON l.execution = w.execution AND l.commit_no = w.commit_no
		LEFT JOIN engine_execution AS e ON e.num = w.execution`
)

type numbered struct {
	rowPlace
	number int64
	size   int64 // of its body
}

// pgPage reads the publications after a number, up to one that may still appear.
func (s *Source) pgPage(ctx context.Context, number int64, limit int) ([]*publication, error) {
	var rows []numbered
	var wanted map[string]engine.PublishPolicy
	n, err := s.holes.Pass(ctx, number, func(ctx context.Context) (numbers []int64, err error) {
		rows, wanted, err = s.readNumbers(ctx, number, limit)
		return column(rows, func(r *numbered) int64 { return r.number }), err
	})
	if err != nil {
		return nil, err
	}
	return s.pgPublications(ctx, rows[:n], wanted)
}

// readNumbers reads which rows there are after a number, in order, and the publish policies.
func (s *Source) readNumbers(
	ctx context.Context, number int64, limit int,
) (rows []numbered, wanted map[string]engine.PublishPolicy, err error) {
	wanted = map[string]engine.PublishPolicy{}
	err = s.store.db.Read(ctx, func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx, publishPolicies(wanted),
			sqldb.Stmt{Query: pgNumbers, Args: []any{number, limit}, Row: func(r *sqldb.Row) error {
				var n numbered
				err := r.Scan(&n.number, &n.execution, &n.commitNo, &n.size)
				rows = append(rows, n)
				return err
			}})
	})
	if err == nil {
		s.store.publishing.policies.Store(&wanted)
	}
	return rows, wanted, err
}

// pgPublications are the publications of rows. Those that this process has not just written are read, as many as fit
// into maxPage and one more.
func (s *Source) pgPublications(
	ctx context.Context, rows []numbered, wanted map[string]engine.PublishPolicy,
) ([]*publication, error) {
	out := s.store.recent.remove(rows, wanted)
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
		return sql.Batch(ctx, sqldb.Stmt{
			Query: pgBodies, Args: []any{executions, commits},
			Row: func(r *sqldb.Row) error {
				n, err := scanPublication(r)
				i := missing[n.number-1]
				n.number = rows[i].number
				out[i] = s.publication(&n, wanted)
				return err
			},
		})
	})
	return out, err
}
