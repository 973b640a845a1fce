package wire

import (
	"errors"
	"time"
)

// Stamp is an instant in milliseconds since 1970; 0 is none. On the wire it is
// RFC 3339 in UTC with three decimals.
type Stamp int64

// maxStamp is the last instant that four digits of a year can name.
const maxStamp Stamp = 253402300799999

// NextStamp is the version that follows last: the time, unless it did not pass.
func NextStamp(last, now Stamp) Stamp { return max(now, last+1) }

// String is "2026-01-10T12:34:56.789Z"; none is "".
func (s Stamp) String() string { return string(s.append(nil)) }

func (s Stamp) append(dst []byte) []byte {
	if s <= 0 || s > maxStamp {
		return dst
	}
	return time.UnixMilli(int64(s)).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}

// MarshalText is String for encoders; none cannot be written.
func (s Stamp) MarshalText() ([]byte, error) {
	if s <= 0 || s > maxStamp {
		return nil, errStamp
	}
	return s.append(nil), nil
}

// UnmarshalText is ParseStamp for decoders.
func (s *Stamp) UnmarshalText(text []byte) (err error) {
	*s, err = ParseStamp(string(text))
	return err
}

var errStamp = errors.New("expected an RFC 3339 time after 1970")

// ParseStamp reads an RFC 3339 time with any offset. Fractions beyond milliseconds
// are cut off. Times up to the beginning of 1970 and beyond the year 9999 are
// refused: a stamp could not hold them, or not write them again.
func ParseStamp(text string) (Stamp, error) {
	t, err := time.Parse(time.RFC3339, text)
	s := Stamp(t.UnixMilli())
	if err != nil || s <= 0 || s > maxStamp {
		return 0, errStamp
	}
	return s, nil
}
