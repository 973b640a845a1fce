package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// postgres runs the workload on PostgreSQL: with one process, then with several.
func (c *benchCmd) postgres(ctx context.Context, dir string) error {
	fmt.Printf("%d executions of %d tasks on PostgreSQL, %d connections, %d commands a request\n\n", c.Executions, c.Tasks, c.Conns, c.Batch)
	one, err := c.processes(ctx, dir, 1)
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
		many, err := c.processes(ctx, dir, c.Processes)
		if err != nil {
			return err
		}
		c.show(fmt.Sprintf("%d processes", c.Processes), many, fmt.Sprintf("ratio to one %.2f", median(many)/median(one)))
	}
	if median(one) < float64(c.Min) {
		return fmt.Errorf("%.0f executions/s is below the floor of %d", median(one), c.Min)
	}
	return nil
}

// processes runs the workload on n servers that share the database.
func (c *benchCmd) processes(ctx context.Context, dir string, n int) ([]float64, error) {
	var servers []*server
	defer func() {
		for _, s := range servers {
			_ = s.stop()
		}
	}()
	for i := range n {
		srv, err := startServer(ctx, filepath.Join(dir, fmt.Sprintf("process-%d-%d", n, i)), "--database-url", c.DatabaseURL)
		if err != nil {
			return nil, err
		}
		servers = append(servers, srv)
	}
	rates, err := c.rounds(ctx, servers...)
	if err != nil {
		return nil, err
	}
	for _, s := range servers {
		if err := s.stop(); err != nil {
			return nil, err
		}
	}
	return rates, nil
}
