package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/test/tier"
)

// Requests of one run; RENGA_LONG=1 sends the full number, from a seed of its own each time.
const (
	fuzzRequests     = 5_000
	fuzzRequestsLong = 50_000
	fuzzLanes        = 4 // tenants that are busy at a time
	fuzzRounds       = 4 // after each of which reading is looked at
)

const (
	answerWithin = 20 * time.Second      // every request that is not let wait
	glance       = 15 * time.Millisecond // at a stream, or at an answer that may come late
)

// TestEveryEndpointStandsRequestsMadeFromTheContract sends requests that are made from
// api/openapi.yaml alone, valid ones and all sorts of others, to everything that it has:
// no answer is a 5xx, every answer is as the contract says, what the contract refuses is
// refused, and reading changes nothing. RENGA_FUZZ_SEED repeats a run, as far as the
// server's ids and clocks allow: each lane draws from the seed alone and acts as a tenant
// of its own. RENGA_FUZZ_REQUESTS sends another number.
func TestEveryEndpointStandsRequestsMadeFromTheContract(t *testing.T) {
	tier.System(t)
	if testing.Short() {
		t.Skip("SKIP: thousands of requests")
	}
	f := newFuzz(t)
	began := time.Now()
	askers := make([]*asker, fuzzLanes)
	for i := range askers {
		askers[i] = newAsker(f.seed, i)
	}
	// What a run reaches depends on the server's ids, too: it goes on until it has reached enough.
	for round := 0; round < fuzzRounds || round < 9*fuzzRounds && !f.reachedMost(); round++ {
		var lanes sync.WaitGroup
		for _, r := range askers {
			lanes.Go(func() { f.lane(r, f.requests/fuzzRounds/fuzzLanes) })
		}
		lanes.Wait()
		f.readingChangesNothing(askers[0])
	}
	f.report(time.Since(began))
}

// fuzz is one run.
type fuzz struct {
	*server
	client   *http.Client
	seed     uint64
	requests int
	hash     maphash.Seed

	mu       sync.Mutex
	sent     map[string]int // by operation
	fine     map[string]int // of these, answered 2xx or 3xx
	refused  int            // invalid ones, answered 4xx
	left     int            // the client did not wait for the answer
	statuses map[int]int
	problems map[string]bool
}

func newFuzz(t *testing.T) *fuzz {
	t.Helper()
	f := &fuzz{
		server: newServerWith(t, options{consumers: []bus.Consumer{{Name: "search"}}}), client: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: fuzzLanes},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		requests: fuzzRequests, hash: maphash.MakeSeed(), seed: 1,
		sent: map[string]int{}, fine: map[string]int{}, statuses: map[int]int{}, problems: map[string]bool{},
	}
	t.Cleanup(f.client.CloseIdleConnections)
	if os.Getenv("RENGA_LONG") != "" {
		f.requests, f.seed = fuzzRequestsLong, uint64(time.Now().UnixNano())
	}
	for name, set := range map[string]func(n uint64){
		"RENGA_FUZZ_SEED":     func(n uint64) { f.seed = n },
		"RENGA_FUZZ_REQUESTS": func(n uint64) { f.requests = int(n) },
	} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 63)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			set(n)
		}
	}
	t.Logf("RENGA_FUZZ_SEED=%d RENGA_FUZZ_REQUESTS=%d", f.seed, f.requests)
	for i := range fuzzLanes { // letters that nobody could take, for those who decide about them
		f.furnish(laneTenant(i))
		for n := range 5 {
			record := fmt.Sprintf("%d-%d", i, n)
			f.deadLetter("search", f.mail.Deleted(laneTenant(i), record))
		}
	}
	return f
}

func laneTenant(i int) string { return fmt.Sprintf("0000000%d-0000-4000-8000-000000000000", i+1) }

func newAsker(seed uint64, lane int) *asker {
	return &asker{
		maker: maker{Rand: rand.New(rand.NewPCG(seed, uint64(lane))), contract: asPublished()},
		known: newKnown(), tenant: laneTenant(lane),
	}
}

// lane sends requests, one after the other, to everything in turn and to anything.
func (f *fuzz) lane(r *asker, requests int) {
	operations := r.contract.operations()
	makers := slices.DeleteFunc(slices.Clone(operations), func(operation string) bool { return !makes(operation) })
	for n := range requests {
		operation := operations[n%len(operations)]
		if r.chance(60) {
			operation = oneOf(&r.maker, operations...)
		}
		if r.chance(25) { // without things there is little to ask about
			operation = oneOf(&r.maker, makers...)
		}
		f.send(r, r.next(operation))
	}
	f.healthy(r)
}

// makes says that an operation is likely to make a thing.
func makes(operation string) bool {
	return strings.HasPrefix(operation, "PUT ") || strings.HasPrefix(operation, "POST ") &&
		!strings.Contains(operation, "{")
}

// readingChangesNothing asks for everything that can be read, well and badly, and compares
// the database before and after. Time stands still, so that nothing becomes due; what the
// system still has to do can come between, so that it is tried again: a read that writes
// does so each time.
func (f *fuzz) readingChangesNothing(r *asker) {
	f.clock.still.Store(f.clock.Now().UnixNano())
	defer f.clock.still.Store(0)
	var changed []string
	for range 10 {
		before := f.tables()
		for _, operation := range r.contract.operations() {
			for range 2 {
				if a := r.next(operation); strings.HasPrefix(operation, "GET ") && a.method == http.MethodGet {
					f.send(r, a)
				}
			}
		}
		after := f.tables()
		changed = changed[:0]
		for table := range after {
			if after[table] != before[table] {
				changed = append(changed, table)
			}
		}
		if len(changed) == 0 {
			return
		}
	}
	f.t.Errorf("whatever is read, the tables %v change", changed)
}

// tables is what each table holds, as a sum over its rows.
func (f *fuzz) tables() map[string]uint64 {
	sums := map[string]uint64{}
	err := f.db.Read(context.Background(), func(ctx context.Context, tx *sqldb.Tx) error {
		list, row := `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`, `SELECT t::text FROM %q t`
		if tx.Dialect() == sqldb.SQLite {
			list = `SELECT m.name || '"' || group_concat('quote("' || c.name || '")', ` +
				`'||') FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table' GROUP BY m.name`
		}
		var names []string
		for found, err := range tx.Query(ctx, list) {
			var name string
			if err = errors.Join(err, found.Scan(&name)); err != nil {
				return err
			}
			if table, _, _ := strings.Cut(name, `"`); table != "bus_lease" { // it is renewed by time
				names = append(names, name)
			}
		}
		for _, name := range names {
			query := fmt.Sprintf(row, name)
			if table, columns, lite := strings.Cut(name, `"`); lite {
				name, query = table, fmt.Sprintf(`SELECT %s FROM %q`, columns, table)
			}
			sums[name] = 0
			for found, err := range tx.Query(ctx, query) {
				var text string
				if err = errors.Join(err, found.Scan(&text)); err != nil {
					return err
				}
				sums[name] += maphash.String(f.hash, text)
			}
		}
		return nil
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return sums
}

// healthy asks whether the server still says so.
func (f *fuzz) healthy(r *asker) {
	for _, path := range []string{"/healthz", "/readyz"} {
		a := &ask{method: "GET", target: path, header: http.Header{}, from: facts{}}
		if status := f.send(r, a); status != http.StatusOK {
			f.problem(a, fmt.Sprintf("the server is not healthy: %d", status))
		}
	}
}

// send sends a request, holds the answer against the rules and learns from it.
func (f *fuzz) send(r *asker, a *ask) int {
	ctx, leave := context.WithTimeout(context.Background(), answerWithin)
	defer leave()
	if a.waits {
		defer time.AfterFunc(glance, leave).Stop()
	}
	req, err := http.NewRequestWithContext(ctx, a.method, f.url+a.target, bytes.NewReader(a.body))
	if err != nil {
		f.problem(a, fmt.Sprintf("it cannot be sent: %v", err))
		return 0
	}
	req.Header = a.header
	resp, err := f.client.Do(req)
	if err != nil {
		f.gone(a, err)
		return 0
	}
	defer resp.Body.Close()
	stream := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	if stream {
		defer time.AfterFunc(glance, leave).Stop()
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil && !stream {
		f.gone(a, err)
		return 0
	}
	f.count(a, resp.StatusCode)
	for _, problem := range a.judge(req, resp, body) {
		f.problem(a, fmt.Sprintf("%s\nanswered %d %s", problem, resp.StatusCode, body))
	}
	if resp.StatusCode < 300 {
		r.known.learn(body, a)
	}
	if resp.StatusCode == http.StatusNotFound && a.why == "" {
		r.known.forget(a.about)
	}
	if resp.StatusCode < 300 || resp.StatusCode == http.StatusConflict {
		r.past = append(r.past[max(0, len(r.past)-63):], a)
	}
	return resp.StatusCode
}

// judge gives the rules that an answer breaks.
func (a *ask) judge(req *http.Request, resp *http.Response, body []byte) (broken []string) {
	if resp.StatusCode >= 500 {
		broken = append(broken, "it is no answer but a failure")
	}
	if a.why != "" && (resp.StatusCode < 400 || resp.StatusCode > 499) && !refusedInside(body) {
		broken = append(broken, "it was not refused though "+a.why)
	}
	if a.method == http.MethodHead {
		if len(body) > 0 {
			broken = append(broken, "HEAD has a body")
		}
		return broken
	}
	if a.operation == "" && resp.StatusCode == http.StatusUnprocessableEntity {
		return broken // a header that no operation may have goes before the path
	}
	if err := theContract().check(req, resp, body); err != nil {
		broken = append(broken, "it is against the contract: "+err.Error())
	}
	return broken
}

// refusedInside says that an answer has a result for each of several commands, one of
// which was refused.
func refusedInside(body []byte) bool {
	var answer struct {
		Results []struct {
			Status int `json:"status"`
		} `json:"results"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return false
	}
	for _, result := range answer.Results {
		if result.Status >= 400 && result.Status <= 499 {
			return true
		}
	}
	return false
}

// gone is a request without an answer, which is only right when the client left.
func (f *fuzz) gone(a *ask, err error) {
	if a.waits && errors.Is(err, context.Canceled) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.left++
		f.sent[a.operation]++
		return
	}
	f.problem(a, fmt.Sprintf("there is no answer: %v", err))
}

func (f *fuzz) count(a *ask, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent[a.operation]++
	f.statuses[status]++
	if status < 400 {
		f.fine[a.operation]++
	} else if a.why != "" {
		f.refused++
	}
}

// maxProblems is how many problems are shown.
const maxProblems = 20

// problem reports a broken rule, once for each operation and kind.
func (f *fuzz) problem(a *ask, what string) {
	kind, _, _ := strings.Cut(what, "\n")
	if len(kind) > 90 {
		kind = kind[:90]
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if key := a.operation + kind; !f.problems[key] && len(f.problems) < maxProblems {
		f.problems[key] = true
		if len(what) > 1500 {
			what = what[:1500] + "…"
		}
		f.t.Errorf("%s\nto %v", what, a)
	}
}

// report says what was sent, and demands that everything in the contract was reached, most
// of it with success: a fuzzer that is only ever refused finds nothing.
func (f *fuzz) report(took time.Duration) {
	never, count := f.never(func(operation string) { f.t.Errorf("%s was never asked", operation) })
	total := 0
	for _, n := range f.sent {
		total += n
	}
	f.t.Logf(
		"%d requests in %v; %d were invalid and refused, %d left; answers %v",
		total,
		took.Round(time.Millisecond),
		f.refused,
		f.left,
		f.statuses,
	)
	if len(never) > 0 {
		f.t.Logf("never answered with success: %s", strings.Join(never, ", "))
	}
	if !f.reachedMost() {
		f.t.Errorf("%d of %d operations were never answered with success", len(never), count)
	}
	if total < f.requests {
		f.t.Errorf("%d requests were sent, want %d", total, f.requests)
	}
}

// never are the operations that were not answered with success, of how many; unasked gets
// those that were not even asked.
func (f *fuzz) never(unasked func(operation string)) (never []string, count int) {
	for _, operation := range asPublished().operations() {
		method, path, _ := strings.Cut(operation, " ")
		pointer := "/paths/" + escape(path) + "/" + strings.ToLower(method)
		count++
		if f.sent[pointer] == 0 {
			unasked(operation)
		}
		if f.fine[pointer] == 0 {
			never = append(never, operation)
		}
	}
	slices.Sort(never)
	return never, count
}

// reachedMost reports whether three of four operations were answered with success.
func (f *fuzz) reachedMost() bool {
	never, count := f.never(func(string) {})
	return len(never) <= count/4
}
