package metadata

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenantA, tenantB = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"

// rig is the service over a database of its own.
type rig struct {
	testing.TB
	*Metadata
	db     *sqldb.DB
	models *Models
}

// onEvery runs a test on every database.
func onEvery(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Run("sqlite", func(t *testing.T) {
		test(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}))
	})
	t.Run("postgres", func(t *testing.T) { test(t, newRig(t, sqldb.Config{URL: pgtest.New(t)})) })
}

func newRig(t testing.TB, where sqldb.Config) *rig {
	t.Helper()
	db := sqltest.Open(t, where, bus.Migration(), audit.Migration(), Migration())
	r := &rig{TB: t, db: db, models: NewModels()}
	r.Metadata = New(db, Config{
		Models: r.models, Bus: bus.New(db, memory.New(), bus.Config{Instance: "test", Sensitive: r.models.Sensitive}),
		Graph: func(_ context.Context, _, id string) (bool, error) { return id != "missing", nil },
	})
	return r
}

// model is the model of a tenant as some models see it now.
func (r *rig) model(models *Models, tenant string) (m *model.Model) {
	r.Helper()
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) (err error) {
		m, err = models.Model(ctx, tx, tenant)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return m
}

// write runs SQL in one transaction.
func (r *rig) write(fn func(ctx context.Context, tx *sqldb.Tx) error) error {
	return r.db.Write(r.Context(), sqldb.Other, fn)
}

// id makes ids that are easy to read.
func id(n int) string { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }

// In tests ids are written short: #7 is id(7).
var (
	aShort    = regexp.MustCompile(`#(\d+)`)
	short     = regexp.MustCompile(`00000000-0000-7000-8000-0*(\d+)`)
	anInstant = regexp.MustCompile(`,?"effectiveAt":"[^"]*"`)
)

func long(text string) string {
	return aShort.ReplaceAllStringFunc(text, func(s string) string {
		var n int
		fmt.Sscanf(s, "#%d", &n)
		return id(n)
	})
}

// do carries out a line such as "put role #1 {…}" or "delete role #1" for tenant A.
func (r *rig) do(line string) (d model.Definition, created bool, err error) {
	return r.doFor(tenantA, line)
}

func (r *rig) doFor(tenant, line string) (d model.Definition, created bool, err error) {
	r.Helper()
	parts := strings.SplitN(long(line), " ", 4)
	c := Change{Tenant: tenant, Actor: "anna", CorrelationID: "c-1", Kind: model.Kind(parts[1]), ID: parts[2]}
	switch parts[0] {
	case "put":
		return r.Put(r.Context(), c, []byte(parts[3]))
	case "delete":
		return d, false, r.Delete(r.Context(), c)
	}
	r.Fatalf("cannot do %s", line)
	return d, false, nil
}

// must carries out lines that are accepted.
func (r *rig) must(lines ...string) {
	r.Helper()
	for _, line := range lines {
		if _, _, err := r.do(line); err != nil {
			r.Fatalf("%s: %v", line, err)
		}
	}
}

// events are the events of a tenant behind a place in the outbox, with their keys, and the
// place behind them.
func (r *rig) events(tenant string, after int64) (lines []string, last int64) {
	r.Helper()
	last = after
	err := r.db.Read(r.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		for row, err := range tx.Query(ctx,
			"SELECT id, body FROM outbox_events WHERE tenant_id = $1 AND id > $2 ORDER BY id", tenant, after) {
			var body []byte
			if err == nil {
				err = row.Scan(&last, &body)
			}
			if err != nil {
				return err
			}
			e, err := events.ParseEvent(body)
			if err == nil {
				err = e.CheckPublished()
			}
			if err != nil {
				return err
			}
			if want := fmt.Sprintf(`"effectiveAt":"%s"`, e.Version); !strings.Contains(string(e.Payload), want) ||
				e.CorrelationID != "c-1" || e.Producer.Service != "metadata-service" {
				r.Errorf("%s has the version %s, the correlation %s and the producer %+v", e.Payload, e.Version,
					e.CorrelationID, e.Producer)
			}
			key := strings.Replace(e.Key, ":"+tenant+":", ":", 1)
			text := fmt.Sprintf("%s %s/%d %s", e.Type, key, e.Index, anInstant.ReplaceAllString(string(e.Payload), ""))
			lines = append(lines, short.ReplaceAllString(text, "#$1"))
		}
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return lines, last
}
