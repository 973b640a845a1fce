package canonical

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// pieces make strings on which normalisation has something to do.
var pieces = []string{
	"a", "e", "o", "A", "\u0300", "\u0301", "\u0323", "\u0345", "\u05b0", "\u0fb2", "\u0f71", "\u0f80", "\u1100",
	"\u1161", "\u11a8", "가",
	"\u212b", "\u1e69", "\u0958", "\u3099", "か", "\u0b47", "\u0b3e", "\u034f", "\u0334", "\u0653", "\u06d5", "\u0654",
	"\u2adc",
}

func TestExactNFCIsNFC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		want := norm.NFC.String(text)
		if strings.Count(want, "\u034f") != strings.Count(text, "\u034f") {
			t.Skip("the library broke a long run")
		}
		if got := string(exactNFC([]byte(text))); got != want {
			t.Fatalf("%+q: got %+q, want %+q", text, got, want)
		}
	})
}

func TestLongRunsOfMarksStayWhole(t *testing.T) {
	for n := 1; n < 100; n++ {
		in := "a" + strings.Repeat("\u0323", n) + strings.Repeat("\u0301", n)
		want := "\u1ea1" + strings.Repeat("\u0323", n-1) + strings.Repeat("\u0301", n) // ạ keeps the rest
		if got := string(nfc([]byte(in))); got != want {
			t.Fatalf("%d marks: got %+q, want %+q", n, got, want)
		}
		mixed := "a" + strings.Repeat("\u0301\u0323", n)
		if got := string(nfc([]byte(mixed))); got != want {
			t.Fatalf("%d mixed marks: got %+q, want %+q", n, got, want)
		}
	}
}
