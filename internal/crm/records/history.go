package records

import (
	"context"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/sqldb"
)

// Entry is one change in the history of a record.
type Entry struct {
	RecordVersion canonical.Stamp `json:"recordVersion"`
	At            canonical.Stamp `json:"at"`
	UserID        string          `json:"userId"`
	Action        string          `json:"action"`
	Changes       []FieldChange   `json:"changes"`
}

// FieldChange is a field of it. Old and New are null when the field was empty, and not
// there when the field is sensitive.
type FieldChange struct {
	Field string         `json:"field"`
	Old   jsontext.Value `json:"old,omitzero"`
	New   jsontext.Value `json:"new,omitzero"`
}

// appendChanges writes changes as the table keeps them. It keeps sensitive values, too:
// rules that act after a save are to see what a field was, and no event says so.
func appendChanges(dst []byte, changes []change) []byte {
	dst = append(dst, '[')
	for i := range changes {
		c := &changes[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendQuote(append(dst, `{"field":`...), c.Field)
		dst = append(append(dst, `,"old":`...), jsonOf(c.Old)...)
		dst = append(append(dst, `,"new":`...), jsonOf(c.New)...)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// History is a page of the changes of a record that the caller sees, the newest first, and
// how many there are on all pages. An update of which it may read no field is not there.
func (s *Records) History(ctx context.Context, c Caller, object, id string, offset, limit int) (
	page []Entry, total int, err error,
) {
	err = s.Read(ctx, "history", s.as(c, func(ctx context.Context, w *session) error {
		v, err := w.viewOf(object, model.ReadOp)
		if err != nil {
			return err
		}
		r, err := w.get(ctx, object, id, loose)
		if err != nil {
			return err
		}
		b := sqldb.Bind(c.Tenant, object, r.ID, actionUpdated)
		from := " FROM records_history h WHERE h.tenant_id = $1 AND h.object = $2 AND h.record_id = $3 AND " +
			"(h.action <> $4 OR " + w.sql.someChange +
			b.OneOf(w.Tx, w.sql.changedField, v.changed()) + "))"
		if err := w.Tx.Row(ctx, "SELECT count(*)"+from, b.Args()...).Scan(&total); err != nil {
			return err
		}
		query := "SELECT h.version, h.at, h.user_id, h.action, h.changes" + from + " ORDER BY h.version DESC LIMIT " +
			b.Add(limit) + " OFFSET " + b.Add(offset)
		page, err = sqldb.Collect(ctx, w.Tx, func(row *sqldb.Row) (e Entry, err error) {
			var changes string
			if err := row.Scan(&e.RecordVersion, &e.At, &e.UserID, &e.Action, &changes); err != nil {
				return e, err
			}
			err = json.Unmarshal([]byte(changes), &e.Changes)
			e.Changes = v.filter(e.Changes)
			return e, err
		}, query, b.Args()...)
		return err
	}))
	return page, total, err
}

// changed are the names under which changes that the user may read are in the history.
func (v view) changed() []string {
	seen := []string{ownerField}
	for _, f := range v.Readable {
		seen = append(seen, f.Name)
	}
	return seen
}

// filter leaves what the user may read now, without the values of what is sensitive now.
func (v view) filter(changes []FieldChange) []FieldChange {
	kept := []FieldChange{}
	for _, c := range changes {
		f := v.Field(c.Field)
		switch {
		case c.Field == ownerField:
		case f == nil || !v.Reads(c.Field):
			continue
		case f.Sensitive:
			c.Old, c.New = nil, nil
		}
		kept = append(kept, c)
	}
	return kept
}
