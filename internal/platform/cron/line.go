// Package cron says when the times of a cron line come, in a time zone, also where clocks are put forward or back.
//
// A line is parsed once and asked for the time after another one. The package reads no clock.
package cron

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // machines without time zones take lines too
)

// MaxLine is the longest cron line, in bytes.
const MaxLine = 200

// cronPart is one of the five parts of a cron line and what it may be.
type cronPart struct {
	name      string
	low, high int
}

var cronParts = [...]cronPart{
	{"the minute", 0, 59},
	{"the hour", 0, 23},
	{"the day of the month", 1, 31},
	{"the month", 1, 12},
	{"the day of the week", 0, 7},
}

// written is a line with its parts, where its name was given.
func written(line string) string {
	switch line {
	case "@yearly", "@annually":
		return "0 0 1 1 *"
	case "@monthly":
		return "0 0 1 * *"
	case "@weekly":
		return "0 0 * * 0"
	case "@daily", "@midnight":
		return "0 0 * * *"
	case "@hourly":
		return "0 * * * *"
	}
	return line
}

// Line is when something comes: the minutes, hours, days of the month, months and days of the
// week that its line names.
type Line struct {
	minutes, hours, days, months, weekdays uint64
	// Where the line restricts both the day of the month and the day of the week, one of
	// them is enough.
	either bool
	// hourly says that the line has every hour, or every so many: then it counts hours that
	// pass, not those that clocks show.
	hourly bool
}

// Check refuses a cron line that cannot be read, or never comes, or has a step that is
// longer than its part: */90 minutes would come every hour. It is for lines that are new.
func Check(line string) error {
	if _, err := Parse(line); err != nil {
		return err
	}
	for i, part := range strings.Fields(written(line)) {
		p := cronParts[i]
		for item := range strings.SplitSeq(part, ",") {
			_, step, stepped := strings.Cut(item, "/")
			if n, _ := p.number(step); stepped && n > p.high-p.low+1 {
				return fmt.Errorf("has a step that is too long: %s is %q and begins anew after %d", p.name, item,
					p.high-p.low+1)
			}
		}
	}
	return nil
}

// Parse reads a cron line. It has five parts, minute, hour, day of the month, month and
// day of the week (0 and 7 are Sunday), each *, a number, a range 1-5, a step */15 or
// 1-9/2, or several of them with commas; or it is one of the names, such as @daily. What never comes is refused.
func Parse(line string) (Line, error) {
	parts := strings.Fields(written(line))
	if len(line) > MaxLine {
		return Line{}, fmt.Errorf("must be at most %d characters", MaxLine)
	}
	if len(parts) != len(cronParts) {
		return Line{}, errors.New(
			"must have five parts: minute, hour, day of the month, month, day of the week; " +
				"or be @hourly, @daily, @weekly, @monthly or @yearly")
	}
	var sets [len(cronParts)]uint64
	for i, p := range cronParts {
		set, err := p.parse(parts[i])
		if err != nil {
			return Line{}, err
		}
		sets[i] = set
	}
	if parts[4] == "*" && !comes(sets[2], sets[3]) {
		return Line{}, errors.New("never comes: none of its months has such a day")
	}
	return Line{
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4] | sets[4]>>7&1,
		either: parts[2] != "*" && parts[4] != "*", hourly: strings.HasPrefix(parts[1], "*"),
	}, nil
}

// Zone is the time zone with a name of the time zone database.
func Zone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, errors.New("must be a name of the time zone database, such as Asia/Tokyo")
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("must be a name of the time zone database, such as Asia/Tokyo")
	}
	return zone, nil
}

// parse reads a part as the set of the numbers that it names.
func (p cronPart) parse(text string) (set uint64, err error) {
	for item := range strings.SplitSeq(text, ",") {
		span, step, stepped := strings.Cut(item, "/")
		every, ok := 1, true
		if stepped {
			if every, ok = p.number(step); !ok || every == 0 {
				return 0, fmt.Errorf("cannot be read: %s has the step %q", p.name, step)
			}
		}
		from, to := p.low, p.high
		if span != "*" {
			a, b, ranged := strings.Cut(span, "-")
			from, ok = p.number(a)
			to = from
			if ok && ranged {
				to, ok = p.number(b)
			} else if stepped {
				to = p.high
			}
		}
		if !ok || from < p.low || to > p.high || from > to {
			return 0, fmt.Errorf("cannot be read: %s is %q and must be within %d to %d", p.name, item, p.low, p.high)
		}
		for n := from; n <= to; n += every {
			set |= 1 << n
		}
	}
	return set, nil
}

// number reads one or two digits.
func (p cronPart) number(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && len(text) <= 2 && n >= 0 && text[0] != '+'
}

// comes reports whether one of the months has one of the days.
func comes(days, months uint64) bool {
	for month, last := range [...]int{1: 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31} {
		if months>>month&1 == 1 && days&(1<<(last+1)-1) != 0 {
			return true
		}
	}
	return false
}
