package bench

import (
	"context"
	"fmt"
	"path/filepath"

	"renga.dev/renga/internal/app"
)

// postgres measures on PostgreSQL.
func (c *Command) postgres(ctx context.Context, dir string) error {
	if c.Executions > 0 {
		if err := c.onPostgres(ctx, dir); err != nil {
			return err
		}
	}
	if c.Records == 0 {
		return nil
	}
	return c.records(ctx, filepath.Join(dir, "records"), app.Place{DatabaseURL: c.DatabaseURL})
}

// onPostgres runs the workload with one process, with one that publishes nothing and with
// several, in turn, so that all meet the same noise and the same tables.
func (c *Command) onPostgres(ctx context.Context, dir string) error {
	fmt.Printf("%d executions of %d tasks on PostgreSQL, %d connections, %d commands a request\n\n", c.Executions,
		c.Tasks, c.Conns, c.Batch)
	one, many, err := c.processes(ctx, dir)
	if err != nil {
		return err
	}
	place := app.Place{DatabaseURL: c.DatabaseURL}
	if one.messages, err = CheckPublished(ctx, place, c.folders(dir)...); err != nil {
		return err
	}
	c.show("one process", one.rates, "aim 1500, floor 600")
	one.show()
	rows, err := measureRows(ctx, place, place, c.Executions)
	if err != nil {
		return err
	}
	rows.show(median(one.rates))
	if c.Processes > 1 {
		c.show(fmt.Sprintf("%d processes", c.Processes), many, fmt.Sprintf("ratio to one %.2f",
			median(many)/median(one.rates)))
	}
	if median(one.rates) < float64(c.Min) {
		return fmt.Errorf("%.0f executions/s is below the floor of %d", median(one.rates), c.Min)
	}
	return nil
}

// folders are the data folders of the servers.
func (c *Command) folders(dir string) (all []string) {
	for i := range max(1, c.Processes) {
		all = append(all, filepath.Join(dir, fmt.Sprintf("process-%d", i)))
	}
	return all
}

// processes starts servers that share the database and works executions through the
// first of them, through one that publishes nothing, and through all, in turn.
func (c *Command) processes(ctx context.Context, dir string) (one publishFigures, many []float64, err error) {
	var servers []*server
	defer func() {
		for _, s := range servers {
			if e := s.stop(); err == nil {
				err = e
			}
		}
	}()
	start := func(dir string, more ...string) error {
		srv, err := startServer(ctx, dir, append(more, "--database-url", c.DatabaseURL)...)
		if err == nil {
			servers = append(servers, srv)
		}
		return err
	}
	if err := start(filepath.Join(dir, "quiet"), "--no-bus"); err != nil {
		return one, nil, err
	}
	for _, folder := range c.folders(dir) {
		if err := start(folder); err != nil {
			return one, nil, err
		}
	}
	for range c.Rounds {
		if err := c.inTurn(ctx, &one, servers[1], servers[0]); err != nil {
			return one, nil, err
		}
		if c.Processes < 2 {
			continue
		}
		rate, err := c.round(ctx, servers[1:]...)
		if err != nil {
			return one, nil, err
		}
		many = append(many, rate)
	}
	_, err = AwaitPublished(ctx, servers[1].url)
	return one, many, err
}
