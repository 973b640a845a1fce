package gate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/test/stalltest"
	"renga.dev/renga/test/tier"
)

// fellow is one of several processes on one PostgreSQL, with a clock of its own.
type fellow struct {
	*door
	db    *sqldb.DB
	quota *Quota
	log   *logbook
	shift atomic.Int64 // of its clock
}

func (f *fellow) now() time.Time { return time.Now().Add(time.Duration(f.shift.Load())) }

func newFellow(t *testing.T, url, name string, rate Rate) *fellow {
	t.Helper()
	f := &fellow{log: &logbook{}}
	log := slog.New(slog.NewTextHandler(f.log, nil))
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		URL: url, Migrations: []sqldb.Migration{Migration()}, Conns: 4,
		Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	f.db, f.quota = db, NewQuota(db, name, log)
	f.door = openDoor(t, Config{Now: f.now, Rates: map[string]Rate{"reads": rate}, Quota: f.quota},
		Route{Pattern: "GET /a", Rate: "reads", Do: ok})
	return f
}

func newFellows(t *testing.T, url string, rate Rate) []*fellow {
	t.Helper()
	var all []*fellow
	for i := range 3 {
		all = append(all, newFellow(t, url, "p"+strconv.Itoa(i), rate))
	}
	all[1].shift.Store(int64(time.Hour))
	all[2].shift.Store(int64(-17 * time.Minute))
	return all
}

// let asks and reports whether the client was let in.
func (f *fellow) let(t *testing.T, client string) bool {
	w := f.ask("GET", "/a", "", "X-User-Id: "+client)
	if w.Code != 200 && w.Code != 429 {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
	if (w.Code == 429) != (w.Header().Get("Retry-After") != "") {
		t.Errorf("got %d with the headers %v", w.Code, w.Header())
	}
	return w.Code == 200
}

// draws is how many jobs a process gave the database.
func (f *fellow) draws() uint64 { return f.db.Stats().Jobs[sqldb.Other] }

func TestThreeProcessesHoldOneLimitWithinATenth(t *testing.T) {
	tier.System(t)
	rate := Rate{Limit: 600, Per: 3 * time.Second}
	all := newFellows(t, pgtest.New(t), rate)
	var total float64
	held := false
	for turn := 0; turn == 0 || turn < 5 && !held && wereAlone(all); turn++ {
		let, ok := holdLimit(t, all, rate, "ada"+strconv.Itoa(turn))
		total, held = total+let, ok
	}
	if !held {
		t.Error("the limit was not held within a tenth")
	}
	draws := uint64(0)
	for _, f := range all {
		draws += f.draws()
	}
	if float64(draws) > total/3 {
		t.Errorf("%d draws for %.0f calls: it asks the database almost for every call", draws, total)
	}
}

// holdLimit asks three processes for as much as they let in, and says how much that was and
// whether it was the quota within a tenth.
func holdLimit(t *testing.T, all []*fellow, rate Rate, client string) (total float64, held bool) {
	start := time.Now()
	end := start.Add(2 * rate.Per)
	var let, asked [3]int
	var done sync.WaitGroup
	for i, f := range all {
		done.Go(func() {
			pace := time.NewTicker(time.Millisecond)
			defer pace.Stop()
			for time.Now().Before(end) {
				<-pace.C
				for range 1 + i { // they are not asked equally often
					asked[i]++
					if f.let(t, client) {
						let[i]++
					}
				}
			}
		})
	}
	done.Wait()
	total = float64(let[0] + let[1] + let[2])
	// the burst, and what came back since
	quota := float64(rate.Limit) * (1 + time.Since(start).Seconds()/rate.Per.Seconds())
	t.Logf("let in %v of %v, together %.0f of a quota of %.0f", let, asked, total, quota)
	return total, total <= quota+float64(rate.Limit)/10 && total >= 0.9*min(quota, float64(asked[0]+asked[1]+asked[2]))
}

func TestABurstOverThreeProcessesIsTheQuota(t *testing.T) {
	rate := Rate{Limit: 600, Per: time.Hour} // nothing comes back in the meantime
	all := newFellows(t, pgtest.New(t), rate)
	got, client := 0, ""
	together(t, all, func(turn string) { client = turn; got = burst(t, all, client) })
	if got < 540 || got > 600 {
		t.Errorf("let in %d, want 600 within a tenth, and not more", got)
	}
	for _, f := range all {
		if w := f.ask("GET", "/a", "", "X-User-Id: "+client); w.Code != 429 ||
			w.Header().Get("X-RateLimit-Remaining") != "0" || w.Header().Get("X-RateLimit-Limit") != "600" {
			t.Errorf("got %d %v", w.Code, w.Header())
		}
		if !f.let(t, "bob") {
			t.Error("another client was refused")
		}
	}
}

// burst asks all processes for twice the quota at once, and says how much they let in.
func burst(t *testing.T, all []*fellow, client string) int {
	var total atomic.Int64
	var done sync.WaitGroup
	for _, f := range all {
		for range 4 {
			done.Go(func() {
				for range 200 {
					if f.let(t, client) {
						total.Add(1)
					}
				}
			})
		}
	}
	done.Wait()
	return int(total.Load())
}

// wereAlone reports whether the database did not answer a process in time since it was asked
// last: such a one counts alone for a while, as on a busy machine. It waits until none does.
func wereAlone(all []*fellow) (some bool) {
	for _, f := range all {
		some = f.log.drop("this process keeps to its own part") || some
	}
	if some {
		time.Sleep(awayFor)
	}
	return some
}

// together does something for a client, and again for another one as long as a process counted
// alone meanwhile: what it let in then says nothing about what they do together.
func together(t *testing.T, all []*fellow, do func(client string)) {
	t.Helper()
	turn := 0
	stalltest.Until(t, "a turn in which the database answered everybody in time", func() bool {
		turn++
		do("ada" + strconv.Itoa(turn))
		return !wereAlone(all)
	})
}

func TestTheRemainingQuotaIsThatOfAllProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: it goes by the clock, which the race detector slows down")
	}
	all := newFellows(t, pgtest.New(t), Rate{Limit: 10, Per: time.Hour})
	var wrong error
	together(t, all, func(client string) { wrong = countDown(all, client) })
	if wrong != nil {
		t.Error(wrong)
	}
}

// countDown uses up what a client has and reads what it is told.
func countDown(all []*fellow, client string) (wrong error) {
	for i := range 10 {
		w := all[i%3].ask("GET", "/a", "", "X-User-Id: "+client)
		if got := w.Header().Get("X-RateLimit-Remaining"); w.Code != 200 || got != strconv.Itoa(9-i) {
			wrong = errors.Join(wrong, fmt.Errorf("call %d: got %d, remaining %s", i, w.Code, got))
		}
	}
	w := all[1].ask("GET", "/a", "", "X-User-Id: "+client)
	if got, _ := strconv.Atoi(w.Header().Get("Retry-After")); w.Code != 429 || got < 300 || got > 360 {
		wrong = errors.Join(wrong, fmt.Errorf("got %d, retry after %s, want a tenth of an hour", w.Code,
			w.Header().Get("Retry-After")))
	}
	if reset, _ := strconv.Atoi(w.Header().Get("X-RateLimit-Reset")); reset < 3500 || reset > 3600 {
		wrong = errors.Join(wrong, fmt.Errorf("reset in %d s, want an hour", reset))
	}
	return wrong
}

func TestAClientThatIsOverItsLimitDoesNotReachTheDatabase(t *testing.T) {
	f := newFellow(t, pgtest.New(t), "p", Rate{Limit: 10, Per: time.Hour})
	for range 11 {
		f.let(t, "ada")
	}
	before := f.draws()
	for range 1000 {
		if f.let(t, "ada") {
			t.Fatal("it was let in")
		}
	}
	if got := f.draws() - before; got != 0 {
		t.Errorf("%d draws", got)
	}
}

func TestClientsOfAnyNameHaveRows(t *testing.T) {
	f := newFellow(t, pgtest.New(t), "p", Rate{Limit: 10, Per: time.Minute})
	p := f.router.root.literal["a"].methods[http.MethodGet].limit.(*pool)
	for _, client := range []string{"", "a\x00b", "\xff", strings.Repeat("x", 10_000)} {
		if got := p.admit(client, time.Now()); !got.ok || got.remaining != 9 {
			t.Errorf("%q: got %+v", client, got)
		}
	}
	if log := f.log.String(); log != "" {
		t.Errorf("got the log %s", log)
	}
}

func TestAProcessKeepsToItsPartWhileTheDatabaseIsAway(t *testing.T) {
	server := pgtest.Launch(t)
	all := newFellows(t, server.Database(t), Rate{Limit: 60, Per: time.Hour})
	for range 2 { // the second time everybody sees everybody
		for _, f := range all {
			if err := f.quota.beat(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 61 {
		all[0].let(t, "max")
	}
	server.Stop()
	all[0].shift.Add(int64(90 * time.Second))
	for range 10 {
		if all[0].let(t, "max") {
			t.Error("a client that has used its quota has another while the database is away")
		}
	}
	for _, f := range all {
		let := 0
		for range 100 {
			if f.let(t, "ada") {
				let++
			}
		}
		if let != 20 {
			t.Errorf("let in %d while the database is away, want a third of 60", let)
		}
		if n := strings.Count(f.log.String(), "rate limits cannot be shared"); n != 1 {
			t.Errorf("%d warnings: %s", n, f.log)
		}
	}
	server.Start(t)
	f := all[0]
	f.shift.Add(int64(awayFor))
	for range 1000 { // its pool may still hold connections that are dead
		if f.let(t, "bob"); strings.Contains(f.log.String(), "rate limits are shared again") {
			break
		}
		f.shift.Add(int64(awayFor))
	}
	let := 0
	for turn := 0; turn < 10 && let != 60; turn++ { // it may be away again for a moment on a machine that stands still
		let = 0
		for range 100 {
			if f.let(t, fmt.Sprint("eve", turn)) {
				let++
			}
		}
		f.shift.Add(int64(awayFor))
	}
	if let != 60 || !strings.Contains(f.log.String(), "rate limits are shared again") {
		t.Errorf("let in %d after the database came back, want 60: %s", let, f.log)
	}
}

func TestProcessesThatAreGoneAreNotCounted(t *testing.T) {
	all := newFellows(t, pgtest.New(t), Rate{Limit: 60, Per: time.Minute})
	count := func() string {
		t.Helper()
		if err := all[0].quota.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(all[0].quota.peers.Load())
	}
	if got := count(); got != "1" {
		t.Errorf("alone it counts %s", got)
	}
	if err := all[1].quota.beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := count(); got != "2" {
		t.Errorf("with another it counts %s", got)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	all[1].quota.Run(ended)
	if got := count(); got != "1" {
		t.Errorf("after the other has ended it counts %s", got)
	}
	write := func(query string) {
		t.Helper()
		err := all[0].db.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, query)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	write(`INSERT INTO gate_process VALUES ('killed', 1)`)
	write(`INSERT INTO gate_rate VALUES ('reads', '\x01', 1, 1)`)
	if got := count(); got != "1" {
		t.Errorf("a process that was killed is counted: %s", got)
	}
	all[0].let(t, "ada")
	rows := 0
	err := all[0].db.Read(t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, `SELECT count(*) FROM gate_rate`).Scan(&rows)
	})
	if err != nil || rows != 1 {
		t.Errorf("%d rows of quotas, want that of ada alone: %v", rows, err)
	}
}
