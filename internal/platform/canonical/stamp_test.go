package canonical

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestStampsAreRFC3339WithMilliseconds(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-10T12:34:56.789Z":          "2026-01-10T12:34:56.789Z",
		"2026-01-10T12:34:56Z":              "2026-01-10T12:34:56.000Z",
		"2026-01-10T21:34:56.7+09:00":       "2026-01-10T12:34:56.700Z",
		"2026-01-09T20:04:56.7899999-16:30": "2026-01-10T12:34:56.789Z",
		"2026-01-10t12:34:56.000z":          "2026-01-10T12:34:56.000Z",
		"2024-02-29T23:59:59.999Z":          "2024-02-29T23:59:59.999Z",
		"2016-12-31T23:59:60Z":              "2017-01-01T00:00:00.000Z", // a leap second
		"2017-01-01T08:59:60+09:00":         "2017-01-01T00:00:00.000Z",
		"1969-12-31T23:59:59.999Z":          "1969-12-31T23:59:59.999Z",
		"0000-01-01T00:00:00Z":              "0000-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z":          "9999-12-31T23:59:59.999Z",
	} {
		got, err := ParseStamp(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: got %q, %v, want %s", text, got, err, want)
		}
	}
}

func TestWhatIsNoTimeIsNoStamp(t *testing.T) {
	for _, text := range []string{
		"", "2026", "2026-01-10", "2026-01-10T12:34:56", "2026-01-10T12:34:56.Z", "2026-01-10 12:34:56Z",
		"2026-13-10T12:34:56Z", "2026-02-29T12:34:56Z", "2026-00-10T12:34:56Z", "2026-01-00T12:34:56Z",
		"2026-01-10T24:00:00Z", "2026-01-10T12:60:56Z", "2026-01-10T12:34:61Z", "2026-01-10T12:34:60Z",
		"2026-01-10T12:34:56+24:00", "2026-01-10T12:34:56+09:60", "2026-01-10T12:34:56+0900",
		"2026-01-10T12:34:56+09:00Z",
		"2026-01-10T12:34:56.789Zx", "2026-01-10T+2:34:56Z", "2026-01-10T12:34:56*09:00", "２026-01-10T12:34:56Z",
		"2026-1-10T12:34:56.00Z",
		"1970-01-01T00:00:00Z",      // would be none
		"0000-01-01T00:00:00+01:00", // the year before 0
		"9999-12-31T23:59:59-00:01",
	} {
		if got, err := ParseStamp(text); err == nil {
			t.Errorf("%q was read as %s", text, got)
		}
	}
	if got := Stamp(0).String(); got != "" {
		t.Errorf("none is written %q", got)
	}
	if _, err := Stamp(0).MarshalText(); err == nil {
		t.Error("none has a text for encoders")
	}
}

func TestStampsAgreeWithTheTimePackage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		s := FirstStamp + Stamp(r.Int64N(int64(LastStamp-FirstStamp)))
		want := time.UnixMilli(int64(s)).UTC().Format("2006-01-02T15:04:05.000Z")
		if got := s.String(); got != want {
			t.Fatalf("%d: got %s, want %s", s, got, want)
		}
		zoned := time.UnixMilli(int64(s)).In(time.FixedZone("", 60*(r.IntN(2878)-1439)))
		if year := zoned.Year(); year < 0 || year > 9999 {
			continue
		}
		if got, err := ParseStamp(zoned.Format(time.RFC3339Nano)); err != nil || got != s {
			t.Fatalf("%s: got %s, %v", zoned.Format(time.RFC3339Nano), got, err)
		}
	}
}

func TestNextStampAlwaysRises(t *testing.T) {
	for _, tc := range []struct{ last, now, want Stamp }{
		{0, 1000, 1000}, {1000, 1000, 1001}, {5000, 1000, 5001}, {1000, 1001, 1001},
	} {
		if got := NextStamp(tc.last, tc.now); got != tc.want {
			t.Errorf("after %d at %d: got %d, want %d", tc.last, tc.now, got, tc.want)
		}
	}
}
