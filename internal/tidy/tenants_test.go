package tidy

import (
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryStatementNamesItsTenant reads the SQL of the tree: a statement that reads, changes or
// deletes rows of a table with a tenant says of which tenant, or stands in acrossTenants with
// the reason why not. Each part of a statement counts alone: a subquery that names its tenant
// does not help the query around it.
func TestEveryStatementNamesItsTenant(t *testing.T) {
	tree := os.DirFS(".")
	tables := tenantTables(t, tree)
	if len(tables) < 60 {
		t.Fatalf("only %d tables have a tenant: the test reads too little", len(tables))
	}
	all := statements(t, tree)
	if len(all) < 600 {
		t.Fatalf("only %d statements: the test reads too little", len(all))
	}
	found, allowed := tenantless(all, tables), map[string]int{}
	for _, places := range acrossTenants {
		maps.Copy(allowed, places)
	}
	for place, n := range allowed {
		if len(found[place]) < n {
			t.Errorf("acrossTenants has %d queries of %s, and there are %d: correct it", n, place, len(found[place]))
		}
	}
	for place, queries := range found {
		if n := allowed[place]; len(queries) > n {
			t.Errorf("%s: of these queries %d are new; name the tenant, or say in acrossTenants why none is "+
				"needed:\n\t%s",
				place, len(queries)-n, strings.Join(queries, "\n\t"))
		}
	}
}

// tenantless are the queries that do not say which tenant they mean, by file and table.
func tenantless(all []statement, tables map[string]bool) map[string][]string {
	found := map[string][]string{}
	for _, s := range all {
		for _, query := range queryParts(s.text) {
			for _, table := range without(query, tables) {
				place := s.file + " " + table
				if !slices.Contains(found[place], query) {
					found[place] = append(found[place], query)
				}
			}
		}
	}
	return found
}

// TestStatementsWithoutATenantAreFound plants one statement at a time.
func TestStatementsWithoutATenantAreFound(t *testing.T) {
	tables := map[string]bool{"x_a": true, "x_b": true}
	for _, tt := range []struct{ name, code, want string }{
		{"a query", `const q = "SELECT n FROM x_a WHERE id = $1"`, "x_a"},
		{"a query that names it", `const q = "SELECT n FROM x_a WHERE tenant_id = $1 AND id = $2"`, ""},
		{"a query of another table", `const q = "SELECT n FROM x_c WHERE id = $1"`, ""},
		{"an update", `const q = "UPDATE x_a SET tenant_id2 = 1 WHERE id = $1"`, "x_a"},
		{"a deletion", `const q = "DELETE FROM x_a WHERE id = $1"`, "x_a"},
		{
			"a tenant in the answer alone", `const q = "SELECT tenant_id FROM x_a WHERE id = $1 ORDER BY tenant_id"`,
			"x_a",
		},
		{
			"one half of a join", `const q = "SELECT 1 FROM x_a a JOIN x_b AS b ON b.id = a.id WHERE a.tenant_id = $1"`,
			"x_b",
		},
		{"both halves", `const q = "SELECT 1 FROM x_a a JOIN x_b b ON b.tenant_id = a.tenant_id " +
			"WHERE a.tenant_id = $1"`, ""},
		{"the inner query", `const q = "SELECT 1 FROM x_a WHERE tenant = $1 AND id IN (SELECT id FROM x_b)"`, "x_b"},
		{"the outer query", `const q = "SELECT 1 FROM x_a WHERE id IN (SELECT id FROM x_b WHERE tenant = $1)"`, "x_a"},
		{"one side of a union", `const q = "SELECT 1 FROM x_a WHERE tenant = $1 UNION ALL SELECT 1 FROM x_b"`, "x_b"},
		{"a tuple", `const q = "SELECT 1 FROM x_a WHERE (tenant, id) IN (SELECT 1, 2)"`, ""},
		{"a constant", `const c = " FROM x_a WHERE "; const q = "SELECT 1" + c + "id = 1"`, "x_a"},
		{"a constant that names it", `const c = "tenant_id = $1"; const q = "SELECT 1 FROM x_a WHERE " + c`, ""},
		{"a local text", `func f() string { w := "id = 1"; return "SELECT 1 FROM x_a WHERE " + w }`, "x_a"},
		{
			"a local text that names it",
			`func f() string { w := "a"; w += " AND tenant = $1"; return "DELETE FROM x_a WHERE " + w }`, "",
		},
		{
			"a text of a function",
			`func f() string { return "DELETE FROM x_a WHERE " + h() }; func h() string { return "tenant = 1" }`, "",
		},
		{"a table that is not known", `func f(t string) string {
			return "DELETE FROM " + t + " WHERE id = 1"
		}`, "‹t›"},
		{"a condition for a function", `func f(where string) {}; func g() { f("id = 1") }`, condition},
		{"a condition that names it", `func f(where string) {}; func g() { f("tenant_id = $1") }`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree := mapFS(map[string]string{
				"internal/x/x.go":      "package x\n" + tt.code,
				"internal/x/x_test.go": "package x",
			})
			var got []string
			for place := range tenantless(statements(t, tree), tables) {
				_, table, _ := strings.Cut(place, " ")
				got = append(got, table)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// tenantTables are the tables that have a tenant, by what their migrations say.
func tenantTables(t testing.TB, tree fs.FS) map[string]bool {
	create := regexp.MustCompile(`(?s)CREATE (?:UNLOGGED )?TABLE (\w+) \((.*?)\n\)`)
	column := regexp.MustCompile(`(?m)^\ttenant(_id)? `)
	tables := map[string]bool{}
	for _, name := range migrationFiles(t, tree) {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range create.FindAllStringSubmatch(string(text), -1) {
			if column.MatchString(m[2]) {
				tables[m[1]] = true
			}
		}
	}
	return tables
}

// acrossTenants are the places whose queries name no tenant, how many they are, and why. A
// place is a file and a table, or ‹condition› for a condition that is handed to a function.
var acrossTenants = map[string]map[string]int{
	"the benchmark has a database of its own": {
		"internal/bench/bare.go engine_execution": 1,
	},
	"the operator's file has the entries of all tenants": {
		"internal/platform/audit/export/export.go audit_log": 2,
		"internal/platform/audit/log.go audit_log":           2,
		"internal/inbound/export.go trigger_tenant":          1,
	},
	"retention deletes what is old, whosever it is": {
		"internal/crm/automation/loop.go ‹old.table›":                    2,
		"internal/schedules/loop.go schedules_run":                       1,
		"internal/webhooks/retain.go webhooks_attempt":                   1,
		"internal/webhooks/retain.go webhooks_delivery":                  1,
		"internal/webhooks/retain.go webhooks_event":                     1,
		"internal/platform/session/row.go session_open":                  1,
		"internal/platform/idempotency/retention.go idempotency_request": 1,
		"internal/platform/bulk/retain.go bulk":                          6,
		"internal/platform/bus/retain.go bus_dead":                       2,
		"internal/platform/bus/retain.go bus_replay":                     2,
		"internal/platform/bus/retain.go outbox_events":                  2,
		"internal/platform/bus/queries_sqlite.go processed_events":       2,
		"internal/recheck/run.go pdca_request":                           2,
		"internal/workflow/store/key.go engine_key":                      3,
	},
	"a row is found by the number that the server gave it, and its tenant is known": {
		"internal/platform/bulk/chunk.go bulk":                       3,
		"internal/platform/bulk/command.go bulk":                     2,
		"internal/workflow/store/list.go engine_execution":           1,
		"internal/workflow/store/tx_postgres.go engine_execution":    2,
		"internal/workflow/store/write_postgres.go engine_execution": 1,
		"internal/workflow/store/write_postgres.go engine_ready":     1,
	},
	"finds work of all tenants; each row says whose it is": {
		"internal/platform/bulk/run.go bulk":                    4,
		"internal/crm/kit/rebuild/rebuild.go ‹condition›":       1,
		"internal/workflow/store/execution.go engine_execution": 5,
		"internal/crm/approval/run.go approval_stale":           1,
		"internal/crm/automation/graph.go automation_run":       1,
		"internal/crm/automation/wait.go automation_wait":       1,
		"internal/crm/automation/job.go automation_job":         2,
		"internal/schedules/loop.go schedules_schedule":         2,
		"internal/webhooks/loop.go webhooks_webhook":            3,
		"internal/messages/loop.go messages_message":            4,
		"internal/crm/records/reads.go records_record":          1,
		"internal/crm/sharing/rebuild.go ‹condition›":           1,
	},
	"a partition key holds its tenant": {
		"internal/platform/bus/dead_letter.go bus_dead": 6,
		"internal/platform/bus/dlq_foresee.go bus_dead": 1,
		"internal/platform/bus/dlq_judge.go bus_dead":   1,
		"internal/platform/bus/parked.go bus_dead":      1,
		"internal/platform/bus/parked.go bus_lane":      4,
	},
	"the relay and the readers carry the events of all tenants in one order": {
		"internal/platform/bus/backfill.go outbox_events":             1,
		"internal/platform/bus/dead_auto.go bus_dead":                 4,
		"internal/platform/bus/outbox_page.go outbox_events":          1,
		"internal/platform/bus/queries_postgres.go outbox_events":     3,
		"internal/platform/bus/queries_sqlite.go outbox_events":       3,
		"internal/platform/bus/reader.go bus_lane":                    1,
		"internal/platform/bus/relay_loss.go outbox_events":           2,
		"internal/platform/bus/relay_state.go outbox_events":          2,
		"internal/platform/bus/replayer.go bus_replay":                2,
		"internal/platform/bus/replayer.go outbox_events":             1,
		"internal/workflow/store/publish_policy.go engine_news":       1,
		"internal/workflow/store/source_postgres.go engine_execution": 1,
		"internal/workflow/store/write_postgres.go engine_news":       2,
		"internal/workflow/store/source.go engine_execution":          1,
	},
	"numbers that say how far the server is, and nothing of a tenant": {
		"internal/platform/bus/levels.go bus_dead":             1,
		"internal/webhooks/levels.go webhooks_webhook":         1,
		"internal/platform/bus/levels.go bus_lane":             2,
		"internal/platform/bus/ops_outbox.go outbox_events":    3,
		"internal/platform/bus/ops_tail.go outbox_events":      1,
		"internal/platform/bus/outbox_status.go outbox_events": 2,
		"internal/workflow/store/log.go engine_execution":      2,
		"internal/workflow/store/tx.go engine_execution":       1,
		"internal/crm/search/index_sqlite.go search_doc":       1,
	},
	"adds up what others counted, for each tenant": {
		"internal/workflow/store/counts_postgres.go engine_count_delta": 2,
		"internal/workflow/store/passing.go engine_passing_delta":       2,
		"internal/crm/records/sql_postgres.go records_count":            2,
	},
	"the condition is written where this is called, and is looked at there": {
		"internal/crm/automation/list.go ‹l.table›":           3,
		"internal/crm/records/list.go records_record":         2,
		"internal/crm/records/sql_postgres.go records_record": 1,
		"internal/crm/kit/rebuild/resource.go ‹r.cfg.Table›":  1,
		"internal/crm/sharing/model.go sharing_model":         1,
	},
	"more of a condition that begins with the tenant": {
		"internal/crm/approval/recount.go ‹condition›": 2,
		"internal/crm/records/uses.go ‹condition›":     2,
	},
	"selects nothing": {
		"internal/crm/sharing/seen.go sharing_reach": 1,
	},
}
