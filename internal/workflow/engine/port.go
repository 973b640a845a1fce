package engine

import (
	"context"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/workflow/flow"
)

// Store keeps the engine's log and everything that belongs to it.
//
// Commit runs fn in one transaction and returns after it is durable. When fn or
// the commit fails nothing of it remains. fn may run together with other jobs of
// the same commit, and again, from the start, when the transaction lost against
// another one; it does no I/O but through its Tx.
type Store interface {
	Commit(ctx context.Context, fn func(context.Context, Tx) error) error
	Reader
}

// Tx is one commit in the making.
type Tx interface {
	// Now is the time of this commit by the clock that all processes share, as of the
	// last Fetch: what that locked is not younger. here is what the clock of this
	// process shows; a store of one process gives it back.
	Now(ctx context.Context, here flow.Time) (flow.Time, error)
	// Fetch gives the stored histories of executions, in the order asked for, and
	// locks them for this commit. One whose Known is still current comes back
	// Fresh, without its rows, and with its Head where another process may have
	// moved DueAt; one that another process holds locked for long comes back Locked.
	Fetch(ctx context.Context, want []Want) ([]History, error)
	// Keys gives the remembered keys, in the order asked for; nil where there is none.
	Keys(ctx context.Context, refs []KeyRef) ([]*KeyRow, error)
	// Holders gives the ACTIVE executions that have business keys, in the order asked for;
	// the zero Head where there is none.
	Holders(ctx context.Context, keys []BusinessKey) ([]Head, error)
	// Ready lists ready tasks of a queue after a place in its order, oldest first,
	// leaving out what another commit is taking.
	Ready(ctx context.Context, tenant, queue string, after ReadyRow, limit int) ([]ReadyRow, error)
	// Graph is one version of a graph, the newest with version 0.
	Graph(ctx context.Context, tenant, id string, version int) (GraphRow, error)
	// Number reserves n execution numbers and gives the first.
	Number(ctx context.Context, n int) (int64, error)
	// Write writes everything in b. A log row whose (Execution, CommitNo) exists
	// is a fault.Conflict: another process decided first.
	Write(ctx context.Context, b *Batch) error
	// Savepoint runs fn and undoes what it wrote when it fails.
	Savepoint(ctx context.Context, fn func(context.Context) error) error
	// SQL is the same transaction for a caller's own tables. Nil on a store that has none.
	SQL() *sqldb.Tx
	LogReader // what this commit sees, its own rows included
}

// LogReader reads log rows of one execution.
type LogReader interface {
	// Row is one row, without its snapshot.
	Row(ctx context.Context, execution, commitNo int64) (LogRow, error)
	// Rows are the rows with LastSeq >= from, in order and with their snapshots, until
	// about limit events are covered; from 1 on also those that hold no event.
	Rows(ctx context.Context, execution int64, from uint64, limit int) ([]LogRow, error)
}

// Reader answers from what is committed. Unknown things are fault.NotFound.
type Reader interface {
	// Head is the row of an execution, and the newest row of its log without its body.
	Head(ctx context.Context, tenant string, id flow.ID) (Head, LogRow, error)
	// History is one execution: with upTo > 0, its newest snapshot at or before
	// that seq and the rows that follow, up to the one that holds it.
	History(ctx context.Context, tenant string, id flow.ID, upTo uint64) (History, error)
	LogReader
	// RowsAfter are up to limit rows of a log after a commit, in order and without their snapshots.
	RowsAfter(ctx context.Context, execution, commitNo int64, limit int) ([]LogRow, error)
	// ByKey is the execution of a graph with a business key: the ACTIVE one, else the newest.
	ByKey(ctx context.Context, key BusinessKey) (flow.ID, error)
	// List is a page of executions, newest first, and how many there are in all.
	List(ctx context.Context, q ListQuery) ([]Head, int, error)
	// Waits is a page of the nodes that wait, the longest waiting first, and how many there are in all.
	Waits(ctx context.Context, q WaitQuery) ([]WaitRow, int, error)
	// WaitsOf are the rows of the nodes of one execution that wait, without what is of its row, and by which names of
	// assignees a list finds each of them (AssigneeNames).
	WaitsOf(ctx context.Context, tenant string, execution int64) ([]WaitRow, map[string][]string, error)
	// Counts groups executions, the largest groups first, and counts all.
	Counts(ctx context.Context, q CountQuery) ([]Group, int, error)
	// Histogram counts the newest executions of each status, up to q.Limit, by the bucket of their creation.
	Histogram(ctx context.Context, q HistogramQuery) ([]Bar, error)
	// Queues is a page of the queues that have ready tasks, by name, and how many there are.
	Queues(ctx context.Context, q QueueQuery) ([]QueueRow, int, error)
	// Walk gives up to q.Limit executions, oldest first, after the place of one in
	// this order (CreatedAt, Num). Whoever walks on from the last one of each part
	// passes every execution once, whatever changes meanwhile.
	Walk(ctx context.Context, q ListQuery, after Head) ([]Head, error)
	// Due lists executions of a shard whose DueAt is not after now, after the place of one
	// in this order (DueAt, Num), and the next DueAt of it after those (0: none). now is
	// the time by the clock that Tx.Now goes by.
	Due(ctx context.Context, here flow.Time, of Shard, after Head, limit int) (due []Head, next, now flow.Time,
		err error)
	// Commits are the newest commit numbers of executions, in the order asked for; 0
	// where there is none. They serve to notice that an execution has moved.
	Commits(ctx context.Context, ids []flow.ID) ([]int64, error)
	// Scan walks all executions of all tenants in order of their numbers, after one.
	Scan(ctx context.Context, after int64, limit int) ([]Head, error)
	// Graph is one version of a graph, the newest with version 0.
	Graph(ctx context.Context, tenant, id string, version int) (GraphRow, error)
	// Graphs is a page of the newest versions, by id, and how many graphs there are. One
	// with a colon in its id is none that a user named, and is left out.
	Graphs(ctx context.Context, tenant string, offset, limit int) ([]GraphRow, int, error)
	// Versions is a page of the versions of a graph without their bodies, newest first, and how many there are;
	// none where there is no such graph.
	Versions(ctx context.Context, tenant, id string, offset, limit int) ([]GraphRow, int, error)
	// PutGraph stores a version unless the newest one has the same digest, and gives
	// what is stored then.
	PutGraph(ctx context.Context, g GraphRow) (GraphRow, bool, error)
}

// ReducerVersion names the reducer that made a snapshot. It changes whenever the
// same events could lead to another state or the snapshot's form changes.
const ReducerVersion = 2

// Shard is one of N parts that executions fall into, by the last byte of their ids:
// those for which it leaves the rest I. The zero value is all of them.
type Shard struct{ I, N byte }

// Has reports whether an execution is in it.
func (s Shard) Has(id flow.ID) bool { return s.N == 0 || id[len(id)-1]%s.N == s.I }

// none reports whether it never has an execution.
func (s Shard) none() bool { return s.I > 0 && s.I == s.N }

// Want asks for one execution: by ID, or by Num where it is known.
type Want struct {
	Tenant string
	ID     flow.ID
	Num    int64
	Known  int64 // commit number of the state that the caller holds; 0: none
}

// History is the stored part of one execution.
type History struct {
	Found  bool
	Fresh  bool // nothing newer than Want.Known; Rows are empty
	Locked bool // by another process, for long: this commit cannot have it; Rows are empty
	Head   Head
	Rows   []LogRow // from the newest usable snapshot on; only the first may carry one
}

// Head is the small row of an execution that lists, filters and deadlines use.
type Head struct {
	Num          int64
	ID           flow.ID
	Tenant       string
	GraphID      string
	GraphVersion int
	Status       flow.Status
	CreatedAt    flow.Time
	EndedAt      flow.Time
	ArchivedAt   flow.Time
	DueAt        flow.Time // a lower bound of the next deadline; 0: none
	Outcome      string    // of the Success that it ended at; "" in rows that ended before this column
	ErrorCode    string    // why it failed; "" in rows that ended before this column
	FailedNode   string    // where it failed first; "" in rows that ended before this column
	Waiting      int       // 1: a node waits; unknown in rows that are older than this column

	// These do not change.
	CorrelationID string // "" in rows that are older than this column
	BusinessKey   string // no two ACTIVE executions of a graph have the same; "": none
	Labels        string // as JSON; "": none
}

// unknown is Head.Waiting until the next commit about the execution, which writes its waits.
const unknown = -1

// LogRow is what one commit appended to one execution.
type LogRow struct {
	Execution int64
	CommitNo  int64 // 1, 2, 3 … per execution
	FirstSeq  uint64
	LastSeq   uint64 // FirstSeq-1 when the row holds no event
	Body      []byte // records (record.go)
	Snapshot  []byte // the execution after this row, when the row carries one
	Reducer   int    // ReducerVersion that made the snapshot; one of another version is ignored
}

// KeyRef names a key that belongs to no execution.
type KeyRef struct {
	Tenant   string
	Endpoint string
	Key      string
}

// KeyRow remembers a command that belongs to no execution: a creation, a claim.
type KeyRow struct {
	KeyRef
	Hash canonical.Hash
	At   flow.Time
	Body []byte // members of the request and the answer (record.go)
}

// ReadyRow is a Task that waits for a worker. The order of a queue is (At, Execution, Node).
type ReadyRow struct {
	Tenant    string
	Queue     string
	At        flow.Time
	Execution int64
	Node      string
}

// GraphRow is one version of a graph.
type GraphRow struct {
	Tenant    string    `json:"-"`
	ID        string    `json:"graphId"`
	Version   int       `json:"version"`
	Digest    string    `json:"digest"`
	Body      []byte    `json:"-"` // canonical JSON
	CreatedAt flow.Time `json:"createdAt"`
	Message   string    `json:"-"` // what starts it, when it is put; "": none does
}

// Batch is everything that one commit writes.
type Batch struct {
	Update       []Update      // of existing executions, by Num
	Create       []Head        // new ones, after Update: a business key may be free since that
	Log          []LogRow      // appended
	Publications []Publication // of those that hold events, in their order
	Keys         []KeyRow      // inserted, or replaced when the stored one has expired
	Taken        []ReadyRow    // deleted
	Ready        []ReadyRow    // inserted, after Taken is deleted: a task may be ready again at the same instant

	Waited []WaitRef // deleted
	Waits  []WaitRow // inserted, after Waited is deleted

	Canceled []Canceled // what to note elsewhere of the rows in Log
	Late     []Late     // the same: results for those who clean up
}

// Late is a result that came too late, of an execution whose cancel has started another one to clean up.
type Late struct {
	Tenant        string  `json:"-"`
	Execution     flow.ID `json:"executionId"`
	CorrelationID string  `json:"-"` // of the execution
	LateResult
}

// Canceled is an execution that a command has canceled. A command that was repeated, or
// refused, or that found it canceled, has canceled nothing.
type Canceled struct {
	Tenant        string
	Execution     flow.ID
	At            flow.Time
	Actor         flow.Actor
	Reason        string
	CorrelationID string
	Seq           uint64 // where cancel won
}

// Update is the new row of an execution: what does not change is as it was.
type Update struct {
	Head
	Was        flow.Status // the status that is stored
	WasWaiting int         // as it is stored
	Archived   bool        // it is stored as archived
}
