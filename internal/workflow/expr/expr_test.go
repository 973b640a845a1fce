package expr

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/fault"
)

// values are what the conditions of these tests look at.
func values() map[string]any {
	return map[string]any{
		"input": map[string]any{
			"region": "jp", "qty": float64(3), "big": int64(1) << 60, "tags": []any{"a", "b", nil},
			"prices": map[string]any{"b": 2.5, "a": float64(1), "c": float64(3)},
			"name":   "山田太郎",
			"deep":   map[string]any{"list": []any{[]any{float64(1)}, map[string]any{"x": true}}},
		},
		"outputs": map[string]any{"check": map[string]any{"ok": true}, "price.v1": map[string]any{
			"total": float64(10),
		}},
		"output": map[string]any{"amount": 10.5, "n": float64(3), "i": int64(3), "half": 0.5},
	}
}

func TestWhen(t *testing.T) {
	tests := []struct {
		src  string
		want bool
	}{
		{`output.amount > 10`, true},
		{`output.amount <= 10.5`, true},
		{`output.n == 3`, true},
		{`output.n == 3.0`, true},
		{`output.i == 3.0 && output.i == output.n`, true},
		{`output.n != 4 && output.n < 3.5 && output.i > 2.5`, true},
		{`output.n + 1 == 4`, true},
		{`output.amount * 2 == 21.0`, true},
		{`1 + 0.5 == 1.5 && 2 - 0.5 == 1.5 && 3 * 0.5 == 1.5 && 3 / 2.0 == 1.5`, true},
		{`output.n / 2 == 1.5`, true},
		{`7 / 2 == 3`, true},
		{`output.n % 2 == 1`, true},
		{`output.n in [1, 2, 3]`, true},
		{`input.tags[output.n - 2] == 'b'`, true},
		{`input.big == 1152921504606846976`, true},
		{`input.region == 'jp' && input.qty >= 3`, true},
		{`input.name.startsWith('山田') && size(input.name) == 4`, true},
		{`input.name.contains('太') || input.name.endsWith('x')`, true},
		{`input.name.matches('^[一-龠]+$')`, true},
		{`outputs.check.ok`, true},
		{`outputs['price.v1'].total == 10`, true},
		{`error == null`, true},
		{`error != null && error.code == 'X'`, false},
		{`has(output.amount) && !has(output.other)`, true},
		{`null in input.tags && 'b' in input.tags && !('z' in input.tags)`, true},
		{`'a' in input.prices && !('z' in input.prices)`, true},
		{`input.tags == ['a', 'b', null]`, true},
		{`input.prices == {'c': 3, 'a': 1.0, 'b': 2.5}`, true},
		{`input.prices != {'c': 3, 'a': 1.0, 'x': 2.5}`, true},
		{`input.deep == {'list': [[1], {'x': true}]}`, true},
		{`input.deep == input.prices || input.deep == input.tags || input.tags == input.deep`, false},
		{`input.prices.map(k, input.prices[k]) == [1, 2.5, 3]`, true},
		{`input.prices.all(k, input.prices[k] > 0) && input.prices.exists_one(k, k == 'b')`, true},
		{`input.tags.filter(x, x != null).map(x, x + '!') == ['a!', 'b!']`, true},
		{`input.tags.map(x, x != null, x) + ['c'] == ['a', 'b', 'c']`, true},
		{`input.tags.exists(x, x == 'b') ? output.n > 1 : output.none`, true},
		{`timestamp('2026-03-01T23:30:00+09:00').getHours() == 14`, true},
		{`duration('90m') > duration('1h')`, true},
		{`string(output.n) == '3' && int(output.amount) == 10 && double('1.5') == 1.5`, true},
		{`type(input) == map && type(output.n) == double`, true},
	}
	for _, tt := range tests {
		t.Run(tt.src, func(t *testing.T) {
			p, err := When(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Eval(values())
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestGate(t *testing.T) {
	vars := map[string]any{
		"expected": []string{"a", "b", "c"}, "completed": []string{"a", "c"},
		"failed": []string{"b"}, "canceled": []string(nil),
	}
	tests := []struct {
		src  string
		want bool
	}{
		{`size(completed) >= 2`, true},
		{`completed.size() + failed.size() + canceled.size() == expected.size()`, true},
		{`'a' in completed && !('b' in completed)`, true},
		{`completed == expected`, false},
		{`expected.all(b, b in completed || b in failed)`, true},
		{`size(completed) * 2 > size(expected)`, true},
		{`canceled == []`, true},
	}
	for _, tt := range tests {
		t.Run(tt.src, func(t *testing.T) {
			p, err := Gate(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Eval(vars)
			if err != nil || got != tt.want {
				t.Errorf("got %v, %v; want %v", got, err, tt.want)
			}
		})
	}
}

func TestAnExpressionThatDoesNotCompileSaysWhere(t *testing.T) {
	tests := []struct {
		name, src, want string
	}{
		{"empty", " \n", "the expression is empty"},
		{"too long", strings.Repeat("x", MaxSource+1), "the expression has 4097 bytes; at most 4096 are allowed"},
		{"bad UTF-8", "'\xff' == ''", "the expression is not valid UTF-8"},
		{"syntax", "input.", "line 1, column 7: Syntax error: no viable alternative at input '.'"},
		{"second line", "true &&\n  foo", "line 2, column 3: undeclared reference to 'foo'"},
		{"after Japanese text", "input.name == '山田' && foo", "line 1, column 23: undeclared reference to 'foo'"},
		{"variable of another kind", "completed == []", "line 1, column 1: undeclared reference to 'completed'"},
		{"types", "'x' == 1", "line 1, column 5: found no matching overload for '==' applied to '(string, int)'"},
		{"not a condition", "1 + 2", "the expression gives int, not true or false"},
		{
			"text is no range", "''.all(x, true)",
			"line 1, column 7: all, exists, exists_one, filter and map need a list or a map",
		},
		{
			"message literal", "google.protobuf.Struct{} == input",
			"line 1, column 23: message literals are not supported",
		},
		{
			"time zone", "timestamp('2026-01-01T00:00:00Z').getHours('Asia/Tokyo') == 1",
			"line 1, column 43: found no matching overload for 'getHours' applied to 'timestamp.(string)'",
		},
		{
			"string extension", "input.name.replace('a', 'b') == ''",
			"line 1, column 19: undeclared reference to 'replace'",
		},
		{"duration", "duration('soon') == duration('1s')", "line 1, column 10: invalid duration argument"},
		{
			"pattern from data", "input.name.matches(input.region)",
			"line 1, column 25: the pattern of matches must be a string literal",
		},
		{
			"pattern", "input.name.matches('(')",
			"line 1, column 20: the pattern does not compile: error parsing regexp: missing closing ): `(`",
		},
		{
			"long pattern", "input.name.matches('" + strings.Repeat("a", MaxPattern+1) + "')",
			"line 1, column 20: the pattern has 257 bytes; at most 256 are allowed",
		},
		{
			"large pattern", "input.name.matches('((abc){30}){30}')",
			"line 1, column 20: the pattern has 4562 states; at most 2000 are allowed",
		},
		{"deep", strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100), "the expression nests deeper than 64"},
		{
			"many macros", "[1]" + strings.Repeat(".map(a, [a, a])", MaxMacros+1) + " == []",
			"the expression has 9 macros (all, exists, exists_one, filter, map); at most 8 are allowed",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := When(tt.src)
			e, ok := fault.As(err)
			if !ok {
				t.Fatalf("got %v, want a fault", err)
			}
			if e.Kind != fault.Invalid || e.Code != Code {
				t.Errorf("got kind %v code %s", e.Kind, e.Code)
			}
			if diff := cmp.Diff(tt.want, e.Message); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThePlaceOfAMistakeIsInTheDetails(t *testing.T) {
	_, err := When("true &&\n  foo")
	e, _ := fault.As(err)
	if diff := cmp.Diff(map[string]any{"line": 2, "column": 3}, e.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}

func TestEvaluationFails(t *testing.T) {
	tests := []struct {
		src, want string
	}{
		{`input.region > 3`, "no such overload"},
		{`input.region - 1 == 0`, "no such overload"},
		{`input.region in input.qty`, "no such overload"},
		{`input.qty.matches('a')`, "no such overload"},
		{`output.half % 2 == 0`, "no such overload"},
		{`1 / (size(input.tags) - 3) == 1`, "division by zero"},
		{`input.region.all(x, true)`, "all, exists, exists_one, filter and map need a list or a map"},
		{`output.n`, "the expression gives double, not true or false"},
		{`input`, "the expression gives map, not true or false"},
	}
	for _, tt := range tests {
		t.Run(tt.src, func(t *testing.T) {
			p, err := When(tt.src)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Eval(values())
			if err == nil {
				t.Fatalf("got %v, want an error", got)
			}
			if got || err.Error() != tt.want {
				t.Errorf("got %v, %q; want false, %q", got, err, tt.want)
			}
		})
	}
}

// What is not there is not true, also where it is negated.
func TestAConditionThatNamesAMissingMemberIsFalse(t *testing.T) {
	for src, want := range map[string]bool{
		`output.none == 1`:                        false,
		`!output.none`:                            false,
		`output.none != 1`:                        false,
		`output.none.deep == 1`:                   false,
		`outputs.nobody.n == 1`:                   false,
		`error.code == 'X'`:                       false, // of null
		`input.tags[7] == 'a'`:                    false,
		`input.tags.map(t, t)[7] == 'a'`:          false,
		`outputs['none'].n > 1 || input.qty == 3`: true, // CEL needs one side only
		`!has(output.none) || output.none == 1`:   true,
		`!has(error.code) && input.qty > 0`:       true,
	} {
		p, err := When(src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.Eval(values()); got != want || err != nil {
			t.Errorf("%s: got %v, %v; want %v", src, got, err, want)
		}
	}
}

func TestUses(t *testing.T) {
	p, err := When(`output.a == 1 && outputs.x.exists(v, v == input)`)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"input": true, "output": true, "outputs": true, "error": false, "v": false,
		"a": false, "": false,
	} {
		if got := p.Uses(name); got != want {
			t.Errorf("Uses(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestEvalLeavesItsValuesAlone(t *testing.T) {
	p, err := When(`error == null && input == null`)
	if err != nil {
		t.Fatal(err)
	}
	vars := map[string]any{"output": "x"}
	if got, err := p.Eval(vars); err != nil || !got {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := p.Eval(nil); err != nil || !got {
		t.Errorf("without values: got %v, %v", got, err)
	}
	if diff := cmp.Diff(map[string]any{"output": "x"}, vars); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestMapsAreWalkedInOrder(t *testing.T) {
	m := make(map[string]any)
	var want []string
	for i := range 50 {
		key := fmt.Sprintf("k%02d", i)
		m[key], want = float64(i), append(want, "'"+key+"'")
	}
	vars := map[string]any{"input": m}
	for _, src := range []string{
		"input.map(k, k) == [" + strings.Join(want, ",") + "]",
		"{'c': 1, 'a': 2, 'b': 3}.map(k, k) == ['a', 'b', 'c']",
		"{3: 1, 1: 2, 2: 3}.map(k, k) == [1, 2, 3]",
	} {
		p, err := When(src)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if got, err := p.Eval(vars); err != nil || !got {
				t.Fatalf("%s: got %v, %v", src, got, err)
			}
		}
	}
}

// hostile are expressions that would take seconds or for ever if nobody counted.
var hostile = map[string]string{
	"large list against itself":   `input.list == input.list`,
	"large list in a list":        `input.list in [input.list]`,
	"walk of a large list":        `input.list.all(x, x >= 0)`,
	"loops in loops":              `input.few.all(a, input.few.all(b, input.few.all(c, a + b + c >= 0)))`,
	"large map against itself":    `input.map == input.map`,
	"walk of a large map":         `input.map.all(k, k != '')`,
	"long text, many times":       `input.few.all(x, size(input.text) > 0)`,
	"long text compared":          `input.few.all(x, input.text != 'x' + input.text)`,
	"long text as a key":          `input.few.exists(x, input[input.text] == 1)`,
	"long text as a key of has":   `input.few.exists(x, has(input[input.text].a))`,
	"long text converted":         `input.few.exists(x, int(input.text) == 1)`,
	"regular expression":          `input.text.matches('(a|あ|[^x]*)*$')`,
	"text that grows":             `input.few.map(x, input.text + input.text + input.text).size() == 1`,
	"lists that grow":             `input.few.map(x, input.list + input.list).size() == 1`,
	"shared lists":                "[[1]" + strings.Repeat(".map(a, [a, a, a, a])", 7) + "].exists(x, x == x)",
	"long literals in a loop":     `input.list.all(x, [` + strings.Repeat("1,", 900) + `1] != [])`,
	"long map literals in a loop": `input.list.all(x, {` + strings.Repeat("1: 1,", 450) + `2: 1} != {})`,
	"concatenation walked in vain": `input.few.all(x, (input.few` + strings.Repeat(
		" + [1]",
		20,
	) + `).all(y, y >= 0))`,
}

func hostileValues() map[string]any {
	list, few, members := make([]any, 200_000), make([]any, 100), make(map[string]any)
	for i := range list {
		list[i] = float64(i)
	}
	for i := range few {
		few[i] = float64(i)
	}
	for i := range 30_000 {
		members[fmt.Sprint("k", i)] = float64(i)
	}
	return map[string]any{"input": map[string]any{
		"list": list, "few": few, "map": members,
		"text": strings.Repeat("あいうえお", 60_000),
	}}
}

func TestEveryEvaluationIsShort(t *testing.T) {
	vars := hostileValues()
	for name, src := range hostile {
		t.Run(name, func(t *testing.T) {
			p, err := When(src)
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			_, err = p.Eval(vars)
			took := time.Since(begin)
			if err == nil {
				t.Fatal("want an error: too many steps")
			}
			if got := err.Error(); got != "the expression takes more than 20000 steps" &&
				got != "the map has too many members to walk" {
				t.Errorf("got %q", got)
			}
			if took > time.Second { // a few milliseconds; the machine may be busy
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestCacheIsBoundedAndShared(t *testing.T) {
	var c cache
	first, err := c.get("output.n == -1", whenEnv)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxCached {
		c.mu.Lock()
		c.put(fmt.Sprint("output.n == ", i), first)
		c.mu.Unlock()
		if i%100 == 0 && c.find("output.n == -1") == nil {
			t.Fatalf("after %d others a program in use was forgotten", i)
		}
	}
	if n := len(c.young) + len(c.old); n > maxCached {
		t.Errorf("the cache holds %d programs, at most %d wanted", n, maxCached)
	}
	again, err := c.get("output.n == -1", whenEnv)
	if err != nil || again != first {
		t.Errorf("got another program (%v)", err)
	}
}

func FuzzWhen(f *testing.F) {
	for _, src := range hostile {
		f.Add(src)
	}
	for _, src := range []string{
		`output.amount > 10`, `input.prices.map(k, k) == []`, `input.deep.list[0][0] == 1`, `{b'a': 1} == {}`,
		`"\U0001F600" == '山'`, `input[input]`, `[[]][0.0]`, `9223372036854775807 + 1 == -1 / 0`,
		`timestamp('9999-12-31T23:59:59Z') + duration('1s') > timestamp(0)`,
		`input.tags.exists(x, x.y.z) || true`, `{1: 2, 1u: 3}[1.0] == 2`, `0.0 / 0.0 in [0.0 / 0.0]`,
		`(true ? [1] : [2])[0] == 1`,
	} {
		f.Add(src)
	}
	vars := values()
	for name, v := range hostileValues()["input"].(map[string]any) {
		vars["input"].(map[string]any)[name] = v
	}
	f.Fuzz(func(t *testing.T, src string) {
		begin := time.Now()
		p, err := When(src)
		if err != nil {
			if e, ok := fault.As(err); !ok || e.Kind != fault.Invalid || e.Message == "" {
				t.Fatalf("got %v, want an explained fault", err)
			}
			return
		}
		first, firstErr := p.Eval(vars)
		again, againErr := p.Eval(vars)
		if first != again || fmt.Sprint(firstErr) != fmt.Sprint(againErr) {
			t.Errorf("got %v (%v), then %v (%v)", first, firstErr, again, againErr)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
