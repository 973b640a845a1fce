package records

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/fault"
)

// Kind is what is done to a record.
type Kind string

// The kinds, as they are written in bulks.
const (
	Create Kind = "create"
	Update Kind = "update"
	Delete Kind = "delete"
)

// Op is what a caller wants to be done to one record.
type Op struct {
	Kind    Kind
	ID      string                    // of a record that is there
	Version canonical.Stamp           // that the caller has seen; 0: whatever there is
	OwnerID string                    // "": as it is; of a new record: the caller
	Fields  map[string]jsontext.Value // null empties a field
}

// The codes of refusals.
const (
	CodeObjectUnknown   = kit.CodeObjectUnknown
	CodeRecordNotFound  = "RECORD_NOT_FOUND"
	CodeVersionMismatch = "VERSION_MISMATCH"
	CodeAccessDenied    = kit.CodeAccessDenied
	CodeReferenced      = "RECORD_REFERENCED"
	CodeLocked          = "RECORD_LOCKED"
	CodeConverted       = "LEAD_CONVERTED"
	CodeRuleBroken      = "VALIDATION_FAILED"
	CodeRuleFailed      = "RULE_FAILED"
)

// maxFields is how long the fields of a record may be, in bytes of JSON. The old and the
// new ones fit into one event.
const maxFields = 256 << 10

// parent is what is known of a record that a field names.
type parent struct{ Object, AccountID string }

// parents are the records that fields may name: living ones that the caller sees, by id.
type parents map[string]parent

// lock is the fields that an approval keeps as they are.
type lock struct {
	Approval string
	Fields   []string
}

// facts are what a decision needs to know beside the record.
type facts struct {
	model   *model.Model
	view    view
	user    string
	now     canonical.Stamp
	parents parents
	locks   []lock
	rules   Rules // nil: none are defined
	judge   *model.Judge
	ruled   parents // records that rules name in fields, whoever sees them
	// system says that the server itself changes the record: it may write what is read-only.
	system bool
}

func (w *session) facts(v view, known, ruled parents, locks []lock) *facts {
	return &facts{
		model: w.Model, view: v, user: w.User, now: w.now, parents: known, locks: locks, rules: w.cfg.Rules,
		judge: w.judge, ruled: ruled,
	}
}

// change is a field before and after; nil is empty.
type change struct {
	Field     string
	Old, New  any
	Sensitive bool
}

// decision is what becomes of a record.
type decision struct {
	before  *model.Record // nil: it is new
	after   model.Record
	action  string   // for the history; "": nothing changes
	changes []change // in the order of the object's fields, the owner last
	events  []events.Payload
}

// The actions in the history of a record.
const (
	actionCreated   = "Created"
	actionUpdated   = "Updated"
	actionConverted = "Converted"
)

// create decides about a new record.
func create(f *facts, id string, op *Op) (decision, error) {
	object := f.view.Object
	given, err := f.parse(op.Fields, nil)
	if err != nil {
		return decision{}, err
	}
	after, err := f.fill(nil, given)
	if err != nil {
		return decision{}, err
	}
	owner := op.OwnerID
	if owner == "" {
		owner = f.user
	}
	draft := &model.Draft{Object: object, ID: id, OwnerID: owner, Fields: after}
	if after, err = f.act(draft, given); err != nil {
		return decision{}, err
	}
	for i := range object.Fields {
		if field := &object.Fields[i]; field.Required && blank(after[field.Name]) {
			return decision{}, f.missing(field)
		}
	}
	if err := f.checkOwner(owner); err != nil {
		return decision{}, err
	}
	version := canonical.NextStamp(0, f.now)
	r := model.Record{
		Object: object.Name, ID: id, OwnerID: owner, Fields: after, Version: version,
		CreatedAt: version, CreatedBy: f.user, UpdatedAt: version, UpdatedBy: f.user,
	}
	link(&r, f)
	d := decision{after: r, action: actionCreated, changes: diff(object, nil, after)}
	d.events = []events.Payload{createdEvent(&r, d.changes)}
	return d, f.check(draft)
}

// update decides about a record that is there. What changes nothing has no action.
func update(f *facts, before *model.Record, op *Op) (decision, error) {
	object := f.view.Object
	if object.Name == objLead && values(before.Fields).flag("IsConverted") && !f.system {
		return decision{}, fault.New(fault.Conflict, CodeConverted,
			"the lead %s was converted and cannot be changed any more", before.ID)
	}
	given, err := f.parse(op.Fields, before.Fields)
	if err != nil {
		return decision{}, err
	}
	after, err := f.fill(before.Fields, given)
	if err != nil {
		return decision{}, err
	}
	d := decision{before: before, after: *before}
	if d.after.OwnerID, err = f.newOwner(before, op.OwnerID); err != nil {
		return decision{}, err
	}
	if d.after.OwnerID == before.OwnerID && len(diff(object, before.Fields, after)) == 0 {
		return d, nil
	}
	draft := &model.Draft{Object: object, ID: before.ID, OwnerID: d.after.OwnerID, Fields: after, Old: before}
	if after, err = f.act(draft, given); err != nil {
		return decision{}, err
	}
	d.changes = diff(object, before.Fields, after)
	for _, c := range d.changes {
		if field := object.Field(c.Field); field.Required && blank(c.New) {
			return decision{}, f.missing(field)
		}
	}
	if d.after.OwnerID != before.OwnerID {
		d.changes = append(d.changes, change{Field: ownerField, Old: before.OwnerID, New: d.after.OwnerID})
	}
	if len(d.changes) == 0 {
		return d, nil
	}
	if err := f.checkLocks(d.changes); err != nil {
		return decision{}, err
	}
	d.action = actionUpdated
	d.after.Fields, d.after.Version = after, canonical.NextStamp(before.Version, f.now)
	d.after.UpdatedAt, d.after.UpdatedBy = d.after.Version, f.user
	link(&d.after, f)
	d.events = updatedEvents(f.model, before, &d.after, d.changes)
	return d, f.check(draft)
}

// fill makes the fields of a record out of what they were, nil of a new record, what a
// change names, and what follows from them.
func (f *facts) fill(before, given values) (values, error) {
	object := f.view.Object
	after := values(maps.Clone(before))
	if before == nil {
		after = values{}
		for i := range object.Fields {
			if field := &object.Fields[i]; field.Type == model.Boolean {
				after[field.Name] = false
			}
		}
	}
	for name, value := range given {
		after.put(name, value)
	}
	return after, derive(f.model, object.Name, before, after, given)
}

// newOwner is the owner that a record will have.
func (f *facts) newOwner(before *model.Record, wanted string) (string, error) {
	if wanted == "" || wanted == before.OwnerID {
		return before.OwnerID, nil
	}
	if !above(f.model, f.user, before.OwnerID) {
		return "", fault.New(fault.Forbidden, CodeAccessDenied,
			"only the owner of %s, a role above the owner's or somebody who may modify all records gives it away",
			before.ID).With(map[string]string{"field": "ownerId"})
	}
	return wanted, f.checkOwner(wanted)
}

// remove decides about deleting a record. children are the living records that name it.
func remove(f *facts, before *model.Record, children []child) (decision, error) {
	if !above(f.model, f.user, before.OwnerID) {
		return decision{}, fault.New(fault.Forbidden, CodeAccessDenied,
			"only the owner of %s, a role above the owner's or somebody who may modify all records deletes it",
			before.ID)
	}
	if len(f.locks) > 0 {
		approval := f.locks[0].Approval
		return decision{}, fault.New(fault.Conflict, CodeLocked,
			"the record cannot be deleted until the approval %s is decided and its outcome is written; GET "+
				"/approvals/%s says which of them is missing", approval, approval).
			With(map[string]string{"approvalInstanceId": approval})
	}
	if len(children) > 0 {
		c := children[0]
		return decision{}, fault.New(fault.Conflict, CodeReferenced,
			"%d records of %s name %s in %s; change or delete them first", c.Count, c.Object, before.ID, c.Field).
			With(map[string]any{"references": children})
	}
	d := decision{before: before, after: *before, action: "Deleted"}
	d.after.Version, d.after.Deleted = canonical.NextStamp(before.Version, f.now), true
	d.after.UpdatedAt, d.after.UpdatedBy = d.after.Version, f.user
	d.events = []events.Payload{events.RecordDeleted{
		ObjectName: before.Object, RecordID: before.ID, Deleted: true,
		RecordVersion: d.after.Version,
	}}
	return d, nil
}

// child says how many living records of an object name a record in a field.
type child struct {
	Object string `json:"object"`
	Field  string `json:"field"`
	Count  int64  `json:"count"`
}

// parse reads the fields of a change. before is what the record has.
func (f *facts) parse(fields map[string]jsontext.Value, before values) (values, error) {
	given := make(values, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, err := f.writable(name)
		if err != nil {
			return nil, err
		}
		value, err := field.Parse(fields[name])
		if err != nil {
			if !repeats(fields[name], before[name]) {
				return nil, unfit(field, "%v", err)
			}
			value = before[name] // it fitted when it was stored, such as a value that the picklist had
		}
		if id, ok := value.(string); ok && field.Type == model.Reference && value != before[name] {
			p, found := f.parents[id]
			if !found || !slices.Contains(field.ReferenceTo, p.Object) {
				return nil, unfit(field, "must be the id of a record of %s that is there and that you may see",
					strings.Join(field.ReferenceTo, " or "))
			}
		}
		given[name] = value
	}
	return given, nil
}

// repeats reports whether a change names the text that a field has already.
func repeats(raw jsontext.Value, stored any) bool {
	if raw.Kind() != '"' || stored == nil {
		return false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return err == nil && (stored == string(text) || stored == canonical.NFC(string(text)))
}

// writable is a field that the caller may write. One that the caller may not even see is
// as unknown as one that does not exist.
func (f *facts) writable(name string) (*model.Field, error) {
	field := f.view.Field(name)
	switch {
	case field == nil || !f.system && !f.view.Reads(name) && !f.view.Edits(name):
		return nil, f.view.unknown(name)
	case !f.system && !f.view.Edits(name):
		return nil, about(CodeFieldReadOnly, name, "%s can be read only", name)
	}
	return field, nil
}

// blank reports whether a value is none, or a text that nobody can read.
func blank(value any) bool {
	text, ok := value.(string)
	return value == nil || ok && strings.TrimSpace(text) == ""
}

// missing says that a required field is empty. It does not name one that the caller may
// not see.
func (f *facts) missing(field *model.Field) error {
	if !f.view.Reads(field.Name) && !f.view.Edits(field.Name) {
		return fault.New(fault.Invalid, CodeFieldRequired,
			"%s needs a field that you may not write; ask an administrator", field.Object)
	}
	return about(CodeFieldRequired, field.Name, "%s is required", field.Name)
}

func (f *facts) checkOwner(id string) error {
	if !f.model.Owner(id) {
		return about(CodeFieldInvalid, "ownerId", "ownerId must be the id of an active user or of a queue")
	}
	return nil
}

// checkLocks refuses a change of what an approval keeps as it is.
func (f *facts) checkLocks(changes []change) error {
	for _, l := range f.locks {
		for _, c := range changes {
			if !slices.Contains(l.Fields, c.Field) {
				continue
			}
			details := map[string]string{"approvalInstanceId": l.Approval}
			what := "a field that you may not see"
			if c.Field == ownerField || f.view.Reads(c.Field) {
				details["field"], what = c.Field, c.Field
			}
			return fault.New(fault.Conflict, CodeFieldLocked,
				"%s is locked until the approval %s is decided and its outcome is written, which the approval tells",
				what, l.Approval).With(details)
		}
	}
	return nil
}

// check bounds a record and holds it against the rules.
func (f *facts) check(draft *model.Draft) error {
	size := 0
	for name, value := range draft.Fields {
		size += len(name) + 24
		if s, ok := value.(string); ok {
			size += len(s)
		}
	}
	if size > maxFields {
		return fault.New(fault.TooLarge, "", "the fields of a record may have %d bytes", maxFields)
	}
	return f.validate(draft)
}

// diff is the fields that differ, in their order. A boolean that was never set is false.
func diff(object *model.Object, before, after values) []change {
	var changes []change
	for i := range object.Fields {
		f := &object.Fields[i]
		old, now := before[f.Name], after[f.Name]
		if f.Type == model.Boolean && before != nil && old == nil {
			old = false
		}
		if f.Type == model.Boolean && now == nil {
			now = false
		}
		if old != now {
			changes = append(changes, change{f.Name, old, now, f.Sensitive})
		}
	}
	return changes
}
