package program

import (
	"context"
	"fmt"
	"io"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/cli"
	"renga.dev/renga/internal/workflow/engine"
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
row, with the rows of the nodes that wait, and with every snapshot; checks that commits and events are
numbered without gaps. A server on SQLite must be stopped, since it holds the database; on PostgreSQL
servers may go on meanwhile. Ends with code 1 when anything differs.

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
func (c *verifyCmd) Run(ctx context.Context, out *cli.App) error {
	rep, err := c.verify(ctx, out)
	if err != nil {
		return err
	}
	found := verified{rep.Executions, rep.Commits, rep.Events, rep.Snapshots, []verifyProblem{}}
	for _, p := range rep.Problems {
		found.Problems = append(found.Problems, verifyProblem{p.Execution.String(), p.What})
	}
	if err := out.Answer(found, func() error { return found.print(out.Out) }); err != nil {
		return err
	}
	if len(rep.Problems) > 0 {
		return fmt.Errorf("the log and what is stored beside it disagree in %d places", len(rep.Problems))
	}
	return nil
}

// verify lets the log prove itself, and shows how far it is.
func (c *verifyCmd) verify(ctx context.Context, out *cli.App) (engine.Report, error) {
	place := app.Place{DataDir: c.DataDir, DatabaseURL: c.DatabaseURL}
	if c.Quiet {
		return app.Verify(ctx, place, nil)
	}
	bar := out.Bar("executions verified", 0)
	defer bar.End()
	return app.Verify(ctx, place, bar.Set)
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
