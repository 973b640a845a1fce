package cli

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"go.uber.org/goleak"

	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/reporting"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/httpapi"
	"renga.dev/renga/internal/inbound"
	"renga.dev/renga/internal/platform/audit"
	bulkwork "renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/bulk/dlq"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/bustest"
	"renga.dev/renga/internal/platform/bus/memory"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/idempotency"
	"renga.dev/renga/internal/platform/seal"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/sqltest"
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/workflow/cancel"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

// asProgram makes the test binary behave as the program itself.
const asProgram = "RENGA_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		root := &root{}
		os.Exit(Run(context.Background(), Program{
			Root: root, Flags: &root.Flags, In: os.Stdin, Out: os.Stdout,
			Err: os.Stderr,
		}, os.Args[1:]))
	}
	text.OverrideRuneWidthEastAsianWidth(false) // tables as they are outside of Japan, wherever the test runs
	goleak.VerifyTestMain(m)
}

// root is the command line with the commands of this package alone.
type root struct {
	Flags
	Commands
}

// rig is a server in this process. Its clock, and that of the command line, stands
// still unless a test puts it forward, so what is printed can be compared.
type rig struct {
	t          *testing.T
	url        string
	clock      *clock
	dir        string   // of files that the commands read and write
	bus        *bus.Bus // with the consumers search, which blocks keys, and mailer, which goes on
	mail       *bustest.Events
	automation *automation.Automation
}

// clock begins at the same instant in every test.
type clock struct{ at atomic.Int64 }

func (c *clock) Now() time.Time { return time.UnixMilli(c.at.Load()).UTC() }

func (c *clock) advance(d time.Duration) { c.at.Add(d.Milliseconds()) }

// eventSettings is what tenants want others to be told, with the audit log beside it.
type eventSettings struct {
	*store.Store
	clock *clock
}

// SetPublicity changes what is told and notes who did.
func (s eventSettings) SetPublishPolicy(ctx context.Context, tenant string, p engine.PublishPolicy,
	entry audit.Entry,
) error {
	entry.At = canonical.Stamp(s.clock.Now().UnixMilli())
	return s.Store.SetPublishPolicy(ctx, tenant, p, func(ctx context.Context, tx *sqldb.Tx) error {
		return audit.Write(ctx, tx, entry)
	})
}

// options change how a rig is made.
type options struct {
	auth   gate.AuthConfig
	idle   bool   // bulks are not worked on
	events bool   // they are delivered
	token  string // of workflow events; "": everybody is let in
}

func newRig(t *testing.T, o options) *rig {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	r := &rig{t: t, clock: &clock{}, dir: t.TempDir()}
	r.clock.at.Store(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC).UnixMilli())
	at := sqldb.Config{Path: filepath.Join(t.TempDir(), "renga.db"), Migrations: []sqldb.Migration{
		store.Migration(), bulkwork.Migration(), audit.Migration(), bus.Migration(), inbound.Migration(),
		recheck.Migration(),
		metadata.Migration(), records.Migration(), sharing.Migration(), search.Migration(), reporting.Migration(),
		approval.Migration(), automation.Migration(), idempotency.Migration(),
	}}
	if err := sqltest.Prepare(at, at.Migrations); err != nil {
		t.Fatal(err)
	}
	db, err := sqldb.Open(ctx, at)
	if err != nil {
		t.Fatal(err)
	}
	var checks *recheck.Rechecks
	tables := store.New(db, store.Config{Ended: func(h *engine.Head) (sqldb.Stmt, bool) { return checks.Ended(h) }})
	decides := engine.New(tables, r.clock, engine.Config{Exclusive: true})
	keys, err := gate.OpenAuth(o.auth)
	if err != nil {
		t.Fatal(err)
	}
	telemetry, err := gate.NewTelemetry(ctx, "renga", "test")
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	r.mail = bustest.NewEvents(t, r.clock.Now)
	r.bus = bus.New(db, memory.New(), bus.Config{
		Instance: "p1", Exclusive: true, Clock: r.clock,
		Consumers: []bus.Consumer{
			{Name: "mailer", Types: []string{"OwnerChanged"}, Handle: r.mail.Handle, Continue: true},
			{Name: "search", Types: []string{"RecordDeleted"}, Handle: r.mail.Handle},
		},
	})
	r.mail.Bus, r.mail.DB = r.bus, db
	kinds := dlq.Kinds(r.bus)
	kinds[cancel.Name] = cancel.New(decides, quiet)
	many := bulkwork.New(db, bulkwork.Config{Kinds: kinds, Exclusive: true, Clock: r.clock})
	pass, err := gate.NewEventToken(o.token, "")
	if err != nil {
		t.Fatal(err)
	}
	outside := inbound.New(db, inbound.Config{Engine: decides, Active: store.Active, Now: r.clock.Now, Log: quiet})
	checks = recheck.NewRechecks(recheck.NewStrategies(db), recheck.RecheckConfig{
		Engine: decides, Now: r.clock.Now,
		Log: quiet,
	})
	models := metadata.NewModels()
	shared := sharing.New(db, sharing.Config{Models: models, Records: records.Reads{}, Bus: r.bus})
	kept := records.New(db, records.Config{
		Models: models, Visible: shared, Publisher: r.bus, Rules: automation.Rules{}, Now: r.clock.Now,
	})
	approves := approval.New(db, approval.Config{
		Models: models, Core: kept, Records: records.Reads{}, Locks: records.Locks{}, Publisher: r.bus, Engine: decides,
		Now: r.clock.Now,
	})
	r.automation = automation.New(db, automation.Config{
		Models: models, Records: records.Reads{}, Writer: kept,
		Now: r.clock.Now,
	})
	seals := seal.Fixed([]byte("a secret of thirty-two bytes, 32")) // so that transcripts have the same positions
	surface := httpapi.New(httpapi.Config{
		Commands: decides, Reads: decides, Graphs: decides, Bulks: many, Log: quiet,
		Events: r.bus, DeadLetters: r.bus, Replays: r.bus, Audit: audit.New(db), Settings: eventSettings{
			tables,
			r.clock,
		},
		Seals: seals,
	})
	found := search.New(db, search.Config{Models: models, Records: records.Reads{}, Visible: shared})
	defined := metadata.New(db, metadata.Config{Models: models, Bus: r.bus})
	counted := reporting.New(db, reporting.Config{Models: models, Visible: shared, Records: records.Reads{}})
	routes := slices.Concat(
		surface.Routes(), defined.Routes(), shared.Routes(), counted.Routes(), approves.Routes(),
		kept.Routes(quiet), outside.Routes(pass, nil), checks.Routes(""), r.automation.Routes(),
		found.Routes(seals),
	)
	door, err := gate.New(gate.Config{Auth: keys, Telemetry: telemetry, Log: quiet}, routes)
	if err != nil {
		t.Fatal(err)
	}
	serving, end := context.WithCancel(context.Background())
	database, deciding := make(chan error, 1), make(chan error, 1)
	go func() { database <- db.Run(serving) }()
	go func() { deciding <- decides.Run(ctx) }()
	var working sync.WaitGroup
	working.Go(func() { checks.Run(ctx) })
	if !o.idle {
		working.Go(func() { many.Run(ctx) })
	}
	if o.events {
		working.Go(func() { _ = r.bus.Run(ctx) })
	}
	web := httptest.NewServer(door)
	r.url = web.URL
	t.Cleanup(func() {
		door.Drain()
		web.Close()
		stop()
		if err := <-deciding; err != nil {
			t.Errorf("engine: %v", err)
		}
		working.Wait()
		end()
		if err := <-database; err != nil {
			t.Errorf("database: %v", err)
		}
		_ = db.Close()
		_ = telemetry.Shutdown(context.Background())
	})
	return r
}
