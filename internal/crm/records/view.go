package records

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/wire"
)

// view is what a user may do with the fields of an object.
type view struct {
	object   *model.Object
	places   map[string]int // of fields in object.Fields
	readable []bool
	editable []bool
}

func newView(m *model.Model, user string, object *model.Object) *view {
	v := &view{object: object, places: make(map[string]int, len(object.Fields))}
	v.readable, v.editable = make([]bool, len(object.Fields)), make([]bool, len(object.Fields))
	for i := range object.Fields {
		name := object.Fields[i].Name
		v.places[name] = i
		v.readable[i], v.editable[i] = m.Readable(user, object.Name, name), m.Editable(user, object.Name, name)
	}
	return v
}

// sees reports whether the user may read a field.
func (v *view) sees(name string) bool {
	at, ok := v.places[name]
	return ok && v.readable[at]
}

func (v *view) unknown(name string) error {
	return about(CodeFieldUnknown, name, "%s has no field %q", v.object.Name, name)
}

// View is a record as a caller may see it.
type View struct {
	ID            string         `json:"id"`
	Object        string         `json:"object"`
	OwnerID       string         `json:"ownerId"`
	RecordVersion wire.Stamp     `json:"recordVersion"`
	CreatedAt     wire.Stamp     `json:"createdAt"`
	CreatedBy     string         `json:"createdBy"`
	UpdatedAt     wire.Stamp     `json:"updatedAt"`
	UpdatedBy     string         `json:"updatedBy"`
	Fields        jsontext.Value `json:"fields"` // an object of those that are not empty, in their order
}

// show is a record with the fields that the user may read.
func (v *view) show(r *model.Record) View {
	return View{
		ID: r.ID, Object: r.Object, OwnerID: r.OwnerID, RecordVersion: r.Version,
		CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy, UpdatedAt: r.UpdatedAt, UpdatedBy: r.UpdatedBy,
		Fields: v.fields(r.Fields, true),
	}
}

// fields are those that the user may read and that are not empty; without the sensitive ones
// unless they are wanted.
func (v *view) fields(fields values, sensitive bool) jsontext.Value {
	out := append(make([]byte, 0, 256), '{')
	for i := range v.object.Fields {
		f := &v.object.Fields[i]
		value := fields[f.Name]
		if value == nil && f.Type == model.Boolean {
			value = false // of a field that is younger than the record
		}
		if value == nil || !v.readable[i] || f.Sensitive && !sensitive {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(strconv.AppendQuote(out, f.Name), ':')
		out = append(out, jsonOf(value)...)
	}
	return append(out, '}')
}
