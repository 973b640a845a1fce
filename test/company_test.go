package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/sqldb"
)

// services are the consumers of the program.
var services = []string{"core", "sharing", "search", "automation", "approval", "reporting"}

// settleWithin is how long everything may take to come to rest.
const settleWithin = 2 * time.Minute

// company is an office whose process is killed, and that comes to rest.
type company struct {
	*office
	replays int
}

// newCompany starts a server with the people of an office, who may do everything with the
// records that they see.
func newCompany(t *testing.T, seed uint64) *company {
	t.Helper()
	o := &company{office: &office{
		t: t, at: newSite(t), rand: rand.New(rand.NewPCG(seed, seed)), owner: map[string]int{}, red: map[string]bool{},
		team: map[string]map[int]bool{},
	}}
	o.c = serve(t, o.at)
	o.open()
	all, objects := map[string]bool{"create": true, "read": true, "update": true, "delete": true}, map[string]any{}
	for _, object := range []string{"Account", "Contact", "Lead", "Opportunity", "Quote", "Campaign"} {
		objects[object] = all
	}
	o.put("/metadata/permission-sets/"+officeID(3), map[string]any{"name": "all", "objects": objects})
	return o
}

// killed kills the process and starts another.
func (o *company) killed() {
	o.t.Helper()
	o.c.kill()
	o.c = serve(o.t, o.at)
}

// forget lets the carrier lose everything that it has: a server that starts publishes
// all of the outbox again.
func (o *company) forget() {
	o.t.Helper()
	o.c.kill()
	if err := os.RemoveAll(filepath.Join(o.at.dir, app.NATSFolder)); err != nil {
		o.t.Fatal(err)
	}
	o.c = serve(o.t, o.at)
}

// exec runs a statement while no process has the database.
func (o *company) exec(queries ...string) {
	o.t.Helper()
	err := app.WithDB(o.t.Context(), o.at.place(), func(db *sqldb.DB) error {
		return db.Write(o.t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
			for _, query := range queries {
				if _, err := tx.Exec(ctx, query); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		o.t.Fatal(err)
	}
}

// taken is what became of the events of a replay.
type taken struct{ Applied, Duplicate, Stale, Failed int }

// replay lets a consumer get all events again and gives what became of them.
func (o *company) replay(consumer string) taken {
	o.t.Helper()
	var r struct {
		ReplayID, Status string
		Counts           taken
	}
	o.replays++
	o.send(http.MethodPost, "/events/replays", map[string]string{"consumer": consumer, "from": "2020-01-01T00:00:00Z"},
		&r, "X-Idempotency-Key", fmt.Sprint("replay ", o.replays))
	defer func() {
		if o.t.Failed() { // which partition does not come to its end
			_, text := o.ask(http.MethodGet, "/events/consumers", nil, nil)
			o.t.Logf("the consumers: %s", text)
		}
	}()
	eventually(o.t, "all events came again to "+consumer, settleWithin, func() bool {
		o.send(http.MethodGet, "/events/replays/"+r.ReplayID, nil, &r)
		return r.Status == "DONE"
	})
	return r.Counts
}

// settle waits until nothing is left to be done: every event is published,
// nothing is being rebuilt or waits to be started, and when all events come again to all
// services, nobody finds one that is new, and nothing else is published.
func (o *company) settle() {
	o.t.Helper()
	eventually(o.t, "everything is at rest", settleWithin, func() bool {
		before := o.place()
		if before < 0 || o.building() {
			return false
		}
		for _, consumer := range services {
			if o.replay(consumer).Applied > 0 {
				return false
			}
		}
		return !o.building() && o.place() == before
	})
	if n := o.total("/events/dlq?status=OPEN"); n > 0 {
		var dead any
		o.send(http.MethodGet, "/events/dlq", nil, &dead)
		o.t.Fatalf("%d dead letters: %v", n, dead)
	}
}

// place is that of the newest event, -1 when some are not published yet.
func (o *company) place() int64 {
	o.t.Helper()
	var box struct {
		Unpublished int64
		Items       []struct{ Position int64 }
	}
	o.send(http.MethodGet, "/events/outbox?page_size=10", nil, &box)
	if box.Unpublished > 0 || len(box.Items) == 0 {
		return -1
	}
	return box.Items[len(box.Items)-1].Position
}

// building says that something is being rebuilt or waits to be started.
func (o *company) building() bool {
	o.t.Helper()
	for _, path := range []string{"/sharing/models?page_size=100", "/search/rebuilds?page_size=100"} {
		var page struct{ Items []struct{ Status string } }
		o.send(http.MethodGet, path, nil, &page)
		for _, item := range page.Items {
			if item.Status == "BUILDING" || item.Status == "RUNNING" {
				return true
			}
		}
	}
	return o.total("/automation/runs?outcome=PENDING") > 0
}

// total is how many a list has.
func (o *company) total(path string, header ...string) int {
	o.t.Helper()
	var page struct{ Total int }
	o.send(http.MethodGet, path, nil, &page, header...)
	return page.Total
}

// consistent ends the server and lets the program count everything again.
func (o *company) consistent() {
	o.t.Helper()
	o.c.stop()
	var out, errs bytes.Buffer
	cmd := o.at.program("check", "consistency", "-o", "json")
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var found app.Consistency
	if json.Unmarshal(out.Bytes(), &found) != nil || err != nil || len(found.Differences) > 0 || found.Tenants != 1 ||
		len(found.Services) != 6 {
		o.t.Errorf("renga check consistency: %v: %s%s", err, &out, &errs)
	}
	verify(o.t, o.at)
}
