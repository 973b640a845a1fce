package fault

import "time"

// Limit is the detail of TooMuch that says how much there may be.
const Limit = "limit"

// busyRetry is when to try again what was refused for lack of room.
const busyRetry = time.Second

// TooMuch refuses somebody of whom as much is under way, or waits, as may be at a time.
func TooMuch(limit int, format string, args ...any) *Error {
	e := New(RateLimited, "", format, args...).With(map[string]int{Limit: limit})
	e.RetryAfter = busyRetry
	return e
}

// Overloaded refuses anybody, since as much is under way as may be at a time.
func Overloaded(format string, args ...any) *Error {
	e := New(Unavailable, "OVERLOADED", format, args...)
	e.RetryAfter = busyRetry
	return e
}

// Passes reports whether nothing was done for want of something that comes back by itself: the
// database, or room for what somebody asks for.
func Passes(err error) bool {
	kind := KindOf(err)
	return err != nil && (kind == Unavailable || kind == RateLimited)
}
