package flow

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"
)

// ID is a UUID: of an execution, or of an event.
type ID [16]byte

func (id ID) IsZero() bool { return id == ID{} }

// Plus is the ID n places after id. The events of one decision have consecutive IDs, so a log
// stores only the first.
func (id ID) Plus(n int) ID {
	low := binary.BigEndian.Uint64(id[8:])
	const variant = uint64(3) << 62
	low = low&variant | (low+uint64(n))&^variant
	binary.BigEndian.PutUint64(id[8:], low)
	return id
}

// String is the canonical text of a UUID.
func (id ID) String() string {
	var b [36]byte
	return string(id.append(b[:0]))
}

func (id ID) append(dst []byte) []byte {
	dst = hex.AppendEncode(dst, id[:4])
	for _, p := range [][]byte{id[4:6], id[6:8], id[8:10], id[10:]} {
		dst = append(dst, '-')
		dst = hex.AppendEncode(dst, p)
	}
	return dst
}

// AppendText appends the canonical text.
func (id ID) AppendText(dst []byte) ([]byte, error) { return id.append(dst), nil }

// MarshalText writes the canonical text; the zero ID is empty.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return id.append(nil), nil
}

// UnmarshalText reads the canonical text.
func (id *ID) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*id = ID{}
		return nil
	}
	got, err := ParseID(string(b))
	if err == nil {
		*id = got
	}
	return err
}

var errID = errors.New("flow: not a UUID")

// ParseID reads a UUID in canonical text, of either case.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, errID
	}
	digits := make([]byte, 0, 32)
	for _, part := range [...]string{s[:8], s[9:13], s[14:18], s[19:23], s[24:]} {
		digits = append(digits, part...)
	}
	if _, err := hex.Decode(id[:], digits); err != nil {
		return ID{}, errID
	}
	return id, nil
}

// Time is an instant in milliseconds since 1970 (UTC); zero means none.
type Time int64

// At is none for the zero time.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMilli())
}

// Std is the instant as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMilli(int64(t)).UTC() }

// Add is the instant d later. A duration is rounded up to whole milliseconds.
func (t Time) Add(d time.Duration) Time {
	return t + Time((d+time.Millisecond-1)/time.Millisecond)
}

// Sub is how much later t is than u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t-u) * time.Millisecond }

// rfc3339 has three decimals always, so that texts sort as instants do.
const rfc3339 = "2006-01-02T15:04:05.000Z"

// String is RFC 3339 in UTC.
func (t Time) String() string {
	var b [len(rfc3339)]byte
	return string(t.append(b[:0]))
}

// MarshalText writes RFC 3339 in UTC.
func (t Time) MarshalText() ([]byte, error) { return t.append(nil), nil }

// append writes RFC 3339 in UTC, nothing for none, in a tenth of the time that a layout takes.
func (t Time) append(dst []byte) []byte {
	const day = 24 * 60 * 60 * 1000
	if t == 0 {
		return dst
	}
	if t < 0 || t.Std().Year() > 9999 {
		return t.Std().AppendFormat(dst, rfc3339)
	}
	year, month, date := t.Std().Date()
	ms := int(t % day)
	dst = digits(dst, year, 4)
	dst = digits(append(dst, '-'), int(month), 2)
	dst = digits(append(dst, '-'), date, 2)
	dst = digits(append(dst, 'T'), ms/3_600_000, 2)
	dst = digits(append(dst, ':'), ms/60_000%60, 2)
	dst = digits(append(dst, ':'), ms/1000%60, 2)
	dst = digits(append(dst, '.'), ms%1000, 3)
	return append(dst, 'Z')
}

func digits(dst []byte, n, width int) []byte {
	for unit := [...]int{1, 10, 100, 1000}[width-1]; unit > 0; unit /= 10 {
		dst = append(dst, byte('0'+n/unit%10))
	}
	return dst
}

// UnmarshalText reads RFC 3339 with any offset.
func (t *Time) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		*t = 0
		return nil
	}
	got, err := time.Parse(time.RFC3339Nano, string(b))
	if err == nil && lax(b) {
		err = errTime
	}
	if err != nil {
		return err
	}
	*t = At(got)
	return nil
}

var errTime = errors.New("it is not an RFC 3339 time")

// lax reports what time.Parse alone accepts: an hour of one digit, a comma before the fraction,
// and offsets of 24 hours or 60 minutes.
func lax(b []byte) bool {
	if b[13] != ':' || b[19] == ',' {
		return true
	}
	zone := b[len(b)-len("+00:00"):]
	return b[len(b)-1] != 'Z' && (string(zone[1:3]) > "23" || string(zone[4:]) > "59")
}
