package app

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"renga.dev/renga/internal/platform/bus"
)

// carrier is what carries events: NATS, unless something else does.
func (a *App) carrier() bus.Carrier {
	if a.nats == nil {
		return a.cfg.Override.Carrier
	}
	return a.nats.Carrier()
}

// openNATS starts or reaches the NATS server. Processes that share it and a database wake each other.
func (a *App) openNATS(ctx context.Context) error {
	if a.nats == nil {
		return nil
	}
	if err := a.nats.Open(ctx); err != nil {
		return err
	}
	if a.wakeClaims == nil || a.cfg.NATSURL == "" {
		return nil
	}
	return a.nats.OnWake(a.wakeClaims)
}

// compareWithin is how long the comparison of the database with the streams may take.
const compareWithin = 5 * time.Second

// compare tells that the database is older than the streams: they end with events that it never
// committed. Where both are in the data folder the newer one may still be put back, so nothing
// is touched. A database that others share is in use already, or was restored on purpose.
func (a *App) compare(ctx context.Context) error {
	if a.cfg.Silent {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, compareWithin)
	defer cancel()
	ends, err := a.Bus.Uncommitted(ctx)
	if err != nil {
		a.log.Warn("database could not be compared with the streams of NATS", "error", err)
	}
	if len(ends) == 0 {
		return nil
	}
	newest := slices.MaxFunc(ends, func(a, b bus.Uncommitted) int { return cmp.Compare(a.OccurredAt, b.OccurredAt) })
	if a.cfg.DatabaseURL != "" || a.cfg.NATSURL != "" {
		a.log.Error("the streams of NATS have events that this database never committed: "+
			"it was restored from a backup, or has lost commits (docs/runbook.md)",
			"partitions", len(ends), "eventId", newest.EventID, "since", newest.OccurredAt.String())
		return nil
	}
	return fmt.Errorf("the database in %[1]s is older than the folder %[2]s beside it, "+
		"which has events up to %[3]s that the database never committed: "+
		"it was restored from a backup, or lost its write-ahead log. Put the newer database back. "+
		"To go on with this one, move %[2]s away: the streams are made anew from the database (docs/runbook.md)",
		a.cfg.DataDir, filepath.Join(a.cfg.DataDir, NATSFolder), newest.OccurredAt)
}
