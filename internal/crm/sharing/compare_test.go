package sharing

import (
	"context"
	"fmt"
	"slices"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/sqldb"
)

// compare holds what everybody sees, in every way to ask, against the recomputation.
func (p *play) compare() {
	for user := range p.users {
		for _, object := range []string{"Account", "Contact", "Opportunity", "Quote", "Lead"} {
			for _, level := range []model.Access{model.Read, model.Edit} {
				p.compareList(user, object, level)
			}
		}
		for id := range p.records {
			all, err := p.Explain(p.Context(), Ask{Tenant: p.id, Object: p.records[id].Object, ID: id, User: user})
			if err != nil {
				p.rig.Fatal(err)
			}
			if got, want := all[0].Level, p.world.access(user, id); got != want {
				p.Fatalf(
					"%s is said to have %v on %s %s, want %v: %+v",
					user,
					got,
					p.records[id].Object,
					id,
					want,
					all,
				)
			}
		}
	}
}

func (p *play) compareList(user, object string, level model.Access) {
	want := []string{}
	for id, r := range p.records {
		if r.Object == object && p.world.access(user, id) >= levelOf(level) {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	got := map[string][]string{}
	var total int
	p.See(func(ctx context.Context, tx *sqldb.Tx) (err error) {
		var ids []string
		if total, ids, err = p.Visible.See(ctx, tx, p.id, object, user, level); err != nil {
			return err
		}
		if ids != nil {
			got["looked up"] = ids
		}
		if got["list"], err = p.visible(ctx, tx, object, user, level, p.Where); err != nil {
			return err
		}
		got["one by one"], err = p.visible(ctx, tx, object, user, level, p.WhereOne)
		return err
	})
	for how, ids := range got {
		if fmt.Sprint(ids) != fmt.Sprint(want) {
			p.Fatalf("%s: %s has %s on the %s\n%v, want\n%v", how, user, level, object, ids, want)
		}
	}
	if total != len(want) {
		p.Fatalf("%s has %s on %d of the %s, want %d", user, level, total, object, len(want))
	}
}

type where func(context.Context, *sqldb.Tx, string, string, string, model.Access, *sqldb.Binds) (string, error)

// visible are the records of which a condition is true.
func (t *tenant) visible(ctx context.Context, tx *sqldb.Tx, object, user string, level model.Access, where where) (
	[]string, error,
) {
	var b sqldb.Binds
	text, err := where(ctx, tx, t.id, object, user, level, &b)
	if err != nil {
		return nil, err
	}
	got := []string{}
	query := "SELECT r.id FROM records_record r WHERE r.tenant_id = " + b.Add(t.id) + " AND r.object = " +
		b.Add(object) +
		" AND r.deleted_at = 0 AND (" + text + ") ORDER BY r.id"
	for row, err := range tx.Query(ctx, query, b.Args()...) {
		var id string
		if err == nil {
			err = row.Scan(&id)
		}
		if err != nil {
			return nil, err
		}
		got = append(got, id)
	}
	return got, nil
}

// count holds the total of somebody against a plain count, whatever has been handled.
func (p *play) count() {
	user, object, level := p.pick("counts", users, 6), p.object(), p.access()
	var total int
	var ids, want []string
	p.See(func(ctx context.Context, tx *sqldb.Tx) (err error) {
		if total, ids, err = p.Visible.See(ctx, tx, p.id, object, user, level); err == nil {
			want, err = p.visible(ctx, tx, object, user, level, p.WhereOne)
		}
		return err
	})
	if total != len(want) || ids != nil && fmt.Sprint(ids) != fmt.Sprint(want) {
		p.Fatalf("%s has %s on %d of the %s, %v, want %v", user, level, total, object, ids, want)
	}
}
