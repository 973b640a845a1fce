package sharing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// A rebuild takes as many records in a transaction as there are steps for their criteria, and
// at least one; criteria that take too many for one record name their rule.
func TestARebuildTakesAsManyRecordsAsTheirCriteriaAllow(t *testing.T) {
	const list = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
	costly := func(n int) (s Setup) {
		for i := range n {
			criteria := fmt.Sprintf("%s.exists(a, %s.exists(b, %s.exists(c, a + b + c == %d))) || record.Name == 'a'",
				list, list, list, 1_000+i)
			s.Rules = append(s.Rules, Rule{ID: fmt.Sprint("rule-", i), Kind: model.CriteriaRule, Criteria: criteria})
		}
		return s
	}
	m := model.NewModel("acme")
	records := make([]model.Record, 50)
	for i := range records {
		records[i] = model.Record{Object: "Account", ID: fmt.Sprint(i), Fields: map[string]any{"Name": "a"}}
	}
	waits := func() error { return nil }
	setup := costly(2)
	left := records
	for rounds := 0; len(left) > 0; rounds++ {
		granted, err := grantedTo(model.NewJudge(waits), m, &setup, left)
		if err != nil || len(granted) == 0 || rounds == 0 && len(granted) == len(records) {
			t.Fatalf("%d of %d records, %v", len(granted), len(left), err)
		}
		for _, shares := range granted {
			if len(shares) != 2 {
				t.Fatalf("a record has %d rows, want 2", len(shares))
			}
		}
		left = left[len(granted):]
	}
	setup = costly(40)
	if _, err := grantedTo(model.NewJudge(waits), m, &setup, records); !model.IsCostly(err) {
		t.Errorf("got %v, want a refusal that names the rule", err)
	}
}

// maxRows is how many rows of rules a transaction writes at most.
const maxRows = model.MaxSteps / rowSteps

// Rules with the same criteria are evaluated once, and each of them is a row.
func TestARebuildTakesAsManyRecordsAsItMayWriteRowsFor(t *testing.T) {
	var setup Setup
	for i := range 5_000 {
		rule := Rule{ID: fmt.Sprint("rule-", i), Kind: model.CriteriaRule, Criteria: "record.Name == 'a'"}
		setup.Rules = append(setup.Rules, rule)
	}
	m := model.NewModel("acme")
	records := make([]model.Record, 10)
	for i := range records {
		records[i] = model.Record{Object: "Account", ID: fmt.Sprint(i), Fields: map[string]any{"Name": "a"}}
	}
	for left := records; len(left) > 0; {
		granted, err := grantedTo(model.NewJudge(func() error { return nil }), m, &setup, left)
		if err != nil || len(granted) == 0 {
			t.Fatalf("%d of %d records, %v", len(granted), len(left), err)
		}
		rows := 0
		for _, shares := range granted {
			rows += len(shares)
		}
		if rows > maxRows {
			t.Fatalf("%d rows in one transaction, want at most %d", rows, maxRows)
		}
		left = left[len(granted):]
	}
}

// Rows that events bring and rows that they take away count alike; an event alone has room for
// those of as many rules as there may be.
func TestEventsThatLeadToManyRowsAreTakenOneByOne(t *testing.T) {
	const each, some = 5_000, 3
	onEvery(t, func(t *testing.T, r *rig) {
		p := newTenant(r)
		p.putUser(model.User{ID: num(users, 1), Name: "u", IsActive: true})
		p.putRules(each)
		p.takeAll()
		for _, text := range []string{"shared", "not"} {
			for n := range some {
				fields := map[string]any{"Description": text}
				p.putRecord(model.Record{
					Object: "Account", ID: num(recordIDs, n), OwnerID: num(users, 1),
					Fields: fields,
				})
			}
			if err := p.tryAll(); !model.IsCostly(err) {
				t.Errorf("%s: together: got %v, want a refusal that names the rule", text, err)
			}
			for _, key := range p.keys() {
				p.take(key)
			}
			want := 0
			if text == "shared" {
				want = each * some
			}
			if got := p.ruleRows(); got != want {
				t.Errorf("%s: %d rows, want %d", text, got, want)
			}
		}
	})
}

// putRules defines as many rules with the same criteria before anybody asks for a model.
func (t *tenant) putRules(n int) {
	t.Helper()
	target := model.Member{Type: model.TypeUser, ID: num(users, 1)}
	t.Change(func(ctx context.Context, tx *sqldb.Tx) error {
		var stmts []sqldb.Stmt
		for i := range n {
			body, err := json.Marshal(&model.SharingRule{
				ID: num(rules, i), Object: "Account", Kind: model.CriteriaRule,
				Criteria: `record.Description == "shared"`,
				Target:   target, Access: model.Read, IsActive: true,
			})
			if err != nil {
				return err
			}
			stmts = append(stmts, sqldb.Stmt{
				Query: "INSERT INTO metadata_definition (tenant_id, kind, id, body, revision) VALUES ($1, $2, $3, " +
					"$4, 1)",
				Args: []any{t.id, string(model.KindSharingRule), num(rules, i), string(body)},
			})
		}
		return batch(ctx, tx, stmts)
	})
	t.putUser(model.User{ID: num(users, 1), Name: "u", IsActive: true}) // the definitions have a new revision
}

var errUndone = errors.New("undone")

// tryAll hands out everything that waits, together, and undoes it.
func (t *tenant) tryAll() (err error) {
	t.Helper()
	var all []*events.Event
	for _, key := range t.keys() {
		for i := range t.waits[key] {
			all = append(all, &t.waits[key][i])
		}
	}
	undone := t.DB.Write(t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		err = t.consumer.HandleAll(ctx, tx, slices.Clone(all))
		return errors.Join(err, errUndone)
	})
	if !errors.Is(undone, errUndone) {
		t.Fatal(undone)
	}
	return err
}

// ruleRows counts the rows of rules.
func (t *tenant) ruleRows() (n int) {
	t.Helper()
	t.See(func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.Row(ctx, "SELECT count(*) FROM sharing_share WHERE tenant_id = $1 AND cause = $2", t.id,
			CauseRule).Scan(&n)
	})
	return n
}
