package bus

import (
	"context"
	"maps"
	"slices"
	"strings"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

type ConsumerState struct {
	Name       string
	Configured bool // by this process; others may know more consumers
	Stream     events.Stream
	Types      []string // empty: all
	Continue   bool
	Parts      []ReaderState
}

// ReaderState is the progress of a consumer in a partition. Keys and dead letters are the tenant's, the rest is of
// the system.
type ReaderState struct {
	Part         int             `json:"partition"`
	Holder       string          `json:"holder,omitempty"`    // process that reads; "": none
	LeaseUntil   canonical.Stamp `json:"leaseUntil,omitzero"` // 0: as long as that process lives
	Seq          int64           `json:"seq"`
	RelayedAt    canonical.Stamp `json:"publishedAt,omitzero"` // when the event at Seq was published
	Pending      int64           `json:"pending"`              // events of the stream that follow, about
	SeenAt       canonical.Stamp `json:"seenAt,omitzero"`      // when Pending was committed
	ReplayCounts `json:"counts"` // events so far
	BlockedKeys  `json:"waitingKeys"`
	WaitingSince canonical.Stamp `json:"waitingSince,omitzero"` // of the longest blocked key
	Dead         int             `json:"deadLetters"`           // open dead letters
}

// BlockedKeys counts blocked keys: those to retry, and those to decide.
type BlockedKeys struct {
	Retrying int `json:"retrying"`
	Blocked  int `json:"blocked"`
}

// Consumers returns the progress of all consumers that are configured or have ever read.
func (b *Bus) Consumers(ctx context.Context, tenant string) (all []ConsumerState, err error) {
	err = b.read(ctx, "bus.consumers", func(ctx context.Context, tx *sqldb.Tx) error {
		s := &survey{consumers: map[string]*ConsumerState{}, forever: b.cfg.Exclusive}
		for i := range b.cfg.Consumers {
			c := &b.cfg.Consumers[i]
			state := s.consumer(c.Name)
			state.Configured, state.Stream, state.Types, state.Continue = true, c.Stream, c.Types, c.Continue
		}
		now, err := b.now(ctx, tx)
		if err != nil {
			return err
		}
		s.now = now
		if err := tx.Batch(ctx, s.questions(tenant)...); err != nil {
			return err
		}
		all = nil
		for _, name := range slices.Sorted(maps.Keys(s.consumers)) {
			all = append(all, *s.consumers[name])
		}
		return nil
	})
	return all, err
}

type survey struct {
	consumers map[string]*ConsumerState
	now       canonical.Stamp
	forever   bool // leases do not expire
}

func (s *survey) consumer(name string) *ConsumerState {
	c := s.consumers[name]
	if c == nil {
		c = &ConsumerState{Name: name, Parts: make([]ReaderState, events.Partitions)}
		for i := range c.Parts {
			c.Parts[i].Part = i
		}
		s.consumers[name] = c
	}
	return c
}

// reader is a partition's state; a dummy if there is no such partition.
func (s *survey) reader(name string, part int) *ReaderState {
	if part < 0 || part >= events.Partitions {
		return &ReaderState{}
	}
	return &s.consumer(name).Parts[part]
}

func (s *survey) questions(tenant string) []sqldb.Stmt {
	return []sqldb.Stmt{
		{
			Query: `SELECT consumer, part, stream, seq, relayed_at, pending, at, applied, duplicate, stale, failed
				FROM bus_reader`,
			Row: s.noteReader,
		},
		{Query: "SELECT name, part, holder, until FROM bus_lease", Row: s.noteLease},
		{
			Query: `SELECT consumer, part, state, count(*), min(since) FROM bus_lane
				WHERE tenant_id = $1 GROUP BY consumer, part, state`,
			Args: []any{tenant}, Row: s.noteBlocked,
		},
		{
			Query: "SELECT consumer, part, count(*) FROM bus_dead WHERE tenant_id = $1 AND status = 0 GROUP BY " +
				"consumer, part",
			Args: []any{tenant}, Row: s.noteDead,
		},
	}
}

func (s *survey) noteReader(row *sqldb.Row) error {
	var name string
	var r ReaderState
	var stream events.Stream
	err := row.Scan(&name, &r.Part, &stream, &r.Seq, &r.RelayedAt, &r.Pending, &r.SeenAt, &r.Applied, &r.Duplicate,
		&r.Stale, &r.Failed)
	if c := s.consumer(name); !c.Configured {
		c.Stream = stream
	}
	*s.reader(name, r.Part) = r
	return err
}

func (s *survey) noteLease(row *sqldb.Row) error {
	var name, holder string
	var part int
	var until canonical.Stamp
	err := row.Scan(&name, &part, &holder, &until)
	if consumer, ok := strings.CutPrefix(name, "reader:"); ok && s.consumers[consumer] != nil {
		r := s.reader(consumer, part)
		r.Holder, r.LeaseUntil = holderOf(holder, until, s.now, s.forever)
	}
	return err
}

// Parked counts the parked events of all tenants, including dead letters that are being redriven.
func (b *Bus) Parked(ctx context.Context) (int64, error) {
	return readValue[int64](ctx, b, "bus.parked", "SELECT count(*) FROM bus_parked")
}

// holderOf is the holder of a lease and its end; forever: leases do not expire.
func holderOf(holder string, until, now canonical.Stamp, forever bool) (string, canonical.Stamp) {
	switch {
	case forever:
		return holder, 0
	case until <= now:
		return "", 0
	}
	return holder, until
}

func (s *survey) noteBlocked(row *sqldb.Row) error {
	var name string
	var part, state, n int
	var since canonical.Stamp
	err := row.Scan(&name, &part, &state, &n, &since)
	r := s.reader(name, part)
	if state == 0 {
		r.Retrying = n
	} else {
		r.Blocked = n
	}
	if r.WaitingSince == 0 || since < r.WaitingSince {
		r.WaitingSince = since
	}
	return err
}

func (s *survey) noteDead(row *sqldb.Row) error {
	var name string
	var part, n int
	err := row.Scan(&name, &part, &n)
	s.reader(name, part).Dead = n
	return err
}
