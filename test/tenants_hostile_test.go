package test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostile is the tenant that sends the worst it may.
type hostile struct {
	*tenant
	mu      sync.Mutex
	answers map[int]int
	ids     []string // of its opportunities
	wide    string   // an execution of the widest graph
}

// attack is one kind of request, the worst of its endpoint.
type attack struct {
	name string
	// open prepares the attack; nil: there is nothing to prepare.
	open func(h *hostile)
	// send sends the n-th request, or several that belong together; nil: there is none.
	send func(ctx context.Context, h *hostile, n int)
	// close takes away what would go on after the attack; nil: nothing does.
	close func(h *hostile)
}

// during attacks over all connections while somebody else works.
func (h *hostile) during(t *testing.T, a attack, work func(*testing.T) measured) measured {
	defer func(all testing.TB) { h.t = all }(h.t)
	h.t, h.answers = t, map[int]int{}
	if a.open != nil {
		a.open(h)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	if a.send != nil {
		for i := range attackers {
			all.Go(func() {
				for n := i; ctx.Err() == nil; n += attackers {
					a.send(ctx, h, n)
				}
			})
		}
		pause(warmUp)
	}
	m := work(t)
	cancel()
	all.Wait()
	if a.close != nil {
		a.close(h)
	}
	var parts []string
	m.refused = len(h.answers) > 0
	for _, status := range slices.Sorted(maps.Keys(h.answers)) {
		parts = append(parts, fmt.Sprintf("%d×%d", h.answers[status], status))
		m.refused = m.refused && slices.Contains([]int{0, http.StatusTooManyRequests, http.StatusServiceUnavailable},
			status)
	}
	m.answers = strings.Join(parts, " ")
	return m
}

// shoot sends one request and counts its answer.
func (h *hostile) shoot(ctx context.Context, method, path string, body []byte, headers ...string) (int, []byte) {
	status, text := h.send(ctx, method, path, body, headers...)
	if ctx.Err() != nil {
		return status, text
	}
	h.mu.Lock()
	h.answers[status]++
	first := h.answers[status] == 1
	h.mu.Unlock()
	if first && (status >= 400 || status == 0) {
		h.t.Logf("%s %.80s: %d %.300s", method, path, status, text)
	}
	if status == 0 || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		pause(refusedPause)
	}
	return status, text
}

// hostileID is the id of something that the hostile tenant defines.
func hostileID(kind, n int) string { return fmt.Sprintf("66660000-0000-7000-80%02d-%012d", kind, n) }

// hostileRecords is how many records the hostile tenant has.
func hostileRecords() int {
	if long() {
		return 50_000
	}
	return 20_000
}

// open fills the tenant: people in a deep hierarchy, records with long texts, graphs.
func (h *hostile) open() {
	all := map[string]bool{"create": true, "read": true, "update": true, "delete": true}
	objects := map[string]any{}
	for _, object := range []string{"Account", "Contact", "Lead", "Opportunity", "Quote", "Campaign"} {
		objects[object] = all
	}
	h.must(http.MethodPut, "/metadata/permission-sets/"+hostileID(1, 1), map[string]any{
		"name":    "all",
		"objects": objects,
	}, nil)
	for n := range 30 {
		role := map[string]any{"name": fmt.Sprint("role ", n)}
		if n > 0 {
			role["parentRoleId"] = hostileID(2, n-1)
		}
		h.must(http.MethodPut, "/metadata/roles/"+hostileID(2, n), role, nil)
	}
	for n := range 60 {
		h.must(http.MethodPut, "/metadata/users/"+hostileID(3, n), map[string]any{
			"name": fmt.Sprint(
				"user ",
				n,
			), "roleId": hostileID(2, n/2), "permissionSetIds": []string{hostileID(1, 1)},
		}, nil)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for part := range 4 {
		wg.Go(func() {
			for n := part; n < hostileRecords()/200; n += 4 {
				var out struct{ Results []struct{ ID string } }
				h.must(http.MethodPost, "/records/Opportunity/bulk", dealBulk(n*200), &out)
				mu.Lock()
				for _, r := range out.Results {
					h.ids = append(h.ids, r.ID)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	h.must(http.MethodPut, "/graphs/wide", wideGraph(9_996), nil)
	h.must(http.MethodPut, "/graphs/one", longGraph(1), nil)
	var made struct{ ExecutionID string }
	h.must(http.MethodPost, "/executions", map[string]any{"graphId": "wide", "start": true}, &made)
	h.wide = made.ExecutionID
}

// drain waits until the services have done what its records gave them to do: what bulks of
// records cost others is an attack of its own.
func (h *hostile) drain() {
	for late := time.Now().Add(maxWait); time.Now().Before(late); pause(200 * time.Millisecond) {
		var out struct {
			Items []struct{ Partitions []struct{ Pending int } }
		}
		h.must(http.MethodGet, "/events/consumers", nil, &out)
		left := 0
		for _, c := range out.Items {
			for _, p := range c.Partitions {
				left += p.Pending
			}
		}
		if left == 0 {
			return
		}
	}
	h.t.Log("the services are still behind")
}

// dealBulk makes 200 opportunities.
func dealBulk(from int) []byte {
	var b strings.Builder
	b.WriteString(`{"operations":[`)
	for i := range 200 {
		n := from + i
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(
			&b,
			`{"op":"create","ownerId":%q,"fields":{"Name":"common deal number %d word%d","StageName":"Qualification",
				"CloseDate":"2026-%02d-%02d","Amount":%d,"NextStep":"common call %d again"}}`,
			hostileID(3, n%60),
			n,
			n%97,
			1+n%12,
			1+n%28,
			n,
			n,
		)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

// longGraph is a sequence of tasks.
func longGraph(tasks int) []byte {
	g := newGraphText()
	g.node("start", "Start")
	last := "start"
	for i := range tasks {
		id := fmt.Sprint("t", i)
		g.node(id, "Task")
		g.edge(last, id, "")
		last = id
	}
	g.node("done", "Success")
	g.edge(last, "done", "")
	return g.bytes()
}

// wideGraph is a fork with so many branches.
func wideGraph(branches int) []byte {
	g := newGraphText()
	for _, n := range [...][2]string{{"start", "Start"}, {"fork", "Fork"}, {"join", "Join"}, {"done", "Success"}} {
		g.node(n[0], n[1])
	}
	g.edge("start", "fork", "")
	for i := range branches {
		id := fmt.Sprint("b", i)
		g.node(id, "Task")
		g.edge("fork", id, "")
		g.edge(id, "join", "")
	}
	g.edge("join", "done", "")
	return g.bytes()
}

// costly is a condition that takes nearly all the steps it may and is false.
func costly(of string) string {
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 45), ",") + "]"
	return list + ".exists(x, " + list + ".exists(y, x + y < size(" + of + ")))"
}

// conditionGraph is a Task with so many edges that share one costly condition, and one more
// that always holds.
func conditionGraph(edges int) []byte {
	g := newGraphText()
	g.node("start", "Start")
	g.node("pick", "Task")
	g.node("done", "Success")
	g.edge("start", "pick", "")
	for range edges {
		g.edge("pick", "done", costly("input.none"))
	}
	g.edge("pick", "done", "")
	return g.bytes()
}

// graphText builds the JSON of a graph.
type graphText struct{ nodes, edges []string }

func newGraphText() *graphText { return &graphText{} }

func (g *graphText) node(id, kind string) {
	g.nodes = append(g.nodes, fmt.Sprintf(`{"nodeId":%q,"type":%q}`, id, kind))
}

func (g *graphText) edge(from, to, when string) {
	if when == "" {
		g.edges = append(g.edges, fmt.Sprintf(`{"from":%q,"to":%q}`, from, to))
		return
	}
	g.edges = append(g.edges, fmt.Sprintf(`{"from":%q,"to":%q,"when":%q}`, from, to, when))
}

func (g *graphText) bytes() []byte {
	return []byte(`{"nodes":[` + strings.Join(g.nodes, ",") + `],"edges":[` + strings.Join(g.edges, ",") + `]}`)
}

// object is a JSON object.
func object(members ...any) []byte {
	m := map[string]any{}
	for i := 0; i < len(members); i += 2 {
		m[members[i].(string)] = members[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return raw
}
