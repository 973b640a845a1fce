package seal

import (
	"crypto/rand"
	"encoding/binary"
)

// A place is a number that counts what all tenants did, and callers are shown it as a
// number, too, since released contracts say so: up to 2^52, which every JSON parser keeps
// exact. A permutation of these numbers that only the secret gives hides which it is.
const (
	halfBits  = 26
	placeBits = 40 // a thousand places a second for 34 years
	noiseBits = 2*halfBits - placeBits
	rounds    = 10

	// MaxPosition is the largest position that there is.
	MaxPosition = 1 << (2 * halfBits)
)

// Position shows a place as a number of 1..MaxPosition, always the same one.
func (s *Sealer) Position(place int64) int64 { return s.position(place, 0) }

// Mark shows a place as a number that nobody can compare with others: it does not tell
// whether the place is still the same.
func (s *Sealer) Mark(place int64) int64 {
	var noise [2]byte
	_, _ = rand.Read(noise[:]) // it never fails
	return s.position(place, uint64(binary.BigEndian.Uint16(noise[:]))%(1<<noiseBits-1)+1)
}

func (s *Sealer) position(place int64, noise uint64) int64 {
	if place < 0 || place >= 1<<placeBits {
		panic("seal: a place beyond all that there can be")
	}
	n := uint64(place)<<noiseBits | noise
	left, right := n>>halfBits, n&(1<<halfBits-1)
	for i := range rounds {
		left, right = right, left^s.round(i, right)
	}
	return int64(left<<halfBits|right) + 1
}

// Place is the place that a position shows. A position that nobody gave out shows one, too,
// but hardly ever one that exists: whoever knows the last place refuses it.
func (s *Sealer) Place(position int64) (int64, bool) {
	if position < 1 || position > MaxPosition {
		return 0, false
	}
	n := uint64(position - 1)
	left, right := n>>halfBits, n&(1<<halfBits-1)
	for i := rounds - 1; i >= 0; i-- {
		left, right = right^s.round(i, left), left
	}
	return int64((left<<halfBits | right) >> noiseBits), true
}

// round is a number of halfBits that a half and the secret give.
func (s *Sealer) round(i int, half uint64) uint64 {
	var in, out [16]byte
	in[0] = byte(i)
	binary.BigEndian.PutUint64(in[8:], half)
	s.place.Encrypt(out[:], in[:])
	return binary.BigEndian.Uint64(out[:8]) & (1<<halfBits - 1)
}
