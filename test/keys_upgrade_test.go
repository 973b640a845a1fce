package test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/recheck"
)

// oldTables are the tables of keys that services had of their own, with an answer that each stored.
var oldTables = map[string]string{
	"records_once":   `[{"id":"first"}]`,
	"sharing_once":   `7`,
	"search_once":    `first`,
	"reporting_once": `first`,
	"approval_once":  `{"id":"first"}`,
	"bus_once":       `{"id":"first","corr":"c"}`,
	"bulk_key":       `{"bulk":"first","corr":"c"}`,
	"pdca_key":       `{"request_id":"first","status":"queued"}`,
}

// TestKeysOfOldTablesKeepAnswering makes a database as it was when every service had a table of keys,
// opens it with all migrations, and sends to each service a request whose key is from then.
func TestKeysOfOldTablesKeepAnswering(t *testing.T) {
	const tenant = "00000000-0000-0000-0000-000000000000"
	cfg := app.Config{
		Place: app.Place{DataDir: t.TempDir()}, Shards: 1, KeyRetention: 30 * 24 * time.Hour,
		Override: app.Override{Carrier: memory.New()},
	}
	if postgres() {
		cfg.DatabaseURL = pgtest.New(t)
	}
	key := func(body string) *canonical.IdempotencyKey {
		idempotencyKey, err := canonical.ParseIdempotencyKey("k", "POST /x", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return &idempotencyKey
	}
	fillOldTables(t, cfg.Place, tenant, key(`{"n":1}`))
	c, ctx := startApp(t, cfg), t.Context()
	for table, send := range map[string]func(key *canonical.IdempotencyKey) (got any, replay bool, err error){
		"records_once": func(key *canonical.IdempotencyKey) (any, bool, error) {
			out, replay, err := c.Records.Apply(ctx, records.Caller{Tenant: tenant}, records.Batch{
				Object:      "Lead",
				Idempotency: key,
			}, nil)
			return string(out), replay, err
		},
		"sharing_once": func(key *canonical.IdempotencyKey) (any, bool, error) {
			return c.Sharing.Rebuild(ctx, tenant, "Lead", key)
		},
		"search_once": func(key *canonical.IdempotencyKey) (any, bool, error) {
			return c.Search.Rebuild(ctx, tenant, "", key)
		},
		"reporting_once": func(key *canonical.IdempotencyKey) (any, bool, error) {
			return c.Reports.Rebuild(ctx, tenant, key)
		},
		"approval_once": func(key *canonical.IdempotencyKey) (any, bool, error) {
			out, replay, err := c.Approvals.Submit(ctx, approval.Caller{Tenant: tenant}, approval.Order{Object: "Lead"},
				key)
			return string(out), replay, err
		},
		"bus_once": func(key *canonical.IdempotencyKey) (any, bool, error) {
			ans, err := c.Bus.StopReplay(ctx, bus.ReplayOrder{Tenant: tenant, ID: "x", Idempotency: *key})
			return fmt.Sprintf(`{"id":%q,"corr":%q}`, ans.ID, ans.CorrelationID), ans.Replay, err
		},
		"bulk_key": func(key *canonical.IdempotencyKey) (any, bool, error) {
			ans, err := c.Bulks.Start(ctx, bulk.Order{Tenant: tenant, ID: "x", Idempotency: *key})
			return fmt.Sprintf(`{"bulk":%q,"corr":%q}`, ans.BulkID, ans.CorrelationID), ans.Replay, err
		},
		"pdca_key": func(key *canonical.IdempotencyKey) (any, bool, error) {
			ans, err := c.Rechecks.Accept(ctx, recheck.Caller{Tenant: tenant}, recheck.Order{}, *key)
			return fmt.Sprintf(`{"request_id":%q,"status":%q}`, ans.RequestID, ans.Status), true, err
		},
	} {
		got, replay, err := send(key(`{"n":1}`))
		if want := oldTables[table]; fmt.Sprint(got) != want || !replay || err != nil {
			t.Errorf("%s: got %v (replay %t) %v, want %s again", table, got, replay, err, want)
		}
		if _, _, err := send(key(`{"n":2}`)); !isConflict(err) {
			t.Errorf("%s: another body: got %v, want a conflict", table, err)
		}
		if err := c.DB.Read(ctx, func(ctx context.Context, tx *sqldb.Tx) error {
			return tx.Row(ctx, "SELECT count(*) FROM "+table).Scan(new(int))
		}); err == nil {
			t.Errorf("%s is still there", table)
		}
	}
}

func isConflict(err error) bool {
	f, ok := fault.As(err)
	return ok && f.Code == "IDEMPOTENCY_CONFLICT"
}

// fillOldTables makes a database without the table that all services share, and a key in each of the
// tables that there were.
func fillOldTables(t *testing.T, at app.Place, tenant string, key *canonical.IdempotencyKey) {
	t.Helper()
	all := app.Migrations()
	old := slices.DeleteFunc(slices.Clone(all), func(m sqldb.Migration) bool { return m.Name == "idempotency" })
	if len(old) != len(all)-1 || all[len(all)-1].Name != "idempotency" {
		t.Fatal("the table that all services share is not the last one to be made")
	}
	where := sqldb.Config{URL: at.DatabaseURL, Migrations: old}
	if at.DatabaseURL == "" {
		where.Path = filepath.Join(at.DataDir, app.DatabaseFile)
	}
	db, err := sqldb.Open(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	running := make(chan error, 1)
	go func() { running <- db.Run(ctx) }()
	err = db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		at := time.Now().Add(-29 * 24 * time.Hour).UnixMilli()
		for table, answer := range oldTables {
			_, err := tx.Exec(ctx, "INSERT INTO "+table+` (tenant, endpoint, key, hash, members, at, answer)
				VALUES ($1, $2, $3, $4, '{}', $5, $6)`, tenant, key.Endpoint, key.Key, key.Hash[:], at, answer)
			if err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
		}
		return nil
	})
	stop()
	if err := errors.Join(err, <-running, db.Close()); err != nil {
		t.Fatal(err)
	}
}
