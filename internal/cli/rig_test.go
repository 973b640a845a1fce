package cli

import (
	"context"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"go.uber.org/goleak"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/app/apptest"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/bustest"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/seal"
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

// options change how a rig is made.
type options struct {
	auth   gate.AuthConfig
	idle   bool   // bulks are not worked on
	events bool   // they are delivered
	token  string // of workflow events; "": everybody is let in
}

func newRig(t *testing.T, o options) *rig {
	t.Helper()
	r := &rig{t: t, clock: &clock{}, dir: t.TempDir()}
	r.clock.at.Store(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC).UnixMilli())
	r.mail = bustest.NewEvents(t, r.clock.Now)
	pass, err := gate.NewEventToken(o.token, "", false)
	if err != nil {
		t.Fatal(err)
	}
	// what services do by themselves is for their own tests
	idle := []string{
		"audit", "inbound", "records", "sharing", "automation", "search", "reporting", "approval", "gate",
	}
	if o.idle {
		idle = append(idle, "bulk")
	}
	if !o.events {
		idle = append(idle, "bus")
	}
	a := apptest.Start(t, app.Config{Auth: o.auth, EventPass: pass, Override: app.Override{
		Name: "p1", Clock: r.clock, Idle: idle,
		Consumers: []bus.Consumer{
			{Name: "mailer", Types: []string{"OwnerChanged"}, Handle: r.mail.Handle, Continue: true},
			{Name: "search", Types: []string{"RecordDeleted"}, Handle: r.mail.Handle},
		},
		Seals: seal.Fixed([]byte("a secret of thirty-two bytes, 32")), // so that transcripts have the same positions
	}})
	r.bus, r.automation = a.Bus, a.Automation
	r.mail.Bus, r.mail.DB = a.Bus, a.DB
	web := httptest.NewServer(a.Gate)
	r.url = web.URL
	t.Cleanup(func() { a.Gate.Drain(); web.Close() })
	return r
}
