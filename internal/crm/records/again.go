package records

import (
	"context"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

// noFields are the fields of a record of which nothing is shown.
var noFields = jsontext.Value("{}")

// keep is what is remembered of a record with the key of a request: what its answer shows,
// but for sensitive values, which stay in the record.
func (v *view) keep(r *model.Record) View {
	kept := v.show(r)
	kept.Fields = noFields
	if !r.Deleted {
		kept.Fields = v.fields(r.Fields, false)
	}
	return kept
}

// again makes what was remembered of a record into an answer for the caller, who may see less
// of it by now: of a record that it does not see any more no field is shown, else those that
// it may read. The values that were not remembered are shown as long as the record has the
// same version.
func (w *session) again(ctx context.Context, was *View) error {
	kept := was.Fields
	was.Fields = noFields
	object := w.model.Object(was.Object)
	if object == nil || !w.model.Can(w.user, was.Object, model.ReadOp) {
		return nil
	}
	r, err := w.get(ctx, was.Object, was.ID, loose)
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return nil
	case err != nil:
		return err
	}
	v := w.views.of(w.model, w.user, object)
	if r.Version == was.RecordVersion {
		was.Fields = v.fields(r.Fields, true)
		return nil
	}
	was.Fields, err = v.still(kept)
	return err
}

// still is fields that were remembered, as far as the user may read them.
func (v *view) still(kept jsontext.Value) (jsontext.Value, error) {
	var known map[string]jsontext.Value
	if err := json.Unmarshal(kept, &known); err != nil {
		return nil, err
	}
	out := []byte{'{'}
	for i := range v.object.Fields {
		name := v.object.Fields[i].Name
		value, ok := known[name]
		if !ok || !v.readable[i] {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(strconv.AppendQuote(out, name), ':'), value...)
	}
	return append(out, '}'), nil
}
