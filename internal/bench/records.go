package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/app"
)

// The bars of records and sharing; those of the other services are in bench_services.go.
const (
	updateFloor = 2000 // record updates a second
	lagBar      = time.Second
	checkBar    = 5 * time.Millisecond
	listBar     = 50 * time.Millisecond
	moveBar     = 5 * time.Second

	recordBulk    = 50
	recordClients = 16
	steadyRate    = 500 // updates a second, behind which the services are measured
)

// recordsBench measures records and the services that follow them over HTTP, in an organization that is stored
// first.
type recordsBench struct {
	place  app.Place
	dir    string
	args   []string // of the server
	size   int      // opportunities
	family int      // of one account, beside them
	lasts  time.Duration
	turn   int // of the steady updates; each writes another value
	busy   int // reads that were answered 503
	url    string
	srv    *server
	client *http.Client
}

// records prints the figures of records and the services.
func (c *Command) records(ctx context.Context, dir string, place app.Place) error {
	b := &recordsBench{
		place: place, dir: dir, size: c.Records, family: min(officeFamily, c.Records), lasts: 10 * time.Second,
		turn: 1_000_000,
		client: &http.Client{Transport: &http.Transport{
			MaxIdleConnsPerHost: 2 * recordClients,
			DisableCompression:  true,
		}},
	}
	defer b.client.CloseIdleConnections()
	if b.short() {
		b.lasts = 300 * time.Millisecond
	}
	if place.DatabaseURL != "" {
		b.args = []string{"--database-url", place.DatabaseURL}
	}
	began := time.Now()
	if err := b.openOffice(ctx); err != nil {
		return err
	}
	if err := b.fillOffice(ctx); err != nil {
		return err
	}
	fmt.Printf("%d opportunities with %d shares, %d users, stored in %v:\n", b.size+b.family, b.size*officeShares,
		officeUsers, time.Since(began).Round(time.Second))
	return b.serve(ctx, func() error {
		for _, measure := range []func(context.Context) error{
			b.lists, b.checks, b.moves, b.reindexes, b.searches, b.pipelines, b.updates, b.lags, b.behind,
		} {
			if err := measure(ctx); err != nil {
				return err
			}
		}
		fmt.Printf("  reads           %8d were answered 503\n", b.busy)
		return nil
	})
}

// short says that nobody wants figures.
func (b *recordsBench) short() bool { return b.size < officeFamily }

// seer is a user, and whose opportunities it sees.
type seer struct {
	name string
	user int
	all  bool
}

// seers are users who see few, some and all opportunities.
var seers = []seer{{"one's own and shared", 1000, false}, {"a department's", 6, false}, {"everybody's", 1, true}}

// lists measures the first page with its total.
func (b *recordsBench) lists(ctx context.Context) error {
	for _, who := range seers {
		var total int
		took, err := b.sample(200, func(int) (err error) {
			total, err = b.total(ctx, who.user, "/records/Opportunity?page_size=50")
			return err
		})
		if err != nil {
			return err
		}
		fmt.Printf("  list            %8v p50, %v p99 (limit %v p99): %d visible, %s\n", round(took.at(50)),
			round(took.at(99)), listBar, total, who.name)
	}
	return nil
}

// total reads a page as a user and gives how many records there are on all.
func (b *recordsBench) total(ctx context.Context, user int, path string) (int, error) {
	var page struct {
		Total int `json:"total"`
	}
	return page.Total, b.as(ctx, user, http.MethodGet, path, nil, &page, http.StatusOK)
}

// checks measures reads of single records, seen or not.
func (b *recordsBench) checks(ctx context.Context) error {
	for _, who := range seers {
		took, err := b.sample(1000, func(i int) error {
			return b.as(ctx, who.user, http.MethodGet, "/records/Opportunity/"+idOf(dealKind, 1+i*7919%b.size), nil,
				nil, http.StatusOK, http.StatusNotFound)
		})
		if err != nil {
			return err
		}
		fmt.Printf("  access check    %8v p50, %v p99 (limit %v p99): a record read, %s\n", round(took.at(50)),
			round(took.at(99)), checkBar, who.name)
	}
	return nil
}

// sample measures something, after a warm-up. What the server had no time for counts with
// the time that it took to say so, and is reported at the end.
func (b *recordsBench) sample(n int, do func(i int) error) (took spans, err error) {
	if b.short() {
		n /= 10
	}
	for i := range n + n/10 {
		one, err := timed(func() error { return do(i) })
		if errors.Is(err, errBusy) {
			b.busy++
		} else if err != nil {
			return nil, err
		}
		if i >= n/10 {
			took = append(took, one)
		}
	}
	return took, nil
}

// moves measures how long it takes, from before the request, until the new owner of an
// account sees all that is in it.
func (b *recordsBench) moves(ctx context.Context) error {
	var took spans
	for _, user := range []int{500, 501, 502} {
		path := "/records/Opportunity?page_size=10&AccountId=" + idOf(accountKind, 0)
		if before, err := b.total(ctx, user, path); err != nil {
			return err
		} else if before != 0 {
			return fmt.Errorf("user %d sees %d records of the account before it owns it", user, before)
		}
		one, err := timed(func() error {
			body := fmt.Sprintf(`{"operations":[{"op":"update","id":%q,"ownerId":%q}]}`, idOf(accountKind, 0),
				idOf(userKind, user))
			if err := b.bulk(ctx, "Account", body); err != nil {
				return err
			}
			return b.until(ctx, time.Minute, "the new owner sees everything", func() (bool, error) {
				n, err := b.total(ctx, user, path)
				return n == b.family, err
			})
		})
		if err != nil {
			return err
		}
		took = append(took, one)
	}
	fmt.Printf("  owner change    %8v until the new owner of an account sees its %d records (limit %v)\n",
		round(took.at(100)), b.family, moveBar)
	return nil
}

// updates measures bulks from many clients.
func (b *recordsBench) updates(ctx context.Context) error {
	var done, refused atomic.Int64
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	used, began := b.srv.cpu(), time.Now()
	for client := range recordClients {
		all.Go(func() {
			for turn := 1; time.Since(began) < b.lasts && failed.Load() == nil; turn++ {
				switch err := b.update(ctx, client, turn); {
				case errors.Is(err, errBusy):
					refused.Add(1)
				case err != nil:
					failed.Store(&err)
					return
				default:
					done.Add(recordBulk)
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	fmt.Printf("  updates         %8.0f records/s with their events, in bulks of %d from %d clients (floor %d), %v "+
		"of the server's CPU each; %d bulks were answered 503\n",
		float64(done.Load())/time.Since(began).Seconds(), recordBulk, recordClients, updateFloor,
		((b.srv.cpu() - used) / time.Duration(max(1, done.Load()))).Round(time.Microsecond), refused.Load())
	return nil
}

// update updates the records of a client.
func (b *recordsBench) update(ctx context.Context, client, turn int) error {
	ops := make([]string, recordBulk)
	for i := range ops {
		ops[i] = fmt.Sprintf(`{"op":"update","id":%q,"fields":{"Amount":%d}}`, b.updated(client, i), turn)
	}
	return b.bulk(ctx, "Opportunity", `{"operations":[`+strings.Join(ops, ",")+`]}`)
}

// updated is one of the records that a client updates.
func (b *recordsBench) updated(client, i int) string {
	return idOf(dealKind, 1+(client*recordBulk+i)%b.size)
}

// lags measures, while records are updated steadily, how long it takes until a rule gives
// somebody a record that has just been changed. Sharing catches up with all that was
// updated before first.
func (b *recordsBench) lags(ctx context.Context) error {
	const member = 91 // of the group that the rule is for
	n := b.size
	next := func(limit time.Duration) (time.Duration, error) {
		for ; n > recordClients*recordBulk; n-- {
			path := "/records/Opportunity/" + idOf(dealKind, n)
			if b.as(ctx, member, http.MethodGet, path, nil, nil, http.StatusNotFound) != nil {
				continue // it is seen anyway
			}
			return timed(func() error {
				if err := b.bulk(ctx, "Opportunity",
					fmt.Sprintf(`{"operations":[{"op":"update","id":%q,"fields":{"Name":"red"}}]}`,
						idOf(dealKind, n))); err != nil {
					return err
				}
				return b.until(ctx, limit, "the rule gives the record", func() (bool, error) {
					return b.as(ctx, member, http.MethodGet, path, nil, nil, http.StatusOK) == nil, nil
				})
			})
		}
		return 0, errors.New("there are too few records to measure how far sharing is behind")
	}
	caught, err := next(10 * time.Minute)
	if err != nil {
		return err
	}
	steadily, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	done, started := 0, time.Now()
	go func() { ended <- b.steady(steadily, func(int) { done += recordBulk }) }()
	var took spans
	for began := time.Now(); time.Since(began) < b.lasts; {
		one, err := next(time.Minute)
		if err != nil {
			return err
		}
		took = append(took, one)
	}
	stop()
	if err := <-ended; err != nil {
		return err
	}
	fmt.Printf("  sharing         %8v p50, %v worst of %d behind %.0f updates/s (limit %v at %d); caught up with all "+
		"updates before in %v\n",
		round(took.at(50)), round(took.at(100)), len(took), float64(done)/time.Since(started).Seconds(), lagBar,
		steadyRate, round(caught))
	return nil
}

// steady updates records at a steady rate until ctx ends, and reports each bulk that is
// answered. When too many are not, it waits, and the rate is lower.
func (b *recordsBench) steady(ctx context.Context, answered func(client int)) error {
	tick := time.NewTicker(time.Second * recordBulk / steadyRate)
	defer tick.Stop()
	var all sync.WaitGroup
	defer all.Wait()
	var mu sync.Mutex
	free, failed := make(chan struct{}, recordClients/2), make(chan error, recordClients)
	for {
		select {
		case <-ctx.Done():
			all.Wait()
			close(failed)
			return <-failed
		case err := <-failed:
			return err
		case <-tick.C:
		}
		free <- struct{}{}
		b.turn++
		turn, client := b.turn, b.turn%recordClients
		all.Go(func() {
			defer func() { <-free }()
			err := b.update(context.WithoutCancel(ctx), client, turn)
			switch {
			case errors.Is(err, errBusy):
			case err != nil:
				failed <- err
			default:
				mu.Lock()
				defer mu.Unlock()
				answered(client)
			}
		})
	}
}

// until asks again and again.
func (b *recordsBench) until(ctx context.Context, limit time.Duration, what string, ask func() (bool, error)) error {
	for began := time.Now(); ; {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		if time.Since(began) > limit {
			return fmt.Errorf("after %v it is not true that %s", limit, what)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// bulk does operations on records, of which none may be refused.
func (b *recordsBench) bulk(ctx context.Context, object, body string) error {
	var answer struct {
		Results []struct {
			Status int `json:"status"`
		} `json:"results"`
	}
	if err := b.must(ctx, http.MethodPost, "/records/"+object+"/bulk", []byte(body), &answer); err != nil {
		return err
	}
	for i, r := range answer.Results {
		if r.Status != http.StatusOK {
			return fmt.Errorf("operation %d was answered %d", i, r.Status)
		}
	}
	return nil
}

// must sends a request as the system user.
func (b *recordsBench) must(ctx context.Context, method, path string, body, answer any) error {
	return b.as(ctx, 0, method, path, body, answer, http.StatusOK, http.StatusCreated)
}

// as sends a request as a user, 0 being the system user, and wants one of some statuses.
func (b *recordsBench) as(ctx context.Context, user int, method, path string, body, answer any, want ...int) error {
	raw, ready := body.([]byte)
	if body != nil && !ready {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("X-Tenant-Id", officeTenant)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if user > 0 {
		req.Header.Set("X-User-Id", idOf(userKind, user))
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	for _, status := range want {
		if resp.StatusCode == status {
			if answer == nil {
				return nil
			}
			return json.Unmarshal(text, answer)
		}
	}
	err = fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, text)
	if resp.StatusCode == http.StatusServiceUnavailable {
		err = errors.Join(errBusy, err)
	}
	return err
}

// errBusy says that the server had no time for a request, on a machine that has little.
var errBusy = errors.New("the server is busy")
