package app

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"renga.dev/renga/internal/platform/sqldb"
)

// observe shows the counters of engine and database as metrics. They are read
// when somebody looks; counting costs nothing more.
func observe(meter metric.Meter, a *App) error {
	type gauge struct {
		name, about string
		read        func(s *sqldb.Stats) int64
	}
	counters := []gauge{
		{"engine.commands", "Commands decided.", func(*sqldb.Stats) int64 { return a.Engine.Metrics().Commands }},
		{"engine.commits", "Commits of the engine.", func(*sqldb.Stats) int64 { return a.Engine.Metrics().Commits }},
		{"db.commits", "Commits of the database.", func(s *sqldb.Stats) int64 { return int64(s.Commits) }},
		{"db.failed", "Commits of the database that failed.", func(s *sqldb.Stats) int64 { return int64(s.Failed) }},
		{"db.reads", "Read transactions.", func(s *sqldb.Stats) int64 { return int64(s.Reads) }},
		{"db.checkpoints", "Checkpoints of the write-ahead log.", func(s *sqldb.Stats) int64 {
			return int64(s.Checkpoints)
		}},
		{
			"db.checkpoints.blocked", "Checkpoints that a reader kept from shortening a log that is too long.",
			func(s *sqldb.Stats) int64 { return int64(s.Blocked) },
		},
		{"db.trips", "Round trips to PostgreSQL in transactions.", func(s *sqldb.Stats) int64 {
			return int64(s.Trips)
		}},
		{"db.doubts", "Commits whose answer was lost and had to be asked for.", func(s *sqldb.Stats) int64 {
			return int64(s.Doubts)
		}},
	}
	instruments := make([]metric.Observable, 0, len(counters)+1)
	read := make([]func(metric.Observer, *sqldb.Stats), 0, len(counters)+1)
	for _, counter := range counters {
		instrument, err := meter.Int64ObservableCounter(counter.name, metric.WithDescription(counter.about))
		if err != nil {
			return err
		}
		instruments = append(instruments, instrument)
		read = append(read, func(o metric.Observer, s *sqldb.Stats) { o.ObserveInt64(instrument, counter.read(s)) })
	}
	writable, err := meter.Int64ObservableGauge("db.writable",
		metric.WithDescription("Whether anything can be written: 1, or 0."))
	if err != nil {
		return err
	}
	instruments = append(instruments, writable)
	read = append(read, func(o metric.Observer, _ *sqldb.Stats) {
		good := int64(0)
		if a.health.Check() == nil {
			good = 1
		}
		o.ObserveInt64(writable, good)
	})
	wal, err := meter.Int64ObservableGauge("db.wal.size", metric.WithUnit("By"),
		metric.WithDescription("Size of the write-ahead log."))
	if err != nil {
		return err
	}
	instruments = append(instruments, wal)
	read = append(read, func(o metric.Observer, s *sqldb.Stats) { o.ObserveInt64(wal, s.WAL) })
	redone, err := meter.Int64ObservableCounter("db.jobs",
		metric.WithDescription("Jobs on PostgreSQL, by how often they were run again."))
	if err != nil {
		return err
	}
	instruments = append(instruments, redone)
	read = append(read, func(o metric.Observer, s *sqldb.Stats) {
		for times, n := range s.Redone {
			if n > 0 {
				o.ObserveInt64(redone, int64(n), metric.WithAttributes(attribute.Int("redone", times)))
			}
		}
	})
	stalls, err := meter.Int64ObservableCounter("db.stalls",
		metric.WithDescription("Commits, claims and stream frames that were held up for more than a second."))
	if err != nil {
		return err
	}
	instruments = append(instruments, stalls)
	read = append(read, func(o metric.Observer, s *sqldb.Stats) {
		for what, n := range map[string]int64{
			"commit": int64(s.Stalls), "claim": a.Engine.Metrics().Stalls, "frame": a.frames.Load(),
		} {
			o.ObserveInt64(stalls, n, metric.WithAttributes(attribute.String("of", what)))
		}
	})
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		stats := a.DB.Stats()
		for _, show := range read {
			show(o, &stats)
		}
		return nil
	}, instruments...)
	if err != nil || a.cfg.Silent {
		return err
	}
	return observeLog(meter, a)
}

// observeLog shows how much of the engine's log others are still to be told of.
func observeLog(meter metric.Meter, a *App) error {
	waiting, err := meter.Int64ObservableGauge("log.unpublished",
		metric.WithDescription("Rows of the log that wait to be published."))
	if err != nil {
		return err
	}
	unpublished, err := newSample[int](meter, "log")
	if err != nil {
		return err
	}
	a.door.Run = append(a.door.Run, func(ctx context.Context) {
		unpublished.run(ctx, func(ctx context.Context) (int, error) {
			position, err := a.Bus.LogPosition(ctx)
			if err != nil {
				return 0, err
			}
			return a.Store.Unpublished(ctx, position)
		})
	})
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if n, known := unpublished.last(); known {
			o.ObserveInt64(waiting, int64(n))
		}
		return nil
	}, waiting)
	return err
}

// observeBacklog shows what waits for the database to be put into the audit log.
func observeBacklog(meter metric.Meter, a *App) error {
	entries, err := meter.Int64ObservableGauge("workflow.backlog",
		metric.WithDescription("Audit entries of workflow events that wait for the database."))
	if err != nil {
		return err
	}
	dropped, err := meter.Int64ObservableCounter("workflow.dropped",
		metric.WithDescription("Audit entries of workflow events that found no room to wait for the database."))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		waiting, gone := a.Inbound.Backlog()
		o.ObserveInt64(entries, int64(waiting))
		o.ObserveInt64(dropped, gone)
		return nil
	}, entries, dropped)
	return err
}
