package store

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// TestStatementsUseAnIndexOnPostgreSQL asks the database how it would run what must
// stay fast on large tables, also when what it knows of them is old or nothing.
func TestStatementsUseAnIndexOnPostgreSQL(t *testing.T) {
	for _, steps := range [][]string{{"fill"}, {"analyze", "fill"}, {"fill", "analyze"}} {
		t.Run(strings.Join(steps, " then "), func(t *testing.T) {
			db, err := sqldb.Open(t.Context(), sqldb.Config{URL: pgtest.New(t), Migrations: []sqldb.Migration{
				Migration(),
			}})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			for _, step := range steps {
				if err := db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
					if step == "analyze" {
						_, err := tx.Exec(ctx, "ANALYZE")
						return err
					}
					return fillTables(ctx, tx)
				}); err != nil {
					t.Fatal(err)
				}
			}
			checkPlans(t, db)
		})
	}
}

// fillTables makes every table large enough that walking through it is a bad plan.
func fillTables(ctx context.Context, tx *sqldb.Tx) error {
	for _, query := range []string{
		`INSERT INTO engine_execution (num, id, tenant, graph_id, graph_version, status, created_at, ended_at,
			archived_at, due_at, commit_no)
			SELECT n, gen_random_uuid(), 't', 'g' || n % 20, 1, n % 4, n, n, 0,
			CASE WHEN n % 10 = 0 THEN n ELSE 0 END, 1 FROM generate_series(1, 20000) n`,
		`UPDATE engine_execution SET correlation_id = 'c' || num, business_key = 'k' || num, outcome = 'o' || num % 7,
			error_code = 'e' || num % 9, waiting = num % 2`,
		`INSERT INTO engine_wait (tenant, execution, node, graph_id, created_at, since, until, reminders, remind_at,
			wait_key, prompt, prompt_seq, prompt_size, assignees)
			SELECT 't', n, 'n' || n % 7, 'g' || n % 20, n, n, 0, 0, 0, '', '', 0, 0, ''
			FROM generate_series(1, 20000) n`,
		`INSERT INTO engine_label (tenant, label, created_at, execution)
			SELECT 't', 'l' || m || '=' || n % 7, n, n FROM generate_series(1, 20000) n, generate_series(1, 3) m`,
		`INSERT INTO engine_log (execution, commit_no, first_seq, last_seq, body)
			SELECT n, 1, 1, 1, '' FROM generate_series(1, 20000) n`,
		`INSERT INTO engine_ready (ready_at, execution, tenant, queue, node)
			SELECT n, n, 't', 'q', 'a' FROM generate_series(1, 5000) n`,
		`INSERT INTO engine_key (digest, tenant, endpoint, key, hash, at, body)
			SELECT decode(md5(n::text), 'hex'), 't', 'e', 'k', '', n, '' FROM generate_series(1, 5000) n`,
		`INSERT INTO engine_count SELECT 't', 'g' || n, n % 4, 1 FROM generate_series(1, 5000) n`,
		`INSERT INTO engine_graph (tenant, id, version, digest, body, created_at)
			SELECT 't', 'g' || n, 1, '', '', 1 FROM generate_series(1, 5000) n`,
	} {
		if _, err := tx.Exec(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

func checkPlans(t *testing.T, db *sqldb.DB) {
	statements := map[string]string{
		"lock": pgLock, "seize": pgSeize, "heads": pgHeads, "logs": pgRows, "create": pgCreate, "update": pgUpdate,
		"bump": pgBump, "append": pgAppend,
		"remember": pgRemember, "keys": pgKeys, "take": pgTake, "add": pgAdd, "count": pgCount, "passing": pgPassing,
		"compact passing": compactPassing,
		"fold":            compactCountDeltas, "commits": pgCommits,
		"retain": pgOldest, "bodies": pgBodies,
	}
	ordered := map[string]string{ // and nothing is sorted
		"ready": pgReady, "by id": selectByID, "by number": selectByNum, "due": dueBegin + dueEnd,
		"due in a shard": dueBegin + pgShard + dueEnd,
		"due after one":  dueBegin + pgShard + dueAfter + dueEnd, "newest row": selectNewest,
		"rows": selectRows, "row": selectRow, "commit of": selectCommitOf, "newest graph": selectNewestGraph,
		"scan":   selectAll,
		"graphs": selectGraphs, "numbers": pgNumbers, "instant of news": selectInstant, "last news": selectLastNumber,
		"unpublished": selectUnpublished,
	}
	for name, q := range listQueries {
		l := newList(sqldb.Postgres, q)
		ordered[name+", total"] = l.counted().Query
		for driver, query := range listStatements(l) {
			if driver == "ended_at" { // what is sorted is few
				statements[name+" by "+driver+": "+query] = query
			} else {
				ordered[name+" by "+driver+": "+query] = query
			}
		}
	}
	// Deltas of counts are few: they are folded all the time.
	bad := regexp.MustCompile(
		`Seq Scan on engine_(execution|label|wait|log|key|ready|graph|count) |Hash Join|Merge Join`)
	worse := regexp.MustCompile(bad.String() + `|(?m)(^|-> +)(Incremental )?Sort `)
	for name, query := range statements {
		explain(t, db, name, query, bad)
	}
	for name, query := range ordered {
		explain(t, db, name, query, worse)
	}
}

// explain complains about a plan with steps that it must not have.
func explain(t *testing.T, db *sqldb.DB, name, query string, bad *regexp.Regexp) {
	t.Helper()
	var plan []string
	err := db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		plan = nil
		args := 0
		for strings.Contains(query, fmt.Sprintf("$%d", args+1)) {
			args++
		}
		execute := "EXPLAIN EXECUTE asked"
		if args > 0 {
			execute += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", args), ", ") + ")"
		}
		return tx.Batch(ctx, sqldb.Stmt{Query: "PREPARE asked AS " + query},
			sqldb.Stmt{Query: execute, Row: func(r *sqldb.Row) error {
				var line string
				err := r.Scan(&line)
				plan = append(plan, line)
				return err
			}}, sqldb.Stmt{Query: "DEALLOCATE asked"})
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text := strings.Join(plan, "\n\t")
	if bad.MatchString(text) {
		t.Errorf("%s: %s\n\t%s", name, query, text)
	}
	for i, step := range plan {
		if !scan.MatchString(step) || strings.Contains(step, "engine_count_delta") ||
			strings.Contains(step, "engine_execution_due") {
			continue
		}
		found := i+1 < len(plan) && strings.Contains(plan[i+1], "Index Cond")
		limited := i > 0 && strings.Contains(plan[i-1], "Limit ")
		if !found && !limited {
			t.Errorf("%s: %s\n\t%s\nwalks an index: %s", name, query, text, step)
		}
	}
}

// scan is a step that reads an index, all of it when it has no condition.
var scan = regexp.MustCompile(`Index (Only )?Scan`)
