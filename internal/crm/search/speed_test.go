package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/crmtest"
	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
)

// The bars, and what they are measured with.
const (
	findBar    = 50 * time.Millisecond
	rebuildBar = 60 * time.Second
	eventsBar  = 500 // a second

	manyRecords = 200_000
	manyUsers   = 200
)

// TestSpeed measures searches, a rebuild and events at full size, with RENGA_LONG: it takes
// minutes and a machine to itself.
func TestSpeed(t *testing.T) {
	if os.Getenv("RENGA_LONG") == "" {
		t.Skip("SKIP: it measures; RENGA_LONG=1 runs it")
	}
	t.Run("sqlite", func(t *testing.T) {
		measure(t, newRig(t, sqldb.Config{Path: filepath.Join(t.TempDir(), "test.db")}, limits{}))
	})
	t.Run("postgres", func(t *testing.T) { measure(t, newRig(t, sqldb.Config{URL: pgtest.New(t)}, limits{})) })
}

func measure(t *testing.T, r *rig) {
	p := newTenant(r)
	p.populate()
	began, used := time.Now(), cpu()
	if _, _, err := p.Rebuild(t.Context(), p.id, "", nil); err != nil {
		t.Fatal(err)
	}
	p.work()
	took := time.Since(began)
	t.Logf("%d records indexed in %v, CPU %v", manyRecords, took.Round(100*time.Millisecond),
		(cpu() - used).Round(100*time.Millisecond))
	if took > rebuildBar {
		t.Errorf("a rebuild takes %v, want at most %v", took, rebuildBar)
	}
	if r.Search.DB.Dialect() == sqldb.Postgres {
		p.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, "ANALYZE")
			return err
		})
	}
	p.takeMany()
	for _, who := range []struct{ name, user string }{
		{"all records", ""}, {"a hundredth, by owner", crmtest.ID(users, 7)},
	} {
		for _, what := range []struct {
			name  string
			asked func(i int) Ask
		}{
			{"a rare name", func(i int) Ask { return Ask{Text: fmt.Sprintf("no%d", i*37)} }},
			{"two words", func(i int) Ask { return Ask{Text: latin[i%len(latin)] + " " + latin[(i*7+3)%len(latin)]} }},
			{"a common word", func(i int) Ask { return Ask{Text: latin[i%len(latin)]} }},
			{"the start of a word", func(i int) Ask { return Ask{Text: latin[i%len(latin)][:3+i%2]} }},
			{"Japanese", func(i int) Ask { return Ask{Text: kanji[i%len(kanji)]} }},
			{"one character", func(i int) Ask { return Ask{Text: string([]rune(kanji[i%len(kanji)])[:1])} }},
			{"in one field", func(i int) Ask {
				return Ask{Text: latin[i%len(latin)], Field: "Description", Objects: []string{"Account"}}
			}},
			{"nothing", func(i int) Ask { return Ask{Text: fmt.Sprintf("%s missing%d", latin[i%len(latin)], i)} }},
		} {
			p.time(who.name+": "+what.name, 100, func(i int) {
				ask := what.asked(i)
				ask.Limit = 20
				if _, err := p.Find(t.Context(), kit.Caller{Tenant: p.id, Subject: who.user}, ask); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// time measures something and holds it against the bar.
func (t *tenant) time(what string, n int, do func(i int)) {
	t.Helper()
	took := make([]time.Duration, n)
	used := cpu()
	for i := range took {
		began := time.Now()
		do(i)
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	p50, p99 := took[n/2], took[n*99/100]
	t.Logf("%-44s p50 %8v  p99 %8v  CPU %8v each", what, p50.Round(10*time.Microsecond), p99.Round(10*time.Microsecond),
		((cpu() - used) / time.Duration(n)).Round(10*time.Microsecond))
	if p99 > findBar {
		t.Errorf("%s takes %v, want at most %v", what, p99, findBar)
	}
}

// cpu is the time that this process had of all cores; what others do does not count.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

var (
	latin = strings.Fields(`acme global trading systems energy northern harbor digital logistics
		partners consulting medical garden steel pacific robotics software foods printing textile optics marine aviation
		holdings insurance capital studio research motors chemical`)
	kanji = strings.Fields(`東京 大阪 名古屋 商事 製作所 電機 株式会社 営業部 本社 支店 物流 研究所 銀行 食品 建設 不動産 横浜 工業 田中 鈴木`)
)

// populate makes accounts, contacts and opportunities with texts of some hundred
// characters, of many owners.
func (t *tenant) populate() {
	t.Helper()
	began := time.Now()
	for n := 1; n <= manyUsers; n++ {
		t.user(n)
	}
	t.settle()
	random := rand.New(rand.NewPCG(1, 2))
	some := func(n int) string {
		var b strings.Builder
		for range n {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			if random.IntN(3) == 0 {
				b.WriteString(kanji[random.IntN(len(kanji))] + kanji[random.IntN(len(kanji))])
			} else {
				b.WriteString(latin[random.IntN(len(latin))])
			}
		}
		return b.String()
	}
	objects := []string{"Account", "Contact", "Opportunity", "Opportunity"}
	const step = 5000
	for from := 0; from < manyRecords; from += step {
		t.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			var stmts []sqldb.Stmt
			for i := from; i < from+step; i++ {
				object, name := objects[i%len(objects)], fmt.Sprintf("%s no%d", some(2), i)
				values := map[string]any{"Name": name, "Description": some(12)}
				switch object {
				case "Contact":
					values["LastName"], values["Email"] = name, fmt.Sprintf("p%d@%s.example", i, latin[i%len(latin)])
				case "Opportunity":
					values["StageName"], values["NextStep"] = "Qualification", some(3)
				default:
					values["Industry"], values["BillingCity"] = "Energy", kanji[i%len(kanji)]
				}
				body, err := json.Marshal(values)
				if err != nil {
					return err
				}
				stmts = append(stmts, sqldb.Stmt{
					Query: `INSERT INTO records_record (tenant_id, object, id, owner_id, name, account_id,
						opportunity_id,
						fields, version, created_at, created_by, updated_at, updated_by, deleted_at)
						VALUES ($1, $2, $3, $4, $5, '', '', $6, $7, $7, '', $7, '', 0)`,
					Args: []any{
						t.id, object, crmtest.ID(50, i), crmtest.ID(users, 1+i*13%manyUsers), name, string(body),
						1_700_000_000_000 + int64(i*7919%manyRecords)*60_000,
					},
				})
			}
			return tx.Batch(ctx, stmts...)
		})
	}
	t.Logf("filled in %v", time.Since(began).Round(time.Second))
}

// takeMany measures how many updates of records are taken, in batches as the bus has them.
func (t *tenant) takeMany() {
	t.Helper()
	const batches, size = 12, 250
	var spent time.Duration
	for n := range batches {
		batch := make([]events.Event, size)
		t.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			for i := range batch {
				k := (n*size+i)*61%(manyRecords/4)*4 + 1 // contacts
				t.Clock.Add(1)
				if _, err := tx.Exec(ctx, "UPDATE records_record SET version = $4, updated_at = $4 WHERE tenant_id = "+
					"$1 AND object = $2 AND id = $3",
					t.id, "Contact", crmtest.ID(50, k), t.Clock.Now().UnixMilli()); err != nil {
					return err
				}
				payload, err := events.NewPayload(events.RecordUpdated{
					ObjectName: "Contact", RecordID: crmtest.ID(50, k),
					OwnerID: crmtest.ID(users, 1), ChangedFields: []string{"Title"},
					RecordVersion: canonical.Stamp(t.Clock.Now().UnixMilli()),
				})
				if err != nil {
					return err
				}
				batch[i] = events.Event{Type: "RecordUpdated", Tenant: t.id, Payload: payload}
			}
			return nil
		})
		began := time.Now()
		t.Change(func(ctx context.Context, tx *sqldb.Tx) error {
			for i := range batch {
				if err := t.Consumer().Handle(ctx, tx, &batch[i]); err != nil {
					return err
				}
			}
			return nil
		})
		for more := true; more; {
			var err error
			if more, err = t.index.sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		spent += time.Since(began)
	}
	rate := float64(batches*size) / spent.Seconds()
	t.Logf("%.0f updates are taken a second", rate)
	if rate < eventsBar {
		t.Errorf("%.0f updates are taken a second, want %d", rate, eventsBar)
	}
}
