package sharing

import (
	"embed"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/events"
)

//go:embed testdata
var testdata embed.FS

var rewrite = flag.Bool("update", false, "write the golden files anew")

var (
	anID      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anInstant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// script notes what was done and what sharing published, with names for ids.
type script struct {
	*play
	text  strings.Builder
	names map[string]string
	place int64 // in the outbox
}

// does lets sharing take all events and rebuild what is to be rebuilt, and notes what it
// published by that.
func (s *script) does(what string) {
	s.Helper()
	for keys := s.keys(); len(keys) > 0; keys = s.keys() {
		s.take(keys[0])
	}
	for began := time.Now(); s.task != nil || len(s.models()) > 0; s.rebuildOnce() {
		if time.Since(began) > patience {
			s.rig.Fatal("the rebuild comes to no end")
		}
	}
	s.text.WriteString("# " + what + "\n")
	var batch []events.Event
	batch, s.place = s.Events(s.id, s.place)
	batch = slices.DeleteFunc(batch, func(e events.Event) bool {
		return !slices.Contains([]string{"TerritoryAssignmentChanged", "SharingUpdated", "SharingRebuildCompleted"},
			e.Type)
	})
	for _, e := range batch {
		if e.Producer.Service != "sharing-service" {
			s.rig.Errorf("the producer of %s is %+v", e.Type, e.Producer)
		}
		s.text.WriteString("  " + e.Type + " " + s.named(e.Key) + " " + s.named(string(e.Payload)) + "\n")
	}
	if len(batch) == 0 {
		s.text.WriteString("  (nothing)\n")
	}
}

func (s *script) named(text string) string {
	text = anID.ReplaceAllStringFunc(text, func(id string) string {
		if s.names[id] == "" {
			return "?"
		}
		return s.names[id]
	})
	return anInstant.ReplaceAllString(text, "<instant>")
}

// TestSharingPublishesExactlyWhatItMust is the table of emission of sharing, 4.11, 4.15 and 4.19 of
// the document: what is done, and the events that follow with all of their fields.
func TestSharingPublishesExactlyWhatItMust(t *testing.T) {
	onEvery(t, func(t *testing.T, r *rig) {
		p := newTenant(r)
		ann, ben := num(users, 1), num(users, 2)
		acme, globex, west, japan, rule := num(recordIDs, 1), num(recordIDs, 2), num(territoryIDs, 1),
			num(territoryIDs, 2), num(rules, 1)
		s := &script{play: &play{tenant: p}, place: p.seen, names: map[string]string{
			p.id: "A", ann: "ann", ben: "ben", acme: "acme", globex: "globex", west: "west", japan: "japan",
			rule: "rule",
		}}
		account := func(id, owner, name string) model.Record {
			return model.Record{Object: "Account", ID: id, OwnerID: owner, Name: name, Fields: map[string]any{
				"Name": name,
			}}
		}
		s.putUser(model.User{ID: ann, Name: "Ann", IsActive: true})
		s.putUser(model.User{ID: ben, Name: "Ben", IsActive: true})
		s.does("two users")
		s.putRecord(account(acme, ann, "Acme"))
		s.does("an account: its owner is in its row")
		s.putRecord(account(acme, ann, "Acme Inc."))
		s.does("another name")
		s.putRecord(account(acme, ben, "Acme Inc."))
		s.does("another owner")
		s.putMate(acme, ann, model.Read)
		s.does("a member of its team")
		s.putMate(acme, ann, model.NoAccess)
		s.does("out of the team")
		s.putTerritoryOf(japan, "", model.Read)
		s.does("a territory")
		s.putTerritoryOf(west, japan, model.Edit)
		s.does("one below it")
		s.putTerritoryOf(west, japan, model.Edit)
		s.does("the same again")
		s.assign(west, Users, ann, true)
		s.does("a user of the territory")
		s.assign(west, Accounts, acme, true)
		s.does("an account in the territory")
		s.assign(west, Accounts, acme, false)
		s.does("the account is taken out")
		s.assign(west, Users, ann, false)
		s.does("the user is taken out")
		s.putTerritoryOf(west, "", model.Edit)
		s.does("the territory moves to the top")
		if err := s.Territories.Delete(s.Context(), s.call(), west); err != nil {
			t.Fatal(err)
		}
		s.does("the territory is deleted")
		s.putRule(model.SharingRule{
			ID: rule, Name: "s", Object: "Account", Kind: model.CriteriaRule, Criteria: `record.Name == "Globex"`,
			Access: model.Read, IsActive: true,
			Target: model.Member{Type: model.TypeUser, ID: ann},
		})
		s.does("a rule on what accounts say: all of them are looked at")
		s.putRecord(account(globex, ben, "Globex"))
		s.does("an account that the rule shares")
		s.putRecord(account(globex, ben, "Globex Ltd"))
		s.does("one that it shares no more")
		s.putDefault("Account", model.ReadOnly)
		s.does("another default")
		s.dropRecord(globex)
		s.does("an account is deleted")
		s.putTerritoryOf(west, japan, model.Read)
		s.assign(west, Accounts, acme, true)
		s.assign(japan, Accounts, acme, true)
		s.does("an account in two territories")
		s.dropRecord(acme)
		s.does("it is deleted")
		path := filepath.Join("testdata", "emission.txt")
		if *rewrite {
			if err := os.WriteFile(path, []byte(s.text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		want, err := testdata.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), s.text.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	})
}
