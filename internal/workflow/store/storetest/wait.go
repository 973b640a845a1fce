package storetest

import (
	"fmt"
	"testing"

	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

func waits(t *testing.T, s *suite) {
	first := s.create(engine.Head{GraphID: "g", BusinessKey: "A-17", CorrelationID: "c-1"})
	second := s.create(engine.Head{GraphID: "h"})
	other := s.create(engine.Head{Tenant: tenantB, GraphID: "g"})
	row := func(h engine.Head, node string, since flow.Time) engine.WaitRow {
		return engine.WaitRow{
			WaitRef: engine.WaitRef{Tenant: h.Tenant, Execution: h.Num, Node: node}, GraphID: h.GraphID, Since: since,
			ID: h.ID, BusinessKey: h.BusinessKey, CorrelationID: h.CorrelationID,
		}
	}
	ask, pay, sign, far := row(first, "ask", 20), row(first, "pay", 10), row(second, "ask", 20), row(other, "ask", 1)
	ask.Reminders, ask.RemindAt = 2, 50
	ask.Until, ask.WaitKey, ask.Prompt = 99, "k", flow.Data(`{"title":"Ä?"}`)
	ask.Assignees = &flow.Assignees{Users: []string{"ann"}, Roles: []string{"boss", "cfo"}}
	sign.Assignees = &flow.Assignees{Groups: []string{"ann"}}
	pay.Awaits, sign.Awaits = &flow.Awaited{Name: "paid", Key: "o-17"}, &flow.Awaited{Name: "signed"}
	sign.PromptRef = engine.PromptRef{Seq: 7, Size: 5000}
	s.write(engine.Batch{Waits: []engine.WaitRow{ask, pay, sign, far}})

	list := func(q engine.WaitQuery, total int, want ...engine.WaitRow) {
		t.Helper()
		if q.Tenant == "" {
			q.Tenant = tenantA
		}
		if q.Limit == 0 {
			q.Limit = 10
		}
		got, n, err := s.store.Waits(t.Context(), q)
		s.must(err)
		equal(t, fmt.Sprintf("waits of %+v", q), got, want)
		equal(t, fmt.Sprintf("number of waits of %+v", q), n, total)
	}
	list(engine.WaitQuery{}, 3, pay, ask, sign)
	list(engine.WaitQuery{Limit: 1, Offset: 1}, 3, ask)
	list(engine.WaitQuery{After: pay}, 3, ask, sign)
	list(engine.WaitQuery{After: ask, Limit: 1}, 3, sign)
	list(engine.WaitQuery{After: sign}, 3)
	list(engine.WaitQuery{From: 20}, 2, ask, sign)
	list(engine.WaitQuery{GraphID: "g"}, 2, pay, ask)
	list(engine.WaitQuery{NodeID: "ask"}, 2, ask, sign)
	list(engine.WaitQuery{Tenant: tenantB}, 1, far)
	for _, tt := range []struct {
		who  flow.Principal
		want []engine.WaitRow
	}{
		{flow.Principal{}, []engine.WaitRow{pay}}, // which everybody may resume
		{flow.Principal{Users: []string{"ann"}}, []engine.WaitRow{pay, ask}},
		{flow.Principal{Roles: []string{"cfo", "boss", "ann"}}, []engine.WaitRow{pay, ask}},
		{flow.Principal{Users: []string{"ann"}, Groups: []string{"ann"}}, []engine.WaitRow{pay, ask, sign}},
	} {
		list(engine.WaitQuery{For: &tt.who}, len(tt.want), tt.want...)
	}
	// A node that waits anew has a new row; one that does not has none, nor assignees.
	again := ask
	again.Since, again.Assignees = 30, nil
	s.write(engine.Batch{Waited: []engine.WaitRef{ask.WaitRef, sign.WaitRef}, Waits: []engine.WaitRow{again}})
	list(engine.WaitQuery{}, 2, pay, again)
	list(engine.WaitQuery{For: &flow.Principal{Groups: []string{"ann"}}}, 2, pay, again)
}
