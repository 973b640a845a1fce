package expr

import (
	"errors"
	"fmt"
	"math"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxValue is how many bytes of JSON the value of an expression may have: a body that is named a
// thousand times is short to write.
const MaxValue = 1 << 20

var errValue = fmt.Errorf("the value of the expression has more than %d bytes", MaxValue)

// Value evaluates an expression of any type, and counts its steps as Eval does. The value is JSON;
// the members of objects are in the order of their names.
func (b *Budget) Value(p *Program, vars map[string]any) ([]byte, error) {
	if b.Spent() {
		return nil, ErrBudget{b.steps}
	}
	out, steps, err := p.value(vars)
	b.left -= 1 + int(steps)
	if err != nil {
		return nil, err
	}
	raw, err := appendValue(nil, out)
	b.Read(len(raw))
	return raw, err
}

// appendValue appends the JSON of a value.
func appendValue(dst []byte, v ref.Val) (_ []byte, err error) {
	if len(dst) > MaxValue {
		return dst, errValue
	}
	switch v := v.(type) {
	case types.Null:
		return append(dst, "null"...), nil
	case types.Bool:
		return append(dst, jsontext.Bool(bool(v)).String()...), nil
	case types.Int:
		return append(dst, jsontext.Int(int64(v)).String()...), nil
	case types.Uint:
		return append(dst, jsontext.Uint(uint64(v)).String()...), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return dst, errors.New("the expression gives a number that JSON does not have")
		}
		return append(dst, jsontext.Float(float64(v)).String()...), nil
	case types.String:
		return appendText(dst, string(v))
	case types.Timestamp:
		return appendText(dst, v.UTC().Format(time.RFC3339Nano))
	case traits.Lister:
		return appendList(dst, v)
	case traits.Mapper:
		return appendObject(dst, v)
	}
	return dst, fmt.Errorf("the expression gives %s, which JSON does not have", v.Type().TypeName())
}

func appendText(dst []byte, text string) ([]byte, error) {
	if len(dst)+len(text) > MaxValue {
		return dst, errValue
	}
	dst, err := jsontext.AppendQuote(dst, text)
	if err != nil {
		return dst, errors.New("the expression gives a text that is not valid UTF-8")
	}
	return dst, nil
}

func appendList(dst []byte, list traits.Lister) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, n := types.Int(0), list.Size().(types.Int); i < n; i++ {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, list.Get(i)); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, object traits.Mapper) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, key := range sortedKeys(object) {
		name, ok := key.(types.String)
		if !ok {
			return dst, fmt.Errorf("the expression gives an object with a key of type %s; keys are texts",
				key.Type().TypeName())
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendText(dst, string(name)); err != nil {
			return dst, err
		}
		value, _ := object.Find(key)
		if dst, err = appendValue(append(dst, ':'), value); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}
