package storetest

import (
	"context"
	"testing"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func (s *suite) holders(keys ...engine.BusinessKey) (heads []engine.Head) {
	s.Helper()
	s.commit(func(ctx context.Context, tx engine.Tx) (err error) {
		heads, err = tx.Holders(ctx, keys)
		return err
	})
	return heads
}

func (s *suite) refused(b engine.Batch) {
	s.Helper()
	s.kind(s.store.Commit(s.Context(), func(ctx context.Context, tx engine.Tx) error { return tx.Write(ctx, &b) }),
		fault.Conflict)
}

// newHead is an execution that is not stored yet, with the row of its creation.
func (s *suite) newHead(h engine.Head) (engine.Head, engine.Batch) {
	s.Helper()
	h.Num = s.number()
	h = filled(h)
	return h, engine.Batch{Create: []engine.Head{h}, Log: []engine.LogRow{row(h.Num, 1, 1, 1)}}
}

func businessKeys(t *testing.T, s *suite) {
	key := engine.BusinessKey{Tenant: tenantA, GraphID: "g", Key: "order 17/ä"}
	first := s.create(engine.Head{BusinessKey: key.Key, CorrelationID: "c-1", Labels: `{"a":"x=\"y\"","b":"2"}`})
	s.create(engine.Head{BusinessKey: key.Key, Tenant: tenantB})
	s.create(engine.Head{BusinessKey: key.Key, GraphID: "h"})
	s.create(engine.Head{})
	s.create(engine.Head{}) // that have no key do not have the same
	free := engine.BusinessKey{Tenant: tenantA, GraphID: "g", Key: "order 18"}
	equal(t, "holders", s.holders(key, free, key, engine.BusinessKey{Tenant: tenantA, GraphID: "g"}),
		[]engine.Head{first, {}, first, {}})

	second, creation := s.newHead(engine.Head{BusinessKey: key.Key})
	s.refused(creation)
	ended := first
	ended.Status, ended.EndedAt = flow.Completed, 7
	creation.Update = []engine.Update{{Head: ended, Was: flow.Active}}
	s.write(creation) // the commit that ends the one may create the other
	equal(t, "holder", s.holders(key)[0], second)

	byKey := func(key engine.BusinessKey, want flow.ID) {
		t.Helper()
		id, err := s.store.ByKey(t.Context(), key)
		s.must(err)
		equal(t, "by key", id, want)
	}
	byKey(key, second.ID)
	second.Status = flow.Failed
	s.write(engine.Batch{Update: []engine.Update{{Head: second, Was: flow.Active}}})
	equal(t, "no holder", s.holders(key)[0], engine.Head{})
	byKey(key, second.ID)
	older := s.create(engine.Head{BusinessKey: key.Key, CreatedAt: 1})
	byKey(key, older.ID) // it is ACTIVE
	_, err := s.store.ByKey(t.Context(), free)
	s.kind(err, fault.NotFound)
	_, err = s.store.ByKey(t.Context(), engine.BusinessKey{Tenant: tenantA, GraphID: "g"})
	s.kind(err, fault.NotFound)
}
