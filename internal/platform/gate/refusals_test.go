package gate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/test/stalltest"
)

// logged is a database with an audit log, and what writes refused tokens to it.
type logged struct {
	*Refusals
	telemetry *Telemetry
	db        *sqldb.DB
	end       func() // of the database
}

func newLogged(t *testing.T) *logged {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		Path:       filepath.Join(t.TempDir(), "test.db"),
		Migrations: []sqldb.Migration{audit.Migration()},
	})
	if err != nil {
		t.Fatal(err)
	}
	telemetry, err := NewTelemetry(t.Context(), "renga", "test")
	if err != nil {
		t.Fatal(err)
	}
	l := &logged{telemetry: telemetry, db: db}
	if l.Refusals, err = NewRefusals(db, telemetry.Meter); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	var over bool
	l.end = func() {
		if over {
			return
		}
		over = true
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		l.end()
		if err := errors.Join(db.Close(), telemetry.Shutdown(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return l
}

// settle writes what waits.
func (l *logged) settle() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l.Run(ctx)
}

func (l *logged) entries(t *testing.T) []audit.Entry {
	t.Helper()
	l.settle()
	all, _, err := audit.New(l.db).List(t.Context(), audit.Query{Tenant: defaultTenant, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// dropped is what the metric says; "" when nothing was dropped.
func (l *logged) dropped(t *testing.T) string {
	t.Helper()
	d := openDoor(t, Config{}, Pages{Metrics: l.telemetry.Metrics}.Routes()...)
	for line := range strings.Lines(d.ask("GET", "/metrics", "").Body.String()) {
		if strings.HasPrefix(line, "renga_audit_dropped_total") {
			return strings.TrimSpace(line[strings.LastIndexByte(line, ' '):])
		}
	}
	return ""
}

func TestARefusedTokenIsInTheAuditLogWithoutTheToken(t *testing.T) {
	l := newLogged(t)
	key := rsaKey(t, 2048)
	now := time.UnixMilli(1_767_600_000_000)
	d := openDoor(t, Config{Auth: jwtAuth(t), Refusals: l.Refusals, Now: func() time.Time { return now }},
		Route{Pattern: "POST /things/{id}", Scope: "things:admin", Do: ok},
		Route{Pattern: "POST /passed", Pass: &EventToken{}, Do: ok})
	secret := "eyJzZWNyZXQi.c2VjcmV0.c2lnbmF0dXJl"
	if w := d.ask("POST", "/things/7?token=query-secret", "{}", "Authorization: Bearer "+secret,
		"X-Correlation-Id: call-1"); w.Code != 401 {
		t.Fatalf("got %d", w.Code)
	}
	want := audit.Entry{
		At: 1_767_600_000_000, Tenant: defaultTenant, Action: "token.refused", CorrelationID: "call-1",
		Outcome: audit.Refused, Reason: "the token is malformed",
		ReasonClass: fault.ReasonAuth, ReasonCode: "http_401", RetryAdvice: fault.RetryAfterFix,
		Detail: []byte(`{"address":"192.0.2.1","route":"POST /things/{id}"}`),
	}
	got := l.entries(t)
	if diff := cmp.Diff([]audit.Entry{want}, got, cmpopts.IgnoreFields(audit.Entry{}, "ID", "Num")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, part := range append(strings.Split(secret, "."), "query-secret") {
		if strings.Contains(fmt.Sprintf("%+v %s", got, got[0].Detail), part) {
			t.Errorf("a part of the token is in the audit log: %+v", got)
		}
	}
	d.ask("POST", "/passed", "{}") // it audits itself
	if w := d.ask("POST", "/things/7", "{}", "Authorization: Bearer "+sign(t, jwt.SigningMethodRS256, key, nil,
		nil)); w.Code != 403 {
		t.Errorf("got %d", w.Code)
	}
	if n := len(l.entries(t)); n != 1 {
		t.Errorf("%d entries", n)
	}
	for range 20 { // of one address only a few are noted
		d.ask("POST", "/things/7", "{}")
	}
	if n := len(l.entries(t)); n != refusedRate.Limit-1 { // the pass took one
		t.Errorf("%d entries, want %d", n, refusedRate.Limit-1)
	}
	if got, want := l.dropped(t), fmt.Sprint(1+20-(refusedRate.Limit-1)); got != want {
		t.Errorf("dropped %q, want %s", got, want)
	}
}

func TestRefusedTokensThatFindNoRoomAreDroppedAndCounted(t *testing.T) {
	l := newLogged(t)
	l.within = time.Minute // a slow disk must not drop what is to be counted
	now := time.UnixMilli(1_767_600_000_000)
	note := func(n int) {
		for range n {
			l.note(t.Context(), audit.Entry{
				At: 1, Tenant: defaultTenant, Action: "token.refused",
				Outcome: audit.Refused,
			}, now)
		}
	}
	note(maxRefusals)
	if got := l.dropped(t); got != "0" {
		t.Errorf("dropped %q, want 0", got)
	}
	note(4)
	if got := l.dropped(t); got != "4" {
		t.Errorf("dropped %q, want 4: there is no room", got)
	}
	for range 3 { // 260 + 3 * 200 are more than there may be in a minute
		l.settle()
		note(200)
	}
	if got, want := l.dropped(t), fmt.Sprint(4+maxRefusals+4+600-allRefusals.Limit); got != want {
		t.Errorf("dropped %q, want %s: there are too many", got, want)
	}
}

func TestRefusedTokensAreDroppedWhenTheDatabaseIsAway(t *testing.T) {
	l := newLogged(t)
	l.end()
	l.note(t.Context(), audit.Entry{At: 1, Tenant: defaultTenant, Action: "token.refused", Outcome: audit.Refused},
		time.Now())
	l.settle()
	if got := l.dropped(t); got != "1" {
		t.Errorf("dropped %q, want 1", got)
	}
}

// TestTheEndDoesNotWaitForEveryRefusedToken has a job hold the database up for longer than
// what waits at the end may take together.
func TestTheEndDoesNotWaitForEveryRefusedToken(t *testing.T) {
	l := newLogged(t)
	l.within = 200 * time.Millisecond
	held, free := make(chan struct{}), make(chan struct{})
	holding := make(chan error, 1)
	go func() {
		holding <- l.db.Write(context.Background(), sqldb.Other, func(context.Context, *sqldb.Tx) error {
			close(held)
			<-free
			return nil
		})
	}()
	stalltest.Within(t, "the job that holds the database", held)
	const waiting = 20
	for range waiting {
		l.note(t.Context(), audit.Entry{At: 1, Tenant: defaultTenant, Action: "token.refused", Outcome: audit.Refused},
			time.Now())
	}
	stalls, began := stalltest.New(t), time.Now()
	l.settle()
	if took := stalls.Since(began); took >= waiting*l.within/2 {
		t.Errorf("the end took %v", took)
	}
	close(free)
	if err := <-holding; err != nil {
		t.Error(err)
	}
	if got := l.dropped(t); got != fmt.Sprint(waiting) {
		t.Errorf("dropped %q, want %d", got, waiting)
	}
}
