package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
	"renga.dev/renga/internal/platform/sqldb/pgtest"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
	"renga.dev/renga/internal/workflow/store"
)

const acme, other = "00000000-0000-0000-0000-0000000000aa", "00000000-0000-0000-0000-0000000000bb"

// publishRig is an engine over a store whose source is read.
type publishRig struct {
	*testing.T
	where  string
	db     *sqldb.DB
	store  *store.Store
	engine interface {
		Submit(ctx context.Context, reqs []engine.Request) []engine.Result
		Do(ctx context.Context, unit engine.Unit) ([]engine.Result, error)
		Events(ctx context.Context, tenant string, id flow.ID, from uint64, limit int) ([]flow.Event, uint64, error)
		PutGraph(ctx context.Context, tenant, id string, g flow.Graph) (engine.GraphRow, bool, error)
		Run(ctx context.Context) error
	}
	source *store.Source
	end    func()
	woken  chan struct{}
}

// onBoth runs a test on an engine over each database.
func onBoth(t *testing.T, test func(r *publishRig)) {
	t.Run("sqlite", func(t *testing.T) { test(newNewsRig(t, filepath.Join(t.TempDir(), "test.db"))) })
	t.Run("postgres", func(t *testing.T) { test(newNewsRig(t, pgtest.New(t))) })
}

func newNewsRig(t *testing.T, where string) *publishRig {
	t.Helper()
	r := &publishRig{T: t, where: where}
	r.begin()
	for _, tenant := range []string{acme, other} {
		r.graph(
			tenant,
			"steps",
			`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"a","type":"Task"},{"nodeId":"w","type":"Wait"},
			{"nodeId":"end","type":"Success"}],
			"edges":[{"from":"start","to":"a"},{"from":"a","to":"w"},{"from":"w","to":"end"}]}`,
		)
	}
	return r
}

// begin starts an engine over what is stored.
func (r *publishRig) begin() {
	r.Helper()
	s, db, stop := serve(r.T, r.where)
	r.store, r.db = s, db
	cfg := engine.Config{Exclusive: db.Dialect() == sqldb.SQLite}
	if cfg.Exclusive {
		r.engine = engine.New(s, machine{}, cfg)
	} else {
		r.engine = engine.NewShards(s, machine{}, cfg, 2)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.engine.Run(ctx) }()
	ended := false
	r.end = func() {
		if !ended {
			ended = true
			cancel()
			if err := <-done; err != nil {
				r.Error(err)
			}
			stop()
		}
	}
	r.Cleanup(r.end)
	r.woken = make(chan struct{}, 1000)
	woken := r.woken
	r.source = store.NewSource(s, store.SourceConfig{Service: "renga", Instance: "test"})
	r.source.OnCommit(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
}

type machine struct{}

func (machine) Now() time.Time { return time.Now() }

func (r *publishRig) graph(tenant, id, text string) {
	r.Helper()
	g, err := flow.ParseGraph([]byte(text), false)
	r.must(err)
	_, _, err = r.engine.PutGraph(r.Context(), tenant, id, g)
	r.must(err)
}

func (r *publishRig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// do decides a command that must be accepted.
func (r *publishRig) do(tenant string, id flow.ID, cmd flow.Command) flow.ID {
	r.Helper()
	res := r.engine.Submit(r.Context(), []engine.Request{request(tenant, id, cmd)})[0]
	if res.Err != nil || res.Answer.Refused != nil {
		r.Fatalf("%s: got %+v, want accepted", cmd.Name(), res)
	}
	return res.Answer.Execution
}

func request(tenant string, id flow.ID, cmd flow.Command) engine.Request {
	return engine.Request{
		Tenant: tenant, Execution: id, GraphID: "steps", Command: cmd,
		Actor: flow.Actor{Kind: flow.KindUser, ID: "ann"}, CorrelationID: "of-" + cmd.Name(),
	}
}

// run works an execution of steps to its end.
func (r *publishRig) run(tenant string) flow.ID {
	r.Helper()
	id := r.do(tenant, flow.ID{}, flow.Create{Input: flow.Data(`{"n":1}`)})
	r.do(tenant, id, flow.Start{})
	r.do(tenant, id, flow.StartNode{Node: "a", Worker: "w"})
	r.do(tenant, id, flow.Succeed{Node: "a", Output: flow.Data(`{"ok":true}`)})
	r.do(tenant, id, flow.Resume{Node: "w"})
	return id
}

// read reads everything behind a number, some rows at a time.
func (r *publishRig) read(s bus.Source, number int64) (msgs []bus.Message, upto int64) {
	r.Helper()
	for {
		some, next, err := s.After(r.Context(), number, 3)
		r.must(err)
		if next == number {
			return msgs, number
		}
		if next < number {
			r.Fatalf("after %d: looked up to %d", number, next)
		}
		msgs, number = append(msgs, some...), next
	}
}

// fromTable reads everything as a process does that has just begun.
func (r *publishRig) fromTable(number int64) []bus.Message {
	r.Helper()
	fresh := store.NewSource(store.New(r.db, store.Config{}), store.SourceConfig{Service: "renga", Instance: "test"})
	msgs, _ := r.read(fresh, number)
	return msgs
}

// asText compares bodies as a whole.
var asText = cmp.Transformer("text", func(body []byte) string { return string(body) })

// changed is the payload of a message.
type changed struct {
	ExecutionID string           `json:"executionId"`
	CommitNo    int64            `json:"commitNo"`
	FirstSeq    uint64           `json:"firstSeq"`
	LastSeq     uint64           `json:"lastSeq"`
	Events      []jsontext.Value `json:"events"`
}

// open reads a message and holds it against its schema.
func (r *publishRig) open(m bus.Message) (events.Event, changed) {
	r.Helper()
	e, err := events.ParseEvent(m.Body)
	r.must(err)
	if err := e.CheckPublished(); err != nil {
		r.Errorf("%v\n%s", err, m.Body)
	}
	want := bus.Message{
		Stream: events.Executions, ID: e.ID, Tenant: e.Tenant, Part: events.Partition(e.Key),
		Type:       events.ExecutionChanged,
		Key:        e.Key,
		OccurredAt: e.OccurredAt, Service: "renga", Body: m.Body, Relay: bus.Relay{Source: m.Relay.Source},
	}
	if diff := cmp.Diff(want, m, asText); diff != "" {
		r.Errorf("message and envelope disagree (-envelope +message):\n%s", diff)
	}
	var p changed
	r.must(json.Unmarshal(e.Payload, &p))
	if want := "Execution:" + e.Tenant + ":" + p.ExecutionID; e.Key != want {
		r.Errorf("key: got %s, want %s", e.Key, want)
	}
	return e, p
}

// types are the types of all events in messages, with the execution's number of the row.
func (r *publishRig) types(msgs []bus.Message) (types []string) {
	r.Helper()
	for _, m := range msgs {
		_, p := r.open(m)
		for _, text := range p.Events {
			var ev flow.Event
			r.must(json.Unmarshal(text, &ev))
			types = append(types, fmt.Sprintf("%d %s", p.CommitNo, ev.Type))
		}
	}
	return types
}

var mainOfSteps = []string{"1 EXECUTION_CREATED", "2 EXECUTION_STARTED", "4 NODE_WAITING", "5 EXECUTION_COMPLETED"}

func TestTheLifecycleOfExecutionsIsPublished(t *testing.T) {
	onBoth(t, func(r *publishRig) {
		r.read(r.source, 0) // it collects from here on
		ids := []flow.ID{r.run(acme), r.run(other), r.run(acme)}
		msgs, _ := r.read(r.source, 0)
		if diff := cmp.Diff(slices.Concat(mainOfSteps, mainOfSteps, mainOfSteps), r.types(msgs)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(msgs, r.fromTable(0), asText); diff != "" {
			t.Errorf("a process that has just begun reads something else (-memory +table):\n%s", diff)
		}
		for i, m := range msgs {
			r.asLogged(m, ids[i/len(mainOfSteps)])
			if i > 0 && m.Relay.Source <= msgs[i-1].Relay.Source {
				t.Errorf("number %d follows %d", m.Relay.Source, msgs[i-1].Relay.Source)
			}
		}
		if len(r.woken) != len(msgs) {
			t.Errorf("was woken %d times for %d commits", len(r.woken), len(msgs))
		}
	})
}

// asLogged compares a message with the log as readers see it.
func (r *publishRig) asLogged(m bus.Message, id flow.ID) {
	r.Helper()
	e, p := r.open(m)
	log, _, err := r.engine.Events(r.Context(), e.Tenant, id, 1, 1000)
	r.must(err)
	first := log[p.FirstSeq-1]
	created := log[0].At
	if want := canonical.Stamp(created) + canonical.Stamp(p.CommitNo); e.Version != want || e.Index != 0 {
		r.Errorf("version: got %v, index %d, want %v", e.Version, e.Index, want)
	}
	if e.ID != first.ID.String() || e.OccurredAt != canonical.Stamp(first.At) ||
		e.CorrelationID != first.CorrelationID {
		r.Errorf("got %s at %v for %s, want %s at %v for %s", e.ID, e.OccurredAt, e.CorrelationID, first.ID, first.At,
			first.CorrelationID)
	}
	for _, text := range p.Events {
		var ev flow.Event
		r.must(json.Unmarshal(text, &ev))
		want, err := flow.AppendEnvelope(nil, &log[ev.Seq-1])
		r.must(err)
		if ev.Seq < p.FirstSeq || ev.Seq > p.LastSeq || string(want) != string(text) {
			r.Errorf("event %d of %d..%d: got %s, want %s", ev.Seq, p.FirstSeq, p.LastSeq, text, want)
		}
	}
}

func TestThePolicyOfATenantSaysWhatIsPublished(t *testing.T) {
	onBoth(t, func(r *publishRig) {
		_, from := r.read(r.source, 0)
		r.must(r.store.SetPublishPolicy(t.Context(), acme, engine.PublishAll, nil))
		r.run(acme)
		r.run(other)
		all, upto := r.read(r.source, from)
		log := r.types(all)
		if want := "3 NODE_STARTED"; !slices.Contains(log, want) || len(all) != 5+len(mainOfSteps) {
			t.Errorf("%d messages, %q; want %s", len(all), log, want)
		}
		if diff := cmp.Diff(all, r.fromTable(from), asText); diff != "" {
			t.Errorf("(-memory +table):\n%s", diff)
		}
		undone := errors.New("undone")
		if err := r.store.SetPublishPolicy(t.Context(), acme, engine.PublishNone,
			func(context.Context, *sqldb.Tx) error { return undone }); !errors.Is(err, undone) {
			t.Errorf("got %v, want %v", err, undone)
		}
		if p, err := r.store.PublishPolicy(t.Context(), acme); p != engine.PublishAll || err != nil {
			t.Errorf("publish policy: got %v, %v, want that from before", p, err)
		}
		r.must(r.store.SetPublishPolicy(t.Context(), acme, engine.PublishNone, nil))
		r.run(acme)
		if msgs, _ := r.read(r.source, upto); len(msgs) > 0 {
			t.Errorf("published %q, want nothing", r.types(msgs))
		}
		r.must(r.store.SetPublishPolicy(t.Context(), acme, engine.PublishMain, nil))
		r.run(acme)
		msgs, _ := r.read(r.source, upto)
		if diff := cmp.Diff(mainOfSteps, r.types(msgs)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestASourceGoesOnAfterARestart(t *testing.T) {
	onBoth(t, func(r *publishRig) {
		r.run(acme)
		before, upto := r.read(r.source, 0)
		r.run(other)
		r.end()
		r.begin()
		r.run(acme)
		after, last := r.read(r.source, upto)
		if diff := cmp.Diff(slices.Concat(mainOfSteps, mainOfSteps), r.types(after)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		r.run(other)
		more, _ := r.read(r.source, last)
		if diff := cmp.Diff(slices.Concat(before, after, more), r.fromTable(0), asText); diff != "" ||
			len(more) != len(mainOfSteps) {
			t.Errorf("%d more (-read in parts +read at once):\n%s", len(more), diff)
		}
	})
}

// TestWhatIsUndoneIsNotPublished has a unit fail after it has decided, in a commit of others.
func TestWhatIsUndoneIsNotPublished(t *testing.T) {
	onBoth(t, func(r *publishRig) {
		r.read(r.source, 0)
		failed := errors.New("failed")
		for range 3 {
			id := r.do(acme, flow.ID{}, flow.Create{})
			_, err := r.engine.Do(t.Context(), engine.Unit{
				Commands: []engine.Request{request(acme, id, flow.Start{}), request(acme, flow.ID{}, flow.Create{})},
				After:    func(context.Context, *sqldb.Tx, []engine.Result) error { return failed },
			})
			if !errors.Is(err, failed) {
				t.Fatalf("got %v, want the unit's own error", err)
			}
			r.do(acme, id, flow.Start{})
		}
		msgs, _ := r.read(r.source, 0)
		want := slices.Repeat([]string{"1 EXECUTION_CREATED", "2 EXECUTION_STARTED"}, 3)
		if diff := cmp.Diff(want, r.types(msgs)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(msgs, r.fromTable(0), asText); diff != "" {
			t.Errorf("(-memory +table):\n%s", diff)
		}
	})
}

// TestWhatIsLargeIsNamedByItsPlace has data beyond what a state holds.
func TestWhatIsLargeIsNamedByItsPlace(t *testing.T) {
	onBoth(t, func(r *publishRig) {
		large := flow.Data(`{"x":"` + strings.Repeat("x", 900<<10) + `"}`)
		r.read(r.source, 0)
		id := r.do(acme, flow.ID{}, flow.Create{Input: large})
		r.do(acme, id, flow.Start{})
		r.do(acme, id, flow.StartNode{Node: "a", Worker: "w"})
		r.do(
			acme,
			id,
			flow.Fail{Node: "a", Error: &flow.Error{Code: "E", Message: "m", Detail: jsontext.Value(large)}},
		)
		msgs, _ := r.read(r.source, 0)
		if diff := cmp.Diff(msgs, r.fromTable(0), asText); diff != "" {
			t.Errorf("(-memory +table):\n%s", diff)
		}
		text := ""
		for _, m := range msgs {
			_, p := r.open(m)
			if len(m.Body) > 4<<10 {
				t.Errorf("a message has %d bytes", len(m.Body))
			}
			text += fmt.Sprintf("%s\n", p.Events)
		}
		for _, want := range []string{
			fmt.Sprintf(`"inputRef":{"seq":1,"size":%d}`, len(large)),
			fmt.Sprintf(`"error":{"code":"E","message":"m","detailRef":{"seq":%d,"size":%d}}`, lastFailed(r, id),
				len(large)),
		} {
			if !strings.Contains(text, want) {
				t.Errorf("got %s\nwant %s in it", text, want)
			}
		}
	})
}

// lastFailed is the seq of EXECUTION_FAILED.
func lastFailed(r *publishRig, id flow.ID) uint64 {
	r.Helper()
	_, last, err := r.engine.Events(r.Context(), acme, id, 1, 1)
	r.must(err)
	return last
}

// TestARowThatIsTooLargeIsSeveralMessages has thousands of Waits open in one commit.
func TestARowThatIsTooLargeIsSeveralMessages(t *testing.T) {
	onBoth(t, func(r *publishRig) {
		const waits = 4000
		var nodes, edges strings.Builder
		for i := range waits {
			name := fmt.Sprintf("%s-%d", strings.Repeat("n", 100), i)
			fmt.Fprintf(&nodes, `,{"nodeId":%q,"type":"Wait"}`, name)
			fmt.Fprintf(&edges, `{"from":"fork","to":%q},{"from":%q,"to":"join"},`, name, name)
		}
		r.graph(
			acme,
			"steps",
			`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"fork","type":"Fork"},
			{"nodeId":"join","type":"Join"},{"nodeId":"end","type":"Success"}`+
				nodes.String()+`],"edges":[{"from":"start","to":"fork"},`+edges.String()+`{"from":"join","to":"end"}]}`,
		)
		id := r.do(acme, flow.ID{}, flow.Create{})
		_, from := r.read(r.source, 0)
		r.do(acme, id, flow.Start{})
		msgs, _ := r.read(r.source, from)
		if diff := cmp.Diff(msgs, r.fromTable(from), asText); diff != "" {
			t.Errorf("(-memory +table):\n%s", diff)
		}
		if len(msgs) < 2 {
			t.Fatalf("%d messages, want several", len(msgs))
		}
		seen, last := 0, uint64(0)
		first, _ := r.open(msgs[0])
		for i, m := range msgs {
			e, p := r.open(m)
			if e.Index != i || e.Version != first.Version || (i > 0 && e.ID == msgs[i-1].ID) ||
				m.Relay.Source != msgs[0].Relay.Source {
				t.Errorf("message %d: index %d, version %v, id %s, number %d", i, e.Index, e.Version, e.ID,
					m.Relay.Source)
			}
			for _, text := range p.Events {
				var ev flow.Event
				r.must(json.Unmarshal(text, &ev))
				if ev.Seq <= last {
					t.Fatalf("event %d follows %d", ev.Seq, last)
				}
				last = ev.Seq
				seen++
			}
		}
		if seen != waits+1 {
			t.Errorf("%d events, want %d", seen, waits+1)
		}
	})
}
