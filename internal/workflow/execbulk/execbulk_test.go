package execbulk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/bulk"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// fake is an engine with executions of its own.
type fake struct {
	heads    []engine.Head // in the order of their creation
	results  func(*engine.Request) engine.Result
	requests []engine.Request
	query    engine.ListQuery
	err      error
}

func (f *fake) List(_ context.Context, q engine.ListQuery) ([]engine.Head, int, error) {
	f.query = q
	return nil, len(f.heads), f.err
}

func (f *fake) Walk(_ context.Context, q engine.ListQuery, after engine.Head) (part []engine.Head, err error) {
	f.query = q
	for _, h := range f.heads {
		if (h.CreatedAt > after.CreatedAt || h.CreatedAt == after.CreatedAt && h.Num > after.Num) &&
			len(part) < q.Limit {
			part = append(part, h)
		}
	}
	return part, f.err
}

func (f *fake) Submit(_ context.Context, requests []engine.Request) []engine.Result {
	f.requests = requests
	out := make([]engine.Result, len(requests))
	for i := range requests {
		out[i] = f.results(&requests[i])
	}
	return out
}

func kindOf(f *fake) bulk.Kind { return Kinds(f, slog.New(slog.DiscardHandler))[Cancel] }

func archiver(f *fake) bulk.Kind { return Kinds(f, slog.New(slog.DiscardHandler))[Archive] }

func idOf(n int) flow.ID { return flow.ID{15: byte(n)} }

func bulkOf(spec string) *bulk.Bulk {
	return &bulk.Bulk{
		ID: "b1", Tenant: "t", Kind: Cancel, Spec: []byte(spec), CreatedBy: "ann", StartedBy: "bob",
		CorrelationID: "corr",
		CreatedAt:     time.UnixMilli(5000),
	}
}

func TestTheSetIsOfTheMomentOfTheBulk(t *testing.T) {
	active := []flow.Status{flow.Active}
	for spec, want := range map[string]engine.ListQuery{
		`{"filter":{}}`: {Tenant: "t", Status: active, CreatedTo: 5001},
		`{"filter":{"graphId":"g","status":["ACTIVE","FAILED"],"createdFrom":"1970-01-01T00:00:02Z"}}`: {
			Tenant: "t", Status: active, GraphID: "g", CreatedFrom: 2000, CreatedTo: 5001,
		},
		`{"filter":{"correlationId":"c","businessKey":"k","labels":{"b":"2","a":"1"},"waiting":true,"nodeId":"n"}}`: {
			Tenant: "t", Status: active, CorrelationID: "c", BusinessKey: "k",
			Labels: []flow.Label{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}}, Waiting: true, NodeID: "n",
			CreatedTo: 5001,
		},
		`{"filter":{"createdTo":"1970-01-01T00:00:03Z"}}`: {Tenant: "t", Status: active, CreatedTo: 3000},
		`{"filter":{"createdTo":"2970-01-01T00:00:03Z"}}`: {Tenant: "t", Status: active, CreatedTo: 5001},
	} {
		f := &fake{heads: make([]engine.Head, 7)}
		if n, err := kindOf(f).Count(t.Context(), bulkOf(spec)); n != 7 || err != nil {
			t.Errorf("%s: counted %d %v", spec, n, err)
		}
		if diff := cmp.Diff(want, f.query); diff != "" {
			t.Errorf("%s: count (-want +got):\n%s", spec, diff)
		}
		if _, _, err := kindOf(f).Select(t.Context(), bulkOf(spec), "", 9); err != nil {
			t.Error(err)
		}
		want.Limit = 9
		if diff := cmp.Diff(want, f.query); diff != "" {
			t.Errorf("%s: select (-want +got):\n%s", spec, diff)
		}
	}
}

func TestTheSetIsWalkedThroughInParts(t *testing.T) {
	f := &fake{}
	var want []string
	for n := range 10 {
		f.heads = append(f.heads, engine.Head{Num: int64(n + 1), ID: idOf(n), CreatedAt: flow.Time(1000 + n/4)})
		want = append(want, idOf(n).String())
	}
	var got []string
	place := ""
	for {
		names, last, err := kindOf(f).Select(t.Context(), bulkOf(`{}`), place, 3)
		if err != nil {
			t.Fatal(err)
		}
		got, place = append(got, names...), last
		if len(names) < 3 {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if names, last, err := kindOf(f).Select(t.Context(), bulkOf(`{}`), place, 3); len(names) > 0 || last != place ||
		err != nil {
		t.Errorf("after the end: %v %q %v", names, last, err)
	}
}

func TestACancelIsSentAsIfItWereAlone(t *testing.T) {
	f := &fake{results: func(*engine.Request) engine.Result {
		return engine.Result{Answer: engine.Answer{Changed: true, CancelSeq: 3}}
	}}
	names := []string{idOf(1).String(), idOf(2).String()}
	if _, err := kindOf(f).Do(t.Context(), bulkOf(`{"reason":"why"}`), names); err != nil {
		t.Fatal(err)
	}
	for i, req := range f.requests {
		if req.Tenant != "t" || req.Execution != idOf(i+1) || req.Command != (flow.Cancel{Reason: "why"}) ||
			req.CorrelationID != "corr" ||
			req.Actor != (flow.Actor{Kind: flow.KindUser, ID: "bob"}) || req.Idempotency.Key != "bulk:b1" ||
			req.Idempotency.Endpoint != "POST /executions/"+names[i]+"/cancel" || len(req.Idempotency.Members) != 1 {
			t.Errorf("request %d: %+v", i, req)
		}
	}
}

func TestHowEachCancelEnded(t *testing.T) {
	answers := []engine.Result{
		{Answer: engine.Answer{Changed: true, CancelSeq: 3}},
		{Answer: engine.Answer{Changed: true, CancelSeq: 4, Replay: true}},
		{Answer: engine.Answer{CancelSeq: 5}},
		{Answer: engine.Answer{Refused: &flow.Refusal{Guard: flow.GuardActive, Execution: flow.Completed}}},
		{Err: fault.New(fault.NotFound, "EXECUTION_NOT_FOUND", "it is not there")},
		{Err: fault.Wrap("engine.rebuild", errors.New("a secret of the machine"))},
	}
	f := &fake{results: func(r *engine.Request) engine.Result { return answers[r.Execution[15]] }}
	var names []string
	for i := range answers {
		names = append(names, idOf(i).String())
	}
	results, err := kindOf(f).Do(t.Context(), bulkOf(`{}`), names)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprintf("%v %s", r.Outcome, r.Detail))
	}
	if diff := cmp.Diff([]string{
		`APPLIED {"cancelSeq":3}`,
		`APPLIED {"cancelSeq":4}`,
		`ALREADY {"cancelSeq":5}`,
		`REFUSED {"guard":"execution_active","state":{"execution":"COMPLETED"}}`,
		`FAILED {"code":"EXECUTION_NOT_FOUND","message":"it is not there"}`,
		`FAILED {"code":"INTERNAL_ERROR","message":"internal error"}`,
	}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestNothingIsSettledWhileTheEngineIsNotThere(t *testing.T) {
	for _, busy := range []error{
		&fault.Error{Kind: fault.Unavailable, Code: "OVERLOADED"},
		fault.TooMuch(1, "too many of this tenant wait"),
	} {
		settleNothing(t, busy)
	}
}

func settleNothing(t *testing.T, busy error) {
	t.Helper()
	f := &fake{err: busy, results: func(r *engine.Request) engine.Result {
		if r.Execution == idOf(2) {
			return engine.Result{Err: busy}
		}
		return engine.Result{Answer: engine.Answer{Changed: true}}
	}}
	results, err := kindOf(f).Do(t.Context(), bulkOf(`{}`), []string{idOf(1).String(), idOf(2).String()})
	if results != nil || !errors.Is(err, busy) {
		t.Errorf("do: got %v %v", results, err)
	}
	if _, err := kindOf(f).Count(t.Context(), bulkOf(`{}`)); !errors.Is(err, busy) {
		t.Errorf("count: got %v", err)
	}
	if _, _, err := kindOf(f).Select(t.Context(), bulkOf(`{}`), "", 1); !errors.Is(err, busy) {
		t.Errorf("select: got %v", err)
	}
}

func TestWhatIsStoredMustBeReadable(t *testing.T) {
	k, b := kindOf(&fake{}), bulkOf(`{"filter":7}`)
	if _, err := k.Count(t.Context(), b); err == nil {
		t.Error("count: a spec that is damaged was read")
	}
	if _, _, err := k.Select(t.Context(), b, "", 1); err == nil {
		t.Error("select: a spec that is damaged was read")
	}
	if _, _, err := k.Select(t.Context(), bulkOf(`{}`), "12/x", 1); err == nil {
		t.Error("select: a place that is damaged was read")
	}
	if _, err := k.Do(t.Context(), b, []string{idOf(1).String()}); err == nil {
		t.Error("do: a spec that is damaged was read")
	}
	if _, err := k.Do(t.Context(), bulkOf(`{}`), []string{"x"}); err == nil {
		t.Error("do: a name that is damaged was read")
	}
}

func TestAnArchiveIsOfWhatHasEndedAndWasNotArchived(t *testing.T) {
	all := []flow.Status{flow.Completed, flow.Failed, flow.Canceled}
	for spec, want := range map[string]engine.ListQuery{
		`{"filter":{}}`: {Tenant: "t", Status: all, Unarchived: true, CreatedTo: 5001},
		`{"filter":{"status":["ACTIVE","FAILED"],"errorCode":"E","endedFrom":"1970-01-01T00:00:02Z"}}`: {
			Tenant: "t", Status: []flow.Status{flow.Failed}, Unarchived: true, ErrorCode: "E", EndedFrom: 2000,
			CreatedTo: 5001,
		},
		`{"filter":{"outcome":"paid","endedTo":"1970-01-01T00:00:03Z"}}`: {
			Tenant: "t", Status: all, Unarchived: true, Outcome: "paid", EndedTo: 3000, CreatedTo: 5001,
		},
	} {
		f := &fake{}
		if _, err := archiver(f).Count(t.Context(), bulkOf(spec)); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, f.query); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
}

func TestHowEachArchiveEnded(t *testing.T) {
	answers := []engine.Result{
		{Answer: engine.Answer{Changed: true}},
		{Answer: engine.Answer{Refused: &flow.Refusal{Guard: flow.GuardNotArchived, Execution: flow.Failed}}},
		{Answer: engine.Answer{Refused: &flow.Refusal{Guard: flow.GuardEnded, Execution: flow.Active}}},
	}
	f := &fake{results: func(r *engine.Request) engine.Result { return answers[r.Execution[15]] }}
	names := []string{idOf(0).String(), idOf(1).String(), idOf(2).String()}
	results, err := archiver(f).Do(t.Context(), bulkOf(`{"reason":"old"}`), names)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, r := range results {
		got = append(got, fmt.Sprintf("%v %s", r.Outcome, r.Detail))
		if req := f.requests[i]; req.Command != (flow.Archive{Reason: "old"}) ||
			req.Idempotency.Endpoint != "POST /executions/"+names[i]+"/archive" {
			t.Errorf("request %d: %+v", i, req)
		}
	}
	if diff := cmp.Diff([]string{
		`APPLIED {}`, `ALREADY {}`, `REFUSED {"guard":"execution_terminal","state":{"execution":"ACTIVE"}}`,
	}, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestTheSetMayBeNamed(t *testing.T) {
	var want []string
	text := ""
	for n := range 7 {
		want = append(want, idOf(n).String())
		text += `,"` + want[n] + `"`
	}
	b := bulkOf(`{"filter":{},"ids":[` + text[1:] + `]}`)
	k := kindOf(&fake{err: errors.New("nobody asks for a list")})
	if n, err := k.Count(t.Context(), b); n != 7 || err != nil {
		t.Errorf("counted %d %v", n, err)
	}
	var got []string
	for place := ""; ; {
		names, last, err := k.Select(t.Context(), b, place, 3)
		if err != nil {
			t.Fatal(err)
		}
		if got, place = append(got, names...), last; len(names) < 3 {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, place := range []string{"x", "-1", "8"} {
		if _, _, err := k.Select(t.Context(), b, place, 3); err == nil {
			t.Errorf("the place %q was read", place)
		}
	}
}
