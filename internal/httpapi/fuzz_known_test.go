package httpapi_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// facts are members of one object of an answer and of those around it, and what the
// request named: an execution, its node, the attempt and the worker that belong together.
type facts map[string]any

// known is what answers told, so that requests speak of things that are there. Facts that
// name the same things are kept together, so that a long list of one kind does not push
// out the others.
type known struct {
	kinds  []string // in the order in which they were first seen
	byKind map[string][]*facts
}

// maxFacts is how many facts of one kind are kept, maxKinds how many kinds.
const (
	maxFacts = 48
	maxKinds = 400
)

func newKnown() *known { return &known{byKind: map[string][]*facts{}} }

// learn takes the facts of an answer, below those of its request.
func (k *known) learn(body []byte, of *ask) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		value = nil // no JSON: the request alone says something
	}
	k.walk(value, of.from, of.collection(), 0)
}

func (k *known) walk(value any, around facts, collection string, depth int) {
	switch value := value.(type) {
	case map[string]any:
		here := maps.Clone(around)
		for name, member := range value {
			switch member.(type) {
			case string, json.Number:
				here[name] = member
			}
		}
		k.keep(here, collection)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if depth < 4 {
				k.walk(value[name], here, collection, depth+1)
			}
		}
	case []any:
		for i, item := range value {
			if i < 10 && depth < 4 {
				k.walk(item, around, collection, depth+1)
			}
		}
	case nil:
		k.keep(around, collection)
	}
}

func (k *known) keep(f facts, collection string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(f)), func(name string) bool { return !identifies(name) })
	if len(names) == 0 {
		return
	}
	kind := collection + " " + strings.Join(names, " ")
	if _, seen := k.byKind[kind]; !seen {
		if len(k.kinds) == maxKinds {
			return
		}
		k.kinds = append(k.kinds, kind)
	}
	list := append(k.byKind[kind], &f)
	k.byKind[kind] = list[max(0, len(list)-maxFacts):]
}

// forget drops facts about something that is not there.
func (k *known) forget(f *facts) {
	for kind, list := range k.byKind {
		k.byKind[kind] = slices.DeleteFunc(list, func(have *facts) bool { return have == f })
	}
}

// identifies says that a member of this name is likely to name a thing.
func identifies(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "id") || strings.HasSuffix(name, "name") || strings.HasSuffix(name, "type")
}

// about gives facts that have as many of these names as any, half of the time rather from
// the same collection. There may be none.
func (k *known) about(m *maker, names []string, collection string) *facts {
	near := m.chance(50)
	var best []string
	most := 0
	for _, kind := range k.kinds {
		if len(k.byKind[kind]) == 0 {
			continue
		}
		has := strings.Fields(kind)
		score := 0
		for _, name := range names {
			if slices.Contains(has[1:], name) {
				score += 2
			}
		}
		if near && has[0] == collection {
			score++
		}
		switch {
		case score > most:
			best, most = []string{kind}, score
		case score == most:
			best = append(best, kind)
		}
	}
	if len(best) == 0 {
		return &facts{}
	}
	list := k.byKind[oneOf(m, best...)]
	if m.chance(70) { // what is new is likely to be still alive
		list = list[max(0, len(list)-3):]
	}
	return list[m.IntN(len(list))]
}
