package engine

import (
	"encoding/binary"
	"fmt"
	"slices"

	"renga.dev/renga/internal/workflow/flow"
)

// keyIndex says in which row of its log an execution remembers an idempotency key. It holds 16 bytes a key: a hash,
// which finds, and the row, which proves.
type keyIndex struct {
	all   []keyAt
	index map[uint64]int // the newest place of a hash in all; made when there are many
}

type keyAt struct {
	hash   uint64
	commit uint32
	at     uint32 // seconds since 1970
}

// MaxKeys is how many keys one execution remembers at a time.
const MaxKeys = 1 << 18

const keyIndexFrom = 64

// keyHash finds a key of a command on a node (FNV-1a). It need not be unique.
func keyHash(command, node, key string) uint64 {
	h := uint64(14695981039346656037)
	for _, s := range [...]string{command, node, key} {
		for i := range len(s) {
			h = (h ^ uint64(s[i])) * 1099511628211
		}
		h = (h ^ 0xff) * 1099511628211 // no byte of UTF-8
	}
	return h
}

func (k *keyIndex) add(hash uint64, commit int64, at flow.Time) {
	k.all = append(k.all, keyAt{hash, uint32(commit), uint32(at / 1000)})
	if k.index != nil {
		k.index[hash] = len(k.all) - 1
	} else {
		k.reindex()
	}
}

func (k *keyIndex) reindex() {
	k.index = nil
	if len(k.all) <= keyIndexFrom {
		return
	}
	k.index = make(map[uint64]int, 2*len(k.all))
	for i, key := range k.all {
		k.index[key.hash] = i
	}
}

// rows are the commit numbers that may remember the key, newest first.
func (k *keyIndex) rows(hash uint64) []int64 {
	last := len(k.all) - 1
	if k.index != nil {
		i, ok := k.index[hash]
		if !ok {
			return nil
		}
		last = i
	}
	var rows []int64
	for i := last; i >= 0; i-- {
		if k.all[i].hash == hash {
			rows = append(rows, int64(k.all[i].commit))
		}
	}
	return rows
}

// dropBefore drops keys that were used before the second of an instant.
func (k *keyIndex) dropBefore(at flow.Time) {
	all := len(k.all)
	k.all = slices.DeleteFunc(k.all, func(key keyAt) bool { return flow.Time(key.at) < at/1000 })
	if len(k.all) < all {
		k.reindex()
	}
}

func (k *keyIndex) bytes() []byte {
	b := make([]byte, 0, 16*len(k.all))
	for _, key := range k.all {
		b = binary.BigEndian.AppendUint64(b, key.hash)
		b = binary.BigEndian.AppendUint32(b, key.commit)
		b = binary.BigEndian.AppendUint32(b, key.at)
	}
	return b
}

func (k *keyIndex) parse(b []byte) error {
	if len(b)%16 != 0 {
		return fmt.Errorf("keys of a snapshot: %d bytes", len(b))
	}
	*k = keyIndex{all: make([]keyAt, 0, len(b)/16)}
	for ; len(b) > 0; b = b[16:] {
		k.all = append(k.all, keyAt{
			binary.BigEndian.Uint64(b), binary.BigEndian.Uint32(b[8:]),
			binary.BigEndian.Uint32(b[12:]),
		})
	}
	k.reindex()
	return nil
}
