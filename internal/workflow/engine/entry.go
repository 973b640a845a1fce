package engine

import (
	"cmp"
	"encoding/base64"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/workflow/flow"
)

// entry is one execution as the engine holds it, rebuilt from the log alone.
type entry struct {
	tenant   string
	num      int64
	commitNo int64 // of the newest row
	state    flow.State
	plan     *flow.Plan // nil until a decision needs it
	keys     keyIndex
	late     []int64 // commit numbers of the rows that hold late results
	head     Head    // as stored, to write it only when it changes
	logBytes int     // of rows since the newest snapshot
	snapSize int     // of the newest snapshot; 0: there is none

	open *openRow // what the commit in the making adds
	void bool     // its last changes were undone: not to be kept
	over bool     // it had ended when it was read: somebody asks for it all the same
	size int      // as counted by the cache
	prev *entry   // toward the recently used end of the cache's list
	next *entry
}

func newEntry(tenant string, num int64, plan *flow.Plan) *entry {
	return &entry{tenant: tenant, num: num, plan: plan}
}

func rebuild(h *History) (*entry, error) {
	e := &entry{tenant: h.Head.Tenant, num: h.Head.Num, head: h.Head, over: h.Head.Status.Terminal()}
	for i := range h.Rows {
		row := &h.Rows[i]
		if i == 0 && row.Snapshot != nil && row.Reducer == ReducerVersion {
			if err := e.restore(row); err != nil {
				return nil, err
			}
			continue
		}
		if err := e.add(h.Head.ID, row); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// add applies one more row of the log to the entry.
func (e *entry) add(execution flow.ID, row *LogRow) error {
	if row.CommitNo != e.commitNo+1 {
		return fmt.Errorf("log of %v: commit %d follows %d", execution, row.CommitNo, e.commitNo)
	}
	if row.FirstSeq != e.state.Seq+1 {
		return fmt.Errorf("log of %v: event %d follows %d", execution, row.FirstSeq, e.state.Seq)
	}
	records, err := parseRow(execution, row)
	if err != nil {
		return err
	}
	e.commitNo = row.CommitNo
	e.logBytes += len(row.Body)
	for _, r := range records {
		for _, ev := range r.Events {
			e.state = flow.Apply(e.state, ev)
		}
		e.remember(r)
	}
	return nil
}

func (e *entry) remember(r *record) {
	// The key of a creation has no hash.
	if r.Idempotency.Key != "" && r.Idempotency.Hash != (canonical.IdempotencyKey{}).Hash {
		e.keys.add(keyHash(r.Command, r.Node, r.Idempotency.Key), e.commitNo, r.At)
	}
	if r.Late != nil {
		e.late = append(e.late, e.commitNo)
	}
}

// snapshot is the form of an entry inside the log; takeSnapshot writes it.
type snapshot struct {
	CommitNo int64          `json:"no"`
	State    jsontext.Value `json:"state"`
	Keys     []byte         `json:"keys"`
	Late     []int64        `json:"late,omitempty"`
}

// takeSnapshot writes the entry, leaving out keys that have expired.
func (e *entry) takeSnapshot(now flow.Time, retention flow.Time) ([]byte, error) {
	e.keys.dropBefore(now - retention)
	dst := fmt.Appendf(nil, `{"no":%d,"keys":"%s",`, e.commitNo, base64.StdEncoding.EncodeToString(e.keys.bytes()))
	if len(e.late) > 0 {
		late, err := json.Marshal(e.late)
		if err != nil {
			return nil, err
		}
		dst = fmt.Appendf(dst, `"late":%s,`, late)
	}
	dst, err := flow.AppendState(append(dst, `"state":`...), &e.state)
	return append(dst, '}'), err
}

// nodeSize is about what a node takes in a snapshot.
const nodeSize = 256

// expectedSize is how large a snapshot will be: about as the last one, if there is one.
func (e *entry) expectedSize() int {
	return cmp.Or(e.snapSize, nodeSize*len(e.state.Nodes)+len(e.state.Input))
}

func (e *entry) restore(row *LogRow) error {
	var s snapshot
	if err := json.Unmarshal(row.Snapshot, &s, flow.Stored); err != nil {
		return fmt.Errorf("snapshot at commit %d: %w", row.CommitNo, err)
	}
	state, err := flow.ParseState(s.State)
	if err != nil {
		return fmt.Errorf("snapshot at commit %d: %w", row.CommitNo, err)
	}
	if s.CommitNo != row.CommitNo || state.Seq != row.LastSeq {
		return fmt.Errorf("snapshot at commit %d is of commit %d, event %d", row.CommitNo, s.CommitNo, state.Seq)
	}
	e.commitNo, e.state, e.late = s.CommitNo, state, s.Late
	e.snapSize = len(row.Snapshot)
	return e.keys.parse(s.Keys)
}

// weight estimates the memory that the entry holds.
func (e *entry) weight() int {
	return 1024 + 448*len(e.state.Nodes) + int(min(e.state.Data, 4<<20)) + 32*len(e.keys.all)
}
