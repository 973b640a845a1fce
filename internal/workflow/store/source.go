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
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// SourceConfig is how a source names its messages.
type SourceConfig struct {
	Service  string // the producer of its messages
	Instance string // distinguishes this process from others
	Log      *slog.Logger
}

// Source is the engine's log as the bus reads it: a message for each row that is published, in the order of the
// publication numbers (column news).
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

// OnCommit calls fn after each commit that is to be published. fn must not block.
func (s *Source) OnCommit(fn func()) { s.store.publishing.wake.Store(&fn) }

// maxPage is how many bytes of bodies are read at a time, before the last one.
const maxPage = 8 << 20

// After gives the messages of up to limit rows after a number.
func (s *Source) After(ctx context.Context, number int64, limit int) ([]bus.Message, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	read := s.page
	if s.store.pg {
		read = s.pgPage
	} else if notices, ok := s.store.tail.after(number, limit); ok {
		return s.messagesOf(number, notices)
	}
	notices, err := read(ctx, number, limit)
	if err != nil {
		return nil, number, fault.Wrap("store.publications", err)
	}
	return s.messagesOf(number, notices)
}

func (s *Source) messagesOf(number int64, notices []*publication) (msgs []bus.Message, upto int64, err error) {
	msgs = make([]bus.Message, 0, len(notices))
	for _, n := range notices {
		if msgs, err = s.messages(msgs, n); err != nil {
			s.skip(n, err)
		}
		number = n.number
	}
	return msgs, number, nil
}

// skip logs a row that gives no message: it must not block all others.
func (s *Source) skip(n *publication, err error) {
	s.cfg.Log.Error("row of the log cannot be published", "executionId", n.execution.String(), "error", err)
}

// selectPublications reads rows after a number, as many as fit into $3 bytes and one more. Bodies
// that do not fit are not read. The reader puts them into order: the database would sort bodies.
const selectPublications = `SELECT w.news, coalesce(e.tenant, ''), e.id, l.commit_no, l.first_seq, l.last_seq, l.body
	FROM (SELECT news, execution, commit_no, sum(size) OVER (ORDER BY news ROWS UNBOUNDED PRECEDING) - size AS before
		FROM (SELECT news, execution, commit_no, length(body) AS size FROM engine_log WHERE news > $1 ORDER BY news
			LIMIT $2) AS p) AS w
	LEFT JOIN engine_log AS l ON l.execution = w.execution AND l.commit_no = w.commit_no
	LEFT JOIN engine_execution AS e ON e.num = w.execution
	WHERE w.before < $3`

type storedPublication struct {
	number int64
	tenant string // "": the execution does not exist
	id     flow.ID
	row    engine.LogRow
}

// page reads publications from the table, and the publish policies as of the same instant.
func (s *Source) page(ctx context.Context, number int64, limit int) ([]*publication, error) {
	wanted := map[string]engine.PublishPolicy{}
	var out []*publication
	err := s.store.db.Read(ctx, func(ctx context.Context, sql *sqldb.Tx) error {
		return sql.Batch(ctx, publishPolicies(wanted),
			sqldb.Stmt{Query: selectPublications, Args: []any{number, limit, maxPage}, Row: func(r *sqldb.Row) error {
				n, err := scanPublication(r)
				out = append(out, s.publication(&n, wanted))
				return err
			}})
	})
	slices.SortFunc(out, func(a, b *publication) int { return cmp.Compare(a.number, b.number) })
	return out, err
}

func scanPublication(r *sqldb.Row) (n storedPublication, err error) {
	var id []byte
	err = r.Scan(&n.number, &n.tenant, &id, &n.row.CommitNo, &n.row.FirstSeq, &n.row.LastSeq, &n.row.Body)
	copy(n.id[:], id)
	return n, err
}

// publication is the publication of a stored row. Every row has one, be it empty.
func (s *Source) publication(n *storedPublication, wanted map[string]engine.PublishPolicy) *publication {
	empty := &publication{number: n.number, execution: n.id}
	if n.tenant == "" {
		return empty
	}
	first, events, err := engine.EventsOf(n.id, &n.row, wanted[n.tenant].Wants)
	if err != nil {
		s.skip(empty, err)
		return empty
	}
	return &publication{
		number: n.number, tenant: n.tenant, execution: n.id, commitNo: n.row.CommitNo, firstSeq: n.row.FirstSeq,
		lastSeq: n.row.LastSeq, first: first.ID, at: first.At, corr: first.CorrelationID, events: events,
	}
}

// Rows are about in the order of their instants: transactions run side by side, and clocks are set
// back. So Before leaves room, more when it looks far back.
const (
	leastRoom = canonical.Stamp(60_000)
	roomPart  = 100 // of the time that it looks back
)

// Before gives a number up to which all rows are older than an instant. It halves the
// range; a clock that was set back by more than the room is not seen through.
func (s *Source) Before(ctx context.Context, at canonical.Stamp) (number int64, err error) {
	before := at - max(leastRoom, (canonical.Stamp(time.Now().UnixMilli())-at)/roomPart)
	err = s.store.read(ctx, "store.before", func(ctx context.Context, sql *sqldb.Tx) error {
		var last int64
		if err := sql.Row(ctx, selectLastNumber).Scan(&last); err != nil {
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

// selectLastNumber states what every numbered row satisfies, so that the index of numbers is used.
const selectLastNumber = "SELECT coalesce(max(news), 0) FROM engine_log WHERE news > 0"

const selectInstant = "SELECT news, first_seq, body FROM engine_log WHERE news >= $1 ORDER BY news LIMIT 1"

const never = canonical.Stamp(math.MaxInt64)

// instant is when the first row from a number on was written that says so.
func instant(ctx context.Context, sql *sqldb.Tx, number int64) (found int64, at canonical.Stamp, err error) {
	for {
		var row engine.LogRow
		err := sql.Row(ctx, selectInstant, number).Scan(&found, &row.FirstSeq, &row.Body)
		if errors.Is(err, sqldb.ErrNoRow) {
			return number, never, nil
		}
		if err != nil {
			return 0, 0, err
		}
		if first, _, err := engine.EventsOf(flow.ID{}, &row, engine.PublishNone.Wants); err == nil && first.At > 0 {
			return found, canonical.Stamp(first.At), nil
		}
		number = found + 1
	}
}
