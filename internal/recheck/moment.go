package recheck

import (
	"bytes"
	"time"

	"renga.dev/renga/internal/platform/canonical"
)

// moment is an end of a window, in milliseconds since 1970, written as a canonical.Stamp is. The beginning
// of 1970, which is no instant there, is one here: who asks for everything may begin with it.
type moment int64

const epoch = "1970-01-01T00:00:00.000Z"

// MarshalText writes an RFC 3339 time in UTC.
func (m moment) MarshalText() ([]byte, error) {
	if m == 0 {
		return []byte(epoch), nil
	}
	return canonical.Stamp(m).MarshalText()
}

// UnmarshalText reads an RFC 3339 time with any offset.
func (m *moment) UnmarshalText(text []byte) error {
	var at canonical.Stamp
	err := at.UnmarshalText(text)
	if err != nil {
		if t, other := time.Parse(time.RFC3339, string(bytes.ToUpper(text))); other == nil && t.UnixMilli() == 0 {
			err = nil
		}
	}
	*m = moment(at)
	return err
}
