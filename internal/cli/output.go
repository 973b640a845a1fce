package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Answer prints what a command found: as JSON, or as people read it.
func (a *App) Answer(value any, people func() error) error {
	if a.Output == "json" {
		return writeJSON(a.Out, value)
	}
	return people()
}

// writeJSON writes one indented JSON value. Names of maps are sorted, so that what a
// script compares does not change by itself.
func writeJSON(w io.Writer, value any) error {
	return write(w, value, jsontext.WithIndent("  "))
}

// writeLine writes one JSON value on one line.
func writeLine(w io.Writer, value any) error { return write(w, value) }

func write(w io.Writer, value any, form ...json.Options) error {
	raw, err := json.Marshal(value, append(form, asServer)...)
	if err != nil {
		return err
	}
	_, err = w.Write(append(raw, '\n'))
	return err
}

// asServer writes the client's structs as the server does: what is zero is left out
// where they say so, and instants have milliseconds.
var asServer = json.JoinOptions(
	json.Deterministic(true), jsonv1.OmitEmptyWithLegacySemantics(true),
	json.WithMarshalers(json.MarshalToFunc(writeInstant)),
)

func writeInstant(e *jsontext.Encoder, t time.Time) error {
	return e.WriteToken(jsontext.String(instant(t)))
}

// grid prints rows below a header, in columns. On a terminal long rows are cut at
// its edge; elsewhere nothing is.
func (a *App) grid(header []string, rows [][]string) error {
	_, err := io.WriteString(a.Out, a.screen.grid(header, rows))
	return err
}

func (s screen) grid(header []string, rows [][]string) string {
	t := table.NewWriter()
	t.SetStyle(plain(s))
	t.SuppressTrailingSpaces()
	if header != nil {
		t.AppendHeader(cells(header, func(name string) string { return s.paint(bold, name) }))
	}
	for _, row := range rows {
		t.AppendRow(cells(row, func(value string) string { return value }))
	}
	return t.Render() + "\n"
}

func cells(row []string, paint func(string) string) table.Row {
	out := make(table.Row, len(row))
	for i, value := range row {
		out[i] = paint(value)
	}
	return out
}

// plain is a table without lines.
func plain(s screen) table.Style {
	style := table.Style{
		Box:     table.BoxStyle{PaddingRight: "  ", UnfinishedRow: "…"},
		Format:  table.FormatOptions{Header: text.FormatDefault, Row: text.FormatDefault},
		Options: table.OptionsNoBordersAndSeparators,
	}
	style.Size.WidthMax = s.width
	return style
}

// pairs prints names and values below each other; values that are empty are left out.
func (a *App) pairs(pairs ...[2]string) error {
	var rows [][]string
	for _, pair := range pairs {
		if pair[1] != "" {
			rows = append(rows, []string{a.screen.paint(bold, pair[0]), pair[1]})
		}
	}
	return a.grid(nil, rows)
}

// line prints one line of an answer.
func (a *App) line(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Out, format+"\n", args...)
	return err
}

// clean makes a text safe for a terminal and for one line of a table: what others
// wrote must not move the cursor.
func clean(s string) string {
	if strings.IndexFunc(s, unsafe) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unsafe(r):
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unsafe reports whether a character controls instead of showing: control
// characters, and those that turn the direction of writing around.
func unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// members shows the members of a JSON object on one line, leaving some out:
// attempt=1 workerId=w1 output={"x":1}
func members(object jsontext.Value, leaveOut ...string) string {
	var parts []string
	d := jsontext.NewDecoder(strings.NewReader(string(object)))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != jsontext.KindBeginObject {
		return clean(string(object))
	}
	for d.PeekKind() == jsontext.KindString {
		name, err := d.ReadToken()
		if err != nil {
			return clean(string(object))
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return clean(string(object))
		}
		shown := string(value)
		if value.Kind() == jsontext.KindString {
			var plain string
			if json.Unmarshal(value, &plain) == nil && plain != "" && !strings.ContainsAny(plain, " =\"") {
				shown = plain
			}
		}
		if !slices.Contains(leaveOut, key) && shown != "[]" {
			parts = append(parts, key+"="+clean(shown))
		}
	}
	return strings.Join(parts, " ")
}

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// pad fills a text with spaces up to a width, as a terminal counts it.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-text.StringWidthWithoutEscSequences(s)))
}
