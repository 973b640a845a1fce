package search

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestTextsAreTakenApart writes units side by side: a dot joins what is glued.
func TestTextsAreTakenApart(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"Acme Corp.":          "acme corp",
		"ACME-Corp_42":        "acme corp 42",
		"anna@example.com":    "anna example com",
		"東京都庁":                "東.京.都.庁",
		"東京 都庁":               "東.京 都.庁",
		"株式会社ABC商事":           "株.式.会.社.abc.商.事",
		"ＡＢＣ１２３":              "abc123",
		"ｱｸﾒ ｶﾞｽ":             "ア.ク.メ ガ.ス",
		"カ\u3099ス":            "ガ.ス",
		"サーバー":                "サ.ー.バ.ー",
		"㍿":                   "株.式.会.社",
		"Müller Mu\u0308ller": "muller muller",
		"Straße STRASSE":      "strasse strasse",
		"ΌΣΟΣ όσος":           "οσοσ οσοσ",
		"İstanbul":            "istanbul",
		"O'Brien":             "o brien",
		"한국어 검색":              "한.국.어 검.색",
		"\u1112\u1161\u11AB":  "한",
		"हिन्दी":              "हिन्दी",
		"ﬁne 2²":              "fine 22",
		"a\xffb":              "a b",
		"👍 ok":                "ok",
		"e\u0301":             "e",
	} {
		var b strings.Builder
		for i, u := range units(text) {
			if i > 0 {
				b.WriteString(map[bool]string{true: ".", false: " "}[u.glued])
			}
			b.WriteString(u.text)
		}
		if got := b.String(); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestUnitsSayWhereTheyStand asks that what a unit points at folds to a text that has it.
func TestUnitsSayWhereTheyStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("aBé\u0301ß 東京ｶﾞ㍿ー、🎉한")), 0, 30, -1).Draw(t, "text")
		at := 0
		for _, u := range units(text) {
			if u.from < 0 || u.to > len(text) || u.from >= u.to || u.from < at ||
				!utf8.ValidString(text[u.from:u.to]) {
				t.Fatalf("%q: %+v", text, u)
			}
			at = u.from
			all := ""
			for _, v := range units(text[u.from:u.to]) {
				all += v.text
			}
			if !strings.Contains(all, u.text) {
				t.Fatalf("%q: %q stands at %q", text, u.text, text[u.from:u.to])
			}
		}
	})
}
