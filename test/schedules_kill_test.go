package test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/test/tier"
)

// TestNoInstantOfAScheduleIsLostOrStartedTwice has schedules that come every minute, of each policy, on two processes
// with one database. Each minute processes are killed while they decide about what is due. In the end every instant of
// every schedule has one outcome, and every execution is that of one instant.
func TestNoInstantOfAScheduleIsLostOrStartedTwice(t *testing.T) {
	tier.System(t)
	onPostgres(t)
	n, minutes := 1000, 2
	if long() {
		n, minutes = 10_000, 5
	}
	if of := os.Getenv("RENGA_TEST_SCHEDULES"); of != "" { // for machines that bear less, or more
		n, _ = strconv.Atoi(of)
	}
	at := newSite(t)
	m := &minutely{t: t, n: n, sites: []site{at, at.beside(t)}, random: rand.New(rand.NewPCG(18, uint64(n)))}
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: at.database})
	if err != nil {
		t.Fatal(err)
	}
	m.db = db
	t.Cleanup(func() { _ = db.Close() })
	for _, s := range m.sites {
		m.servers = append(m.servers, serve(t, s))
	}
	m.store()
	for range minutes {
		m.minute()
	}
	m.decided(0)
	for _, s := range m.servers {
		s.stop()
	}
	m.audit()
	verify(t, at)
	if want := minutes; m.kills < want { // a fast machine is done before all are killed
		t.Errorf("too weak: %d kills, want at least %d", m.kills, want)
	}
}

// minutely is schedules that come every minute, and the processes that decide about them.
type minutely struct {
	t       *testing.T
	n       int
	sites   []site
	servers []*child
	db      *sqldb.DB
	random  *rand.Rand
	kills   int
}

// store stores the schedules: of seven the executions end at once, of the others they never do.
func (m *minutely) store() {
	m.t.Helper()
	began := time.Now()
	const graph = `{"nodes":[{"nodeId":"s","type":"Start"},%s{"nodeId":"e","type":"Success"}],"edges":[%s]}`
	m.put(0, "/graphs/instant", fmt.Sprintf(graph, "", `{"from":"s","to":"e"}`))
	m.put(0, "/graphs/endless", fmt.Sprintf(graph, `{"nodeId":"n","type":"Task"},`,
		`{"from":"s","to":"n"},{"from":"n","to":"e"}`))
	var hands sync.WaitGroup
	var next atomic.Int64
	for range 16 {
		hands.Go(func() {
			for i := int(next.Add(1)) - 1; i < m.n; i = int(next.Add(1)) - 1 {
				graph, overlap := "instant", "skip"
				if i%10 > 6 {
					graph, overlap = "endless", []string{"skip", "queue", "cancel"}[i%10-7]
				}
				m.put(i%2, fmt.Sprintf("/schedules/s%05d", i),
					fmt.Sprintf(`{"graph":%q,"cron":"* * * * *","overlap":%q}`, graph, overlap))
			}
		})
	}
	hands.Wait()
	if m.t.Failed() {
		m.t.FailNow()
	}
	m.t.Logf("%d schedules were stored in %v", m.n, time.Since(began).Round(time.Millisecond))
}

// put stores something at one of the processes.
func (m *minutely) put(server int, path, body string) {
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodPut, m.servers[server].url+path,
		strings.NewReader(body))
	if err != nil {
		m.t.Error(err)
		return
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		m.t.Error(err)
		return
	}
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusCreated {
		m.t.Errorf("PUT %s: %d %s", path, resp.StatusCode, answer)
	}
}

// due is how many schedules have an instant without an outcome that has come.
func (m *minutely) due() (n int) {
	m.t.Helper()
	err := m.db.Read(m.t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		return tx.Row(ctx, "SELECT count(*) FROM schedules_schedule WHERE next_at <= $1", now).Scan(&n)
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return n
}

// decided waits until so few schedules are due.
func (m *minutely) decided(most int) {
	m.t.Helper()
	for late := time.Now().Add(5 * time.Minute); m.due() > most; pause(time.Millisecond) {
		if time.Now().After(late) {
			m.t.Fatalf("%d schedules are still due, want at most %d", m.due(), most)
		}
	}
}

// minute waits for a whole minute, and kills each process while some of what is due then is decided about.
func (m *minutely) minute() {
	m.t.Helper()
	m.decided(0)
	next := time.Now().Truncate(time.Minute).Add(time.Minute)
	eventually(m.t, "the next minute", 2*time.Minute, func() bool { return time.Now().After(next) })
	first := m.random.IntN(2)
	for i, left := range []int{m.n * 8 / 10, m.n * 4 / 10} {
		m.decided(left - m.random.IntN(m.n/5))
		before := m.due()
		victim := (first + i) % 2
		m.servers[victim].kill()
		if before > 0 {
			m.kills++
		}
		m.servers[victim] = serve(m.t, m.sites[victim])
	}
	m.decided(0)
	m.t.Logf("%d schedules had their outcomes %v after %s", m.n, time.Since(next).Round(time.Millisecond),
		next.Format(time.TimeOnly))
}

// scheduleRow is a row of the ledger.
type scheduleRow struct {
	schedule, execution          string
	due, last, instants, outcome int64
}

// audit holds the ledger against the minutes that have passed, and against the executions.
func (m *minutely) audit() {
	m.t.Helper()
	const minute = int64(time.Minute / time.Millisecond)
	type span struct {
		id          string
		since, next int64
	}
	var spans []span
	var rows []scheduleRow
	var executions []string
	err := m.db.Read(m.t.Context(), func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if spans, err = sqldb.Collect(ctx, tx, func(r *sqldb.Row) (s span, err error) {
			return s, r.Scan(&s.id, &s.since, &s.next)
		}, "SELECT id, since, next_at FROM schedules_schedule"); err != nil {
			return err
		}
		if rows, err = sqldb.Collect(ctx, tx, func(r *sqldb.Row) (s scheduleRow, err error) {
			return s, r.Scan(&s.schedule, &s.due, &s.last, &s.instants, &s.outcome, &s.execution)
		}, "SELECT schedule_id, due_at, last_at, instants, outcome, execution_id FROM schedules_run"); err != nil {
			return err
		}
		executions, err = sqldb.Collect(ctx, tx, sqldb.Column[string], "SELECT id::text FROM engine_execution")
		return err
	})
	if err != nil || len(spans) != m.n {
		m.t.Fatal(len(spans), err)
	}
	outcomes := map[string]map[int64]int64{} // by schedule and instant
	var counts [5]int64
	var started []string
	for _, r := range rows {
		of := outcomes[r.schedule]
		if of == nil {
			of = map[int64]int64{}
			outcomes[r.schedule] = of
		}
		if (r.last-r.due)/minute+1 != r.instants || r.outcome == 1 && r.instants != 1 {
			m.t.Errorf("%+v is not about whole minutes", r)
		}
		for due := r.due; due <= r.last; due += minute {
			if was, twice := of[due]; twice {
				m.t.Errorf("%s has two outcomes at %d: %d and %d", r.schedule, due, was, r.outcome)
			}
			of[due] = r.outcome
		}
		counts[r.outcome] += r.instants
		if r.outcome == 1 {
			started = append(started, r.execution)
		}
	}
	instants := 0
	for _, s := range spans {
		for due := s.since/minute*minute + minute; due < s.next; due += minute {
			instants++
			if _, there := outcomes[s.id][due]; !there {
				m.t.Errorf("%s has no outcome at %d", s.id, due)
			}
		}
		if want := (s.next - (s.since/minute*minute + minute)) / minute; int64(len(outcomes[s.id])) != want {
			m.t.Errorf("%s has %d outcomes, want %d", s.id, len(outcomes[s.id]), want)
		}
	}
	slices.Sort(started)
	slices.Sort(executions)
	if unique := slices.Compact(slices.Clone(started)); len(unique) != len(started) {
		m.t.Errorf("%d rows name %d executions", len(started), len(unique))
	}
	if !slices.Equal(started, executions) {
		m.t.Errorf("%d executions were started for an instant, and there are %d", len(started), len(executions))
	}
	if counts[3] > 0 {
		m.t.Errorf("%d instants were missed, within the catch-up window", counts[3])
	}
	m.t.Logf("%d instants, %d kills: %d started, %d skipped, %d queued; %d executions", instants, m.kills, counts[1],
		counts[2], counts[4], len(executions))
}
