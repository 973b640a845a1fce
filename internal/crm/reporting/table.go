package reporting

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

// MaxRows is how many rows a report may have.
const MaxRows = 10_000

// Type is what the values of a column are.
type Type string

// The types of columns.
const (
	Text  Type = "text"  // a string
	Count Type = "count" // a whole number
	Sum   Type = "sum"   // a number: money, exactly
	Rate  Type = "rate"  // a number between 0 and 1, to four decimals; null: of nothing
	Hours Type = "hours" // a number, to one decimal; null: of nothing
)

// Column is one of a report.
type Column struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
}

// Value is one of a row: its text, as JSON has it but for strings, which are as they are.
// "" of another type than Text is null.
type Value string

// Omitted is what a report leaves out, since the caller may not read a field.
type Omitted struct {
	Field   string   `json:"field"`   // "Opportunity.Amount"
	Columns []string `json:"columns"` // what would be in them
}

// Table is a report: its rows by what they are grouped by, in order, and their total, in
// which the columns that rows are grouped by are empty.
type Table struct {
	Report  string
	GroupBy []string
	Columns []Column
	Rows    [][]Value
	Total   []Value
	Omitted []Omitted
}

// measure is a column that is worked out of cells.
type measure struct {
	Column
	fields []string // of the report's object, without which it is left out
	of     func(r *row) Value
}

// row is one of a report while it is put together: its groups, and what was counted.
type row struct {
	groups []string
	n      [6]int64 // what they are is for each report to say
	sums   [3]Money
}

// counted, summed and rated are measures of the counts and sums of a row. A rate is one count as a part of others.
func counted(name string, i int, fields ...string) measure {
	return measure{Column{name, Count}, fields, func(r *row) Value { return Value(strconv.FormatInt(r.n[i], 10)) }}
}

func summed(name string, i int, fields ...string) measure {
	return measure{Column{name, Sum}, fields, func(r *row) Value { return Value(r.sums[i].String()) }}
}

func rated(name string, part int, of ...int) measure {
	return measure{Column{name, Rate}, nil, func(r *row) Value {
		var all int64
		for _, i := range of {
			all += r.n[i]
		}
		return quotient(r.n[part], all, 4)
	}}
}

// quotient is a part of a whole to some decimals, nothing of nothing.
func quotient(part, whole int64, decimals int) Value {
	if whole == 0 {
		return ""
	}
	text := strconv.FormatFloat(float64(part)/float64(whole), 'f', decimals, 64)
	return Value(strings.TrimSuffix(strings.TrimRight(text, "0"), "."))
}

// group is something that a report can be grouped by.
type group struct {
	name   string
	fields []string // that the caller must be able to read
	people bool     // values are ids of users or queues; there is a second column, for their names
	of     func(c *cell) string
	order  func(m *model.Model, value string) int // nil: by the value
}

// cell is what one row of counts says.
type cell struct {
	owner, k1, k2, k3 string
	tally
}

// ownerGroup groups by owner.
var ownerGroup = group{name: "owner", people: true, of: func(c *cell) string { return c.owner }}

// assembly puts a table together.
type assembly struct {
	model  *model.Model
	groups []group
	rows   map[string]*row
	total  row
}

func newAssembly(m *model.Model, groups []group) *assembly {
	return &assembly{model: m, groups: groups, rows: map[string]*row{}}
}

// row is the row of a cell.
func (a *assembly) row(c *cell) *row {
	values := make([]string, len(a.groups))
	for i := range a.groups {
		values[i] = a.groups[i].of(c)
	}
	name := strings.Join(values, "\x00")
	if a.rows[name] == nil {
		a.rows[name] = &row{groups: values}
	}
	return a.rows[name]
}

// add lets something be added to the row of a cell, and to the total.
func (a *assembly) add(c *cell, to func(*row)) {
	to(a.row(c))
	to(&a.total)
}

// fill puts the rows into a table, in order.
func (a *assembly) fill(t *Table, measures []measure) error {
	if len(a.rows) > MaxRows {
		return fault.New(fault.Invalid, CodeTooLarge,
			"the report would have %d rows, and may have %d; name an ownerId or a shorter period, or group by less",
			len(a.rows), MaxRows)
	}
	for i := range a.groups {
		t.Columns = append(t.Columns, a.groups[i].columns()...)
	}
	for _, m := range measures {
		t.Columns = append(t.Columns, m.Column)
	}
	all := slices.SortedFunc(maps.Values(a.rows), a.compare)
	t.Rows = make([][]Value, len(all))
	for i, r := range all {
		t.Rows[i] = a.values(r, measures)
	}
	a.total.groups = make([]string, len(a.groups))
	t.Total = a.values(&a.total, measures)
	return nil
}

func (g *group) columns() []Column {
	if g.people {
		return []Column{{g.name + "Id", Text}, {g.name, Text}}
	}
	return []Column{{g.name, Text}}
}

func (a *assembly) values(r *row, measures []measure) []Value {
	var values []Value
	for i := range a.groups {
		values = append(values, Value(r.groups[i]))
		if a.groups[i].people {
			values = append(values, Value(nameOf(a.model, r.groups[i])))
		}
	}
	for i := range measures {
		values = append(values, measures[i].of(r))
	}
	return values
}

func (a *assembly) compare(x, y *row) int {
	for i := range a.groups {
		if order := a.groups[i].order; order != nil {
			if c := order(a.model, x.groups[i]) - order(a.model, y.groups[i]); c != 0 {
				return c
			}
		}
		names := 0
		if a.groups[i].people {
			names = strings.Compare(nameOf(a.model, x.groups[i]), nameOf(a.model, y.groups[i]))
		}
		if c := cmp.Or(names, strings.Compare(x.groups[i], y.groups[i])); c != 0 {
			return c
		}
	}
	return 0
}

// nameOf is what a user or a queue is called.
func nameOf(m *model.Model, id string) string {
	if u := m.User(id); u != nil {
		return u.Name
	}
	if g := m.Group(id); g != nil {
		return g.Name
	}
	return ""
}
