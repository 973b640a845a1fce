package cron

import "time"

// farthest is how many days ahead the next time is looked for: February 29 can be eight
// years away.
const farthest = 9 * 366

// Next is the first time behind an instant, in its time zone; zero when there is none.
//
// A line with certain hours means what clocks show, once a day: a time that a clock
// leaves out when it is put forward comes in the moment it is put forward, and one that it
// shows twice comes the first time. A line with every hour, or every so many, comes
// whenever a clock shows such a time.
func (c *Line) Next(after time.Time) time.Time {
	if c.hourly {
		return c.nextShown(after)
	}
	y, m, d := after.Date()
	for n := range farthest {
		day := time.Date(y, m, d+n, 12, 0, 0, 0, time.UTC) // a calendar day; at noon no clock is put
		if !c.onDay(day) {
			continue
		}
		if t := c.firstOn(day, after); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// onDay reports whether it comes on a day at all.
func (c *Line) onDay(t time.Time) bool {
	if c.months>>t.Month()&1 == 0 {
		return false
	}
	day, weekday := c.days>>t.Day()&1 == 1, c.weekdays>>t.Weekday()&1 == 1
	if c.either {
		return day || weekday
	}
	return day && weekday
}

// firstOn is the first time on a day that is behind an instant, in the time zone of the
// instant; zero when there is none.
func (c *Line) firstOn(day, after time.Time) time.Time {
	for hour := range 24 {
		for minute := range 60 {
			if c.hours>>hour&1 == 0 || c.minutes>>minute&1 == 0 {
				continue
			}
			if t := clock(day, hour, minute, after.Location()); t.After(after) {
				return t
			}
		}
	}
	return time.Time{}
}

// clock is the instant at which a clock first shows a time, or at which it is put forward
// over it.
func clock(day time.Time, hour, minute int, zone *time.Location) time.Time {
	y, m, d := day.Date()
	t := time.Date(y, m, d, hour, minute, 0, 0, zone)
	start, end := t.ZoneBounds()
	if t.Hour() != hour || t.Minute() != minute { // left out
		if !end.IsZero() && end.Sub(t) < 24*time.Hour {
			return end
		}
		return start
	}
	if !start.IsZero() { // the second of two?
		_, now := t.Zone()
		_, then := start.Add(-time.Second).Zone()
		if first := t.Add(time.Duration(now-then) * time.Second); then > now && first.Before(start) {
			return first
		}
	}
	return t
}

// Repeat is which of the two instants counts when clocks are put back and show a time twice.
type Repeat int

// The choices.
const (
	First Repeat = iota
	Second
	Both
)

// Rule is what a line with certain hours means where clocks are put forward or back. The zero value is what Next
// goes by. A line with every hour, or every so many, needs none: it comes whenever a clock shows such a time.
type Rule struct {
	// Skip says that a time which clocks leave out does not come that day, in place of the moment at which they
	// are put forward over it.
	Skip      bool
	Ambiguous Repeat
}

// NextBy is Next by a rule.
func (c *Line) NextBy(after time.Time, rule Rule) time.Time {
	if c.hourly || rule == (Rule{}) {
		return c.Next(after)
	}
	y, m, d := after.Date()
	for n := range farthest {
		day := time.Date(y, m, d+n, 12, 0, 0, 0, time.UTC)
		if !c.onDay(day) {
			continue
		}
		if t := c.firstBy(day, after, rule); !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// firstBy is firstOn by a rule. The times that a day has twice are not in the order in which clocks show them, so
// all of the day are looked at.
func (c *Line) firstBy(day, after time.Time, rule Rule) (first time.Time) {
	for hour := range 24 {
		for minute := range 60 {
			if c.hours>>hour&1 == 0 || c.minutes>>minute&1 == 0 {
				continue
			}
			for _, t := range rule.instants(day, hour, minute, after.Location()) {
				if t.After(after) && (first.IsZero() || t.Before(first)) {
					first = t
				}
			}
		}
	}
	return first
}

// instants are when a time of a day comes: not at all, once or twice.
func (r Rule) instants(day time.Time, hour, minute int, zone *time.Location) []time.Time {
	first := clock(day, hour, minute, zone)
	if first.Hour() != hour || first.Minute() != minute { // left out
		if r.Skip {
			return nil
		}
		return []time.Time{first}
	}
	_, end := first.ZoneBounds()
	if end.IsZero() || r.Ambiguous == First {
		return []time.Time{first}
	}
	_, now := first.Zone()
	_, then := end.Zone()
	second := first.Add(time.Duration(now-then) * time.Second)
	switch {
	case then >= now || second.Before(end): // shown once
		return []time.Time{first}
	case r.Ambiguous == Second:
		return []time.Time{second}
	}
	return []time.Time{first, second}
}

// nextShown is the first whole minute behind an instant at which a clock shows a time of
// the line.
func (c *Line) nextShown(after time.Time) time.Time {
	t := after.Truncate(time.Minute).Add(time.Minute)
	last := after.AddDate(0, 0, farthest)
	for t.Before(last) {
		switch {
		case !c.onDay(t):
			y, m, d := t.Date()
			next := time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
			if !next.After(t) { // a midnight that clocks leave out
				next = t.Add(time.Hour)
			}
			t = next
		case c.hours>>t.Hour()&1 == 0:
			t = t.Add(time.Duration(60-t.Minute()) * time.Minute)
		case c.minutes>>t.Minute()&1 == 0:
			t = t.Add(time.Minute)
		default:
			return t
		}
	}
	return time.Time{}
}

// Missed are the times from the first one, which has come, up to now: the newest, and how
// many there are before it, counted up to most.
func (c *Line) Missed(first, now time.Time, most int) (newest time.Time, before int) {
	newest = first
	// not from the first, which may be a year ago
	for _, back := range []time.Duration{time.Hour, 24 * time.Hour, 32 * 24 * time.Hour} {
		if t := c.Next(now.Add(-back)); !t.IsZero() && !t.After(now) && t.After(newest) {
			newest = t
			break
		}
	}
	for t := newest; !t.IsZero() && !t.After(now); t = c.Next(t) {
		newest = t
	}
	for t := first; t.Before(newest) && before < most; t = c.Next(t) {
		before++
	}
	return newest, before
}
