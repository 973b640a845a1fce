package app

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"renga.dev/renga/internal/platform/sqldb"
)

// instruments are metrics of one S, which is read when somebody looks; counting costs nothing more.
type instruments[S any] struct {
	meter metric.Meter
	all   []metric.Observable
	reads []func(metric.Observer, S)
	err   error
}

// observed gives a value of an instrument.
type observed func(value int64, attributes ...attribute.KeyValue)

func (m *instruments[S]) counter(name, about string, read func(S, observed)) {
	c, err := m.meter.Int64ObservableCounter(name, metric.WithDescription(about))
	m.add(c, err, read)
}

func (m *instruments[S]) gauge(name, about string, read func(S, observed), more ...metric.Int64ObservableGaugeOption) {
	g, err := m.meter.Int64ObservableGauge(name, append(more, metric.WithDescription(about))...)
	m.add(g, err, read)
}

func (m *instruments[S]) add(one metric.Int64Observable, err error, read func(S, observed)) {
	m.err, m.all = errors.Join(m.err, err), append(m.all, one)
	m.reads = append(m.reads, func(o metric.Observer, of S) {
		read(of, func(value int64, attributes ...attribute.KeyValue) {
			o.ObserveInt64(one, value, metric.WithAttributes(attributes...))
		})
	})
}

// register shows the metrics of what last gives, when that is known.
func (m *instruments[S]) register(last func() (of S, known bool)) error {
	if m.err != nil {
		return m.err
	}
	_, err := m.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if of, known := last(); known {
			for _, read := range m.reads {
				read(o, of)
			}
		}
		return nil
	}, m.all...)
	return err
}

// observe shows the counters of engine and database.
func observe(meter metric.Meter, a *App) error {
	m := &instruments[sqldb.Stats]{meter: meter}
	for _, c := range []struct {
		name, about string
		read        func(s sqldb.Stats) int64
	}{
		{"engine.commands", "Commands decided.", func(sqldb.Stats) int64 { return a.Engine.Metrics().Commands }},
		{"engine.commits", "Commits of the engine.", func(sqldb.Stats) int64 { return a.Engine.Metrics().Commits }},
		{"db.commits", "Commits of the database.", func(s sqldb.Stats) int64 { return int64(s.Commits) }},
		{"db.failed", "Commits of the database that failed.", func(s sqldb.Stats) int64 { return int64(s.Failed) }},
		{"db.reads", "Read transactions.", func(s sqldb.Stats) int64 { return int64(s.Reads) }},
		{
			"db.checkpoints", "Checkpoints of the write-ahead log.",
			func(s sqldb.Stats) int64 { return int64(s.Checkpoints) },
		},
		{
			"db.checkpoints.blocked", "Checkpoints that a reader kept from shortening a log that is too long.",
			func(s sqldb.Stats) int64 { return int64(s.Blocked) },
		},
		{"db.trips", "Round trips to PostgreSQL in transactions.", func(s sqldb.Stats) int64 { return int64(s.Trips) }},
		{
			"db.doubts", "Commits whose answer was lost and had to be asked for.",
			func(s sqldb.Stats) int64 { return int64(s.Doubts) },
		},
	} {
		m.counter(c.name, c.about, func(s sqldb.Stats, show observed) { show(c.read(s)) })
	}
	m.gauge("db.writable", "Whether anything can be written: 1, or 0.", func(_ sqldb.Stats, show observed) {
		if a.health.Check() == nil {
			show(1)
		} else {
			show(0)
		}
	})
	m.gauge("db.wal.size", "Size of the write-ahead log.", func(s sqldb.Stats, show observed) { show(s.WAL) },
		metric.WithUnit("By"))
	m.counter("db.jobs", "Jobs on PostgreSQL, by how often they were run again.", func(s sqldb.Stats, show observed) {
		for times, n := range s.Redone {
			if n > 0 {
				show(int64(n), attribute.Int("redone", times))
			}
		}
	})
	m.counter("db.stalls", "Commits, claims and stream frames that were held up for more than a second.",
		func(s sqldb.Stats, show observed) {
			show(int64(s.Stalls), attribute.String("of", "commit"))
			show(a.Engine.Metrics().Stalls, attribute.String("of", "claim"))
			show(a.frames.Load(), attribute.String("of", "frame"))
		})
	err := m.register(func() (sqldb.Stats, bool) { return a.DB.Stats(), true })
	if err != nil || a.cfg.Silent {
		return err
	}
	return observeLog(meter, a)
}

// observeLog shows how many rows of the engine's log are yet to be published.
func observeLog(meter metric.Meter, a *App) error {
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
	m := &instruments[int]{meter: meter}
	m.gauge("log.unpublished", "Rows of the log that wait to be published.",
		func(waiting int, show observed) { show(int64(waiting)) })
	return m.register(unpublished.last)
}

// observeBacklog shows what waits for the database to be put into the audit log.
func observeBacklog(meter metric.Meter, a *App) error {
	type backlog struct{ waiting, dropped int64 }
	m := &instruments[backlog]{meter: meter}
	m.gauge("workflow.backlog", "Audit entries of workflow events that wait for the database.",
		func(b backlog, show observed) { show(b.waiting) })
	m.counter("workflow.dropped", "Audit entries of workflow events that found no room to wait for the database.",
		func(b backlog, show observed) { show(b.dropped) })
	return m.register(func() (backlog, bool) {
		waiting, dropped := a.Inbound.Backlog()
		return backlog{int64(waiting), dropped}, true
	})
}
