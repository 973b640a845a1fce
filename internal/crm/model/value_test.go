package model

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestValuesFitTheirField(t *testing.T) {
	long := `"` + strings.Repeat("é", 6) + `"`
	for _, tt := range []struct {
		field Field
		yes   []string
		no    []string
	}{
		{Field{Type: Text, MaxLength: 5}, []string{`"a"`, `""`, `null`, `"ééééé"`}, []string{
			`1`, long, `"a\nb"`,
			`true`, `{}`, `[]`,
		}},
		{Field{Type: Text, MaxLength: 5, Required: true}, []string{`"a"`, `" a"`}, []string{`null`, `""`, `" 　"`}},
		{Field{Type: LongText, MaxLength: 5}, []string{`"a\nb"`}, []string{long}},
		{Field{Type: Number}, []string{`1`, `1.5`, `-1e3`, `null`}, []string{`"1"`, `true`}},
		{Field{Type: Integer}, []string{`1`, `14.0`, `-3`}, []string{`1.5`, `"1"`}},
		{Field{Type: Boolean}, []string{`true`, `false`}, []string{`null`, `0`, `"true"`}},
		{Field{Type: Date}, []string{`"2026-02-28"`, `"0001-01-01"`}, []string{
			`"2026-02-30"`, `"0000-12-31"`,
			`"2026-2-3"`, `"2026-02-28T00:00:00Z"`, `""`,
		}},
		{
			Field{Type: DateTime},
			[]string{`"2026-02-28T09:00:00+09:00"`, `"0001-01-01T00:00:00Z"`},
			[]string{`"2026-02-28"`, `"0000-12-31T23:59:59Z"`, `"0001-01-01T00:00:00+09:00"`, `""`},
		},
		{Field{Type: Picklist, Values: []string{"a"}}, []string{`"a"`, `null`}, []string{`"A"`, `""`}},
		{
			Field{Type: Reference},
			[]string{`"00000000-0000-7000-8000-000000000001"`},
			[]string{`"x"`, `"00000000-0000-7000-8000-00000000000G"`},
		},
		{Field{Type: Email, MaxLength: 80}, []string{`"a@b"`, `""`}, []string{`"a"`, `"@"`, `"a@"`}},
		{Field{Type: URL, MaxLength: 80}, []string{`"https://a.b"`}, []string{`"javascript:x"`, `"a.b"`}},
	} {
		for _, v := range tt.yes {
			if err := tt.field.Fits(jsontext.Value(v)); err != nil {
				t.Errorf("%s %s: got %v", tt.field.Type, v, err)
			}
		}
		for _, v := range tt.no {
			if tt.field.Fits(jsontext.Value(v)) == nil {
				t.Errorf("%s %s fits", tt.field.Type, v)
			}
		}
	}
}
