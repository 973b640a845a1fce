// Package storetest is the suite that every implementation of the engine's store
// passes, whatever database is underneath.
package storetest

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// Run tests a store. open gives an empty one that is served until the test ends;
// it remembers keys for Retention.
func Run(t *testing.T, open func(t *testing.T) engine.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *suite)
	}{
		{"a commit that fails leaves nothing", failedCommit},
		{"a commit number is used once", commitConflict},
		{"an execution is found by its id and tenant", fetchFound},
		{"what is known is not read again", fetchKnown},
		{"a commit sees its own rows", ownRows},
		{"numbers are not given twice", numbers},
		{"a history begins at the newest snapshot", snapshots},
		{"a snapshot of another reducer is ignored", otherReducer},
		{"a history ends at the event asked for", historyUpTo},
		{"rows are found by the events that they hold", rowsFrom},
		{"rows cover about as many events as asked for", rowsLimit},
		{"keys are remembered", keys},
		{"a key is used anew after it expired", expiredKeys},
		{"ready tasks are in order", readyOrder},
		{"a task that was taken is gone", readyTaken},
		{"tasks that become ready together are there, and taken together", readyTogether},
		{"deadlines are found in order", due},
		{"lists filter and count", lists},
		{"lists filter by what executions are found by", listFilters},
		{"lists count what changes", listChanges},
		{"lists know what waits", listWaiting},
		{"lists are in order of creation", listOrder},
		{"a business key has one active execution of a graph", businessKeys},
		{"waits are listed with their filters", waits},
		{"executions are counted by group and over time", counts},
		{"queues have ready tasks", queues},
		{"a scan sees every tenant", scan},
		{"graphs have versions", graphs},
		{"graphs are listed by their newest version", graphPages},
		{"tenants do not see each other", tenants},
		{"a savepoint undoes its part alone", savepoints},
		{"what does not exist is not found", notFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.run(t, &suite{T: t, store: open(t), waits: map[engine.WaitRef]bool{}})
		})
	}
}

// Retention is how long the stores under test remember keys.
const Retention flow.Time = 1000

const tenantA, tenantB = "00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000b"

// suite is one store under test.
type suite struct {
	*testing.T
	store engine.Store
	waits map[engine.WaitRef]bool // that were written
}

// commit runs fn in a transaction that must succeed.
func (s *suite) commit(fn func(ctx context.Context, tx engine.Tx) error) {
	s.Helper()
	s.must(s.store.Commit(s.Context(), fn))
}

// write commits one batch that must succeed.
func (s *suite) write(b engine.Batch) {
	s.Helper()
	s.commit(func(ctx context.Context, tx engine.Tx) error { return tx.Write(ctx, &b) })
	for _, ref := range b.Waited {
		delete(s.waits, ref)
	}
	for i := range b.Waits {
		s.waits[b.Waits[i].WaitRef] = true
	}
}

// number reserves one execution number.
func (s *suite) number() (num int64) {
	s.Helper()
	s.commit(func(ctx context.Context, tx engine.Tx) (err error) {
		num, err = tx.Number(ctx, 1)
		return err
	})
	return num
}

// create stores a new execution with one event.
func (s *suite) create(h engine.Head) engine.Head {
	s.Helper()
	if h.Num == 0 {
		h.Num = s.number()
	}
	h = filled(h)
	s.write(engine.Batch{Create: []engine.Head{h}, Log: []engine.LogRow{row(h.Num, 1, 1, 1)}})
	return h
}

// filled gives an execution what the test did not say.
func filled(h engine.Head) engine.Head {
	if h.ID.IsZero() {
		h.ID = idOf(h.Num)
	}
	if h.Tenant == "" {
		h.Tenant = tenantA
	}
	if h.GraphID == "" {
		h.GraphID, h.GraphVersion = "g", 1
	}
	if h.CreatedAt == 0 {
		h.CreatedAt = flow.Time(1_000_000 + h.Num)
	}
	return h
}

func idOf(num int64) flow.ID {
	var id flow.ID
	id[6], id[8] = 0x70, 0x80
	binary.BigEndian.PutUint64(id[8:], uint64(num)|1<<63)
	return id
}

// row is a log row with a body of its own.
func row(execution, commitNo int64, first, last uint64) engine.LogRow {
	return engine.LogRow{
		Execution: execution, CommitNo: commitNo, FirstSeq: first, LastSeq: last,
		Body: []byte{'b', byte(execution), byte(commitNo)},
	}
}

// withSnapshot gives a row a snapshot.
func withSnapshot(r engine.LogRow, reducer int) engine.LogRow {
	r.Snapshot, r.Reducer = []byte{'s', byte(r.CommitNo)}, reducer
	return r
}

// without is a row as it is read without its snapshot.
func without(r engine.LogRow) engine.LogRow {
	r.Snapshot, r.Reducer = nil, 0
	return r
}

// fetch reads one execution in a commit.
func (s *suite) fetch(w engine.Want) engine.History {
	s.Helper()
	var out []engine.History
	s.commit(func(ctx context.Context, tx engine.Tx) (err error) {
		out, err = tx.Fetch(ctx, []engine.Want{w})
		return err
	})
	if len(out) != 1 {
		s.Fatalf("%d histories for one want", len(out))
	}
	return out[0]
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) kind(err error, want fault.Kind) {
	s.Helper()
	if err == nil || fault.KindOf(err) != want {
		s.Errorf("got %v, want an error of kind %v", err, want)
	}
}

// equal compares; a nil and an empty slice are the same.
func equal[V any](t testing.TB, what string, got, want V) {
	t.Helper()
	empty := cmp.FilterValues(func(a, b []byte) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
	rows := cmp.FilterValues(func(a, b []engine.LogRow) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
	if diff := cmp.Diff(want, got, empty, rows); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
