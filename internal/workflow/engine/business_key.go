package engine

import (
	"fmt"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// BusinessKey names an execution of a graph as the business does. At most one ACTIVE execution has it.
type BusinessKey struct{ Tenant, GraphID, Key string }

// businessKeys is who has business keys, as one commit sees it.
type businessKeys struct {
	b       *batch
	stored  map[BusinessKey]Head   // that were looked up; the zero Head: nobody
	created map[BusinessKey]*entry // by this commit
}

func businessKeyOf(req *Request) (key BusinessKey, given bool) {
	c, ok := req.Command.(flow.Create)
	if !ok || c.BusinessKey == "" {
		return BusinessKey{}, false
	}
	return BusinessKey{req.Tenant, req.GraphID, c.BusinessKey}, true
}

// lookAll asks at once who has the business keys of all creations in w.
func (k *businessKeys) lookAll(w *work) error {
	var keys []BusinessKey
	creations := func(reqs []Request) {
		for i := range reqs {
			if key, given := businessKeyOf(&reqs[i]); given {
				keys = append(keys, key)
			}
		}
	}
	for _, c := range w.calls {
		creations(c.reqs[c.decided:])
	}
	for _, u := range w.units {
		creations(u.unit.Commands)
	}
	if len(keys) == 0 {
		return nil
	}
	return k.look(keys)
}

func (k *businessKeys) look(keys []BusinessKey) error {
	heads, err := k.b.tx.Holders(k.b.ctx, keys)
	if err != nil {
		return fault.Wrap("engine.holders", err)
	}
	if k.stored == nil {
		k.stored = make(map[BusinessKey]Head, len(keys))
	}
	for i, key := range keys {
		k.stored[key] = heads[i]
	}
	return nil
}

// check refuses a creation whose business key an ACTIVE execution has. Should another
// process create one at the same time, the index of the store refuses one of both commits.
func (k *businessKeys) check(req *Request) (*flow.Refusal, error) {
	key, given := businessKeyOf(req)
	if !given {
		return nil, nil
	}
	if ent := k.created[key]; ent != nil && !ent.void && !ent.state.Status.Terminal() {
		records, err := k.b.records(ent, 1)
		if err != nil {
			return nil, err
		}
		return heldBy(req, key.Key, ent.state.Execution, records)
	}
	if _, seen := k.stored[key]; !seen {
		if err := k.look([]BusinessKey{key}); err != nil {
			return nil, err
		}
	}
	head := k.stored[key]
	if ent := k.b.used[head.ID]; head.Num == 0 || ent != nil && ent.state.Status.Terminal() {
		return nil, nil
	}
	row, err := k.b.tx.Row(k.b.ctx, head.Num, 1)
	if err != nil {
		return nil, fault.Wrap("engine.holder", err)
	}
	records, err := parseRow(head.ID, &row)
	if err != nil {
		return nil, damaged(err)
	}
	return heldBy(req, key.Key, head.ID, records)
}

// heldBy names the execution that has a business key, with the event that created it.
func heldBy(req *Request, key string, holder flow.ID, records []*record) (*flow.Refusal, error) {
	created := eventOf(records, 1)
	if created == nil {
		return nil, damaged(fmt.Errorf("the log of %v does not begin with event 1", holder))
	}
	return &flow.Refusal{
		Command: req.Command.Name(), Guard: flow.GuardBusinessKey,
		Reason: fmt.Sprintf(
			"execution %v of graph %s is active and has the business key %q",
			holder,
			req.GraphID,
			key,
		),
		Execution: flow.Active, Holder: holder,
		Cause: flow.EventRef{Seq: created.Seq, ID: created.ID, Type: created.Type, At: created.At},
	}, nil
}

// own notes that an execution of this commit has a business key.
func (k *businessKeys) own(req *Request, ent *entry) {
	key, given := businessKeyOf(req)
	if !given {
		return
	}
	if k.created == nil {
		k.created = map[BusinessKey]*entry{}
	}
	k.created[key] = ent
}
