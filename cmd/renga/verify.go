package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/store"
)

// verifyCmd lets the log prove itself.
type verifyCmd struct {
	DataDir string `help:"Folder of the database." default:"./data" env:"RENGA_DATA_DIR" type:"path"`
	Quiet   bool   `help:"Print only problems and the last line." short:"q"`
}

// Help says what is compared.
func (verifyCmd) Help() string {
	return `Reduces every execution again from its first event and compares the outcome with the stored
row and with every snapshot; checks that commits and events are numbered without gaps. The server
must be stopped, since it holds the database. Ends with code 1 when anything differs.

Example:
  renga verify --data-dir ./data`
}

// Run verifies and prints what it found.
func (c *verifyCmd) Run(ctx context.Context) error {
	path := filepath.Join(c.DataDir, databaseFile)
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("there is no database in %s: name the data folder of the server with --data-dir", c.DataDir)
	}
	var rep engine.Report
	err := withDB(ctx, path, func(db *sqldb.DB) error {
		eng := engine.New(store.New(db, store.Config{}), systemClock{}, engine.Config{Exclusive: true})
		var err error
		rep, err = eng.Verify(ctx, func(done int) {
			if !c.Quiet {
				fmt.Fprintf(os.Stderr, "\r%d executions verified", done)
			}
		})
		return err
	})
	if !c.Quiet {
		fmt.Fprintln(os.Stderr)
	}
	if err != nil {
		return err
	}
	for _, p := range rep.Problems {
		fmt.Printf("%v: %s\n", p.Execution, p.What)
	}
	fmt.Printf("%d executions, %d commits, %d events, %d snapshots: %d problems\n",
		rep.Executions, rep.Commits, rep.Events, rep.Snapshots, len(rep.Problems))
	if len(rep.Problems) > 0 {
		return fmt.Errorf("the log and what is stored beside it disagree in %d places", len(rep.Problems))
	}
	return nil
}
