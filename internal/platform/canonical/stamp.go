package canonical

import (
	"errors"
	"time"
)

// Stamp is an instant in milliseconds since 1970; 0 is none. On the wire it is
// RFC 3339 in UTC with three decimals, so that texts sort as instants do.
type Stamp int64

// The first and the last instant that can be written with four digits for the year.
const (
	FirstStamp Stamp = -62167219200000
	LastStamp  Stamp = 253402300799999
)

var errStamp = errors.New("canonical: not an RFC 3339 time")

// NextStamp is the version after last: the time, or the next one if it has not passed.
func NextStamp(last, now Stamp) Stamp { return max(now, last+1) }

// String is "2026-01-10T12:34:56.789Z"; none is "".
func (s Stamp) String() string {
	var room [24]byte
	return string(s.Append(room[:0]))
}

// Append is String without an allocation. What has no text is written as none.
func (s Stamp) Append(dst []byte) []byte {
	const day = 24 * 60 * 60 * 1000
	if s == 0 || s < FirstStamp || s > LastStamp {
		return dst
	}
	year, month, date := time.UnixMilli(int64(s)).UTC().Date()
	ms := int((s - FirstStamp) % day) // that one is a midnight
	return append(dst,
		digit(year/1000), digit(year/100), digit(year/10), digit(year), '-',
		digit(int(month)/10), digit(int(month)), '-', digit(date/10), digit(date), 'T',
		digit(ms/36_000_000), digit(ms/3_600_000%24%10), ':',
		digit(ms/60_000%60/10), digit(ms/60_000%60), ':',
		digit(ms/1000%60/10), digit(ms/1000%60), '.',
		digit(ms%1000/100), digit(ms%1000/10), digit(ms), 'Z')
}

// digit is the last digit of n.
func digit(n int) byte { return byte('0' + n%10) }

// MarshalText is String for encoders, who have no text for none.
func (s Stamp) MarshalText() ([]byte, error) {
	text := s.Append(nil)
	if text == nil {
		return nil, errStamp
	}
	return text, nil
}

// UnmarshalText is ParseStamp for decoders.
func (s *Stamp) UnmarshalText(text []byte) error {
	got, ok := parseStamp(text)
	if !ok {
		return errStamp
	}
	*s = got
	return nil
}

// ParseStamp reads an RFC 3339 time with any offset; fractions beyond milliseconds are
// cut off. The beginning of 1970 is refused, since it would be none, and so is what
// lies outside the years 0 to 9999 in UTC.
func ParseStamp(text string) (Stamp, error) {
	s, ok := parseStamp([]byte(text))
	if !ok {
		return 0, errStamp
	}
	return s, nil
}

func parseStamp(text []byte) (Stamp, bool) {
	if len(text) < len("2006-01-02T15:04:05Z") || !IsDate(text[:10]) || text[10]|0x20 != 't' || text[13] != ':' ||
		text[16] != ':' {
		return 0, false
	}
	hour, minute, second := number(text[11:13]), number(text[14:16]), number(text[17:19])
	ms, rest, ok := fraction(text[19:])
	offset, right := zone(rest)
	if !ok || !right || hour > 23 || minute > 59 || second > 60 {
		return 0, false
	}
	day := time.Date(number(text[:4]), time.Month(number(text[5:7])), number(text[8:10]), 0, 0, 0, 0,
		time.UTC).Unix() / 86400
	minutes := int64(hour*60+minute) - offset
	if second == 60 && (minutes+1)%1440 != 0 {
		return 0, false // leap seconds are at the end of a day
	}
	s := Stamp(((day*1440+minutes)*60+int64(second))*1000 + int64(ms))
	return s, s != 0 && s >= FirstStamp && s <= LastStamp
}

// notNumber is larger than what any part of a time may be.
const notNumber = 1 << 20

// number reads digits; anything else is notNumber.
func number(text []byte) int {
	n := 0
	for _, b := range text {
		if b < '0' || b > '9' {
			return notNumber
		}
		n = n*10 + int(b-'0')
	}
	return n
}

// fraction reads what stands behind the seconds, in milliseconds.
func fraction(text []byte) (ms int, rest []byte, ok bool) {
	if text[0] != '.' {
		return 0, text, true
	}
	i, unit := 1, 100
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		ms += int(text[i]-'0') * unit
		unit /= 10
	}
	return ms, text[i:], i > 1
}

// zone reads an offset to UTC, in minutes.
func zone(text []byte) (minutes int64, ok bool) {
	if len(text) == 1 {
		return 0, text[0]|0x20 == 'z'
	}
	if len(text) != len("+00:00") || text[3] != ':' || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	hour, minute := number(text[1:3]), number(text[4:6])
	minutes = int64(hour*60 + minute)
	if text[0] == '-' {
		minutes = -minutes
	}
	return minutes, hour < 24 && minute < 60
}

// IsDate reports whether a text is a day of the calendar: 2026-02-28.
func IsDate(text []byte) bool {
	if len(text) != 10 || text[4] != '-' || text[7] != '-' {
		return false
	}
	year, month, day := number(text[:4]), number(text[5:7]), number(text[8:])
	if year > 9999 || month < 1 || month > 12 || day < 1 {
		return false
	}
	days := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[month-1]
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		days = 29
	}
	return day <= days
}
