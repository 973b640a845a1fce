package store

import (
	"cmp"
	"context"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

const (
	waitColumns = "graph_id, created_at, since, until, reminders, remind_at, wait_key, prompt, prompt_seq, " +
		"prompt_size, assignees, message_name, message_key"
	insertWait = "INSERT INTO engine_wait (tenant, execution, node, " + waitColumns + ")" +
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)"
	deleteWait     = "DELETE FROM engine_wait WHERE tenant = $1 AND execution = $2 AND node = $3"
	insertAssignee = "INSERT INTO engine_assignee (tenant, assignee, execution, node) VALUES ($1, $2, $3, $4)"
	deleteAssignee = "DELETE FROM engine_assignee WHERE tenant = $1 AND execution = $2 AND node = $3"
)

// waits are the statements of what a batch changes among the waits.
func waits(b *engine.Batch) (stmts []sqldb.Stmt) {
	for i := range b.Waited {
		w := &b.Waited[i]
		for _, query := range [...]string{deleteWait, deleteAssignee} {
			stmts = append(stmts, sqldb.Stmt{Query: query, Args: []any{w.Tenant, w.Execution, w.Node}})
		}
	}
	for i := range b.Waits {
		w := &b.Waits[i]
		assignees := ""
		if w.Assignees != nil {
			raw, _ := json.Marshal(w.Assignees) // texts alone
			assignees = string(raw)
		}
		awaited := cmp.Or(w.Awaits, &flow.Awaited{})
		stmts = append(stmts, sqldb.Stmt{Query: insertWait, Args: []any{
			w.Tenant, w.Execution, w.Node, w.GraphID, int64(w.CreatedAt), int64(w.Since), int64(w.Until),
			w.Reminders, int64(w.RemindAt), w.WaitKey, string(w.Prompt), int64(w.PromptRef.Seq), w.PromptRef.Size,
			assignees, awaited.Name, awaited.Key,
		}})
		if w.Assignees == nil {
			continue
		}
		for _, name := range engine.AssigneeNames(w.Assignees.Users, w.Assignees.Roles, w.Assignees.Groups) {
			stmts = append(stmts, sqldb.Stmt{Query: insertAssignee, Args: []any{w.Tenant, name, w.Execution, w.Node}})
		}
	}
	return stmts
}

// Waits reads a page of the nodes that wait, and counts all.
func (s *Store) Waits(ctx context.Context, q engine.WaitQuery) (page []engine.WaitRow, total int, err error) {
	err = s.read(ctx, "store.waits", func(ctx context.Context, sql *sqldb.Tx) error {
		binds := sqldb.Bind(q.Tenant)
		where := " FROM engine_wait AS w WHERE w.tenant = $1"
		if q.GraphID != "" {
			where += " AND w.graph_id = " + binds.Add(q.GraphID)
		}
		if q.NodeID != "" {
			where += " AND w.node = " + binds.Add(q.NodeID)
		}
		if q.From != 0 {
			where += " AND w.since >= " + binds.Add(int64(q.From))
		}
		if q.For != nil {
			where += " AND (w.assignees = '' OR EXISTS (SELECT 1 FROM engine_assignee AS a WHERE a.tenant = $1" +
				" AND a.execution = w.execution AND a.node = w.node AND " +
				binds.OneOf(sql, "a.assignee", engine.AssigneeNames(q.For.Users, q.For.Roles, q.For.Groups)) + "))"
		}
		if err := sql.Row(ctx, "SELECT count(*)"+where, binds.Args()...).Scan(&total); err != nil {
			return err
		}
		if q.After.Node != "" {
			where += " AND (w.since, w.execution, w.node) > (" + binds.Add(int64(q.After.Since)) + ", " +
				binds.Add(q.After.Execution) + ", " + binds.Add(q.After.Node) + ")"
		}
		query := "SELECT w.execution, w.node, w." + waitColumns + where +
			" ORDER BY w.since, w.execution, w.node LIMIT " + binds.Add(q.Limit) + " OFFSET " + binds.Add(q.Offset)
		if page, err = sqldb.Collect(ctx, sql, scanWait, query, binds.Args()...); err != nil {
			return err
		}
		for i := range page {
			w := &page[i]
			w.Tenant = q.Tenant
			h, err := headByNum(ctx, sql, q.Tenant, w.Execution)
			if err != nil {
				return err
			}
			w.ID, w.BusinessKey, w.CorrelationID = h.ID, h.BusinessKey, h.CorrelationID
			w.GraphVersion = h.GraphVersion
		}
		return nil
	})
	return page, total, err
}

const (
	selectWaitsOf = "SELECT execution, node, " + waitColumns +
		" FROM engine_wait WHERE tenant = $1 AND execution = $2"
	selectAssigneesOf = "SELECT node, assignee FROM engine_assignee WHERE tenant = $1 AND execution = $2"
)

// WaitsOf reads the rows of one execution, for the check of the log.
func (s *Store) WaitsOf(
	ctx context.Context, tenant string, execution int64,
) (rows []engine.WaitRow, names map[string][]string, err error) {
	names = map[string][]string{}
	err = s.read(ctx, "store.waits", func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx, sqldb.Stmt{
			Query: selectWaitsOf, Args: []any{tenant, execution},
			Row: func(r *sqldb.Row) error {
				w, err := scanWait(r)
				w.Tenant = tenant
				rows = append(rows, w)
				return err
			},
		}, sqldb.Stmt{
			Query: selectAssigneesOf, Args: []any{tenant, execution},
			Row: func(r *sqldb.Row) error {
				var node, name string
				err := r.Scan(&node, &name)
				names[node] = append(names[node], name)
				return err
			},
		})
	})
	return rows, names, err
}

func scanWait(row *sqldb.Row) (w engine.WaitRow, err error) {
	var prompt, assignees string
	var awaited flow.Awaited
	var seq, size, reminders int64
	err = row.Scan(&w.Execution, &w.Node, &w.GraphID, (*int64)(&w.CreatedAt), (*int64)(&w.Since), (*int64)(&w.Until),
		&reminders, (*int64)(&w.RemindAt), &w.WaitKey, &prompt, &seq, &size, &assignees, &awaited.Name, &awaited.Key)
	if err != nil {
		return w, err
	}
	if prompt != "" {
		w.Prompt = flow.Data(prompt)
	}
	w.Reminders = int(reminders)
	w.PromptRef = engine.PromptRef{Seq: uint64(seq), Size: int(size)}
	if awaited.Name != "" {
		w.Awaits = &awaited
	}
	if assignees != "" {
		err = fault.Wrap("store.waits", json.Unmarshal([]byte(assignees), &w.Assignees))
	}
	return w, err
}
