package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/bus/jet"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/store"
)

// publishFigures are what publishing the engine's events costs, and whether all came.
type publishFigures struct {
	rates, quiet []float64       // executions a second, with the bus and without
	lags         []time.Duration // from the end of a round until all of it is published
	messages     int
	cost, bare   time.Duration // of the servers' CPU time, when they have ended; 0: not known
}

// inTurn runs the workload once with the bus and once without, in the other order every
// other time, so that both meet the same noise.
func (c *Command) inTurn(ctx context.Context, f *publishFigures, loud, quiet *server) error {
	with := func() error {
		rate, err := c.round(ctx, loud)
		if err != nil {
			return err
		}
		lag, err := AwaitPublished(ctx, loud.url)
		f.rates, f.lags = append(f.rates, rate), append(f.lags, lag)
		return err
	}
	without := func() error {
		rate, err := c.round(ctx, quiet)
		f.quiet = append(f.quiet, rate)
		return err
	}
	if len(f.rates)%2 == 1 {
		with, without = without, with
	}
	if err := with(); err != nil {
		return err
	}
	return without()
}

// ratio is the median of the ratios of rounds that followed each other.
func (f *publishFigures) ratio() float64 {
	ratios := make([]float64, len(f.rates))
	for i := range f.rates {
		ratios[i] = f.rates[i] / f.quiet[i]
	}
	return median(ratios)
}

func (f *publishFigures) show() {
	fmt.Printf("  bus off         %8.0f executions/s; ratio %.2f (limit 0.90)\n", median(f.quiet), f.ratio())
	if f.cost > 0 {
		fmt.Printf("  server CPU      %8v an execution; bus off %v; ratio %.2f\n", f.cost, f.bare,
			float64(f.bare)/float64(f.cost))
	}
	fmt.Printf("  published       %8d messages, all of them; the last of a round after %v\n", f.messages,
		spans(f.lags).at(50).Round(time.Millisecond))
}

// costs notes the CPU time of servers that have ended: it says more than rates do on a
// machine that is busy with something else.
func (f *publishFigures) costs(loud, quiet *server, executions int) {
	of := func(s *server) time.Duration {
		used := s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
		return (used / time.Duration(executions)).Round(time.Microsecond)
	}
	f.cost, f.bare = of(loud), of(quiet)
}

// publishTime is how long a server may take to publish what it has decided.
const publishTime = 30 * time.Second

// AwaitPublished waits until the server at a URL has published everything and gives how long that took.
// Who looks at a server's metrics costs it CPU time, so this looks seldom.
func AwaitPublished(ctx context.Context, url string) (time.Duration, error) {
	srv, began := &server{url: url}, time.Now()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		elapsed := time.Since(began)
		age, waiting, err := srv.unpublished(ctx)
		if err != nil {
			return 0, err
		}
		if waiting == 0 && age < elapsed { // read after the end of the round
			return elapsed, nil
		}
		if time.Since(began) > publishTime {
			return 0, fmt.Errorf("%.0f rows of the log are not published after %v", waiting, publishTime)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// unpublished asks a server how many rows of its log are not published, and how long ago it counted them.
func (s *server) unpublished(ctx context.Context) (age time.Duration, rows float64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	found := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if name != `renga_metrics_age_seconds{source="log"}` && name != "renga_log_unpublished" {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, 0, err
		}
		found++
		if name == "renga_log_unpublished" {
			rows = value
		} else {
			age = time.Duration(value * float64(time.Second))
		}
	}
	if found != 2 {
		return 0, 0, errors.New("the server has no metrics of what its log has published")
	}
	return age, rows, nil
}

// CheckPublished compares the messages of a log with those of the streams in some data folders, and counts
// them. The servers have ended.
func CheckPublished(ctx context.Context, cfg app.Place, dirs ...string) (messages int, err error) {
	has := map[string]bool{}
	for _, dir := range dirs {
		if err := ReadStream(ctx, dir, func(m *bus.Message) { has[m.ID] = true }); err != nil {
			return 0, err
		}
	}
	missing := 0
	err = app.WithDB(ctx, cfg, func(db *sqldb.DB) error {
		source := store.NewSource(store.New(db, store.Config{}), store.SourceConfig{
			Service:  "renga",
			Instance: "bench",
		})
		for number := int64(0); ; {
			msgs, upto, err := source.After(ctx, number, 1000)
			if err != nil || upto == number {
				return err
			}
			for i := range msgs {
				messages++
				if !has[msgs[i].ID] {
					missing++
				}
			}
			number = upto
		}
	})
	if err == nil && (missing > 0 || messages == 0) {
		err = fmt.Errorf("%d of %d messages are not in JetStream", missing, messages)
	}
	return messages, err
}

// ReadStream reads all messages of the engine in the JetStream of a data folder, those of
// one partition after the other.
func ReadStream(ctx context.Context, dir string, see func(*bus.Message)) error {
	nats, err := jet.Open(ctx, jet.Config{Dir: filepath.Join(dir, app.NATSFolder)})
	if err != nil {
		return err
	}
	defer nats.Close()
	info, err := nats.Carrier().Ensure(ctx, events.Executions)
	if err != nil || info.Last == 0 {
		return err // another process has published
	}
	for part := range events.Partitions {
		if err := readAll(ctx, nats.Carrier(), part, info.Last, see); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads all messages of one partition, up to the last one of the stream. Nothing read
// for a while means nothing: the machine may be busy.
func readAll(ctx context.Context, c bus.Carrier, part int, last uint64, see func(*bus.Message)) error {
	feed, err := c.Read(ctx, bus.From{Stream: events.Executions, Part: part})
	if err != nil {
		return err
	}
	defer feed.Close()
	for feed.Upto() < last && ctx.Err() == nil {
		msgs, err := feed.Next(ctx, 1000)
		if err != nil {
			return err
		}
		for i := range msgs {
			see(&msgs[i])
		}
		if len(msgs) > 0 && feed.Pending() == 0 {
			break
		}
	}
	return ctx.Err()
}
