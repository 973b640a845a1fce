package flow

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/workflow/expr"
)

func TestAConditionSeesEveryNumber(t *testing.T) {
	got := decode(Data(`{"plain":5,"half":0.5,"id":9007199254740993,"least":-9223372036854775808,
		"wide":123456789012345678901234567890,"huge":1e400,"low":-1e400,"tiny":1e-400,
		"list":[1,[9007199254740993]],"none":null}`))
	want := map[string]any{
		"plain": 5.0, "half": 0.5, "id": int64(9007199254740993), "least": int64(math.MinInt64),
		"wide": 123456789012345678901234567890.0, "huge": math.Inf(1), "low": math.Inf(-1), "tiny": 0.0,
		"list": []any{1.0, []any{int64(9007199254740993)}}, "none": nil,
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for text, holds := range map[string]bool{
		"input.id == 9007199254740993":      true,
		"input.id == 9007199254740992":      false,
		"input.id > 9007199254740992":       true,
		"input.id + 1 == 9007199254740994":  true,
		"input.id % 2 == 1":                 true,
		"input.id / 2 > 4.5e15":             true,
		"input.id > input.plain":            true,
		"input.plain == 5":                  true,
		"input.huge > 1e300":                true,
		"input.low < input.plain":           true,
		"input.wide > input.id":             true,
		"input.list[1][0] in [1, input.id]": true,
	} {
		e, err := expr.When(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if ok, err := e.Eval(map[string]any{"input": got}); err != nil || ok != holds {
			t.Errorf("%s: got %t, %v", text, ok, err)
		}
	}
}
