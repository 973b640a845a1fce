package store

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"renga.dev/renga/internal/bus"
	"renga.dev/renga/internal/engine"
	"renga.dev/renga/internal/fault"
	"renga.dev/renga/internal/flow"
	"renga.dev/renga/internal/sqldb"
	"renga.dev/renga/internal/wire"
)

// SourceConfig is how a source names its messages, and whom it wakes.
type SourceConfig struct {
	Service  string // the producer of its messages
	Instance string // tells this process from others
	Wake     func() // called after a commit that has news; it must not block
	Log      *slog.Logger
}

// Source is the engine's log as the bus reads it: a message for each row that tells
// something, in the order of the numbers (news).
type Source struct {
	store *Store
	cfg   SourceConfig

	mu    sync.Mutex
	holes holes
}

var _ bus.Source = (*Source)(nil)

// NewSource makes the source of a store. A store has one at most.
func NewSource(s *Store, cfg SourceConfig) *Source {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Wake != nil {
		s.news.wake.Store(&cfg.Wake)
	}
	return &Source{store: s, cfg: cfg}
}

// maxPage is how many bytes of bodies are read at a time, before the last one.
const maxPage = 8 << 20

// After gives the messages of up to limit rows behind a number.
func (s *Source) After(ctx context.Context, number int64, limit int) ([]bus.Message, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.store.pg {
		if notices, ok := s.store.tail.after(number, limit); ok {
			return s.tell(number, notices)
		}
	}
	notices, err := s.page(ctx, number, limit)
	if err != nil {
		return nil, number, fault.Wrap("store.news", err)
	}
	return s.tell(number, notices)
}

// tell makes the messages of notices that follow a number.
func (s *Source) tell(number int64, notices []*notice) (msgs []bus.Message, upto int64, err error) {
	msgs = make([]bus.Message, 0, len(notices))
	for _, n := range notices {
		if msgs, err = s.messages(msgs, n); err != nil {
			s.skip(n, err)
		}
		number = n.number
	}
	return msgs, number, nil
}

// skip logs a row that gives no message: it must not hold up all others.
func (s *Source) skip(n *notice, err error) {
	s.cfg.Log.Error("row of the log cannot be published", "executionId", n.execution.String(), "error", err)
}

// selectNews reads rows behind a number, as many as fit into $3 bytes and one more. The
// sum is over sizes alone; bodies that do not fit are not read. The order is the reader's
// business: the database would sort bodies.
const selectNews = `SELECT w.news, coalesce(e.tenant, ''), e.id, l.commit_no, l.first_seq, l.last_seq, l.body
	FROM (SELECT news, execution, commit_no, sum(size) OVER (ORDER BY news ROWS UNBOUNDED PRECEDING) - size AS before
		FROM (SELECT news, execution, commit_no, length(body) AS size FROM engine_log WHERE news > $1 ORDER BY news LIMIT $2) AS p) AS w
	LEFT JOIN engine_log AS l ON l.execution = w.execution AND l.commit_no = w.commit_no
	LEFT JOIN engine_execution AS e ON e.num = w.execution
	WHERE w.before < $3`

// page reads notices from the table, up to a number that may still appear.
func (s *Source) page(ctx context.Context, number int64, limit int) ([]*notice, error) {
	if s.store.pg {
		return s.settled(ctx, number, limit)
	}
	r := newReading(number, limit)
	if err := r.read(ctx, s.store.db); err != nil {
		return nil, err
	}
	return s.notices(r), nil
}

// reading is a page of stored rows.
type reading struct {
	number int64
	limit  int
	rows   []storedNews
	wanted map[string]engine.Publicity
}

// storedNews is a row as it is stored.
type storedNews struct {
	number int64
	tenant string // "": the execution does not exist
	id     flow.ID
	row    engine.LogRow
}

func newReading(number int64, limit int) *reading {
	return &reading{number: number, limit: limit, wanted: map[string]engine.Publicity{}}
}

// read reads the page, and what tenants want as of the same instant. more is asked in
// the same transaction.
func (r *reading) read(ctx context.Context, db *sqldb.DB, more ...sqldb.Stmt) error {
	stmts := append(more, publicity(r.wanted), sqldb.Stmt{Query: selectNews, Args: []any{r.number, r.limit, maxPage}, Row: func(row *sqldb.Row) error {
		var n storedNews
		var id []byte
		err := row.Scan(&n.number, &n.tenant, &id, &n.row.CommitNo, &n.row.FirstSeq, &n.row.LastSeq, &n.row.Body)
		copy(n.id[:], id)
		r.rows = append(r.rows, n)
		return err
	}})
	err := db.Read(ctx, func(ctx context.Context, sql *sqldb.Tx) error { return sql.Batch(ctx, stmts...) })
	slices.SortFunc(r.rows, func(a, b storedNews) int { return cmp.Compare(a.number, b.number) })
	return err
}

// notices makes what was read into what is told. Every row has one, be it empty.
func (s *Source) notices(r *reading) []*notice {
	out := make([]*notice, len(r.rows))
	for i := range r.rows {
		n := &r.rows[i]
		var err error
		if n.tenant != "" {
			out[i], err = readNotice(n.number, n.tenant, n.id, &n.row, r.wanted[n.tenant])
		}
		if out[i] == nil {
			out[i] = &notice{number: n.number, execution: n.id}
		}
		if err != nil {
			s.skip(out[i], err)
		}
	}
	return out
}

// Rows are about in the order of their instants: transactions that ran side by side may
// have taken their numbers the other way round, and a clock may have been set back. So
// Before leaves room, more when it looks far back.
const (
	leastRoom = wire.Stamp(60_000)
	roomPart  = 100 // of the time that it looks back
)

// Before gives a number up to which all rows are older than an instant. It halves the
// range; a clock that was set back by more than the room is not seen through.
func (s *Source) Before(ctx context.Context, at wire.Stamp) (number int64, err error) {
	before := at - max(leastRoom, (wire.Stamp(time.Now().UnixMilli())-at)/roomPart)
	err = s.store.read(ctx, "store.before", func(ctx context.Context, sql *sqldb.Tx) error {
		var last int64
		if err := sql.Row(ctx, selectLastNews).Scan(&last); err != nil {
			return err
		}
		old, young := int64(0), last+1 // up to old they are older, from young on they are not
		for young-old > 1 {
			half := old + (young-old)/2
			found, when, err := instant(ctx, sql, half)
			switch {
			case err != nil:
				return err
			case when >= before || found >= young:
				young = half // nothing is between half and found
			default:
				old = found
			}
		}
		number = old
		return nil
	})
	return number, err
}

const selectLastNews = "SELECT coalesce(max(news), 0) FROM engine_log"

const selectInstant = "SELECT news, first_seq, body FROM engine_log WHERE news >= $1 ORDER BY news LIMIT 1"

// never is younger than every row.
const never = wire.Stamp(math.MaxInt64)

// instant is when the first row from a number on was written that says so.
func instant(ctx context.Context, sql *sqldb.Tx, number int64) (found int64, at wire.Stamp, err error) {
	for {
		var row engine.LogRow
		err := sql.Row(ctx, selectInstant, number).Scan(&found, &row.FirstSeq, &row.Body)
		if errors.Is(err, sqldb.ErrNoRow) {
			return number, never, nil
		}
		if err != nil {
			return 0, 0, err
		}
		if first, _, err := engine.EventsOf(flow.ID{}, &row, engine.TellNothing.Wants); err == nil && first.At > 0 {
			return found, wire.Stamp(first.At), nil
		}
		number = found + 1
	}
}
