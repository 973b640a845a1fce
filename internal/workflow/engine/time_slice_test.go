package engine_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/sim"
)

// ticking is a clock on which everything takes time: each look at it is later by a quarter
// of a slice.
type ticking struct{ *sim.Clock }

func (c ticking) Now() time.Time {
	c.Move(engine.MaxSlice / 4)
	return c.Clock.Now()
}

// slow is a rig whose commands take a quarter of a slice each.
func slow(t *testing.T) *rig {
	r := newRig(t)
	r.Engine = engine.New(r.mem, ticking{r.clock}, engine.Config{Exclusive: true, Seed: &[32]byte{1}})
	return r
}

func (r *rig) creations(n int) []engine.Request {
	all := make([]engine.Request, n)
	for i := range all {
		all[i] = r.creation("line")
	}
	return all
}

func TestACommitEndsWithItsSliceAndOthersAreInIt(t *testing.T) {
	r := slow(t)
	many := r.offer(r.creations(50)...)
	more := r.offer(r.creations(200)...)
	other := r.creation("line")
	other.Tenant, other.GraphID = "other", "none"
	one := r.offer(other)
	r.Step(t.Context())
	if *one == nil {
		t.Error("a tenant with one command waits for the commands of another")
	}
	if *many != nil || *more != nil {
		t.Error("a commit took longer than its slice")
	}
	r.settle()
	seen := map[flow.ID]bool{}
	for _, res := range append(*many, *more...) {
		seen[r.accepted(res).Execution] = true
	}
	if len(seen) != 50+200 {
		t.Errorf("%d executions were created", len(seen))
	}
}

func TestCancelsThatAreLeftGoFirst(t *testing.T) {
	r := slow(t)
	var ids []flow.ID
	var cancels []engine.Request
	for _, res := range r.send(r.creations(20)...) {
		id := r.accepted(res).Execution
		ids, cancels = append(ids, id), append(cancels, r.to(id, flow.Cancel{}))
	}
	canceled := r.offer(cancels...)
	r.Step(t.Context())
	late := r.offer(r.to(ids[19], flow.Start{}))
	r.settle()
	for _, res := range *canceled {
		r.accepted(res)
	}
	if (*late)[0].Answer.Refused == nil {
		t.Errorf("got %+v, want that the cancel came first", (*late)[0])
	}
}

// What was answered by a commit stays so when a later one fails.
func TestWhatIsDecidedStaysWhenTheRestFails(t *testing.T) {
	r := slow(t)
	results := r.offer(r.creations(12)...)
	r.Step(t.Context())
	down := fault.New(fault.Unavailable, "STORAGE_FULL", "no room")
	r.mem.Interfere(func(p sim.Point, _ *engine.Batch) error {
		if p == sim.BeforeCommit {
			return down
		}
		return nil
	})
	r.Step(t.Context())
	decided, failed := 0, 0
	for _, res := range *results {
		if errors.Is(res.Err, down) {
			failed++
		} else if r.accepted(res); failed == 0 {
			decided++
		}
	}
	if decided == 0 || decided+failed != 12 {
		t.Errorf("%d are decided and %d failed", decided, failed)
	}
}

func TestUnitsThatAreLeftComeNext(t *testing.T) {
	r := slow(t)
	var done []int
	for i := range 10 {
		r.OfferUnit(engine.Unit{Commands: r.creations(1)}, func(_ []engine.Result, err error) {
			if err != nil {
				t.Error(err)
			}
			done = append(done, i)
		})
	}
	r.Step(t.Context())
	if len(done) == 0 || len(done) == 10 {
		t.Errorf("the first commit did %d units", len(done))
	}
	r.settle()
	for i, got := range done {
		if got != i {
			t.Fatalf("got %v, want them in order", done)
		}
	}
	if len(done) != 10 {
		t.Errorf("%d units were done", len(done))
	}
}

func TestDeadlinesThatAreLeftComeNext(t *testing.T) {
	r := slow(t)
	r.graph(
		"timed",
		`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"wait","type":"Wait","timeout":"1h"},
		{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"wait"},{"from":"wait","to":"end"}]}`,
	)
	var ids []flow.ID
	for range 20 {
		ids = append(ids, r.started("timed"))
	}
	r.clock.Move(2 * time.Hour)
	r.settle()
	for _, id := range ids {
		if s := r.state(id); s.Status != flow.Failed {
			t.Errorf("an execution is %s after its deadline", s.Status)
		}
	}
}

// TestDeadlinesOfOneTenantDoNotHideThoseOfAnother is about more of them than are looked at at a time,
// and longer ago.
func TestDeadlinesOfOneTenantDoNotHideThoseOfAnother(t *testing.T) {
	r := slow(t)
	const timed = `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"wait","type":"Wait","timeout":"1h"},
		{"nodeId":"end","type":"Success"}],
		"edges":[{"from":"start","to":"wait"},{"from":"wait","to":"end"}]}`
	r.graph("timed", timed)
	for range 600 {
		r.started("timed")
	}
	r.clock.Move(time.Minute)
	g, err := flow.ParseGraph([]byte(timed), false)
	if err == nil {
		_, _, err = r.PutGraph(t.Context(), "other", "timed", g)
	}
	if err != nil {
		t.Fatal(err)
	}
	create, start := r.creation("timed"), r.to(flow.ID{}, flow.Start{})
	create.Tenant, start.Tenant = "other", "other"
	start.Execution = r.must(create).Execution
	r.must(start)
	r.clock.Move(2 * time.Hour)
	for range 40 {
		r.Step(t.Context())
	}
	v, err := r.Execution(t.Context(), "other", start.Execution, 0)
	if err != nil || v.State.Status != flow.Failed {
		t.Errorf("the execution of the other tenant is %v after its deadline, %v", v.State.Status, err)
	}
}

// wide is a graph with n Tasks at the same time.
func wide(n int) string {
	var nodes, edges strings.Builder
	for i := range n {
		fmt.Fprintf(&nodes, `,{"nodeId":"n%d","type":"Task","queue":"q"}`, i)
		fmt.Fprintf(&edges, `,{"from":"fork","to":"n%d"},{"from":"n%d","to":"join"}`, i, i)
	}
	return `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},
		{"nodeId":"join","type":"Join"},{"nodeId":"end","type":"Success"}` +
		nodes.String() + `],"edges":[{"from":"start","to":"fork"},{"from":"join","to":"end"}` + edges.String() + "]}"
}

func TestAClaimTakesWhatItsSliceAllows(t *testing.T) {
	r := slow(t)
	for range 30 {
		r.started("line")
	}
	got := 0
	for turn := range 30 {
		c := r.claim(r.claiming("w", 30, 0))
		r.settle()
		if turn == 0 && len(c.Tasks) == 30 {
			t.Error("a claim took longer than its slice")
		}
		if got += len(c.Tasks); len(c.Tasks) == 0 || got == 30 {
			break
		}
	}
	if got != 30 {
		t.Errorf("claims got %d tasks, want all 30", got)
	}
}

func TestAClaimReadsNoExecutionThatHasEnded(t *testing.T) {
	r := newRig(t)
	r.graph("wide", wide(20))
	ended := r.started("wide")
	first := r.claim(r.claiming("w", 1, 0))
	r.settle()
	r.tasks(first, ended)
	next := r.started("line")
	r.must(r.to(ended, flow.Cancel{}))
	read := 0
	r.mem.Interfere(func(p sim.Point, _ *engine.Batch) error {
		if p == sim.AfterFetch {
			read++
		}
		return nil
	})
	second := r.claim(r.claiming("w", 1, 0))
	r.settle()
	r.tasks(second, next)
	if read > 0 {
		t.Errorf("executions were read %d times", read)
	}
}

func TestAnExecutionWithALargeBeginningIsNotStoredAgainSoon(t *testing.T) {
	r := newRig(t)
	r.graph("wide", wide(500))
	id := r.started("wide")
	r.restart()
	r.must(r.to(id, flow.StartNode{Node: "n0", Attempt: 1, Worker: "w"}))
	if n := r.snapshots(id); n > 0 {
		t.Errorf("%d snapshots after one command", n)
	}
}

// gathering is a graph with n Tasks at the same time, and one after them whose edge looks at all outputs.
func gathering(n int) string {
	return strings.NewReplacer(
		`{"nodeId":"end","type":"Success"}`, `{"nodeId":"last","type":"Task"},{"nodeId":"end","type":"Success"}`,
		`{"from":"join","to":"end"}`,
		`{"from":"join","to":"last"},{"from":"last","to":"end","when":"size(outputs) > 0"}`,
	).Replace(wide(n))
}

// gathered is an execution of gathering whose Tasks succeeded in one commit, up to the last one,
// and what its success costs in memory.
func (r *rig) gathered(n, size int) (id flow.ID, allocated uint64) {
	r.graph("gathering", gathering(n))
	id = r.started("gathering")
	output := flow.Data(`"` + strings.Repeat("x", size) + `"`)
	var all []engine.Request
	for i := range n {
		name := fmt.Sprint("n", i)
		all = append(all, r.to(id, flow.StartNode{Node: name, Attempt: 1, Worker: "w"}),
			r.to(id, flow.Succeed{Node: name, Attempt: 1, Worker: "w", Output: output}))
	}
	for _, res := range r.send(all...) {
		r.accepted(res)
	}
	r.must(r.to(id, flow.StartNode{Node: "last", Attempt: 1, Worker: "w"}))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.must(r.to(id, flow.Succeed{Node: "last", Attempt: 1, Worker: "w"}))
	runtime.ReadMemStats(&after)
	return id, after.TotalAlloc - before.TotalAlloc
}

// TestOutputsOfOneCommitAreReadTogether is about a row of the log that holds the outputs of many
// Tasks: to read it once for each of them would take seconds.
func TestOutputsOfOneCommitAreReadTogether(t *testing.T) {
	if _, allocated := newRig(t).gathered(200, 16<<10); allocated > 100<<20 {
		t.Errorf("a decision over 3 MiB of outputs took %d MiB of memory", allocated>>20)
	}
}

// TestMoreOutputsThanADecisionMayReadAreNotRead: the edge fails instead.
func TestMoreOutputsThanADecisionMayReadAreNotRead(t *testing.T) {
	r := newRig(t)
	id, allocated := r.gathered(200, 64<<10)
	if allocated > 150<<20 {
		t.Errorf("a decision over 12 MiB of outputs took %d MiB of memory", allocated>>20)
	}
	s := r.state(id)
	if s.Status != flow.Failed || s.Error == nil || !strings.Contains(s.Error.Message, "from last to end") {
		t.Errorf("the execution is %v with %v; want that the edge failed", s.Status, s.Error)
	}
}

// TestACommitEndsBeforeItsExecutionsAreTooMany: to write them comes after they are decided, and takes longer.
func TestACommitEndsBeforeItsExecutionsAreTooMany(t *testing.T) {
	r := newRig(t)
	many := r.offer(r.creations(900)...)
	r.Step(t.Context())
	if *many != nil {
		t.Error("a commit wrote 900 executions")
	}
	r.settle()
	for _, res := range *many {
		r.accepted(res)
	}
}
