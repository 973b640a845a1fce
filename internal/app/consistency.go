package app

import (
	"context"
	"time"

	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/bus"
)

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
	err := inspect(ctx, p, func(a *App) error { return found.look(ctx, a, tenant, repair) })
	return found, err
}

func (f *Consistency) look(ctx context.Context, a *App, of string, repair bool) (err error) {
	tenants := []string{of}
	if of == "" {
		if tenants, err = records.Tenants(ctx, a.DB); err != nil {
			return err
		}
	}
	if f.Waiting, err = waiting(ctx, a.Bus); err != nil {
		return err
	}
	if f.Parked, err = a.Bus.Parked(ctx); err != nil {
		return err
	}
	f.Tenants = len(tenants)
	if repair {
		for _, tenant := range tenants {
			n, err := records.Repair(ctx, a.DB, tenant)
			if err != nil {
				return err
			}
			f.Repaired += n
		}
	}
	for _, p := range a.parts {
		if p.Recount == nil {
			continue
		}
		f.Services = append(f.Services, p.Name)
		for _, tenant := range tenants {
			all, err := p.Recount(ctx, tenant)
			if err != nil {
				return err
			}
			for _, what := range all {
				f.Differences = append(f.Differences, Difference{tenant, p.Name, what})
			}
		}
	}
	return nil
}

// waiting is about how many events are not handled yet.
func waiting(ctx context.Context, b *bus.Bus) (n int64, err error) {
	out, err := b.Outbox(ctx)
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
