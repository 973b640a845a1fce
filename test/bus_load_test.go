package test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

// The consumers of the processes of the bus.
const (
	strict  = "strict"  // stops a key at a dead letter
	loose   = "loose"   // goes on behind one
	owners  = "owners"  // gets one type only
	engines = "engines" // gets the executions
	late    = "late"    // comes when the others have worked for long
)

const busTenant = "7b0f4a10-1111-4222-8333-444455556666"

// Producers and consumers make it hard for the bus.
const (
	producers = 8
	failing   = 100             // one event of so many fails at first
	failsFor  = time.Second     // after a process has seen it first
	refused   = 3 * time.Second // so long a process refuses poisonous events; then they can be driven again
	poisoned  = 10              // keys out of a hundred have events that nobody can take
	poisonous = 0.1             // of the changes of such keys
)

// poison marks an event that handlers refuse; it travels as the correlation id.
const poison = "poison"

var errRefused = errors.New("the event cannot be taken")

// consumers are those of a process.
func (p *busProcess) consumers() []bus.Consumer {
	all := []bus.Consumer{
		{Name: strict, Handle: p.handle(strict), AutoRedrive: time.Second},
		{Name: loose, Handle: p.handle(loose), Continue: true, AutoRedrive: time.Second},
		{Name: owners, Handle: p.handle(owners), Types: []string{"OwnerChanged"}},
	}
	if p.Log {
		all = append(all, bus.Consumer{Name: engines, Handle: p.handle(engines), Stream: events.Executions})
	}
	if p.Late {
		all = append(all, bus.Consumer{Name: late, Handle: p.handle(late), Continue: true})
	}
	return all
}

// handle notes an effect, by which process and under whose lease, and fails now and then.
func (p *busProcess) handle(consumer string) bus.Handler {
	return func(ctx context.Context, tx *sqldb.Tx, e *events.Event) error {
		n, err := tx.Exec(
			ctx,
			`INSERT INTO test_effect (consumer, key, event_id, version, idx, instance, holder, part, epoch)
			SELECT $1, $2, $3, $4, $5, $6, holder, part, epoch FROM bus_lease WHERE name = $7 AND part = $8`,
			consumer,
			e.Key,
			e.ID,
			e.Version,
			e.Index,
			p.Instance,
			"reader:"+consumer,
			events.Partition(e.Key),
		)
		switch {
		case err != nil:
			return err
		case n != 1:
			return errors.New("there is no lease")
		case e.CorrelationID == poison && consumer != owners && consumer != late && p.known(consumer+e.ID) < refused:
			return bus.Permanent(errRefused)
		case chance(consumer+e.ID) == 0 && p.known(consumer+e.ID) < failsFor:
			return errRefused
		}
		return nil
	}
}

// known is for how long this process knows something: however far it is behind, it fails
// with what it sees for the first time.
func (p *busProcess) known(what string) time.Duration {
	first, _ := p.firsts.LoadOrStore(what, time.Now())
	return time.Since(first.(time.Time))
}

// chance is the same number for the same text.
func chance(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32() % failing
}

// produce changes records and announces that, at the rate of the process.
func (p *busProcess) produce(ctx context.Context) {
	if p.Rate == 0 {
		return
	}
	const perChange = 2 // events, on average
	var all sync.WaitGroup
	for range producers {
		all.Go(func() {
			tick := time.NewTicker(producers * perChange * time.Second / time.Duration(p.Rate))
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
				case <-p.quiet:
					return
				case <-ctx.Done():
					return
				}
				p.culling.RLock()
				ids, err := p.change(ctx, 1+rand.IntN(3))
				p.culling.RUnlock()
				if err == nil {
					p.say("ack %s", strings.Join(ids, " "))
				}
			}
		})
	}
	all.Wait()
}

// change changes one record and announces it with one to three events.
func (p *busProcess) change(ctx context.Context, count int) (ids []string, err error) {
	n := rand.IntN(p.Keys)
	id := uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, n)).String()
	key := events.RecordKey("Account", busTenant, id)
	cause := "c"
	if n%100 < poisoned && rand.Float64() < poisonous {
		cause = poison
	}
	err = p.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		ids = nil
		version, err := p.version(ctx, tx, key, n%2 == 0)
		if err != nil {
			return err
		}
		var all []events.Event
		for i := range count {
			e := events.Event{
				ID: uuid.Must(uuid.NewV7()).String(), Tenant: busTenant, CorrelationID: cause, Key: key,
				Version: version, Index: i,
			}
			if e.Type, e.Payload, err = payload(i, id, version); err != nil {
				return err
			}
			all, ids = append(all, e), append(ids, e.ID)
		}
		if p.Log {
			if _, err := tx.Exec(ctx, "INSERT INTO test_log (execution) VALUES ($1)", n); err != nil {
				return err
			}
			tx.OnCommit(p.bus.WakeLog)
		}
		return p.bus.Publish(ctx, tx, all...)
	})
	return ids, err
}

// version is the next version of a record: by its row, or by the bus.
func (p *busProcess) version(
	ctx context.Context,
	tx *sqldb.Tx,
	key string,
	own bool,
) (version canonical.Stamp, err error) {
	if !own {
		return p.bus.NextVersion(ctx, tx, key)
	}
	err = tx.Row(ctx, `INSERT INTO test_record (key, version) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET version =
		CASE WHEN excluded.version > test_record.version THEN excluded.version ELSE test_record.version + 1 END
		RETURNING version`,
		key, time.Now().UnixMilli()).
		Scan(&version)
	return version, err
}

// payload is that of the event at a place within a change.
func payload(i int, record string, version canonical.Stamp) (typ string, text []byte, err error) {
	payloads := []events.Payload{
		events.RecordUpdated{ObjectName: "Account", RecordID: record, OwnerID: busTenant, ChangedFields: []string{
			"Name",
			"OwnerId",
		}, RecordVersion: version},
		events.OwnerChanged{
			ObjectName: "Account", RecordID: record, OldOwnerID: busTenant, NewOwnerID: record,
			RecordVersion: version,
		},
		events.RecordDeleted{ObjectName: "Account", RecordID: record, Deleted: true, RecordVersion: version},
	}
	text, err = events.NewPayload(payloads[i])
	return payloads[i].EventType(), text, err
}

// decide decides about dead letters now and then, as operators do: it lets some be
// driven again and some be passed over.
func (p *busProcess) decide(ctx context.Context) {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for p.Rate > 0 {
		select {
		case <-tick.C:
		case <-p.quiet:
			return
		case <-ctx.Done():
			return
		}
		letters, _, err := p.bus.DeadLetters(ctx, busTenant, bus.DeadFilter{Status: []bus.Status{bus.Open}}, 0, 3)
		if err != nil {
			continue // the next time
		}
		var ids []string
		for _, l := range letters {
			ids = append(ids, l.ID)
		}
		_, _ = p.bus.DecideMany(ctx, bus.Decision{
			Tenant: busTenant, Skip: rand.IntN(2) == 0, Reason: "test", Actor: "test", CorrelationID: "test",
		}, ids)
	}
}
