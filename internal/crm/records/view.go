package records

import (
	"context"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// view is an object as the caller may see it.
type view struct{ *model.View }

func (v view) unknown(name string) error {
	return about(CodeFieldUnknown, name, "%s has no field %q", v.Object.Name, name)
}

// View is a record as a caller may see it.
type View struct {
	ID            string          `json:"id"`
	Object        string          `json:"object"`
	OwnerID       string          `json:"ownerId"`
	RecordVersion canonical.Stamp `json:"recordVersion"`
	CreatedAt     canonical.Stamp `json:"createdAt"`
	CreatedBy     string          `json:"createdBy"`
	UpdatedAt     canonical.Stamp `json:"updatedAt"`
	UpdatedBy     string          `json:"updatedBy"`
	Fields        jsontext.Value  `json:"fields"` // an object of those that are not empty, in their order
}

// show is a record with the fields that the user may read.
func (v view) show(r *model.Record) View {
	return View{
		ID: r.ID, Object: r.Object, OwnerID: r.OwnerID, RecordVersion: r.Version,
		CreatedAt: r.CreatedAt, CreatedBy: r.CreatedBy, UpdatedAt: r.UpdatedAt, UpdatedBy: r.UpdatedBy,
		Fields: v.fields(r.Fields, true),
	}
}

// fields are those that the user may read and that are not empty; without the sensitive ones
// unless they are wanted.
func (v view) fields(fields values, sensitive bool) jsontext.Value {
	return v.write(func(f *model.Field) jsontext.Value {
		value := fields[f.Name]
		switch {
		case f.Sensitive && !sensitive, value == nil && f.Type != model.Boolean:
			return nil
		case value == nil:
			value = false // of a field that is younger than the record
		}
		return jsonOf(value)
	})
}

// write is an object of the fields that the user may read and that have a value.
func (v view) write(value func(*model.Field) jsontext.Value) jsontext.Value {
	out := append(make([]byte, 0, 256), '{')
	for _, f := range v.Readable {
		if text := value(f); text != nil {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(strconv.AppendQuote(out, f.Name), ':'), text...)
		}
	}
	return append(out, '}')
}

// noFields are the fields of a record of which nothing is shown.
var noFields = jsontext.Value("{}")

// stored is what is stored of a record with an idempotency key: what its answer shows, but
// for sensitive values, which stay in the record.
func (v view) stored(r *model.Record) View {
	shown := v.show(r)
	if shown.Fields = noFields; !r.Deleted {
		shown.Fields = v.fields(r.Fields, false)
	}
	return shown
}

// replay makes what was stored of a record into an answer for the caller, who may see less
// of it by now: of a record that it does not see any more no field is shown, else those that
// it may read. The values that were not stored are shown as long as the record has the same
// version.
func (w *session) replay(ctx context.Context, was *View) error {
	var stored map[string]jsontext.Value
	if err := json.Unmarshal(was.Fields, &stored); err != nil {
		return err
	}
	was.Fields = noFields
	v := view{w.Model.View(w.User, was.Object)}
	if !v.May.Read {
		return nil
	}
	r, err := w.get(ctx, was.Object, was.ID, loose)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil
	case err != nil:
		return err
	case r.Version == was.RecordVersion:
		was.Fields = v.fields(r.Fields, true)
	default:
		was.Fields = v.write(func(f *model.Field) jsontext.Value { return stored[f.Name] })
	}
	return nil
}
