package search

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"renga.dev/renga/internal/crm/model"
)

func textsOf(pairs ...string) (all []fieldText) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, fieldText{pairs[i], pairs[i+1], units(pairs[i+1])})
	}
	return all
}

func TestRelevance(t *testing.T) {
	texts := textsOf("Name", "Acme 東京商事 Holding", "Description", "Spring webinar with Tanaka; sub-prime 大阪支店", "Email",
		"anna@acme.example")
	for text, want := range map[string]Relevance{
		"acme": NameWords, "ACME holding": NameWords, "東京": NameWords, "京商": NameWords, "東": NameWords, "事": NameWords,
		"東京商事": NameWords,
		"acm":  NameStarts, "acm hold": NameStarts, `"acme 東京商事 holding"`: NameWords, "holding東京": 0,
		"acme spring": Words, "webinar tanaka": Words, "anna@acme": Words, "anna@acme.example": Words, "大阪 acme": Words,
		"tan": Starts, "ta": 0, "acme spri": Starts, "anna@acm": Starts, `"spring webinar"`: Words, "sub-prime": Words,
		"spring-webinar":   Words,
		`"webinar spring"`: 0, `"spring web"`: 0, "a": 0, "ring": 0, "京東": 0, "東商": 0, "東京 nothing": 0, "prime-sub": 0,
		"acme-tanaka": 0,
	} {
		q, err := parseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.relevance(texts); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}

func TestQueriesThatSayNothingAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"": "letter or a digit", " ! \"\" ": "letter or a digit", strings.Repeat("あ", 201): "at most 200",
		"a b c d e f g h i j k": "at most 10", "a\xff": "UTF-8",
	} {
		if _, err := parseQuery(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestHighlightsShowWhereItStands(t *testing.T) {
	long := strings.Repeat("前置き", 40) + "Acme 東京" + strings.Repeat("後書き", 60)
	for _, tt := range []struct{ query, text, want string }{
		{"acme", "Acme", "[Acme]"},
		{"acm corp", "The ACME corporation", "The [ACME] [corporation]"},
		{"東京", "新東京駅の東京", "新[東京]駅の[東京]"},
		{"京駅 東京", "新東京駅", "新[東京駅]"},
		{"cafe", "Cafe\u0301!", "[Cafe\u0301]!"},
		{"会", "㍿", "[㍿]"},
		{`"acme 東京"`, long, "…" + string([]rune(long)[80:120]) + "[Acme 東京]" + string([]rune(long)[127:240]) + "…"},
	} {
		q, err := parseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, h := range q.highlights(textsOf("Name", tt.text)) {
			for _, part := range h.Parts {
				if part.Match {
					part.Text = "[" + part.Text + "]"
				}
				b.WriteString(part.Text)
			}
		}
		if got := b.String(); got != tt.want {
			t.Errorf("%s in %s:\ngot  %s\nwant %s", tt.query, tt.text, got, tt.want)
		}
	}
}

// words makes texts of few words, so that they are found now and then.
func words() *rapid.Generator[string] {
	word := rapid.SampledFrom([]string{
		"acme", "Acm", "acmeology", "ACME-corp", "東京", "東", "京都", "東京都", "ガス", "ｶﾞｽ", "anna@acme.jp", "Müller",
		"muller", "한국", "x", "xy",
		strings.Repeat("donau", 8), strings.Repeat("donau", 8) + "dampf", "日本acme", "\"", ",", "ー",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(word, 0, 5).Draw(t, "words"), rapid.SampledFrom([]string{
			" ", " ", "", "-",
			"\"",
		}).Draw(t, "between"))
	})
}

// TestEveryRecordThatFitsIsACandidate holds tokens against texts: whatever fits has all
// tokens that a candidate of its relevance must have.
func TestEveryRecordThatFitsIsACandidate(t *testing.T) {
	account := model.NewModel("t").Object("Account")
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		r := model.Record{Fields: map[string]any{"Name": words().Draw(t, "name"), "Description": words().Draw(t,
			"description"), "Type": "Partner"}}
		q, err := parseQuery(words().Draw(t, "query"))
		if err != nil {
			return
		}
		of := q.relevance(textsOf("Name", r.Fields["Name"].(string), "Description", r.Fields["Description"].(string),
			"Type", "Partner"))
		if of == 0 {
			return
		}
		found++
		d, err := docOf(tokensOf(7), account, &r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range tokensOf(7).wants(q, of) {
			if !slices.ContainsFunc(d.tokens, func(token string) bool {
				return token == w.token || w.start &&
					strings.HasPrefix(token, w.token)
			}) {
				t.Fatalf("%v is of relevance %d and has no token %v, but %q", r.Fields, of, w, d.tokens)
			}
		}
	})
	if found == 0 {
		t.Error("nothing was found")
	}
}
