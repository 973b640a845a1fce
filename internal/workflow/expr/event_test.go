package expr

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestAValueIsJSON(t *testing.T) {
	vars := map[string]any{
		"body": map[string]any{
			"id": "A-17", "amount": 10.5, "qty": float64(3), "big": int64(1)<<60 + 1, "none": nil, "ok": true,
			"lines": []any{map[string]any{"sku": "b", "n": float64(2)}, map[string]any{"sku": "a"}},
		},
		"headers": map[string]any{"x-source": "bank"},
	}
	for src, want := range map[string]string{
		`body.id`:                  `"A-17"`,
		`body.amount`:              `10.5`,
		`body.qty`:                 `3`,
		`body.qty + 1`:             `4`,
		`body.big`:                 `1152921504606846977`,
		`body.none`:                `null`,
		`body.ok && body.qty > 2`:  `true`,
		`body.lines`:               `[{"n":2,"sku":"b"},{"sku":"a"}]`,
		`body.lines.map(l, l.sku)`: `["b","a"]`,
		`{"z": headers["x-source"], "a": [1, 2.5, "山\n"]}`: `{"a":[1,2.5,"山\n"],"z":"bank"}`,
		`timestamp("2026-01-05T18:00:00+09:00")`:           `"2026-01-05T09:00:00Z"`,
		`has(body.note) ? body.note : ""`:                  `""`,
		`body.id + "/" + string(body.qty)`:                 `"A-17/3"`,
	} {
		p, err := EventValue(src)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		budget := NewBudget(1_000)
		if got, err := budget.Value(p, vars); err != nil || string(got) != want {
			t.Errorf("%s: got %s (%v), want %s", src, got, err, want)
		}
	}
}

func TestAValueThatJSONDoesNotHaveIsRefused(t *testing.T) {
	vars := map[string]any{"body": map[string]any{"inf": math.Inf(1), "bad": "\xff"}}
	for src, want := range map[string]string{
		`duration("1h")`: "the expression gives google.protobuf.Duration, which JSON does not have",
		`b"x"`:           "the expression gives bytes, which JSON does not have",
		`{1: 2}`:         "the expression gives an object with a key of type int; keys are texts",
		`body.inf`:       "the expression gives a number that JSON does not have",
		`body.bad`:       "the expression gives a text that is not valid UTF-8",
		`body.missing`:   "no such key: missing",

		`body['` + strings.Repeat("長", 200) + `']`: "no such key: " + strings.Repeat("長", 75) + "…",
	} {
		p, err := EventValue(src)
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		budget := NewBudget(1_000)
		if got, err := budget.Value(p, vars); err == nil || err.Error() != want {
			t.Errorf("%s: got %s (%v), want %s", src, got, err, want)
		}
	}
}

func TestAValueIsBounded(t *testing.T) {
	p, err := EventValue("[" + strings.Repeat("body,", 100) + "body]")
	if err != nil {
		t.Fatal(err)
	}
	budget := NewBudget(100_000)
	body := []any{strings.Repeat("x", MaxValue/50)}
	if _, err := budget.Value(p, map[string]any{"body": body}); !errors.Is(err, errValue) {
		t.Errorf("got %v, want that it is too large", err)
	}
	if budget = NewBudget(1); !errors.As(func() error {
		_, _ = budget.Value(p, nil)
		_, err := budget.Value(p, nil)
		return err
	}(), new(ErrBudget)) {
		t.Error("the budget does not end")
	}
}

func TestAConditionOnAnEventIsTrueOrFalse(t *testing.T) {
	if _, err := EventWhen(`"yes"`); err == nil {
		t.Error("a text is taken for a condition")
	}
	p, err := EventWhen(`body.total > 10 && headers["x-kind"] == "paid"`)
	if err != nil {
		t.Fatal(err)
	}
	budget := NewBudget(100)
	ok, err := budget.Eval(p, map[string]any{
		"body": map[string]any{"total": 11.0}, "headers": map[string]any{"x-kind": "paid"},
	})
	if err != nil || !ok {
		t.Errorf("got %v, %v", ok, err)
	}
}
