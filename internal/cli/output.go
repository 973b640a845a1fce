package cli

import (
	stdjson "encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"renga.dev/renga/client"
)

// Answer prints what a command of another package found: as JSON, or as people read it.
func (a *App) Answer(value any, people func() error) error {
	if a.Output == "json" {
		return writeJSON(a.Out, value)
	}
	return people()
}

// print prints what a command found: as JSON, or as people read it.
func (a *App) print(value any, people func(*printer)) error {
	return a.Answer(value, func() error {
		p := &printer{screen: a.screen, w: a.Out}
		people(p)
		return p.err
	})
}

// did prints what a command did: as JSON, or in a line.
func (a *App) did(value any, format string, args ...any) error {
	return a.print(value, func(p *printer) { p.line(format, args...) })
}

// printItems prints a list as JSON, or as a table.
func printItems[T any](a *App, items []T, t table[T]) error {
	return a.print(map[string]any{"items": items}, func(p *printer) { t.print(p, items) })
}

// writeJSON writes one indented JSON value.
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

// asServer writes the client's structs as the server does, and the members of maps in the order of their names.
var asServer = json.JoinOptions(
	json.Deterministic(true), jsonv1.OmitEmptyWithLegacySemantics(true),
	json.WithMarshalers(json.MarshalToFunc(writeInstant)),
)

func writeInstant(e *jsontext.Encoder, t time.Time) error {
	return e.WriteToken(jsontext.String(instant(t)))
}

// printEach prints one of many things as it comes: columns of a fixed width, or one line of JSON.
func (a *App) printEach(value any, widths []int, row []any) error {
	if a.Output == "json" {
		return writeLine(a.Out, value)
	}
	cells := make([]string, len(row))
	for i, width := range widths {
		cells[i] = pad(a.screen.cell(row[i]), width)
	}
	_, err := io.WriteString(a.Out, strings.TrimRight(strings.Join(cells, "  "), " ")+"\n")
	return err
}

// printer writes what people read, up to the first error.
type printer struct {
	screen
	w   io.Writer
	err error
}

func (p *printer) write(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

// line prints one line; what stands in for verbs is made safe.
func (p *printer) line(format string, args ...any) { p.write(p.sprintf(format, args...) + "\n") }

// grid prints rows in columns below a header, which is a list with commas. A terminal cuts them at its edge.
func (p *printer) grid(head string, rows [][]any) { p.write(p.screen.grid(head, rows)) }

// section is a grid below an empty line; nothing without rows.
func (p *printer) section(head string, rows [][]any) {
	if len(rows) > 0 {
		p.write("\n")
		p.grid(head, rows)
	}
}

// pairs prints names and values, which take turns, below each other; values that are empty are left out.
func (p *printer) pairs(all ...any) {
	var rows [][]any
	for pair := range slices.Chunk(all, 2) {
		if value := p.cell(pair[1]); value != "" {
			rows = append(rows, []any{coloured{bold, pair[0].(string)}, painted(value)})
		}
	}
	p.grid("", rows)
}

// table is how people read a list: the names of the columns, with commas, and a row for an item.
type table[T any] struct {
	head string
	row  func(*T) []any
}

func columns[T any](head string, row func(*T) []any) table[T] { return table[T]{head, row} }

func (t table[T]) rows(items []T) (rows [][]any) {
	for i := range items {
		rows = append(rows, t.row(&items[i]))
	}
	return rows
}

func (t table[T]) print(p *printer, items []T) { p.grid(t.head, t.rows(items)) }

func (t table[T]) section(p *printer, items []T) { p.section(t.head, t.rows(items)) }

// What a cell may be beside texts, numbers and instants.
type (
	painted  string // is safe and has its colours already
	status   string // is coloured as what it says
	coloured struct {
		colour
		text string
	}
)

// cell is a value as it stands in a table or in a line.
func (s screen) cell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case painted:
		return string(v)
	case coloured:
		return s.paint(v.colour, clean(v.text))
	case status:
		return s.paint(statusColours[string(v)], clean(string(v)))
	case time.Time:
		return instant(v)
	case client.Actor:
		return v.Kind + with(" ", clean(s.names.of(v.ID)))
	case named:
		return clean(s.names.of(string(v)))
	case phrase:
		var b strings.Builder
		for _, part := range v {
			b.WriteString(s.cell(part))
		}
		return b.String()
	case jsontext.Value:
		return clean(string(v))
	case stdjson.RawMessage:
		return clean(string(v))
	case bool:
		if v {
			return "yes"
		}
		return ""
	}
	return clean(fmt.Sprint(value))
}

// sprintf formats a text for people: what is no number stands there as in a cell.
func (s screen) sprintf(format string, args ...any) string {
	safe := slices.Clone(args)
	for i, value := range args {
		switch value.(type) {
		case int, int64, uint64, float64:
		default:
			safe[i] = s.cell(value)
		}
	}
	return fmt.Sprintf(format, safe...)
}

func (s screen) grid(head string, rows [][]any) string {
	t := pretty.NewWriter()
	t.SetStyle(plain(s))
	t.SuppressTrailingSpaces()
	if head != "" {
		var names pretty.Row
		for name := range strings.SplitSeq(head, ", ") {
			names = append(names, s.paint(bold, name))
		}
		t.AppendHeader(names)
	}
	for _, row := range rows {
		cells := make(pretty.Row, len(row))
		for i, value := range row {
			cells[i] = s.cell(value)
		}
		t.AppendRow(cells)
	}
	return t.Render() + "\n"
}

// plain is a table without lines.
func plain(s screen) pretty.Style {
	style := pretty.Style{
		Box:     pretty.BoxStyle{PaddingRight: "  ", UnfinishedRow: "…"},
		Format:  pretty.FormatOptions{Header: text.FormatDefault, Row: text.FormatDefault},
		Options: pretty.OptionsNoBordersAndSeparators,
	}
	style.Size.WidthMax = s.width
	return style
}

// clean makes a text safe for one line of a terminal: what others wrote must not move the cursor.
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

// unsafe reports whether a character controls the terminal or the direction of writing.
func unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// members shows the members of a JSON object on one line, leaving some out:
// attempt=1 workerId=w1 output={"x":1}
func members(object []byte, leaveOut ...string) string {
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

// joined puts what is not empty behind each other.
func joined(separator string, parts ...string) string {
	given := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" })
	return strings.Join(given, separator)
}

// listed is what is not empty, with commas.
func listed(parts ...string) string { return joined(", ", parts...) }

// with is a text after words that lead to it; nothing without the text.
func with(words, text string) string {
	if text == "" {
		return ""
	}
	return words + text
}

// number is a number; nothing for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
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
