package test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// busBooks is what a database says about events after all processes have ended.
type busBooks struct {
	t           *testing.T
	acked       map[string]bool
	events      []events.Event // all of the outbox
	logged      []events.Event // all of the log
	unpublished int
	falls       int
	effects     map[string][]busEffect           // by consumer, in order
	dead        map[string]map[string]bus.Status // by consumer and event
	parked      map[string]map[string]bool       // those that are no dead letters, by consumer and event
	applied     map[string]map[string]busEffect  // by consumer and key
	// tries that failed, as far as readers could note them before they were killed
	retries int
	tries   int // that dead letters had
}

// busEffect is something that a consumer did.
type busEffect struct {
	key, event       string
	version          canonical.Stamp
	index            int
	instance, holder string
	part             int
	epoch            int64
}

func (e busEffect) compare(f busEffect) int {
	return cmp.Or(cmp.Compare(e.version, f.version), cmp.Compare(e.index, f.index))
}

// openBusBooks reads a database.
func openBusBooks(t *testing.T, at busSetup, acked map[string]bool) *busBooks {
	t.Helper()
	b := &busBooks{
		t: t, acked: acked, effects: map[string][]busEffect{}, dead: map[string]map[string]bus.Status{},
		parked: map[string]map[string]bool{}, applied: map[string]map[string]busEffect{},
	}
	db, err := at.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := b.read(db); err != nil {
		t.Fatal(err)
	}
	return b
}

// read reads one table after the other, in pieces: nobody writes any more.
func (b *busBooks) read(db *sqldb.DB) error {
	each := func(query string, row func(*sqldb.Row) error) error {
		const piece = 20_000
		for offset := 0; ; offset += piece {
			n := 0
			err := db.Read(b.t.Context(), func(ctx context.Context, tx *sqldb.Tx) error {
				for r, err := range tx.Query(ctx, query+" LIMIT $1 OFFSET $2", piece, offset) {
					if err == nil {
						err = row(r)
					}
					if err != nil {
						return err
					}
					n++
				}
				return nil
			})
			if err != nil || n < piece {
				return err
			}
		}
	}
	steps := []struct {
		query string
		row   func(*sqldb.Row) error
	}{
		{"SELECT published_at, body FROM outbox_events ORDER BY id", b.event},
		{"SELECT number, execution FROM test_log ORDER BY number", b.change},
		{
			"SELECT consumer, key, event_id, version, idx, instance, holder, part, epoch FROM test_effect ORDER BY n",
			b.effect,
		},
		{"SELECT consumer, event_id, status, attempts FROM bus_dead ORDER BY num", b.letter},
		{"SELECT consumer, event_id FROM bus_parked WHERE dead = 0 ORDER BY consumer, partition_key, n", b.waiting},
		{
			"SELECT consumer, partition_key, version, idx, event_id FROM bus_applied ORDER BY consumer, partition_key",
			b.place,
		},
		{"SELECT consumer FROM test_fall ORDER BY consumer", func(*sqldb.Row) error { b.falls++; return nil }},
		{"SELECT failed FROM bus_reader ORDER BY consumer, part", func(r *sqldb.Row) error {
			var n int
			err := r.Scan(&n)
			b.retries += n
			return err
		}},
	}
	for _, s := range steps {
		if err := each(s.query, s.row); err != nil {
			return fmt.Errorf("%s: %w", s.query, err)
		}
	}
	return nil
}

func (b *busBooks) event(r *sqldb.Row) error {
	var published int64
	var body []byte
	if err := r.Scan(&published, &body); err != nil {
		return err
	}
	if published == 0 {
		b.unpublished++
	}
	e, err := events.ParseEvent(body)
	b.events = append(b.events, e)
	return err
}

func (b *busBooks) change(r *sqldb.Row) error {
	var number, execution int64
	err := r.Scan(&number, &execution)
	m := (&busLog{}).message(number, execution)
	b.logged = append(b.logged, events.Event{ID: m.ID, Key: m.Key, Version: canonical.Stamp(number)})
	return err
}

func (b *busBooks) effect(r *sqldb.Row) error {
	var c string
	var e busEffect
	err := r.Scan(&c, &e.key, &e.event, &e.version, &e.index, &e.instance, &e.holder, &e.part, &e.epoch)
	b.effects[c] = append(b.effects[c], e)
	return err
}

func (b *busBooks) letter(r *sqldb.Row) error {
	var c, event string
	var status, attempts int
	if err := r.Scan(&c, &event, &status, &attempts); err != nil {
		return err
	}
	if b.dead[c] == nil {
		b.dead[c] = map[string]bus.Status{}
	}
	if _, twice := b.dead[c][event]; twice {
		b.t.Errorf("%s: event %s is a dead letter twice", c, event)
	}
	b.dead[c][event] = bus.Status(status)
	b.tries += attempts
	return nil
}

func (b *busBooks) waiting(r *sqldb.Row) error {
	var c, event string
	if err := r.Scan(&c, &event); err != nil {
		return err
	}
	if b.parked[c] == nil {
		b.parked[c] = map[string]bool{}
	}
	if b.parked[c][event] {
		b.t.Errorf("%s: event %s is parked twice", c, event)
	}
	b.parked[c][event] = true
	return nil
}

func (b *busBooks) place(r *sqldb.Row) error {
	var c string
	var e busEffect
	err := r.Scan(&c, &e.key, &e.version, &e.index, &e.event)
	if b.applied[c] == nil {
		b.applied[c] = map[string]busEffect{}
	}
	b.applied[c][e.key] = e
	return err
}

// check holds everything against everything.
func (b *busBooks) check(consumers ...string) {
	b.t.Helper()
	known := map[string]bool{}
	for i := range b.events {
		if known[b.events[i].ID] {
			b.t.Errorf("event %s is in the outbox twice", b.events[i].ID)
		}
		known[b.events[i].ID] = true
	}
	lost := 0
	for id := range b.acked {
		if !known[id] {
			lost++
		}
	}
	if lost > 0 {
		b.t.Errorf("%d of %d acknowledged events are not in the outbox", lost, len(b.acked))
	}
	if b.unpublished > 0 {
		b.t.Errorf("%d events are not published", b.unpublished)
	}
	if b.falls > 0 {
		b.t.Errorf("applied versions fell %d times", b.falls)
	}
	for _, c := range consumers {
		b.delivered(c)
		b.ordered(c)
		b.leased(c)
	}
}

// wants reports whether a consumer gets an event.
func wants(consumer string, e *events.Event) bool {
	return consumer != owners || e.Type == "OwnerChanged"
}

// delivered: every event has one effect, or is a dead letter, or waits behind one. A
// strict consumer has jumped over none but those that somebody let it pass over.
func (b *busBooks) delivered(consumer string) {
	effects := map[string]int{}
	for _, e := range b.effects[consumer] {
		effects[e.event]++
	}
	missing, twice, wrong, jumped := 0, 0, 0, 0
	open := map[string]bool{} // keys of which an event was not taken and not passed over
	for _, e := range b.inOrder(consumer) {
		if !wants(consumer, &e) {
			continue
		}
		before := twice + wrong
		n, parked := effects[e.ID], b.parked[consumer][e.ID]
		delete(effects, e.ID)
		status, dead := b.dead[consumer][e.ID]
		switch {
		case n > 1:
			twice++
		case n == 1 && (parked || dead && status != bus.Applied):
			wrong++
		case n == 0 && !parked && !dead:
			missing++
			if missing < 4 {
				b.t.Logf("%s has not got %s %s of %s at %v %d", consumer, e.Type, e.ID, e.Key, e.Version, e.Index)
			}
		case n == 0 && dead && status != bus.Open && status != bus.Skipped && status != bus.Stale:
			wrong++
		}
		if was := twice + wrong; was != before && was < 4 {
			b.t.Logf("%s: event %s of %s at %v %d has %d effects; parked: %t, dead letter: %t, %v", consumer, e.ID,
				e.Key, e.Version, e.Index, n, parked, dead, status)
		}
		if n > 0 && open[e.Key] {
			jumped++
		}
		open[e.Key] = open[e.Key] || n == 0 && status != bus.Skipped
	}
	if len(effects) > 0 {
		b.t.Errorf("%s: %d effects are of events that nobody announced", consumer, len(effects))
	}
	if missing+twice+wrong > 0 {
		b.t.Errorf("%s: %d events were not delivered, %d have more than one effect, %d have an effect and are dead "+
			"or waiting, or neither", consumer, missing, twice, wrong)
	}
	if consumer == strict && jumped > 0 {
		b.t.Errorf("%s: %d events were taken before one of their key that came before", consumer, jumped)
	}
}

// inOrder are the events of a consumer's stream in the order of their keys' versions.
func (b *busBooks) inOrder(consumer string) []events.Event {
	all := b.events
	if consumer == engines {
		all = b.logged
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, c events.Event) int {
		return cmp.Or(cmp.Compare(a.Key, c.Key), cmp.Compare(a.Version, c.Version), cmp.Compare(a.Index, c.Index))
	})
}

// ordered: the effects of a key are in the order of its versions, and the place that is
// kept is that of the last, or of one behind it that was passed over.
func (b *busBooks) ordered(consumer string) {
	last := map[string]busEffect{}
	wrong := 0
	for _, e := range b.effects[consumer] {
		if before, ok := last[e.key]; ok && e.compare(before) <= 0 {
			if wrong++; wrong < 4 {
				b.t.Logf("%s, %s: version %v %d came behind %v %d", consumer, e.key, e.version, e.index, before.version,
					before.index)
			}
		}
		last[e.key] = e
	}
	if wrong > 0 {
		b.t.Errorf("%s: %d effects are out of order", consumer, wrong)
	}
	for key, e := range last {
		kept := b.applied[consumer][key]
		if c := kept.compare(e); c < 0 || c == 0 && kept.event != e.event || c > 0 &&
			b.dead[consumer][kept.event] != bus.Skipped {
			b.t.Errorf("%s, %s: the place kept is %v %d, the last effect %v %d", consumer, key, kept.version,
				kept.index, e.version, e.index)
		}
	}
}

// leased: every effect is by the process that held the lease then, and no effect under an
// older lease follows one under a newer.
func (b *busBooks) leased(consumer string) {
	var newest [events.Partitions]int64
	for _, e := range b.effects[consumer] {
		if e.instance != e.holder {
			b.t.Errorf("%s: process %s did something while %s had the lease", consumer, e.instance, e.holder)
		}
		if e.epoch < newest[e.part] {
			b.t.Errorf("%s/%d: something was done under lease %d after lease %d was given", consumer, e.part, e.epoch,
				newest[e.part])
		}
		newest[e.part] = max(newest[e.part], e.epoch)
	}
}

// letters counts dead letters, and those that wait behind them.
func (b *busBooks) letters() (dead, parked int) {
	for _, all := range b.dead {
		dead += len(all)
	}
	for _, all := range b.parked {
		parked += len(all)
	}
	return dead, parked
}

// changes counts how often another process went on with the work of consumers.
func (b *busBooks) changes(consumers ...string) (n int) {
	for _, c := range consumers {
		var holder [events.Partitions]string
		for _, e := range b.effects[c] {
			if was := holder[e.part]; was != "" && was != e.holder {
				n++
			}
			holder[e.part] = e.holder
		}
	}
	return n
}
