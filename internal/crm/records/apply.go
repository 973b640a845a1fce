package records

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
)

// MaxBulk is how many operations one request may have.
const MaxBulk = 200

// Batch is some operations on records of one object.
type Batch struct {
	Object      string
	Ops         []Op
	AllOrNone   bool                      // one that is refused refuses all
	Idempotency *canonical.IdempotencyKey // nil: the request may not be repeated

	system bool // the server itself wants it: it may write what is read-only
}

// Result is what became of one operation.
type Result struct {
	Kind    Kind
	ID      string
	Version canonical.Stamp // of a deleted record, its last one
	Err     error           // why it was refused; then nothing was done

	record  *model.Record
	view    view
	changed bool
}

// View is the record as it is now, as the caller may see it.
func (r *Result) View() View { return r.view.show(r.record) }

// Answer writes the answer of a request down, so that it can be given again as it is: it
// shows no field. It is called in the transaction.
type Answer func([]Result) ([]byte, error)

// Apply does the operations of a batch one after the other, in one transaction, and gives
// the answer to them; replay says that it was given before. An error refuses the batch.
func (s *Records) Apply(ctx context.Context, c Caller, b Batch, answer Answer) (out []byte, replay bool, err error) {
	err = s.Write(ctx, "apply", s.as(c, func(ctx context.Context, w *session) error {
		out, replay, err = w.idempotent(ctx, b.Idempotency, func() ([]byte, error) {
			results, err := w.apply(ctx, &b)
			if err != nil {
				return nil, err
			}
			return answer(results)
		})
		return err
	}))
	return out, replay, err
}

// One does one operation, in one transaction, and gives the record as the caller may see it
// then; replay says that it was done before, with the same key. An error refuses it.
func (s *Records) One(ctx context.Context, c Caller, object string, op Op, key *canonical.IdempotencyKey) (
	shown View, replay bool, err error,
) {
	err = s.Write(ctx, "apply", s.as(c, func(ctx context.Context, w *session) error {
		var kept []byte
		kept, replay, err = w.idempotent(ctx, key, func() ([]byte, error) {
			results, err := w.apply(ctx, &Batch{Object: object, Ops: []Op{op}, AllOrNone: true})
			if err != nil {
				return nil, err
			}
			shown = results[0].View()
			return json.Marshal(results[0].view.stored(results[0].record))
		})
		if err != nil || !replay {
			return err
		}
		shown = View{}
		if err := json.Unmarshal(kept, &shown); err != nil {
			return err
		}
		return w.replay(ctx, &shown)
	}))
	return shown, replay, err
}

// batch is the operations of a batch and what they are decided on.
type batch struct {
	*session
	object   string
	view     view
	rows     map[string]*row
	parents  parents
	children map[string][]child
	locks    map[string][]lock
	ruled    parents
	above    map[string]string // the parents of records, as far as circles need them; nil: no change has one
	system   bool
	done     []decision
}

func (w *session) apply(ctx context.Context, b *Batch) ([]Result, error) {
	if _, err := w.Object(b.Object); err != nil {
		return nil, err
	}
	k := &batch{session: w, object: b.Object, system: b.system}
	if err := k.prepare(ctx, b.Ops); err != nil {
		return nil, err
	}
	results := make([]Result, len(b.Ops))
	for i := range b.Ops {
		results[i] = k.do(&b.Ops[i])
		switch err := results[i].Err; {
		case err == nil:
		case fault.KindOf(err) == fault.Internal, fault.KindOf(err) == fault.Unavailable:
			return nil, err
		case b.AllOrNone && len(b.Ops) == 1:
			return nil, err
		case b.AllOrNone:
			return nil, refusedBy(i, err)
		}
	}
	return results, w.save(ctx, k.done)
}

// refusedBy is the refusal of a batch because of one of its operations.
func refusedBy(i int, err error) error {
	e, ok := fault.As(err)
	if !ok {
		return err
	}
	all := *e
	all.Message = fmt.Sprintf("operations[%d]: %s", i, e.Message)
	details := map[string]any{"operation": i}
	switch d := e.Details.(type) {
	case map[string]string:
		for name, value := range d {
			details[name] = value
		}
	case map[string]any:
		maps.Copy(details, d)
	}
	return all.With(details)
}

// prepare reads everything that the operations need, at once.
func (k *batch) prepare(ctx context.Context, ops []Op) (err error) {
	k.view = view{k.Model.View(k.User, k.object)}
	var ids, gone []string
	wanted := map[string][]string{}
	for i := range ops {
		op := &ops[i]
		op.ID = strings.ToLower(op.ID)
		if op.Kind != Create && model.ValidID(op.ID) {
			if ids = append(ids, op.ID); op.Kind == Delete {
				gone = append(gone, op.ID)
			}
		}
		for name, raw := range op.Fields {
			collectReference(k.view.Field(name), raw, wanted)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	how := changing
	if len(gone) > 0 {
		how = deleting
	}
	above := k.newParents(ops)
	if len(above) > 0 {
		// Two changes at once could close a circle that neither of them sees.
		if err = kit.ParentLocks.Hold(ctx, k.Tx, "records:"+k.Caller.Tenant+":"+k.object); err != nil {
			return err
		}
	}
	if k.rows, err = k.load(ctx, k.object, ids, how); err != nil {
		return err
	}
	if k.parents, err = k.loadParents(ctx, wanted); err != nil {
		return err
	}
	if k.children, err = k.loadChildren(ctx, k.object, gone); err != nil {
		return err
	}
	if k.ruled, err = k.loadRuled(ctx, k.object); err != nil {
		return err
	}
	if len(above) > 0 {
		if err = k.loadAbove(ctx, above); err != nil {
			return err
		}
	}
	k.locks, err = k.loadLocks(ctx, k.object, ids)
	return err
}

// collectReference adds the id that a value of a field names, under each object that it may
// be of.
func collectReference(f *model.Field, raw jsontext.Value, wanted map[string][]string) {
	if f == nil || f.Type != model.Reference {
		return
	}
	if id, err := f.Parse(raw); err == nil && id != nil {
		for _, to := range f.ReferenceTo {
			wanted[to] = append(wanted[to], id.(string))
		}
	}
}

// do decides one operation and notes what it changes for those behind it.
func (k *batch) do(op *Op) Result {
	d, err := k.decide(op)
	if err != nil {
		return Result{Kind: op.Kind, Err: err}
	}
	if d.action != "" {
		k.done = append(k.done, d)
		k.note(&d)
	}
	return Result{
		Kind: op.Kind, ID: d.after.ID, Version: d.after.Version, record: &d.after, view: k.view,
		changed: d.action != "",
	}
}

func (k *batch) decide(op *Op) (decision, error) {
	f := k.facts(k.view, k.parents, k.ruled, k.locks[op.ID])
	f.system = k.system
	if op.Kind != Create && op.Kind != Update && op.Kind != Delete {
		return decision{}, about(canonical.CodeInvalid, "op", "op must be create, update or delete")
	}
	if err := k.Allow(k.object, model.Op(op.Kind)); err != nil {
		return decision{}, err
	}
	if op.Kind == Create {
		return create(f, uuid.Must(uuid.NewV7()).String(), op)
	}
	before := k.rows[op.ID]
	if before == nil {
		return decision{}, notFound(k.object, op.ID)
	}
	if err := checkVersion(&before.Record, op.Version); err != nil {
		return decision{}, err
	}
	if op.Kind == Delete {
		return remove(f, &before.Record, k.children[op.ID])
	}
	if !before.edit {
		return decision{}, notEdited(k.object, op.ID)
	}
	d, err := update(f, &before.Record, op)
	if err == nil && k.above != nil {
		err = k.checkCircle(&d, op)
	}
	return d, err
}

// checkVersion refuses a change of a version that is not the current one; 0 is any.
func checkVersion(r *model.Record, seen canonical.Stamp) error {
	if seen == 0 || seen == r.Version {
		return nil
	}
	return fault.New(fault.Conflict, CodeVersionMismatch,
		"the record has the version %s by now; read it again and repeat the change on that", r.Version).
		With(map[string]string{"version": r.Version.String()})
}

// note makes a decision known to the operations behind it.
func (k *batch) note(d *decision) {
	id := d.after.ID
	switch {
	case d.after.Deleted:
		delete(k.rows, id)
		delete(k.parents, id)
	case d.before != nil:
		k.rows[id] = &row{d.after, k.rows[id].edit} // the decision keeps the one before
		if k.above != nil {
			k.above[id] = values(d.after.Fields).text(parentField)
		}
	}
	for _, r := range references(k.view.Object, d) {
		k.count(r.old, r.field, -1)
		k.count(r.now, r.field, 1)
	}
}

// count changes how many records of this object name a record that is to be deleted.
func (k *batch) count(id, field string, n int64) {
	if id == "" {
		return
	}
	list := k.children[id]
	at := slices.IndexFunc(list, func(c child) bool { return c.Object == k.object && c.Field == field })
	if at < 0 {
		list = append(list, child{Object: k.object, Field: field})
		at = len(list) - 1
	}
	if list[at].Count += n; list[at].Count <= 0 {
		list = slices.Delete(list, at, at+1)
	}
	k.children[id] = list
}
