package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// postgres runs the workload on PostgreSQL: with one process and with several, in
// turn, so that both meet the same noise and the same tables.
func (c *benchCmd) postgres(ctx context.Context, dir string) error {
	fmt.Printf("%d executions of %d tasks on PostgreSQL, %d connections, %d commands a request\n\n", c.Executions, c.Tasks, c.Conns, c.Batch)
	one, many, err := c.processes(ctx, dir)
	if err != nil {
		return err
	}
	c.show("one process", one, "aim 1500, floor 600")
	place := coreConfig{databaseURL: c.DatabaseURL}
	rows, err := measureRows(ctx, place, place, c.Executions)
	if err != nil {
		return err
	}
	rows.show(median(one))
	if c.Processes > 1 {
		c.show(fmt.Sprintf("%d processes", c.Processes), many, fmt.Sprintf("ratio to one %.2f", median(many)/median(one)))
	}
	if median(one) < float64(c.Min) {
		return fmt.Errorf("%.0f executions/s is below the floor of %d", median(one), c.Min)
	}
	return nil
}

// processes starts servers that share the database and works executions through the
// first of them and through all, in turn.
func (c *benchCmd) processes(ctx context.Context, dir string) (one, many []float64, err error) {
	var servers []*server
	defer func() {
		for _, s := range servers {
			if e := s.stop(); err == nil {
				err = e
			}
		}
	}()
	for i := range max(1, c.Processes) {
		srv, err := startServer(ctx, filepath.Join(dir, fmt.Sprintf("process-%d", i)), "--database-url", c.DatabaseURL)
		if err != nil {
			return nil, nil, err
		}
		servers = append(servers, srv)
	}
	for i := range 2 * c.Rounds {
		through, rates := servers[:1], &one
		if i%2 == 1 {
			through, rates = servers, &many
		}
		rate, err := c.round(ctx, through...)
		if err != nil {
			return nil, nil, err
		}
		*rates = append(*rates, rate)
	}
	return one, many, nil
}
