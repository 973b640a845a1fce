package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"

	"renga.dev/renga/internal/workflow/engine"
)

// trace is everything that happened in a run, as a digest and, when somebody
// wants to read it, as lines.
type trace struct {
	sum hash.Hash
	out io.Writer // nil: nobody reads
}

func newTrace(out io.Writer) *trace { return &trace{sum: sha256.New(), out: out} }

// say adds a line.
func (t *trace) say(format string, args ...any) {
	line := fmt.Sprintf(format+"\n", args...)
	io.WriteString(t.sum, line)
	if t.out != nil {
		io.WriteString(t.out, line)
	}
}

// bytes adds data that nobody wants to read.
func (t *trace) bytes(parts ...[]byte) {
	for _, p := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		t.sum.Write(n[:])
		t.sum.Write(p)
	}
}

func (t *trace) digest() string { return fmt.Sprintf("%x", t.sum.Sum(nil)[:12]) }

// record adds everything that the store holds.
func (t *trace) record(m *Memory) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, num := range slices.Sorted(maps.Keys(m.execs)) {
		x := m.execs[num]
		t.bytes(fmt.Appendf(nil, "%+v", x.head))
		for _, r := range x.log {
			t.bytes(fmt.Appendf(nil, "%d %d %d %d", r.CommitNo, r.FirstSeq, r.LastSeq, r.Reducer), r.Body, r.Snapshot)
		}
	}
	refs := slices.SortedFunc(maps.Keys(m.keys), func(a, b engine.KeyRef) int {
		return slices.Compare([]string{a.Tenant, a.Endpoint, a.Key}, []string{b.Tenant, b.Endpoint, b.Key})
	})
	for _, ref := range refs {
		k := m.keys[ref]
		t.bytes(fmt.Appendf(nil, "%v %d", ref, k.At), k.Hash[:], k.Body)
	}
	for _, row := range slices.SortedFunc(maps.Keys(m.ready), compareReady) {
		t.bytes(fmt.Appendf(nil, "%v", row))
	}
}
