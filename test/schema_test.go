package test

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

// TestEveryMigrationFolderIsRun asks that the migrations which a server runs are exactly those
// of the tree: a package that has tables and is not wired works until its first statement.
func TestEveryMigrationFolderIsRun(t *testing.T) {
	want := map[string][]string{}
	tree := os.DirFS("..")
	err := fs.WalkDir(tree, "internal", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "migrations" {
			want[path.Base(path.Dir(name))], err = fs.Glob(mustSub(t, tree, name), "*/*")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// Databases know migrations by the names that packages had when they first ran: the store
	// keeps the tables of the engine, and two packages were renamed.
	for folder, name := range map[string]string{"store": "engine", "recheck": "pdca", "inbound": "trigger"} {
		want[name] = want[folder]
		delete(want, folder)
	}
	got := map[string][]string{}
	for _, m := range app.Migrations() {
		if got[m.Name], err = fs.Glob(m.FS, "*/*"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files by package; add a package to migrations in core.go (-in the tree +run):\n%s", diff)
	}
}

func mustSub(t *testing.T, tree fs.FS, dir string) fs.FS {
	t.Helper()
	sub, err := fs.Sub(tree, dir)
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

// TestBothDatabasesHaveTheSameTables runs every migration on both databases and compares what
// they made: columns, what they hold and whether they may be empty, defaults, primary keys,
// indexes, uniqueness, conditions of partial indexes, and events that fire triggers.
func TestBothDatabasesHaveTheSameTables(t *testing.T) {
	if postgres() {
		t.Skip("SKIP: the run of SQLite has compared them")
	}
	lite := sqltest.Open(t, sqldb.Config{Path: filepath.Join(t.TempDir(), app.DatabaseFile)}, app.Migrations()...)
	post := sqltest.Open(t, sqldb.Config{URL: pgtest.New(t)}, app.Migrations()...)
	onLite, onPost := schema(t, lite, liteSchema), schema(t, post, postSchema)
	if len(onLite) < 700 {
		t.Fatalf("only %d facts: the test reads too little", len(onLite))
	}
	for _, side := range []struct {
		name        string
		has, lacks  []string
		intentional map[string]string
	}{{"SQLite", onLite, onPost, onlySQLite}, {"PostgreSQL", onPost, onLite, onlyPostgres}} {
		used := map[string]bool{}
		for _, fact := range side.has {
			table, _, _ := strings.Cut(fact, " ")
			table, _, _ = strings.Cut(table, ".")
			_, whole := side.intentional[table]
			_, alone := side.intentional[fact]
			used[table], used[fact] = true, true
			switch same := slices.Contains(side.lacks, fact); {
			case !same && !whole && !alone:
				t.Errorf("only %s has: %s", side.name, fact)
			case same && alone:
				t.Errorf("an intentional difference that is none: both have %s", fact)
			}
		}
		for fact := range side.intentional {
			if !used[fact] {
				t.Errorf("an intentional difference that is none: %s has no %s", side.name, fact)
			}
		}
	}
}

// TestEveryKeyOfATenantHoldsTheTenant asks that what is unique in a table with a tenant is
// unique within the tenant: else the names and keys that one tenant chooses are taken for
// another, or its rows are found there.
func TestEveryKeyOfATenantHoldsTheTenant(t *testing.T) {
	db := sqltest.Open(t, sqldb.Config{Path: filepath.Join(t.TempDir(), app.DatabaseFile)}, app.Migrations()...)
	facts := schema(t, db, liteSchema)
	unique := regexp.MustCompile(`^(\w+) (?:primary key|unique index \w*) \((.*?)\)`)
	keys := 0
	for _, fact := range facts {
		m := unique.FindStringSubmatch(fact)
		if m == nil || !slices.Contains(facts, m[1]+".tenant: text") &&
			!slices.Contains(facts, m[1]+".tenant_id: text") {
			continue
		}
		keys++
		columns := strings.Split(m[2], ", ")
		holds := slices.Contains(columns, "tenant") || slices.Contains(columns, "tenant_id")
		if _, listed := keysOfAll[fact]; listed == holds {
			t.Errorf("%s: holds the tenant: %t, in keysOfAll: %t", fact, holds, listed)
		}
	}
	if keys < 60 {
		t.Errorf("only %d keys: the test reads too little", keys)
	}
}

// keysOfAll are keys that no tenant chooses, and that are therefore unique over all tenants.
var keysOfAll = map[string]string{
	"audit_log primary key (num)":                            "the server numbers the rows",
	"bulk primary key (num)":                                 "the server numbers the rows",
	"bulk unique index bulk_id (id)":                         "the server draws it",
	"bus_dead primary key (num)":                             "the server numbers the rows",
	"bus_dead unique index bus_dead_id (id)":                 "the server draws it",
	"bus_lane primary key (consumer, partition_key)":         "a partition key holds its tenant",
	"bus_replay primary key (id, part)":                      "the server draws it",
	"engine_execution primary key (num)":                     "the server numbers the rows",
	"engine_execution unique index engine_execution_id (id)": "the server draws it",
	"engine_key primary key (id)":                            "the server numbers the rows",
	"engine_key unique index engine_key_digest (digest)":     "the digest is made of the tenant too",
	"outbox_events primary key (id)":                         "the server numbers the rows",
	"reporting_rebuild primary key (num)":                    "the server numbers the rows",
	"search_doc primary key (place)":                         "the server numbers the rows",
	"search_rebuild primary key (num)":                       "the server numbers the rows",
	"search_tenant primary key (num)":                        "the server numbers the rows",
	"sharing_model primary key (num)":                        "the server numbers the rows",
}

// What one database has alone, a whole table or one fact, and why.
var (
	onlySQLite = map[string]string{
		"engine_log.id: number":       rowOrder,
		"engine_log primary key (id)": rowOrder,
		"engine_log unique index engine_log_commit (execution, commit_no)":                     rowOrder,
		"engine_log.news: number or nothing":                                                   numberer,
		"records_count.seq: number":                                                            deltas,
		"engine_execution index engine_execution_due (due_at) WHERE due_at > 0":                rowid,
		"engine_execution index engine_execution_status (tenant, status, created_at)":          rowid,
		"engine_execution index engine_execution_graph (tenant, graph_id, status, created_at)": rowid,
		"engine_execution index engine_execution_chain " +
			"(tenant, correlation_id, created_at) WHERE correlation_id <> ''": rowid,
		"engine_execution index engine_execution_key " +
			"(tenant, business_key, created_at) WHERE business_key <> ''": rowid,
		"engine_execution index engine_execution_ended " +
			"(tenant, ended_at, created_at) WHERE ended_at > 0": rowid,
		"engine_execution index engine_execution_outcome " +
			"(tenant, outcome, created_at) WHERE outcome <> ''": rowid,
		"engine_execution index engine_execution_error " +
			"(tenant, error_code, created_at) WHERE error_code <> ''": rowid,
		"engine_execution index engine_execution_waiting (tenant, waiting, created_at) WHERE waiting = 1": rowid,
		"engine_execution index engine_execution_archived (tenant, created_at) WHERE archived_at > 0":     rowid,
		"outbox_events index outbox_events_published (part, published_at) WHERE published_at IS NOT NULL": rowid,
		"records_member.has_responded: number": noTruth,
		"search_gone":                          fullText,
		"search_doc primary key (place)":       fullText,
		"search_doc unique index search_doc_record (tenant_id, object, id)": fullText,
	}
	onlyPostgres = map[string]string{
		"engine_log primary key (execution, commit_no)":                                     rowOrder,
		"engine_log.news: number or nothing default nextval('engine_log_number'::regclass)": numberer,
		"engine_count_delta":                 deltas,
		"engine_passing_delta":               deltas,
		"engine_execution.commit_no: number": "the row is locked for a commit, and says which one comes next",
		"records_count.seq: number default nextval('records_count_seq'::regclass)":                  deltas,
		"records_count index records_count_unfolded (seq) WHERE seq > 0":                            deltas,
		"engine_execution index engine_execution_due (due_at, num) WHERE due_at > 0":                rowid,
		"engine_execution index engine_execution_status (tenant, status, created_at, num)":          rowid,
		"engine_execution index engine_execution_graph (tenant, graph_id, status, created_at, num)": rowid,
		"engine_execution index engine_execution_chain " +
			"(tenant, correlation_id, created_at, num) WHERE correlation_id <> ''": rowid,
		"engine_execution index engine_execution_key " +
			"(tenant, business_key, created_at, num) WHERE business_key <> ''": rowid,
		"engine_execution index engine_execution_ended " +
			"(tenant, ended_at, created_at, num) WHERE ended_at > 0": rowid,
		"engine_execution index engine_execution_outcome " +
			"(tenant, outcome, created_at, num) WHERE outcome <> ''": rowid,
		"engine_execution index engine_execution_error " +
			"(tenant, error_code, created_at, num) WHERE error_code <> ''": rowid,
		"engine_execution index engine_execution_waiting (tenant, waiting, created_at, num) WHERE waiting = 1": rowid,
		"engine_execution index engine_execution_archived (tenant, created_at, num) WHERE archived_at > 0":     rowid,
		"outbox_events index outbox_events_published (part, published_at, id) WHERE published_at IS NOT NULL":  rowid,
		"records_member.has_responded: boolean":                    noTruth,
		"search_doc.tokens: tsvector":                              fullText,
		"search_doc primary key (tenant_id, object, id)":           fullText,
		"search_doc index search_doc_place (tenant_id, place, id)": fullText,
		"search_doc index search_doc_tokens (tokens)":              fullText,
	}
)

// Why the databases differ.
const (
	rowOrder = "SQLite appends rows fastest in the order of their number"
	numberer = "PostgreSQL numbers published rows by a sequence, SQLite by its one writer"
	deltas   = "writers of PostgreSQL that count would wait for each other's rows: they add rows, which are added up"
	rowid    = "an index of SQLite ends with the number of the row as it is"
	noTruth  = "SQLite has no truth values"
	fullText = "SQLite keeps the words in an FTS5 table by the number of a document, PostgreSQL in the document"
)

// anyOrder are tables whose texts are compared for equality alone, so that PostgreSQL may keep
// them in the order of its language.
var anyOrder = []string{"bulk", "bulk_item"}

// The facts about a database: a text that names a table first.
var (
	liteSchema = []string{
		`SELECT m.name || '.' || c.name || ': ' || lower(c.type) || iif(c."notnull" OR c.pk > 0, '', ' or nothing')
				|| coalesce(' default ' || c.dflt_value, '')
			FROM pragma_table_list AS m, pragma_table_info(m.name) AS c
			WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'goose_%'`,
		`SELECT name || ' primary key (' || group_concat(part, ', ') || ')' FROM
			(SELECT m.name, c.name AS part FROM pragma_table_list AS m, pragma_table_info(m.name) AS c
				WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'goose_%' AND c.pk > 0
				ORDER BY m.name, c.pk) GROUP BY name`,
		`SELECT "table" || iif("unique", ' unique', '') || ' index ' || name
				|| ' (' || group_concat(part, ', ') || ')' || condition FROM
			(SELECT m.name AS "table", iif(i.origin = 'c', i.name, '') AS name, i."unique", c.name AS part,
				iif(i.partial, substr(s.sql, instr(s.sql, ' WHERE ')), '') AS condition
				FROM pragma_table_list AS m, pragma_index_list(m.name) AS i, pragma_index_info(i.name) AS c,
				sqlite_master AS s
				WHERE m.type = 'table' AND m.name NOT LIKE 'goose_%' AND i.origin <> 'pk' AND s.name = i.name
				ORDER BY m.name, i.name, c.seqno)
			GROUP BY "table", name, "unique", condition`,
		`SELECT tbl_name || ' trigger ' || sql FROM sqlite_master WHERE type = 'trigger'`,
	}
	postSchema = []string{
		`SELECT table_name || '.' || column_name || ': ' || data_type || coalesce(' ' || collation_name, '')
				|| CASE is_nullable WHEN 'NO' THEN '' ELSE ' or nothing' END
				|| coalesce(' default ' || replace(replace(column_default, '::text', ''), '''-1''::integer', '-1'), '')
			FROM information_schema.columns
				JOIN pg_class ON oid = (quote_ident(table_schema) || '.' || quote_ident(table_name))::regclass
			WHERE table_schema = 'public' AND table_name NOT LIKE 'goose\_%' AND NOT relispartition
			AND relkind IN ('r', 'p')`,
		`SELECT c.relname || CASE WHEN i.indisprimary THEN ' primary key'
				WHEN i.indisunique THEN ' unique index' ELSE ' index' END
				|| CASE WHEN k.conindid IS NULL THEN ' ' || x.relname WHEN i.indisprimary THEN '' ELSE ' ' END
				|| ' (' || (SELECT string_agg(pg_get_indexdef(i.indexrelid, n, true), ', ' ORDER BY n)
					FROM generate_series(1, i.indnkeyatts) AS n) || ')'
				|| coalesce(' WHERE ' || pg_get_expr(i.indpred, i.indrelid, true), '')
			FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
				JOIN pg_namespace s ON s.oid = c.relnamespace LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid
			WHERE s.nspname = 'public' AND c.relname NOT LIKE 'goose\_%' AND NOT c.relispartition`,
		`SELECT DISTINCT event_object_table || ' trigger ' || action_timing || ' ' || event_manipulation
			FROM information_schema.triggers`,
	}
)

// sameKind are the types that hold the same.
var sameKind = map[string]string{
	"integer": "number", "bigint": "number", "smallint": "number",
	"text": "text",
	"blob": "bytes", "bytea": "bytes", "uuid": "bytes",
}

// The forms in which facts come from the databases.
var (
	columnFact  = regexp.MustCompile(`^(\w+)(\.\w+: )([a-z ]+?)( C)?( or nothing)?( default .*)?$`)
	triggerFact = regexp.MustCompile(`(?s)^(\w+ trigger )CREATE TRIGGER \w+ (\w+ \w+).*`)
	inPostgres  = strings.NewReplacer("::text", "", "::bigint", "", "= ANY (ARRAY[", "IN (", "])", ")")
)

// schema lists the facts about a database in words that are the same for both.
func schema(t *testing.T, db *sqldb.DB, queries []string) (facts []string) {
	t.Helper()
	err := db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for _, query := range queries {
			for row, err := range tx.Query(ctx, query) {
				var fact string
				if err == nil {
					err = row.Scan(&fact)
				}
				if err != nil {
					return err
				}
				facts = append(facts, inOneForm(fact, db.Dialect()))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(facts)
	return slices.Compact(facts)
}

func inOneForm(fact string, dialect sqldb.Dialect) string {
	fact = triggerFact.ReplaceAllString(inPostgres.Replace(fact), "$1$2")
	m := columnFact.FindStringSubmatch(fact)
	if m == nil {
		return fact
	}
	table, column, kind, order, null, standard := m[1], m[2], m[3], m[4], m[5], m[6]
	if kind == "text" && order == "" && dialect == sqldb.Postgres && !slices.Contains(anyOrder, table) {
		kind = "text in the order of a language" // of no column: pages would be cut elsewhere than on SQLite
	}
	if same := sameKind[kind]; same != "" {
		kind = same
	}
	return table + column + kind + null + standard
}
