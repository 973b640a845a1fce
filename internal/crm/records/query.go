package records

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// Named maxima of a list.
const (
	maxFilters = 20
	maxSorts   = 3
	maxChoices = 100 // values of one in
)

// Query is which records are wanted, in which order.
type Query struct {
	Filters []Filter
	Sort    string // "Name.asc,CloseDate.desc"; "": by id, which is the order of creation
	Offset  int
	Limit   int
}

// Filter is a condition on a field: "Amount", "Amount.gt".
type Filter struct {
	Name  string // of a field or a member of the record, with the operator behind a dot
	Value string
}

// The operators of filters.
var operators = map[string]string{"": "=", "eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

// OperatorNames are all that may stand behind the dot.
var OperatorNames = []string{"eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "empty"}

// members are what can be filtered and sorted by beside the fields.
var members = map[string]struct {
	column string
	typ    model.FieldType
}{
	"id":            {"r.id", model.Reference},
	"ownerId":       {"r.owner_id", model.Reference},
	"createdBy":     {"r.created_by", model.Reference},
	"updatedBy":     {"r.updated_by", model.Reference},
	"createdAt":     {"r.created_at", model.DateTime},
	"updatedAt":     {"r.updated_at", model.DateTime},
	"recordVersion": {"r.version", model.DateTime},
}

// term is something that a statement compares or sorts by.
type term struct {
	sql    string
	field  *model.Field
	key    string // a column with an index that has the same value, where it is not ''
	column bool   // never NULL
	stamp  bool   // an instant, as a number
}

// builder puts the conditions of a list together.
type builder struct {
	view     view
	sql      *dialect
	binds    *sqldb.Binds
	extracts bool // some field is read that has no column
}

// term finds a field that the caller may read, or a member.
func (b *builder) term(name string) (term, error) {
	if m, ok := members[name]; ok {
		f := &model.Field{Name: name, Type: m.typ, ReferenceTo: []string{"any object"}}
		return term{sql: m.column, field: f, column: true, stamp: m.typ == model.DateTime}, nil
	}
	if !b.view.Reads(name) {
		return term{}, b.view.unknown(name)
	}
	f := b.view.Field(name)
	switch {
	case name == "Name":
		return term{sql: "r.name", field: f, column: true}, nil
	case name == "AccountId" && b.view.Object.Name != objQuote:
		return term{sql: "nullif(r.account_id, '')", field: f, key: "r.account_id"}, nil
	}
	b.extracts = true
	return term{sql: b.sql.value(b.binds, f), field: f}, nil
}

// split tells filters that find few records by an index from the others, if any do.
func (b *builder) split(filters []Filter) (served, rest []Filter) {
	for _, f := range filters {
		name, op, _ := strings.Cut(f.Name, ".")
		switch {
		case op != "" && op != "eq" && op != "in":
			rest = append(rest, f)
		case name == "id", name == "ownerId", name == "Name", name == "AccountId" && b.view.Object.Name != objQuote:
			served = append(served, f)
		default:
			rest = append(rest, f)
		}
	}
	return served, rest
}

// value reads the value of a filter as the field has it.
func (t *term) value(text string) (any, error) {
	f := *t.field
	f.MaxLength = 0
	raw, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil, unfit(&f, "must be a text in UTF-8")
	}
	switch f.Type {
	case model.Number, model.Currency, model.Percent, model.Integer, model.Boolean:
		if raw = []byte(text); canonical.Check(raw) != nil {
			return nil, unfit(&f, "cannot be compared with %q", text)
		}
	case model.Picklist, model.Text, model.LongText, model.Email, model.Phone, model.URL:
		return text, nil // also what is no value any more
	}
	v, err := f.Parse(raw)
	switch {
	case err != nil:
		return nil, unfit(&f, "%v", err)
	case v == nil:
		return nil, unfit(&f, "cannot be compared with nothing; use %s.empty=true", f.Name)
	}
	if s, ok := v.(string); ok && t.stamp {
		return canonical.ParseStamp(s)
	}
	return v, nil
}

// filter is a condition in SQL.
func (b *builder) filter(f Filter) (string, error) {
	name, op, _ := strings.Cut(f.Name, ".")
	if strings.ContainsRune(f.Value, 0) {
		return "", about(canonical.CodeInvalid, f.Name, "%s may have no control characters", f.Name)
	}
	t, err := b.term(name)
	if err != nil {
		return "", err
	}
	f.Value = canonical.NFC(f.Value) // as texts are kept
	switch op {
	case "in":
		return b.in(&t, f.Value)
	case "contains":
		if !t.field.Type.Textual() && t.field.Type != model.Picklist {
			return "", about(canonical.CodeInvalid, f.Name, "%s is not a text; contains is for texts", name)
		}
		// without regard to the case of ASCII letters
		return fmt.Sprintf(b.sql.contains, t.sql, b.binds.Add(f.Value)), nil
	case "empty":
		return b.empty(&t, f)
	}
	symbol, ok := operators[op]
	if !ok {
		return "", about(canonical.CodeInvalid, f.Name, "%s: the operator must be one of %s", f.Name,
			strings.Join(OperatorNames, ", "))
	}
	value, err := t.value(f.Value)
	if err != nil {
		return "", err
	}
	switch {
	case symbol == "=":
		return b.equal(&t, value), nil
	case symbol == "<>" && !t.column:
		symbol = "IS DISTINCT FROM" // what is empty is not equal either
	}
	return t.sql + " " + symbol + " " + b.binds.Add(value), nil
}

// equal compares with some values.
func (b *builder) equal(t *term, choices ...any) string {
	places := make([]string, len(choices))
	for i, value := range choices {
		places[i] = b.binds.Add(value)
	}
	list := " IN (" + strings.Join(places, ", ") + ")"
	if t.key != "" {
		return t.key + list + " AND " + t.key + " <> ''"
	}
	return t.sql + list
}

// empty asks whether a field has a value; members always have one.
func (b *builder) empty(t *term, f Filter) (string, error) {
	if f.Value != "true" && f.Value != "false" {
		return "", about(canonical.CodeInvalid, f.Name, "%s must be true or false", f.Name)
	}
	yes := f.Value == "true"
	switch {
	case t.sql == "r.name" && yes:
		return "r.name = ''", nil
	case t.sql == "r.name":
		return "r.name <> ''", nil
	case t.column && yes:
		return "1 = 0", nil
	case t.column:
		return "1 = 1", nil
	case yes:
		return t.sql + " IS NULL", nil
	}
	return t.sql + " IS NOT NULL", nil
}

func (b *builder) in(t *term, list string) (string, error) {
	texts := strings.Split(list, ",")
	if len(texts) > maxChoices {
		return "", about(
			canonical.CodeInvalid,
			t.field.Name,
			"%s.in may have at most %d values",
			t.field.Name,
			maxChoices,
		)
	}
	choices := make([]any, len(texts))
	for i, text := range texts {
		value, err := t.value(text)
		if err != nil {
			return "", err
		}
		choices[i] = value
	}
	return b.equal(t, choices...), nil
}

// order is the ORDER BY of a list: what is empty comes last, and ids decide between equals.
func (b *builder) order(sort string) (string, error) {
	if sort == "" {
		return "r.id", nil
	}
	parts := strings.Split(sort, ",")
	if len(parts) > maxSorts {
		return "", about(canonical.CodeInvalid, "sort", "sort may have at most %d fields", maxSorts)
	}
	var by, seen []string
	for _, part := range parts {
		name, way, _ := strings.Cut(part, ".")
		if way != "asc" && way != "desc" || slices.Contains(seen, name) {
			return "", about(canonical.CodeInvalid, "sort",
				"sort must be fields with .asc or .desc, separated by commas, none twice")
		}
		seen = append(seen, name)
		t, err := b.term(name)
		if err != nil {
			return "", err
		}
		if !t.column {
			by = append(by, "("+t.sql+") IS NULL")
		}
		by = append(by, t.sql+" "+strings.ToUpper(way))
	}
	way := "ASC" // ids follow the last field, so that an index can be read in one direction
	if strings.HasSuffix(sort, ".desc") {
		way = "DESC"
	}
	return strings.Join(by, ", ") + ", r.id " + way, nil
}
