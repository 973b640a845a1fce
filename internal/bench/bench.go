package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"renga.dev/renga/internal/app"
)

// Command measures the engine over HTTP against what the same machine can do
// bare: commits of the same rows, and an echo over HTTP.
type Command struct {
	Executions  int    `default:"2000"`
	Tasks       int    `default:"10"`
	Rounds      int    `default:"3"`
	Conns       int    `default:"4"`
	Batch       int    `default:"150"`
	DatabaseURL string `name:"database-url" placeholder:"URL" env:"RENGA_BENCH_DATABASE_URL"`
	Processes   int    `default:"2"`
	Dir         string `type:"path"`
	Finished    int    `default:"0"`
	Waiting     int    `default:"0"`
	Events      int    `default:"50000"`
	Published   int    `default:"200000"`
	Records     int    `default:"20000"`
	Min         int    `default:"0"`
}

// Help says what the figures mean.
func (Command) Help() string {
	return `Starts a server of its own on a free port and a fresh folder, works 2,000 executions of 10
sequential no-op tasks over HTTP, then measures one execution alone and cancels, the events of the
bus from commit to effect, and records: lists, access checks, a new owner, a reindex, searches, the
pipeline report, updates, and how far each service is behind them. What the machine does bare, or the
limit, is printed beside every figure.

Examples:
  renga bench
  renga bench --rounds 1 --executions 500
  renga bench --records 200000 --executions 0 --events 0
  renga bench --finished 1000000 --waiting 100000 --published 5000000
  renga bench --database-url postgres://localhost/empty`
}

// FlagHelp is the help of its flags.
var FlagHelp = map[string]string{
	"executions": "Executions in a throughput run; 0 leaves the engine out, and --finished and --waiting are " +
		"only stored, in DIR/stored.",
	"tasks":        "Sequential tasks in each execution.",
	"rounds":       "Throughput runs; the best and the median are printed.",
	"conns":        "Connections of the worker process.",
	"batch":        "Commands in one request of the worker.",
	"database-url": "Measure on this PostgreSQL database, which must be empty, instead of SQLite.",
	"processes":    "Server processes that share PostgreSQL; with more than one, one alone is measured too.",
	"dir":          "Folder for the databases of the run; default: a temporary one.",
	"finished":     "Store so many finished executions first, and measure again (the full figure is 1000000).",
	"waiting":      "Store so many waiting executions first (the full figure is 100000).",
	"events":       "Events in a run of the bus; 0 leaves the bus out.",
	"published": "Store so many published events in the outbox first, and measure again (the full figure " +
		"is 5000000).",
	"records": "Opportunities that records and the services are measured with; 0 leaves them out (the " +
		"full figure is 200000).",
	"min": "Fail below so many executions a second.",
}

// Run prints the figures as they come.
func (c *Command) Run(ctx context.Context) error {
	dir := c.Dir
	if dir == "" {
		tmp, err := os.MkdirTemp("", "renga-bench-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	if c.DatabaseURL != "" {
		return c.postgres(ctx, dir)
	}
	if c.Events > 0 {
		if err := c.events(ctx, filepath.Join(dir, "events")); err != nil {
			return err
		}
	}
	if c.Records > 0 {
		place := app.Place{DataDir: filepath.Join(dir, "records")}
		if err := c.records(ctx, place.DataDir, place); err != nil {
			return err
		}
	}
	if c.Executions == 0 {
		return c.store(ctx, filepath.Join(dir, "stored"))
	}
	fmt.Printf("%d executions of %d tasks, %d connections, %d commands a request, synchronous=FULL\n\n",
		c.Executions, c.Tasks, c.Conns, c.Batch)
	empty, err := c.throughput(ctx, filepath.Join(dir, "empty"))
	if err != nil {
		return err
	}
	if err := c.latency(ctx, filepath.Join(dir, "latency")); err != nil {
		return err
	}
	if c.Finished+c.Waiting > 0 {
		if err := c.stored(ctx, filepath.Join(dir, "stored"), empty); err != nil {
			return err
		}
	}
	if empty < float64(c.Min) {
		return fmt.Errorf("%.0f executions/s is below the floor of %d", empty, c.Min)
	}
	return nil
}

// throughput runs the workload on two fresh servers in turn, one of which publishes
// nothing, and gives the median rate of the other.
func (c *Command) throughput(ctx context.Context, dir string) (float64, error) {
	quiet, err := startServer(ctx, filepath.Join(dir, "quiet"), "--no-bus")
	if err != nil {
		return 0, err
	}
	defer quiet.stop()
	srv, err := startServer(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer srv.stop()
	var figures publishFigures
	for range c.Rounds {
		if err := c.inTurn(ctx, &figures, srv, quiet); err != nil {
			return 0, err
		}
	}
	mem := srv.peakMemory()
	if err := errors.Join(srv.stop(), quiet.stop()); err != nil {
		return 0, err
	}
	figures.costs(srv, quiet, c.Rounds*c.Executions)
	place := app.Place{DataDir: dir}
	if figures.messages, err = CheckPublished(ctx, place, dir); err != nil {
		return 0, err
	}
	rows, err := measureRows(ctx, place, app.Place{DataDir: filepath.Join(dir, "rows")}, c.Executions)
	if err != nil {
		return 0, err
	}
	labelled, ratio, err := c.labelled(ctx, filepath.Join(dir, "labelled"))
	if err != nil {
		return 0, err
	}
	c.show("throughput", figures.rates, "aim 3000, floor 1000")
	figures.show()
	fmt.Printf("  8 labels, a key %8.0f executions/s; ratio %.2f (limit 0.90)\n", labelled, ratio)
	rows.show(median(figures.rates))
	fmt.Printf("  server memory   %8.1f MiB peak resident (limit 150)\n", float64(mem)/(1<<20))
	return median(figures.rates), nil
}

// show prints the rate of a run.
func (c *Command) show(what string, rates []float64, bars string) {
	fmt.Printf("%-17s %8.0f executions/s  %8.0f tasks/s   (best %.0f, %s)\n",
		what, median(rates), median(rates)*float64(c.Tasks), slices.Max(rates), bars)
}

func (c *Command) rounds(ctx context.Context, servers ...*server) ([]float64, error) {
	var rates []float64
	for range c.Rounds {
		rate, err := c.round(ctx, servers...)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// round runs the workload once and gives its rate.
func (c *Command) round(ctx context.Context, servers ...*server) (float64, error) {
	return c.roundOf(ctx, newWorker(c.Conns, c.Batch, servers...))
}

// labelled runs the workload on a fresh server in turn without and with a business key and eight labels, and gives the
// median rate with them and the median ratio of rounds that followed each other.
func (c *Command) labelled(ctx context.Context, dir string) (rate, ratio float64, err error) {
	srv, err := startServer(ctx, dir)
	if err != nil {
		return 0, 0, err
	}
	defer srv.stop()
	var rates, ratios []float64
	for i := range c.Rounds {
		var of [2]float64 // without, with
		for turn := range of {
			w := newWorker(c.Conns, c.Batch, srv)
			w.found = (i+turn)%2 == 1
			rate, err := c.roundOf(ctx, w)
			if err != nil {
				return 0, 0, err
			}
			if w.found {
				of[1] = rate
			} else {
				of[0] = rate
			}
		}
		rates, ratios = append(rates, of[1]), append(ratios, of[1]/of[0])
	}
	return median(rates), median(ratios), srv.stop()
}

func (c *Command) roundOf(ctx context.Context, w *worker) (float64, error) {
	if err := w.putGraph(ctx, "bench", sequential(c.Tasks)); err != nil {
		return 0, err
	}
	took, err := w.run(ctx, c.Executions, c.Tasks)
	if err != nil {
		return 0, err
	}
	return float64(c.Executions) / took.Seconds(), nil
}

// store fills a database for others to measure with, when that is asked for.
func (c *Command) store(ctx context.Context, dir string) error {
	if c.Finished+c.Waiting == 0 {
		return nil
	}
	return fill(ctx, dir, c.Finished, c.Waiting, c.Tasks)
}

// stored fills a database, then measures start and throughput on it.
func (c *Command) stored(ctx context.Context, dir string, empty float64) error {
	if err := fill(ctx, dir, c.Finished, c.Waiting, c.Tasks); err != nil {
		return err
	}
	began := time.Now()
	srv, err := startServer(ctx, dir)
	if err != nil {
		return err
	}
	defer srv.stop()
	ready := time.Since(began)
	rates, err := c.rounds(ctx, srv)
	if err != nil {
		return err
	}
	mid := median(rates)
	fmt.Printf("with %d finished and %d waiting executions stored:\n", c.Finished, c.Waiting)
	fmt.Printf("  ready after     %8v (limit 2s)\n", round(ready))
	fmt.Printf("  throughput      %8.0f executions/s; ratio to the empty database %.2f (limit 0.90)\n", mid, mid/empty)
	fmt.Printf("  server memory   %8.1f MiB peak resident\n", float64(srv.peakMemory())/(1<<20))
	return srv.stop()
}

// server is a renga process that the benchmark started.
type server struct {
	url string
	cmd *exec.Cmd
}

// startServer starts this binary as a server and waits until it is ready.
func startServer(ctx context.Context, dir string, more ...string) (*server, error) {
	return startSelf(ctx, "/readyz", append([]string{"serve", "--data-dir", dir, "--log-level", "error"}, more...)...)
}

// startSelf starts a command of this binary that listens, and waits until a path
// of it answers 200.
func startSelf(ctx context.Context, path string, args ...string) (*server, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, append(args, "--addr", addr)...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{url: "http://" + addr, cmd: cmd}
	for deadline := time.Now().Add(time.Minute); ; {
		resp, err := http.Get(s.url + path)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return s, nil
			}
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			return nil, fmt.Errorf("the server on %s did not become ready within a minute", addr)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// stop ends the server; a second call does nothing.
func (s *server) stop() error {
	if s.cmd.ProcessState != nil {
		return nil
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// peakMemory is the highest resident memory of the server so far, in bytes.
func (s *server) peakMemory() int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(v, "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// cpu is the time of the processor that the server has used so far.
func (s *server) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	const tick = time.Second / 100 // Linux counts in hundredths for everybody
	return time.Duration(user+system) * tick
}

// spans are measured times, for percentiles.
type spans []time.Duration

func (s spans) at(percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[(len(sorted)-1)*percent/100]
}

func median(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
