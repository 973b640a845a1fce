package cron

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func lineOf(t testing.TB, line string) *Line {
	t.Helper()
	c, err := Parse(line)
	if err != nil {
		t.Fatal(line, err)
	}
	return &c
}

func TestCronComesWhenClocksShowIt(t *testing.T) {
	const layout = "2006-01-02 15:04 MST"
	tests := []struct{ line, zone, after, want string }{
		{"30 9 * * *", "Asia/Tokyo", "2026-01-10 09:30 JST", "2026-01-11 09:30 JST"},
		{"30 9 * * *", "Asia/Tokyo", "2026-01-10 09:29 JST", "2026-01-10 09:30 JST"},
		{"0 9 * * 1-5", "UTC", "2026-01-09 09:00 UTC", "2026-01-12 09:00 UTC"},
		{"0 0 29 2 *", "UTC", "2026-01-01 00:00 UTC", "2028-02-29 00:00 UTC"},
		{"0 0 1 * 0", "UTC", "2026-01-01 00:00 UTC", "2026-01-04 00:00 UTC"}, // either
		{"0 0 1 * 7", "UTC", "2026-01-25 00:00 UTC", "2026-02-01 00:00 UTC"},
		{"*/15 * * * *", "UTC", "2026-01-01 00:46 UTC", "2026-01-01 01:00 UTC"},
		{"0 */6 * * *", "UTC", "2026-01-01 18:00 UTC", "2026-01-02 00:00 UTC"},
		// The clock is put forward over 02:30, once a day.
		{"30 2 * * *", "America/New_York", "2026-03-07 03:00 EST", "2026-03-08 03:00 EDT"},
		{"30 2 * * *", "America/New_York", "2026-03-08 03:00 EDT", "2026-03-09 02:30 EDT"},
		{"0,30 2,3 * * *", "America/New_York", "2026-03-08 01:00 EST", "2026-03-08 03:00 EDT"},
		{"0,30 2,3 * * *", "America/New_York", "2026-03-08 03:00 EDT", "2026-03-08 03:30 EDT"},
		// It is put back and shows 01:30 twice.
		{"30 1 * * *", "America/New_York", "2026-10-31 12:00 EDT", "2026-11-01 01:30 EDT"},
		{"30 1 * * *", "America/New_York", "2026-11-01 01:30 EDT", "2026-11-02 01:30 EST"},
		{"30 * * * *", "America/New_York", "2026-11-01 01:30 EDT", "2026-11-01 01:30 EST"},
		{"30 * * * *", "America/New_York", "2026-03-08 01:30 EST", "2026-03-08 03:30 EDT"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-28 12:00 CET", "2026-03-29 03:00 CEST"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-29 03:00 CEST", "2026-03-30 02:30 CEST"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-24 12:00 CEST", "2026-10-25 02:30 CEST"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25 02:30 CEST", "2026-10-26 02:30 CET"},
		{"@hourly", "Europe/Berlin", "2026-10-25 02:00 CEST", "2026-10-25 02:00 CET"},
		{"@daily", "Europe/Berlin", "2026-03-28 12:00 CET", "2026-03-29 00:00 CET"},
		{"@weekly", "Asia/Tokyo", "2026-01-10 12:00 JST", "2026-01-11 00:00 JST"},
		{"@monthly", "Asia/Tokyo", "2026-01-10 12:00 JST", "2026-02-01 00:00 JST"},
		{"@yearly", "UTC", "2026-01-10 12:00 UTC", "2027-01-01 00:00 UTC"},
		// a midnight that is left out
		{"0 0 * * *", "America/Santiago", "2026-09-05 12:00 -04", "2026-09-06 01:00 -03"},
	}
	for _, tt := range tests {
		zone, err := time.LoadLocation(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		after, err := time.ParseInLocation(layout, tt.after, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := lineOf(t, tt.line).Next(after.In(zone)); got.Format(layout) != tt.want {
			t.Errorf("%s in %s behind %s: got %s, want %s", tt.line, tt.zone, tt.after, got.Format(layout), tt.want)
		}
	}
	if got := lineOf(t, "0 0 30 2 1").Next(time.Unix(0, 0).UTC()); got.IsZero() {
		t.Error("a Monday comes, whatever the day of the month")
	}
}

// TestCronIsWhatCountingMinutesFinds holds Next against an oracle that looks at every
// minute.
func TestCronIsWhatCountingMinutesFinds(t *testing.T) {
	zones := []*time.Location{time.UTC}
	for _, name := range []string{"Asia/Tokyo", "America/New_York", "Australia/Lord_Howe", "America/Santiago"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, zone)
	}
	lines := []string{
		"*/7 * * * *", "5 */5 * * *", "0 3 * * *", "15 1,2,3 * * *", "59 23 * * 0", "0 0 1 * *",
		"30 2 8 3 *",
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom(zones).Draw(t, "zone")
		line := rapid.SampledFrom(lines).Draw(t, "line")
		c, err := Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 1, 1, 0, rapid.IntRange(0, 400*24*60).Draw(t, "minute"), 0, 0, time.UTC).In(zone)
		want := time.Time{}
		shown := map[string]bool{}
		for s := at.Add(-3 * time.Hour).Truncate(time.Minute); s.Sub(at) < 3*24*time.Hour; s = s.Add(time.Minute) {
			hit := c.onDay(s) && c.hours>>s.Hour()&1 == 1 && c.minutes>>s.Minute()&1 == 1
			if key := s.Format("2006-01-02 15:04"); !c.hourly {
				hit = hit && !shown[key]
				shown[key] = true
				hit = hit || leftOut(&c, s)
			}
			if hit && s.After(at) {
				want = s
				break
			}
		}
		got := c.Next(at)
		if want.IsZero() && got.Sub(at) < 3*24*time.Hour-time.Minute || !want.IsZero() && !got.Equal(want) {
			t.Fatalf("%s in %s behind %s: got %s, want %s", line, zone, at, got, want)
		}
	})
}

// leftOut reports whether clocks are put forward at an instant over a time that the line
// names.
func leftOut(c *Line, s time.Time) bool {
	before := s.Add(-time.Minute)
	_, was := before.Zone()
	_, is := s.Zone()
	for i := range (is - was) / 60 {
		shown := time.Date(before.Year(), before.Month(), before.Day(), before.Hour(), before.Minute()+1+i, 0, 0,
			time.UTC)
		if c.onDay(shown) && c.hours>>shown.Hour()&1 == 1 && c.minutes>>shown.Minute()&1 == 1 {
			return true
		}
	}
	return false
}

func TestMissedTimesGiveTheNewest(t *testing.T) {
	at := func(text string) time.Time {
		got, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	tests := []struct {
		line, first, now, want string
		before                 int
	}{
		{"0 9 * * *", "2026-01-10T09:00:00Z", "2026-01-10T09:00:00Z", "2026-01-10T09:00:00Z", 0},
		{"0 9 * * *", "2026-01-10T09:00:00Z", "2026-01-13T08:59:59Z", "2026-01-12T09:00:00Z", 2},
		{"* * * * *", "2025-01-10T09:00:00Z", "2026-01-13T08:59:59Z", "2026-01-13T08:59:00Z", 1000},
		{"0 0 1 1 *", "2020-01-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-01-01T00:00:00Z", 6},
	}
	for _, tt := range tests {
		newest, before := lineOf(t, tt.line).Missed(at(tt.first), at(tt.now), 1000)
		if got := newest.Format(time.RFC3339); got != tt.want || before != tt.before {
			t.Errorf("%s: got %s after %d, want %s after %d", tt.line, got, before, tt.want, tt.before)
		}
	}
}

func TestCronLinesAreRead(t *testing.T) {
	for _, line := range []string{
		"* * * * *", "*/15 0-6,22 1,15 * 1-5", "0 9 29 2 *", "0 0 31 2 1",
		"5/10 1-9/2 * 12 7", "  0  3 * * 0 ", "*/60 */24 * * *",
	} {
		if err := Check(line); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	for _, line := range []string{
		"", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *", "5-1 * * * *",
		"a * * * *", "1, * * * *",
		"-1 * * * *", "+1 * * * *", "1- * * * *", "0 0 30 2 *", "0 0 31 4,6 *", "001 * * * *", "@dailyish",
		"@reboot", "*/61 * * * *",
		"0 1,*/25 * * *", "0 0 * */13 *", strings.Repeat(" ", MaxLine) + "* * * * *",
	} {
		if Check(line) == nil {
			t.Errorf("%q is taken", line)
		}
	}
	if _, err := Parse("*/61 * * * *"); err != nil {
		t.Errorf("a line that was taken before: %v", err)
	}
}
