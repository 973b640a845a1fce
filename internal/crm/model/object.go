package model

import "slices"

// FieldType is what values a field has.
type FieldType string

// The types. How values look in JSON stands behind them.
const (
	Text      FieldType = "text"      // a string on one line
	LongText  FieldType = "longtext"  // a string
	Number    FieldType = "number"    // a number
	Currency  FieldType = "currency"  // a number
	Percent   FieldType = "percent"   // a number: 50 is half
	Integer   FieldType = "integer"   // a whole number
	Boolean   FieldType = "boolean"   // true or false, never empty
	Date      FieldType = "date"      // "2026-02-28"
	DateTime  FieldType = "datetime"  // RFC 3339
	Email     FieldType = "email"     // a string
	Phone     FieldType = "phone"     // a string
	URL       FieldType = "url"       // a string
	Picklist  FieldType = "picklist"  // one of Values
	Reference FieldType = "reference" // the id of a record of one of ReferenceTo
)

// FieldTypes are all of them.
var FieldTypes = []FieldType{
	Text, LongText, Number, Currency, Percent, Integer, Boolean, Date, DateTime, Email, Phone, URL, Picklist, Reference,
}

// Textual reports whether values are strings that MaxLength bounds.
func (t FieldType) Textual() bool {
	return slices.Contains([]FieldType{Text, LongText, Email, Phone, URL}, t)
}

// Searchable reports whether records can be found by values of the type: texts and
// picklists.
func (t FieldType) Searchable() bool { return t.Textual() || t == Picklist }

// Field is a field of an object.
type Field struct {
	ID          string    `json:"id"` // a UUID
	Object      string    `json:"object"`
	Name        string    `json:"name"` // those of custom fields end in __c
	Label       string    `json:"label"`
	Description string    `json:"description,omitzero"`
	Type        FieldType `json:"type"`
	Required    bool      `json:"required"`
	ReadOnly    bool      `json:"readOnly"`   // callers do not write it: the server does
	Sensitive   bool      `json:"sensitive"`  // its values are in no event
	Searchable  bool      `json:"searchable"` // records are found by it; only where the type is
	Custom      bool      `json:"custom"`
	MaxLength   int       `json:"maxLength,omitzero"`   // characters, of what is Textual
	Values      []string  `json:"values,omitzero"`      // of a picklist, in their order
	ReferenceTo []string  `json:"referenceTo,omitzero"` // of a reference: the objects
}

// Object is a kind of record.
type Object struct {
	Name        string  `json:"name"`
	Label       string  `json:"label"`
	PluralLabel string  `json:"pluralLabel"`
	Description string  `json:"description,omitzero"`
	Fields      []Field `json:"-"` // the standard ones in their order, then the custom ones by name
	places      map[string]int
}

// Field is a field by its name, nil when there is none.
func (o *Object) Field(name string) *Field {
	if o == nil {
		return nil
	}
	if i, ok := o.places[name]; ok {
		return &o.Fields[i]
	}
	return nil
}

// withFields is the object with other fields.
func (o *Object) withFields(fields []Field) *Object {
	next := *o
	next.Fields, next.places = fields, make(map[string]int, len(fields))
	for i := range fields {
		next.places[fields[i].Name] = i
	}
	return &next
}

// FieldKey names a field of an object: "Opportunity.Amount".
func FieldKey(object, field string) string { return object + "." + field }
