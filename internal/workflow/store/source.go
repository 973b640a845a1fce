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

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/wire"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// SourceConfig is how a source names its messages.
type SourceConfig struct {
	Service  string // the producer of its messages
	Instance string // tells this process from others
	Log      *slog.Logger
}

// Source is the engine's log as the bus reads it: a message for each row that tells
// something, in the order of the numbers (news).
type Source struct {
	store *Store
	cfg   SourceConfig

	mu      sync.Mutex
	holes   *sqldb.Holes
	payload []byte // room to put one together
}

var _ bus.Source = (*Source)(nil)

// NewSource makes the source of a store. A store has one at most.
func NewSource(s *Store, cfg SourceConfig) *Source {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Source{store: s, cfg: cfg, holes: sqldb.NewHoles(s.db, "engine_log")}
}

// OnCommit calls fn after each commit that has messages. fn must not block.
func (s *Source) OnCommit(fn func()) { s.store.news.wake.Store(&fn) }

// maxPage is how many bytes of bodies are read at a time, before the last one.
const maxPage = 8 << 20

// After gives the messages of up to limit rows behind a number.
func (s *Source) After(ctx context.Context, number int64, limit int) ([]bus.Message, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read := s.page
	if s.store.pg {
		read = s.pgPage
	} else if notices, ok := s.store.tail.after(number, limit); ok {
		return s.tell(number, notices)
	}
	notices, err := read(ctx, number, limit)
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

// storedNews is a row as it is stored.
type storedNews struct {
	number int64
	tenant string // "": the execution does not exist
	id     flow.ID
	row    engine.LogRow
}

// page reads notices from the table, and what tenants want as of the same instant.
func (s *Source) page(ctx context.Context, number int64, limit int) ([]*notice, error) {
	wanted := map[string]engine.Publicity{}
	var out []*notice
	err := s.store.db.Read(ctx, func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx, publicity(wanted),
			sqldb.Stmt{Query: selectNews, Args: []any{number, limit, maxPage}, Row: func(r *sqldb.Row) error {
				n, err := scanNews(r)
				out = append(out, s.notice(&n, wanted))
				return err
			}})
	})
	slices.SortFunc(out, func(a, b *notice) int { return cmp.Compare(a.number, b.number) })
	return out, err
}

// scanNews reads a row of the log that others are told of.
func scanNews(r *sqldb.Row) (n storedNews, err error) {
	var id []byte
	err = r.Scan(&n.number, &n.tenant, &id, &n.row.CommitNo, &n.row.FirstSeq, &n.row.LastSeq, &n.row.Body)
	copy(n.id[:], id)
	return n, err
}

// notice is what a stored row tells. Every row has one, be it empty.
func (s *Source) notice(n *storedNews, wanted map[string]engine.Publicity) *notice {
	empty := &notice{number: n.number, execution: n.id}
	if n.tenant == "" {
		return empty
	}
	out, err := readNotice(n.number, n.tenant, n.id, &n.row, wanted[n.tenant])
	if err != nil {
		s.skip(empty, err)
		return empty
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

// selectLastNews says what every row with news satisfies: only then is their index looked at
// and not the whole log.
const selectLastNews = "SELECT coalesce(max(news), 0) FROM engine_log WHERE news > 0"

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
