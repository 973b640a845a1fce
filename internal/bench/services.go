package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"renga.dev/renga/internal/platform/events"
)

// The bars of search, reporting and all services that follow records.
const (
	searchBar  = 50 * time.Millisecond
	reportBar  = 20 * time.Millisecond
	reindexBar = 60 * time.Second
)

// reindexes measures how long it takes to build the search index of all opportunities.
func (b *recordsBench) reindexes(ctx context.Context) error {
	used := b.srv.cpu()
	took, err := timed(func() error {
		var made struct {
			ID string `json:"rebuildId"`
		}
		if err := b.as(ctx, 0, http.MethodPost, "/search/rebuild", []byte(`{"object":"Opportunity"}`), &made,
			http.StatusAccepted); err != nil {
			return err
		}
		return b.until(ctx, time.Hour, "the index is built", func() (bool, error) {
			var now struct {
				Status string `json:"status"`
			}
			err := b.must(ctx, http.MethodGet, "/search/rebuilds/"+made.ID, nil, &now)
			return now.Status == "DONE", err
		})
	})
	if err != nil {
		return err
	}
	fmt.Printf("  reindex         %8v for %d records (limit %v for 200000), %v of the server's CPU\n",
		round(took), b.size+b.family, reindexBar, (b.srv.cpu() - used).Round(10*time.Millisecond))
	return nil
}

// searches measures words that are in all records, in some and in few.
func (b *recordsBench) searches(ctx context.Context) error {
	for _, who := range seers {
		for _, text := range []string{"blue", "blue deal", "deal 17", "dea"} {
			var page struct {
				Items []struct{} `json:"items"`
			}
			used := b.srv.cpu()
			took, err := b.sample(100, func(int) error {
				page.Items = nil
				return b.as(ctx, who.user, http.MethodGet, "/search?q="+url.QueryEscape(text), nil, &page,
					http.StatusOK)
			})
			if err != nil {
				return err
			}
			if who.all && len(page.Items) == 0 {
				return fmt.Errorf("user %d sees everything and finds nothing with %q", who.user, text)
			}
			fmt.Printf("  search          %8v p50, %v p99 (limit %v p99), %v of CPU: %q, %d hits on a page, who sees "+
				"%s\n",
				round(took.at(50)), round(took.at(99)), searchBar, each(b.srv.cpu()-used, len(took)), text,
				len(page.Items), who.name)
		}
	}
	return nil
}

// pipelines measures the report of open opportunities by stage. It counts what a list counts.
func (b *recordsBench) pipelines(ctx context.Context) error {
	for _, who := range slices.Concat(seers, []seer{{"all records", 0, true}}) {
		want, err := b.total(ctx, who.user, "/records/Opportunity?page_size=10")
		if err != nil {
			return err
		}
		var report struct {
			Total struct {
				Count int `json:"count"`
			} `json:"total"`
		}
		used := b.srv.cpu()
		took, err := b.sample(200, func(int) error {
			return b.as(ctx, who.user, http.MethodGet, "/reports/pipeline", nil, &report, http.StatusOK)
		})
		if err != nil {
			return err
		}
		if report.Total.Count != want {
			return fmt.Errorf("the pipeline of user %d has %d opportunities, its list has %d", who.user,
				report.Total.Count, want)
		}
		fmt.Printf("  pipeline        %8v p50, %v p99 (limit %v p99), %v of CPU: %d counted, who sees %s\n",
			round(took.at(50)), round(took.at(99)), reportBar, each(b.srv.cpu()-used, len(took)), want, who.name)
	}
	return nil
}

// each is the part of one in a time that n things took, and a tenth more to warm up.
func each(all time.Duration, n int) time.Duration {
	return (all / time.Duration(n+n/10)).Round(10 * time.Microsecond)
}

// followers are the consumers that take every update of a record.
var followers = []string{"sharing", "search", "automation", "approval", "reporting"}

// takes is how many events a consumer has taken of each partition.
type takes [events.Partitions]int64

// covers reports whether a consumer has taken so many more events of each partition.
func (t takes) covers(base, more takes) bool {
	for part := range t {
		if t[part]-base[part] < more[part] {
			return false
		}
	}
	return true
}

// taken is what each consumer has taken, and when the last of it that is of one of all
// partitions was published.
func (b *recordsBench) taken(ctx context.Context) (counts map[string]takes, upto time.Time, err error) {
	var all struct {
		Items []struct {
			Consumer   string `json:"consumer"`
			Partitions []struct {
				Partition   int       `json:"partition"`
				PublishedAt time.Time `json:"publishedAt"`
				Counts      struct {
					Applied   int64 `json:"applied"`
					Duplicate int64 `json:"duplicate"`
					Stale     int64 `json:"stale"`
				} `json:"counts"`
			} `json:"partitions"`
		} `json:"items"`
	}
	if err := b.must(ctx, http.MethodGet, "/events/consumers", nil, &all); err != nil {
		return nil, upto, err
	}
	counts = map[string]takes{}
	for _, c := range all.Items {
		if !slices.Contains(followers, c.Consumer) {
			continue
		}
		var t takes
		for _, p := range c.Partitions {
			t[p.Partition] = p.Counts.Applied + p.Counts.Duplicate + p.Counts.Stale
			if upto.IsZero() || p.PublishedAt.Before(upto) {
				upto = p.PublishedAt
			}
		}
		counts[c.Consumer] = t
	}
	return counts, upto, nil
}

// settle waits until the services have taken all events, and gives how many there were. It
// updates one more record in each partition: a service that has taken these has taken
// everything.
func (b *recordsBench) settle(ctx context.Context) (counts map[string]takes, err error) {
	b.turn++
	began := time.Now().Truncate(time.Millisecond)
	last := map[int]string{}
	for i := 0; len(last) < events.Partitions; i++ {
		last[b.partition(b.updated(0, i))] = b.updated(0, i)
	}
	var ops []string
	for _, id := range last {
		ops = append(ops, fmt.Sprintf(`{"op":"update","id":%q,"fields":{"Amount":%d}}`, id, b.turn))
	}
	if err := b.bulk(ctx, "Opportunity", `{"operations":[`+strings.Join(ops, ",")+`]}`); err != nil {
		return nil, err
	}
	err = b.until(ctx, 10*time.Minute, "all services have caught up", func() (bool, error) {
		var upto time.Time
		counts, upto, err = b.taken(ctx)
		return err == nil && !upto.Before(began), err
	})
	return counts, err
}

// partition is where the events of an opportunity travel.
func (b *recordsBench) partition(id string) int {
	return events.Partition(events.RecordKey("Opportunity", officeTenant, id))
}

// answered is a bulk of updates.
type answered struct {
	at   time.Time
	upto takes // the events of it and of all before it
}

// behind measures how far each service is behind a steady stream of updates: how long ago
// the oldest of them was answered that it has not taken.
func (b *recordsBench) behind(ctx context.Context) error {
	base, err := b.settle(ctx)
	if err != nil {
		return err
	}
	used, began := b.srv.cpu(), time.Now()
	lags, bulks, err := b.follow(ctx, base)
	took := time.Since(began)
	if err != nil {
		return err
	}
	if len(bulks) == 0 {
		return errors.New("no update was answered while the services were watched")
	}
	last := bulks[len(bulks)-1]
	err = b.until(ctx, 10*time.Minute, "all services have caught up", func() (bool, error) {
		counts, _, err := b.taken(ctx)
		return err == nil && !slices.ContainsFunc(followers, func(name string) bool {
			return !counts[name].covers(base[name], last.upto)
		}), err
	})
	if err != nil {
		return err
	}
	caught := time.Since(began) - took
	for _, name := range followers {
		fmt.Printf("  %-15s %8v p50, %v worst behind %.0f updates/s (limit %v at %d)\n", name+" lag",
			round(lags[name].at(50)), round(lags[name].at(100)), float64(len(bulks)*recordBulk)/took.Seconds(), lagBar,
			steadyRate)
	}
	fmt.Printf("  all services    %8v of the server's CPU for an update and all that follows; nothing was left after "+
		"%v\n",
		((b.srv.cpu() - used) / time.Duration(len(bulks)*recordBulk)).Round(time.Microsecond), round(caught))
	return nil
}

// follow updates records steadily for some time, and looks again and again how far the
// services are behind.
func (b *recordsBench) follow(ctx context.Context, base map[string]takes) (
	lags map[string]spans, bulks []answered, err error,
) {
	steadily, stop := context.WithCancel(ctx)
	defer stop()
	answers, ended := make(chan answered, 10_000), make(chan error, 1)
	go func() {
		var upto takes
		ended <- b.steady(steadily, func(client int) {
			for i := range recordBulk {
				upto[b.partition(b.updated(client, i))]++
			}
			answers <- answered{time.Now(), upto}
		})
	}()
	lags = map[string]spans{}
	oldest := map[string]int{} // of the bulks, that a service has not taken
	for began := time.Now(); time.Since(began) < b.lasts; {
		for len(answers) > 0 {
			bulks = append(bulks, <-answers)
		}
		now := time.Now() // what is answered from here on is not late
		counts, _, err := b.taken(ctx)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range followers {
			at := oldest[name]
			for at < len(bulks) && counts[name].covers(base[name], bulks[at].upto) {
				at++
			}
			oldest[name] = at
			lag := time.Duration(0)
			if at < len(bulks) {
				lag = now.Sub(bulks[at].at)
			}
			lags[name] = append(lags[name], lag)
		}
		select {
		case err := <-ended:
			return nil, nil, errors.Join(err, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
	stop()
	err = <-ended
	close(answers)
	for bulk := range answers {
		bulks = append(bulks, bulk)
	}
	return lags, bulks, err
}
