package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"renga.dev/renga/internal/cli"
	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/reporting"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/store"
)

// checkCmd is `renga check`.
type checkCmd struct {
	Consistency consistencyCmd `cmd:"" help:"Count again, from the records, what the services keep, and print the differences."`
}

// consistencyCmd is `renga check consistency`.
type consistencyCmd struct {
	DataDir     string `help:"Folder of the database." default:"./data" env:"RENGA_DATA_DIR" type:"path"`
	DatabaseURL string `name:"database-url" help:"PostgreSQL instead." env:"RENGA_DATABASE_URL" placeholder:"URL"`
	Repair      bool   `help:"Put the counts of records right first, from which the totals of lists come."`
}

// Help says what is compared.
func (consistencyCmd) Help() string {
	return `Every service that follows the records keeps something of its own. This works all of it out again from the records and
compares. Events that wait to be handled show as differences, so it is asked at a quiet moment; how many wait is printed. A server
on SQLite must be stopped, since it holds the database; on PostgreSQL servers may go on meanwhile. With --tenant only that tenant
is looked at. Ends with code 1 when anything differs.

With --repair the counts of records are put right before; what other services keep is made anew by their rebuilds.

Examples:
  renga check consistency --data-dir ./data
  renga check consistency --data-dir ./data --repair
  renga check consistency --database-url postgres://renga@localhost/renga -o json | jq .differences`
}

// recounter works out again what a service keeps: recount gives what differs in a tenant,
// one sentence each.
type recounter struct {
	name    string
	recount func(ctx context.Context, tenant string) (differences []string, err error)
}

// recounters are the records, for their counts, and all services that follow them.
func recounters(db *sqldb.DB) []recounter {
	models, reads := metadata.NewModels(), records.Reads{}
	shared := sharing.New(db, sharing.Config{Models: models, Records: reads})
	index := search.New(db, search.Config{Models: models, Records: reads, Visible: shared})
	return []recounter{
		{"records", func(ctx context.Context, tenant string) ([]string, error) { return records.Recount(ctx, db, tenant) }},
		{"sharing", shared.Recount},
		{"search", func(ctx context.Context, tenant string) ([]string, error) {
			found, err := index.Recount(ctx, tenant)
			if found.More > 0 {
				found.Differences = append(found.Differences, fmt.Sprintf("and %d more", found.More))
			}
			return found.Differences, err
		}},
		{"automation", automation.New(db, automation.Config{Models: models, Records: reads}).Recount},
		{"approval", approval.New(db, approval.Config{Models: models, Records: reads, Locks: records.Locks{}}).Recount},
		{"reporting", reporting.New(db, reporting.Config{Models: models, Visible: shared, Records: reads, Approvals: approval.Reads{}}).Recount},
	}
}

// consistency is what was found, as scripts see it.
type consistency struct {
	Tenants     int          `json:"tenants"`
	Services    []string     `json:"services"`
	Waiting     int64        `json:"waiting"` // events that are not handled yet, about
	Parked      int64        `json:"parked"`  // events that wait for another try, or as or behind a dead letter
	Repaired    int64        `json:"repaired"`
	Differences []difference `json:"differences"`
}

type difference struct {
	TenantID string `json:"tenantId"`
	Service  string `json:"service"`
	What     string `json:"what"`
}

// longCheck is how long a recount of one service in one tenant may take: it is one read, and
// with hundreds of thousands of records longer than a server would let it be.
const longCheck = time.Hour

// Run compares and prints what it found.
func (c *consistencyCmd) Run(ctx context.Context, app *cli.App) error {
	cfg := coreConfig{dataDir: c.DataDir, databaseURL: c.DatabaseURL, asIs: true, reading: longCheck}
	if err := cfg.exists(); err != nil {
		return err
	}
	found := consistency{Services: []string{}, Differences: []difference{}}
	err := withDB(ctx, cfg, func(db *sqldb.DB) error {
		if there, err := store.Exists(ctx, db); err != nil || !there {
			return cmp.Or(err, errors.New("that database has no tables of Renga: check the name"))
		}
		return found.look(ctx, db, app.Tenant, c.Repair)
	})
	if err != nil {
		return err
	}
	if err := app.Answer(found, func() error { return found.print(app.Out) }); err != nil {
		return err
	}
	if len(found.Differences) > 0 {
		return fmt.Errorf("what the services keep and the records disagree in %d places", len(found.Differences))
	}
	return nil
}

// look compares everything, of one tenant or ("") of all that have records, and puts the
// counts of records right before if that is wanted.
func (f *consistency) look(ctx context.Context, db *sqldb.DB, of string, repair bool) (err error) {
	tenants := []string{of}
	if of == "" {
		if tenants, err = records.Tenants(ctx, db); err != nil {
			return err
		}
	}
	b := bus.New(db, nil, bus.Config{Instance: "check", Exclusive: true}) // it only reads
	if f.Waiting, err = waiting(ctx, b); err != nil {
		return err
	}
	if f.Parked, err = b.Parked(ctx); err != nil {
		return err
	}
	f.Tenants = len(tenants)
	if repair {
		for _, tenant := range tenants {
			n, err := records.Repair(ctx, db, tenant)
			if err != nil {
				return err
			}
			f.Repaired += n
		}
	}
	for _, s := range recounters(db) {
		f.Services = append(f.Services, s.name)
		for _, tenant := range tenants {
			all, err := s.recount(ctx, tenant)
			if err != nil {
				return err
			}
			for _, what := range all {
				f.Differences = append(f.Differences, difference{tenant, s.name, what})
			}
		}
	}
	return nil
}

// waiting is about how many events are not handled yet.
func waiting(ctx context.Context, b *bus.Bus) (n int64, err error) {
	out, err := b.OutboxStatus(ctx)
	if err != nil {
		return 0, err
	}
	all, err := b.Consumers(ctx, "")
	n = int64(out.Unpublished)
	for i := range all {
		for _, part := range all[i].Parts {
			n += part.Pending
		}
	}
	return n, err
}

func (f *consistency) print(out io.Writer) error {
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
		if _, err := fmt.Fprintf(out, "%d events wait for another try, or with a dead letter for a decision: renga dlq list\n", f.Parked); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "%d tenants, %d services: %d differences\n", f.Tenants, len(f.Services), len(f.Differences))
	return err
}
