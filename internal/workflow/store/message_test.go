package store_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

// TestNodesThatAwaitAMessageAreFoundAndReported has nodes that wait for messages of two names and keys, of two
// tenants.
func TestNodesThatAwaitAMessageAreFoundAndReported(t *testing.T) {
	test := func(t *testing.T, where string) {
		_, db, _ := serve(t, where)
		var mu sync.Mutex
		var reported []string
		s := store.New(db, store.Config{Awaits: func(tenant string, of flow.Awaited) {
			mu.Lock()
			defer mu.Unlock()
			reported = append(reported, tenant+" "+of.String())
		}})
		write := func(b engine.Batch) {
			t.Helper()
			if err := s.Commit(t.Context(), func(ctx context.Context, tx engine.Tx) error {
				return tx.Write(ctx, &b)
			}); err != nil {
				t.Fatal(err)
			}
		}
		paid := &flow.Awaited{Name: "paid", Key: "o-17"}
		var b engine.Batch
		for i, x := range []struct {
			tenant string
			awaits *flow.Awaited
		}{{"a", paid}, {"a", nil}, {"a", &flow.Awaited{Name: "paid"}}, {"b", paid}, {"a", paid}} {
			num := int64(i + 1)
			b.Create = append(b.Create, engine.Head{Num: num, Tenant: x.tenant, ID: flow.ID{byte(num)}, GraphID: "g"})
			b.Waits = append(b.Waits, engine.WaitRow{
				WaitRef: engine.WaitRef{Tenant: x.tenant, Execution: num, Node: "w"}, GraphID: "g",
				Since: flow.Time(100 - num), Awaits: x.awaits,
			})
		}
		write(b)
		if diff := cmp.Diff([]string{"a paid o-17", "a paid", "b paid o-17", "a paid o-17"}, reported); diff != "" {
			t.Errorf("reported after the commit (-want +got):\n%s", diff)
		}
		awaiting := func(tenant string, of flow.Awaited, limit int) (ids []byte) {
			t.Helper()
			err := db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				nodes, err := store.Awaiting(ctx, tx, tenant, of, limit)
				ids = nil
				for _, n := range nodes {
					ids = append(ids, n.Execution[0])
				}
				if err != nil {
					return err
				}
				var is bool
				err = tx.Row(ctx, "SELECT "+store.IsAwaited("CAST($1 AS TEXT)", "CAST($2 AS TEXT)", "CAST($3 AS TEXT)"),
					tenant, of.Name, of.Key).Scan(&is)
				if is != (len(ids) > 0) {
					t.Errorf("%s of %s is awaited: %t", &of, tenant, is)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return ids
		}
		for _, tt := range []struct {
			tenant string
			of     flow.Awaited
			limit  int
			want   []byte
		}{
			{"a", *paid, 10, []byte{5, 1}}, // the longest waiting first
			{"a", *paid, 1, []byte{5}},
			{"a", flow.Awaited{Name: "paid"}, 10, []byte{3}},
			{"b", *paid, 10, []byte{4}},
			{"a", flow.Awaited{Name: "paid", Key: "o-18"}, 10, nil},
			{"a", flow.Awaited{}, 10, nil},
		} {
			if got := awaiting(tt.tenant, tt.of, tt.limit); !cmp.Equal(got, tt.want) {
				t.Errorf("%s of %s is awaited by %v, want %v", &tt.of, tt.tenant, got, tt.want)
			}
		}
		write(engine.Batch{Waited: []engine.WaitRef{{Tenant: "a", Execution: 5, Node: "w"}}})
		if got := awaiting("a", *paid, 10); !cmp.Equal(got, []byte{1}) {
			t.Errorf("paid o-17 is awaited by %v after one was resumed, want 1", got)
		}
	}
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "test.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, pgtest.New(t)) })
}

func TestTheNewestVersionOfAGraphSubscribes(t *testing.T) {
	test := func(t *testing.T, where string) {
		s, db, _ := serve(t, where)
		for _, g := range []engine.GraphRow{
			{Tenant: "a", ID: "ship", Digest: "1", Message: "ordered"},
			{Tenant: "a", ID: "bill", Digest: "1", Message: "ordered"},
			{Tenant: "b", ID: "mail", Digest: "1", Message: "ordered"},
			{Tenant: "a", ID: "ship", Digest: "2", Message: "shipped"},
			{Tenant: "a", ID: "mail", Digest: "1", Message: "ordered"},
			{Tenant: "a", ID: "mail", Digest: "2"},
			{Tenant: "a", ID: "bill", Digest: "1", Message: "ordered"}, // no new version
		} {
			g.Body = []byte("{}")
			if _, _, err := s.PutGraph(t.Context(), g); err != nil {
				t.Fatal(err)
			}
		}
		for of, want := range map[string]string{
			"a ordered": "bill", "a shipped": "ship", "b ordered": "mail", "b shipped": "",
		} {
			tenant, name, _ := strings.Cut(of, " ")
			err := db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				got, err := store.Subscribed(ctx, tx, tenant, name, 10)
				if strings.Join(got, " ") != want {
					t.Errorf("%s starts %q, want %q", of, got, want)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { test(t, filepath.Join(t.TempDir(), "test.db")) })
	t.Run("postgres", func(t *testing.T) { test(t, pgtest.New(t)) })
}
