package program

import (
	"context"
	"fmt"
	"io"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/cli"
)

// checkCmd is `renga check`.
type checkCmd struct {
	Consistency consistencyCmd `cmd:"" help:"Recount the services' data from the records, and print the differences."`
}

// consistencyCmd is `renga check consistency`.
type consistencyCmd struct {
	DataDir     string `help:"Folder of the database." default:"./data" env:"RENGA_DATA_DIR" type:"path"`
	DatabaseURL string `name:"database-url" help:"PostgreSQL instead." env:"RENGA_DATABASE_URL" placeholder:"URL"`
	Repair      bool   `help:"Put the counts of records right first, from which the totals of lists come."`
}

// Help says what is compared.
func (consistencyCmd) Help() string {
	return `Every service that follows the records keeps something of its own. This works all of it out again
from the records and compares. Events that wait to be handled show as differences, so it is asked at
a quiet moment; how many wait is printed. A server on SQLite must be stopped, since it holds the
database; on PostgreSQL servers may go on meanwhile. With --tenant only that tenant is looked at.
Ends with code 1 when anything differs.

With --repair the counts of records are put right before; what other services keep is made anew by their rebuilds.

Examples:
  renga check consistency --data-dir ./data
  renga check consistency --data-dir ./data --repair
  renga check consistency --database-url postgres://renga@localhost/renga -o json | jq .differences`
}

// Run compares and prints what it found.
func (c *consistencyCmd) Run(ctx context.Context, out *cli.App) error {
	place := app.Place{DataDir: c.DataDir, DatabaseURL: c.DatabaseURL}
	found, err := app.CheckConsistency(ctx, place, out.Tenant, c.Repair)
	if err != nil {
		return err
	}
	if err := out.Answer(found, func() error { return printConsistency(out.Out, found) }); err != nil {
		return err
	}
	if len(found.Differences) > 0 {
		return fmt.Errorf("what the services keep and the records disagree in %d places", len(found.Differences))
	}
	return nil
}

func printConsistency(out io.Writer, f *app.Consistency) error {
	if f.Repaired > 0 {
		if _, err := fmt.Fprintf(out, "%d counts of records were put right\n", f.Repaired); err != nil {
			return err
		}
	}
	for _, d := range f.Differences {
		if _, err := fmt.Fprintf(out, "%s %s: %s\n", d.TenantID, d.Service, d.What); err != nil {
			return err
		}
	}
	if f.Waiting > 0 {
		if _, err := fmt.Fprintf(out, "about %d events wait to be handled\n", f.Waiting); err != nil {
			return err
		}
	}
	if f.Parked > 0 {
		if _, err := fmt.Fprintf(out,
			"%d events wait for another try, or with a dead letter for a decision: renga dlq list\n",
			f.Parked); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d tenants, %d services: %d differences\n",
		f.Tenants, len(f.Services), len(f.Differences))
	return err
}
