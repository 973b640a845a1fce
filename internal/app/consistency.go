package app

import (
	"context"
	"fmt"
	"time"

	"renga.dev/renga/internal/crm/approval"
	"renga.dev/renga/internal/crm/automation"
	"renga.dev/renga/internal/crm/metadata"
	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/crm/reporting"
	"renga.dev/renga/internal/crm/search"
	"renga.dev/renga/internal/crm/sharing"
	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/sqldb"
)

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
		{"reporting", reporting.New(db, reporting.Config{
			Models: models, Visible: shared, Records: reads, Approvals: approval.Reads{},
		}).Recount},
	}
}

// Consistency is what a check of what the services keep has found.
type Consistency struct {
	Tenants     int          `json:"tenants"`
	Services    []string     `json:"services"`
	Waiting     int64        `json:"waiting"` // events that are not handled yet, about
	Parked      int64        `json:"parked"`  // events that wait for another try, or as or after a dead letter
	Repaired    int64        `json:"repaired"`
	Differences []Difference `json:"differences"`
}

// Difference is one between the records and what a service keeps of them.
type Difference struct {
	TenantID string `json:"tenantId"`
	Service  string `json:"service"`
	What     string `json:"what"`
}

// longCheck is how long a recount of one service in one tenant may take: it is one read, and
// with hundreds of thousands of records longer than a server would let it be.
const longCheck = time.Hour

// CheckConsistency compares everything, of one tenant or ("") of all that have records, and puts
// the counts of records right before if that is wanted.
func CheckConsistency(ctx context.Context, p Place, tenant string, repair bool) (*Consistency, error) {
	p.Reading = longCheck
	found := &Consistency{Services: []string{}, Differences: []Difference{}}
	err := inspect(ctx, p, func(db *sqldb.DB) error { return found.look(ctx, db, tenant, repair) })
	return found, err
}

func (f *Consistency) look(ctx context.Context, db *sqldb.DB, of string, repair bool) (err error) {
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
				f.Differences = append(f.Differences, Difference{tenant, s.name, what})
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
