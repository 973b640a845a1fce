package flow

// bitset is a set of small numbers (indexes of nodes). It allocates only for
// numbers from 64 on, so that decisions on small graphs are free of it.
type bitset struct {
	low  uint64
	high []uint64
}

func (b *bitset) has(i int) bool {
	if i < 64 {
		return b.low&(1<<i) != 0
	}
	w := i/64 - 1
	return w < len(b.high) && b.high[w]&(1<<(i%64)) != 0
}

func (b *bitset) add(i int) {
	if i < 64 {
		b.low |= 1 << i
		return
	}
	w := i/64 - 1
	if w >= len(b.high) {
		b.high = append(b.high, make([]uint64, w+1-len(b.high))...)
	}
	b.high[w] |= 1 << (i % 64)
}

func (b *bitset) addAll(other *bitset) {
	b.low |= other.low
	if more := len(other.high) - len(b.high); more > 0 {
		b.high = append(b.high, make([]uint64, more)...)
	}
	for w, bits := range other.high {
		b.high[w] |= bits
	}
}

func (b *bitset) empty() bool { return b.low == 0 && b.high == nil }
