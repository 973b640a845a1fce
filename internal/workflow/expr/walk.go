package expr

import (
	"cmp"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

// walk goes through values that may be large and counts every step of it.
type walk struct {
	frame *interpreter.ExecutionFrame
	id    int64
}

func (w *walk) steps(n uint64) { charge(w.frame, w.id, n) }

// equal compares by value, as CEL does: numbers of any type by their value, lists
// element by element, maps member by member.
func (w *walk) equal(l, r ref.Val) bool {
	w.steps(1 + min(textSteps(l), textSteps(r)))
	switch l := l.(type) {
	case traits.Lister:
		r, ok := r.(traits.Lister)
		return ok && w.equalLists(l, r)
	case traits.Mapper:
		r, ok := r.(traits.Mapper)
		return ok && w.equalMaps(l, r)
	}
	return types.Equal(l, r) == types.True
}

func (w *walk) equalLists(l, r traits.Lister) bool {
	size := l.Size()
	if size != r.Size() {
		return false
	}
	for i := types.Int(0); i < size.(types.Int); i++ {
		if !w.equal(l.Get(i), r.Get(i)) {
			return false
		}
	}
	return true
}

func (w *walk) equalMaps(l, r traits.Mapper) bool {
	if l.Size() != r.Size() {
		return false
	}
	w.steps(sortSteps(l))
	for _, key := range sortedKeys(l) {
		lv, _ := l.Find(key)
		rv, found := r.Find(key)
		if !found || types.IsUnknownOrError(rv) || !w.equal(lv, rv) {
			return false
		}
	}
	return true
}

func (w *walk) contains(elem, in ref.Val) ref.Val {
	switch in := in.(type) {
	case traits.Mapper:
		w.steps(textSteps(elem))
		return in.Contains(elem)
	case traits.Lister:
		for i, n := types.Int(0), in.Size().(types.Int); i < n; i++ {
			if w.equal(elem, in.Get(i)) {
				return types.True
			}
		}
		return types.False
	}
	return types.MaybeNoSuchOverloadErr(in)
}

// add is the operator +. Two lists become one that is as fast to walk as either.
func (w *walk) add(l, r ref.Val) ref.Val {
	ll, lok := l.(traits.Lister)
	rl, rok := r.(traits.Lister)
	_, growing := l.(traits.MutableLister) // the result of a macro, in the making
	if !lok || !rok || growing {
		w.steps(textSteps(l) + textSteps(r))
		return arithmetic(operators.Add, l, r)
	}
	ln, rn := ll.Size().(types.Int), rl.Size().(types.Int)
	w.steps(uint64(ln) + uint64(rn))
	all := make([]ref.Val, 0, ln+rn)
	for i := range ln {
		all = append(all, ll.Get(i))
	}
	for i := range rn {
		all = append(all, rl.Get(i))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, all)
}

// rangeFunction gives what a macro walks: a list itself, of a map its sorted keys.
const rangeFunction = "@range"

func rangeOption() cel.EnvOption {
	a, b := cel.TypeParamType("A"), cel.TypeParamType("B")
	return cel.Function(rangeFunction,
		cel.Overload("range_list", []*cel.Type{cel.ListType(a)}, cel.ListType(a)),
		cel.Overload("range_map", []*cel.Type{cel.MapType(a, b)}, cel.ListType(a)),
		cel.SingletonUnaryBinding(func(v ref.Val) ref.Val {
			switch v := v.(type) {
			case traits.Lister:
				return v
			case traits.Mapper:
				return newKeyList(v)
			}
			return types.NewErr("all, exists, exists_one, filter and map need a list or a map")
		}))
}

// keyList is the list of the keys of a map, and what it took to make it.
type keyList struct {
	traits.Lister
	steps uint64
}

func newKeyList(m traits.Mapper) ref.Val {
	steps := sortSteps(m)
	if steps > MaxSteps {
		return types.NewErr("the map has too many members to walk")
	}
	return &keyList{types.NewRefValList(types.DefaultTypeAdapter, sortedKeys(m)), steps}
}

func sortSteps(m traits.Mapper) uint64 { return 4 * uint64(m.Size().(types.Int)) }

// sortedKeys are the keys of a map in an order that does not depend on chance: by
// type, then by value.
func sortedKeys(m traits.Mapper) []ref.Val {
	keys := make([]ref.Val, 0, m.Size().(types.Int))
	for it := m.Iterator(); it.HasNext() == types.True; {
		keys = append(keys, it.Next())
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b ref.Val) int {
	if as, ok := a.(types.String); ok {
		if bs, ok := b.(types.String); ok {
			return cmp.Compare(as, bs)
		}
	}
	if c, ok := a.(traits.Comparer); ok && a.Type() == b.Type() {
		if order, ok := c.Compare(b).(types.Int); ok {
			return int(order)
		}
	}
	return cmp.Compare(a.Type().TypeName(), b.Type().TypeName())
}
