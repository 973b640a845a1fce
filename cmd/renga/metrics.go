package main

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"renga.dev/renga/internal/sqldb"
)

// probe reports whether the database answers; one that others share must also take
// what is written.
func (c *core) probe(ctx context.Context) error {
	if c.db.Dialect() != sqldb.SQLite {
		return c.store.Check(ctx)
	}
	return c.db.Read(ctx, func(context.Context, *sqldb.Tx) error { return nil })
}

// observe shows the counters of engine and database as metrics. They are read
// when somebody looks; counting costs nothing more.
func observe(meter metric.Meter, c *core) error {
	type gauge struct {
		name, about string
		read        func(s *sqldb.Stats) int64
	}
	counters := []gauge{
		{"engine.commands", "Commands decided.", func(*sqldb.Stats) int64 { return c.engine.Metrics().Commands }},
		{"engine.commits", "Commits of the engine.", func(*sqldb.Stats) int64 { return c.engine.Metrics().Commits }},
		{"db.commits", "Commits of the database.", func(s *sqldb.Stats) int64 { return int64(s.Commits) }},
		{"db.failed", "Commits of the database that failed.", func(s *sqldb.Stats) int64 { return int64(s.Failed) }},
		{"db.reads", "Read transactions.", func(s *sqldb.Stats) int64 { return int64(s.Reads) }},
		{"db.checkpoints", "Checkpoints of the write-ahead log.", func(s *sqldb.Stats) int64 { return int64(s.Checkpoints) }},
		{"db.stalls", "Checkpoints that commits had to wait for.", func(s *sqldb.Stats) int64 { return int64(s.Stalls) }},
		{"db.trips", "Round trips to PostgreSQL in transactions.", func(s *sqldb.Stats) int64 { return int64(s.Trips) }},
		{"db.doubts", "Commits whose answer was lost and had to be asked for.", func(s *sqldb.Stats) int64 { return int64(s.Doubts) }},
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
	wal, err := meter.Int64ObservableGauge("db.wal.size", metric.WithUnit("By"), metric.WithDescription("Size of the write-ahead log."))
	if err != nil {
		return err
	}
	instruments = append(instruments, wal)
	read = append(read, func(o metric.Observer, s *sqldb.Stats) { o.ObserveInt64(wal, s.WAL) })
	redone, err := meter.Int64ObservableCounter("db.jobs", metric.WithDescription("Jobs on PostgreSQL, by how often they were run again."))
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
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		stats := c.db.Stats()
		for _, show := range read {
			show(o, &stats)
		}
		return nil
	}, instruments...)
	if err != nil || c.silent {
		return err
	}
	return observeLog(meter, c)
}

// observeLog shows how much of the engine's log others are still to be told of.
func observeLog(meter metric.Meter, c *core) error {
	waiting, err := meter.Int64ObservableGauge("log.unpublished", metric.WithDescription("Rows of the log that wait to be published."))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		status, err := c.bus.LogStatus(ctx)
		if err != nil {
			return err
		}
		n, err := c.store.Unpublished(ctx, status.Position)
		if err == nil {
			o.ObserveInt64(waiting, int64(n))
		}
		return err
	}, waiting)
	return err
}
