package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"renga.dev/renga/internal/cli"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/store"
)

// verifyCmd lets the log prove itself.
type verifyCmd struct {
	DataDir     string `help:"Folder of the database." default:"./data" env:"RENGA_DATA_DIR" type:"path"`
	DatabaseURL string `name:"database-url" help:"PostgreSQL instead." env:"RENGA_DATABASE_URL" placeholder:"URL"`
	Quiet       bool   `help:"Print only problems and the last line." short:"q"`
}

// Help says what is compared.
func (verifyCmd) Help() string {
	return `Reduces every execution again from its first event and compares the outcome with the stored
row and with every snapshot; checks that commits and events are numbered without gaps. A server on SQLite must be stopped, since
it holds the database; on PostgreSQL servers may go on meanwhile. Ends with code 1 when anything
differs.

Examples:
  renga verify --data-dir ./data
  renga verify --database-url postgres://renga@localhost/renga
  renga verify -q -o json | jq .problems`
}

// verified is what was found, as scripts see it.
type verified struct {
	Executions int             `json:"executions"`
	Commits    int             `json:"commits"`
	Events     uint64          `json:"events"`
	Snapshots  int             `json:"snapshots"`
	Problems   []verifyProblem `json:"problems"`
}

type verifyProblem struct {
	ExecutionID string `json:"executionId"`
	What        string `json:"what"`
}

// Run verifies and prints what it found.
func (c *verifyCmd) Run(ctx context.Context, app *cli.App) error {
	cfg := coreConfig{dataDir: c.DataDir, databaseURL: c.DatabaseURL, asIs: true}
	if err := cfg.exists(); err != nil {
		return err
	}
	var rep engine.Report
	err := withDB(ctx, cfg, func(db *sqldb.DB) error {
		if found, err := store.Exists(ctx, db); err != nil || !found {
			return cmp.Or(err, errors.New("that database has no tables of Renga: check the name"))
		}
		eng := engine.New(store.New(db, store.Config{}), systemClock{}, engine.Config{Exclusive: true})
		var err error
		rep, err = c.verify(ctx, app, eng)
		return err
	})
	if err != nil {
		return err
	}
	found := verified{rep.Executions, rep.Commits, rep.Events, rep.Snapshots, []verifyProblem{}}
	for _, p := range rep.Problems {
		found.Problems = append(found.Problems, verifyProblem{p.Execution.String(), p.What})
	}
	if err := app.Answer(found, func() error { return found.print(app.Out) }); err != nil {
		return err
	}
	if len(rep.Problems) > 0 {
		return fmt.Errorf("the log and what is stored beside it disagree in %d places", len(rep.Problems))
	}
	return nil
}

// exists reports a database that is not there and would be made anew.
func (cfg *coreConfig) exists() error {
	if cfg.databaseURL != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(cfg.dataDir, databaseFile)); err != nil {
		return fmt.Errorf("there is no database in %s: name the data folder of the server with --data-dir", cfg.dataDir)
	}
	return nil
}

// verify lets the engine verify, and shows how far it is.
func (c *verifyCmd) verify(ctx context.Context, app *cli.App, eng *engine.Engine) (engine.Report, error) {
	if c.Quiet {
		return eng.Verify(ctx, nil)
	}
	bar := app.Bar("executions verified", 0)
	defer bar.End()
	return eng.Verify(ctx, bar.Set)
}

func (v *verified) print(out io.Writer) error {
	for _, p := range v.Problems {
		if _, err := fmt.Fprintf(out, "%s: %s\n", p.ExecutionID, p.What); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d executions, %d commits, %d events, %d snapshots: %d problems\n",
		v.Executions, v.Commits, v.Events, v.Snapshots, len(v.Problems))
	return err
}
