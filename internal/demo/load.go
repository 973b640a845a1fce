package demo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"renga.dev/renga/client"
)

const (
	bulkSize = 200 // records in a request
	atOnce   = 4   // requests that are under way together, where they come one by one
)

// Loader sends a company to a server.
type Loader struct {
	*company
	server   *client.Client
	subject  string // of the caller's token
	user     string // the caller without one
	progress func(done int)
	done     atomic.Int64
	ids      map[string][]string // of records, by object and place
	invited  map[invitation]bool // who is in a campaign before it is loaded
}

// Run sends everything, in an order in which each needs only what was before it. It calls progress with the number
// of steps that are done, from several goroutines.
func (l *Loader) Run(ctx context.Context, progress func(done int)) error {
	l.progress = progress
	if _, err := l.server.Graphs.Put(ctx, graphID, []byte(graph)); err != nil {
		return about("graph "+graphID, err)
	}
	l.step(1)
	for _, def := range append([]definition{l.marker()}, l.definitions...) {
		if _, _, err := l.server.Metadata.Put(ctx, def.kind, def.id, def.body, ""); err != nil {
			return about(string(def.kind)+" "+def.id, err)
		}
		l.step(1)
	}
	if err := l.permitCaller(ctx); err != nil {
		return err
	}
	if err := l.settle(ctx); err != nil {
		return err
	}
	for _, o := range objects {
		if err := l.create(ctx, o.name); err != nil {
			return err
		}
	}
	if err := l.advance(ctx); err != nil {
		return err
	}
	if err := l.lookAround(ctx); err != nil {
		return about("campaign members", err)
	}
	return l.connectAll(ctx)
}

// step says that some more is done.
func (l *Loader) step(n int) { l.progress(int(l.done.Add(int64(n)))) }

// settle makes the territories and lets users work in them.
func (l *Loader) settle(ctx context.Context) error {
	for _, t := range l.territories {
		if _, err := l.server.Territories.Put(ctx, t.Territory); err != nil {
			return about("territory "+t.Name, err)
		}
		l.step(1)
		for _, user := range t.users {
			if err := l.server.Territories.Assign(ctx, t.ID, client.TerritoryUsers, user, true); err != nil {
				return about("territory "+t.Name, err)
			}
			l.step(1)
		}
	}
	return nil
}

// key is the key of a request: the same for the same data.
func (l *Loader) key(what string, n int) string {
	return fmt.Sprintf("demo-%d-%d-%s-%s-%d", l.seed, l.size, l.Date(), what, n)
}

// create creates the records of an object.
func (l *Loader) create(ctx context.Context, object string) error {
	all := len(l.records[object])
	for from := 0; from < all; from += bulkSize {
		to := min(from+bulkSize, all)
		results, err := l.server.Records.BulkWithKey(ctx, l.key(object, from), object, true,
			l.operations(object, from, to, l.ids))
		if err != nil {
			return about(fmt.Sprintf("%s %d to %d", object, from+1, to), err)
		}
		for _, r := range results {
			l.ids[object] = append(l.ids[object], r.ID)
		}
		l.step(len(results))
	}
	return nil
}

// connectAll converts leads, fills teams and campaigns, puts accounts into territories, and
// lets quotes be approved.
func (l *Loader) connectAll(ctx context.Context) error {
	id := func(r ref) string { return l.ids[r.object][r.at] }
	for _, part := range []struct {
		what string
		n    int
		send func(ctx context.Context, i int) error
	}{
		{"team", len(l.teams), func(ctx context.Context, i int) error {
			t := l.teams[i]
			_, err := l.server.Records.PutTeamMember(ctx, t.of.object, id(t.of), client.TeamMember{
				UserID:   t.user,
				TeamRole: t.role,
			})
			return err
		}},
		{"campaign member", len(l.members), func(ctx context.Context, i int) error {
			return l.join(ctx, &l.members[i])
		}},
		{"territory", len(l.placed), func(ctx context.Context, i int) error {
			return l.server.Territories.Assign(ctx, l.placed[i].territory, client.TerritoryAccounts,
				l.ids["Account"][l.placed[i].account], true)
		}},
		{"conversion", len(l.converted), func(ctx context.Context, i int) error {
			c := l.converted[i]
			v := client.LeadConversion{
				AccountID: l.ids["Account"][c.account], ContactID: l.ids["Contact"][c.contact],
				Key: l.key("conversion", i),
			}
			if c.opportunity >= 0 {
				v.OpportunityID = l.ids["Opportunity"][c.opportunity]
			}
			_, err := l.server.Records.ConvertLead(ctx, l.ids["Lead"][c.lead], v)
			return err
		}},
		{"approval", len(l.approvals), l.approve},
	} {
		if err := l.several(ctx, part.n, part.send); err != nil {
			return about(part.what, err)
		}
	}
	return nil
}

// several sends requests that do not need each other, some at a time, up to the first that
// fails. What was deleted since the data was loaded first is passed over.
func (l *Loader) several(ctx context.Context, n int, send func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				if err := send(ctx, i); err != nil && !errors.Is(err, client.ErrNotFound) {
					stop(err)
					return
				}
				l.step(1)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// Count is how much there is of something.
type Count struct {
	What  string `json:"what"`
	Count int    `json:"count"`
}

// Date is the day that the data lies around.
func (l *Loader) Date() string { return l.day.Format(dayLayout) }

// Example is an account that was loaded and a user who sees it for its territory.
func (l *Loader) Example() (account, user string) {
	if len(l.placed) == 0 {
		return "", ""
	}
	at := l.placed[0].account
	return l.ids["Account"][at], l.reps[regions[l.records["Account"][at].region].code][1]
}

// Counts is how much there is of what.
func (l *Loader) Counts() []Count {
	var out []Count
	for _, kind := range client.DefinitionKinds {
		n := 0
		for _, def := range l.definitions {
			if def.kind == kind {
				n++
			}
		}
		if n > 0 {
			out = append(out, Count{string(kind), n})
		}
	}
	out = append(out, Count{"territory", len(l.territories)})
	for _, o := range objects {
		out = append(out, Count{o.name, len(l.ids[o.name])})
	}
	changes := 0
	for _, moves := range l.moves {
		changes += len(moves)
	}
	return slices.Concat(out, []Count{
		{"change of a record", changes},
		{"team member", len(l.teams)},
		{"campaign member", len(l.members)},
		{"account in a territory", len(l.placed)},
		{"converted lead", len(l.converted)},
		{"approval", len(l.approvals)},
	})
}

// about says in a refusal what was refused.
func about(what string, err error) error {
	if refused := (*client.Error)(nil); errors.As(err, &refused) && errors.Is(refused, client.ErrInvalid) {
		refused.Message = what + ": " + refused.Message
	}
	return err
}
