package seal

import (
	"crypto/rand"
	"encoding/binary"
)

// A place counts what all tenants did. Released contracts show it as a number of up to 2^52, which every JSON parser
// keeps exact; a permutation keyed with the secret hides the count.
const (
	halfBits  = 26
	placeBits = 40 // a thousand places a second for 34 years
	noiseBits = 2*halfBits - placeBits
	rounds    = 10

	MaxPosition = 1 << (2 * halfBits)
)

// Position encrypts a place, always as the same number of 1..MaxPosition.
func (s *Sealer) Position(place int64) int64 { return s.position(place, 0) }

// Mark encrypts a place differently each time, so that marks cannot be compared.
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

// Place decrypts a position. A forged one decrypts too, but hardly ever to a place at or before the last one; callers
// check that.
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

// round is the round function of the Feistel network, of halfBits.
func (s *Sealer) round(i int, half uint64) uint64 {
	var in, out [16]byte
	in[0] = byte(i)
	binary.BigEndian.PutUint64(in[8:], half)
	s.place.Encrypt(out[:], in[:])
	return binary.BigEndian.Uint64(out[:8]) & (1<<halfBits - 1)
}
