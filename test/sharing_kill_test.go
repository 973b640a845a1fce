package test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"renga.dev/renga/test/tier"
)

// TestSharingSurvivesKills changes owners, roles, teams, rules and defaults over HTTP while
// the process is killed again and again, in the middle of rebuilds too. When it is quiet,
// everybody sees what the last changes say, and nothing else.
func TestSharingSurvivesKills(t *testing.T) {
	tier.System(t)
	kills, records := 3, 40
	if long() {
		kills, records = 30, 600
	}
	o := &office{
		t: t, at: newSite(t), rand: rand.New(rand.NewPCG(7, 7)), owner: map[string]int{},
		red: map[string]bool{}, team: map[string]map[int]bool{},
	}
	o.c = serve(t, o.at)
	o.open()
	for range records {
		o.create()
	}
	for range kills {
		for range 8 {
			o.change()
		}
		o.put("/metadata/owd/Account", map[string]any{"access": o.toss()}) // it starts a rebuild
		o.rule()
		o.c.kill()
		o.c = serve(t, o.at)
	}
	eventually(t, "everybody sees what the last changes say", time.Minute, func() bool { return o.wrong() == "" })
}

// office is three people: a boss, somebody below, and somebody beside them.
type office struct {
	t       *testing.T
	at      site
	c       *child
	rand    *rand.Rand
	owner   map[string]int
	red     map[string]bool
	team    map[string]map[int]bool
	private bool
	ruled   bool
	ids     []string
}

const (
	boss = iota
	below
	beside
)

func officeID(n int) string { return fmt.Sprintf("0199c1a4-0000-7000-8000-%012d", n) }

// open defines the people.
func (o *office) open() {
	o.put("/metadata/roles/"+officeID(1), map[string]any{"name": "Boss"})
	o.put("/metadata/roles/"+officeID(2), map[string]any{"name": "Rep", "parentRoleId": officeID(1)})
	all := map[string]bool{"create": true, "read": true, "update": true, "delete": true}
	o.put("/metadata/permission-sets/"+officeID(3), map[string]any{"name": "all", "objects": map[string]any{
		"Account": all,
	}})
	for n, role := range []any{boss: officeID(1), below: officeID(2), beside: nil} {
		u := map[string]any{"name": fmt.Sprint("user ", n), "permissionSetIds": []string{officeID(3)}, "isActive": true}
		if role != nil {
			u["roleId"] = role
		}
		o.put("/metadata/users/"+officeID(20+n), u)
	}
	o.private = true
}

func (o *office) toss() string {
	o.private = o.rand.IntN(3) > 0
	if o.private {
		return "Private"
	}
	return "ReadOnly"
}

// rule gives red records to whom is beside, or no longer does.
func (o *office) rule() {
	o.ruled = o.rand.IntN(2) == 0
	o.put("/metadata/sharing-rules/"+officeID(41), map[string]any{
		"name": "red", "object": "Account", "kind": "criteria", "criteria": `record.Name == "red"`,
		"target": map[string]string{"type": "User", "id": officeID(20 + beside)}, "access": "Read", "isActive": o.ruled,
	})
}

func (o *office) create() {
	owner, name := o.rand.IntN(3), o.name()
	var r struct{ ID string }
	o.send(http.MethodPost, "/records/Account", map[string]any{
		"ownerId": officeID(20 + owner),
		"fields":  map[string]string{"Name": name},
	}, &r)
	o.ids = append(o.ids, r.ID)
	o.owner[r.ID], o.red[r.ID], o.team[r.ID] = owner, name == "red", map[int]bool{}
}

func (o *office) name() string { return []string{"red", "blue"}[o.rand.IntN(2)] }

// change changes one record.
func (o *office) change() {
	id := o.ids[o.rand.IntN(len(o.ids))]
	if o.rand.IntN(3) == 0 {
		mate := o.rand.IntN(3)
		o.put("/records/Account/"+id+"/team/"+officeID(20+mate), map[string]string{
			"teamRole":    "Sales Rep",
			"accessLevel": "Read",
		})
		o.team[id][mate] = true
		return
	}
	var r struct{ RecordVersion string }
	o.send(http.MethodGet, "/records/Account/"+id, nil, &r)
	owner, name := o.rand.IntN(3), o.name()
	o.send(http.MethodPatch, "/records/Account/"+id, map[string]any{
		"recordVersion": r.RecordVersion, "ownerId": officeID(20 + owner), "fields": map[string]string{"Name": name},
	}, &r)
	o.owner[id], o.red[id] = owner, name == "red"
}

// sees says what is to be.
func (o *office) sees(user int, id string) bool {
	owner := o.owner[id]
	return owner == user || user == boss && owner == below || !o.private || o.team[id][user] || user == beside &&
		o.ruled && o.red[id]
}

// wrong says what somebody sees and should not, or does not and should; "": nothing.
func (o *office) wrong() string {
	for user := range 3 {
		var want []string
		for _, id := range o.ids {
			if o.sees(user, id) {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		var got []string
		for page, total := 1, 1; len(got) < total; page++ {
			var list struct {
				Items []struct{ ID string }
				Total int
			}
			o.send(http.MethodGet, fmt.Sprintf("/records/Account?page_size=100&page=%d", page), nil, &list, "X-User-Id",
				officeID(20+user))
			total = list.Total
			for _, r := range list.Items {
				got = append(got, r.ID)
			}
			if len(list.Items) == 0 {
				break
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Sprintf("user %d sees %d records, want %d", user, len(got), len(want))
		}
	}
	return ""
}

func (o *office) put(path string, body any) { o.send(http.MethodPut, path, body, nil) }

// send sends a request that must succeed.
func (o *office) send(method, path string, body, answer any, header ...string) {
	o.t.Helper()
	if status, text := o.ask(method, path, body, answer, header...); status >= 300 {
		o.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
}

// ask sends a request and reads the answer to one that succeeded. While the database is busy,
// which says that nothing was done, it is sent again.
func (o *office) ask(method, path string, body, answer any, header ...string) (status int, text []byte) {
	o.t.Helper()
	for late := time.Now().Add(time.Minute); ; pause(50 * time.Millisecond) {
		status, text = o.once(method, path, body, answer, header...)
		if status != http.StatusServiceUnavailable || time.Now().After(late) {
			return status, text
		}
	}
}

// once sends a request.
func (o *office) once(method, path string, body, answer any, header ...string) (status int, text []byte) {
	o.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		o.t.Fatal(err)
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(o.t.Context(), method, o.c.url+path, reader)
	if err != nil {
		o.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if text, err = io.ReadAll(res.Body); err != nil {
		o.t.Fatalf("%s %s: %v", method, path, err)
	}
	if answer != nil && res.StatusCode < 300 {
		if err := json.Unmarshal(text, answer); err != nil {
			o.t.Fatal(err)
		}
	}
	return res.StatusCode, text
}
