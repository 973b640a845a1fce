package flow

import (
	"cmp"
	"maps"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/internal/platform/fault"
)

// The limits of what an execution is found by.
const (
	MaxLabels      = 16  // of an execution
	MaxLabelValue  = 256 // characters of a label's value
	MaxBusinessKey = 256 // characters of a business key
)

// Label is a name and a value that an execution was given at its creation, to be found by.
type Label struct{ Name, Value string }

// Labels are the labels of an execution, in the order of their names.
type Labels []Label

// NewLabels checks labels and brings them into their order.
func NewLabels(of map[string]string) (Labels, error) {
	if len(of) == 0 {
		return nil, nil
	}
	l := make(Labels, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		l = append(l, Label{name, of[name]})
	}
	return l, l.check()
}

func (l Labels) check() error {
	if len(l) > MaxLabels {
		return badLabel("an execution may have at most %d labels, not %d", MaxLabels, len(l))
	}
	for i, label := range l {
		if err := label.check(); err != nil {
			return err
		}
		if i > 0 && l[i-1].Name >= label.Name {
			return badLabel("labels must be in the order of their names, each there once")
		}
	}
	return nil
}

func (l Label) check() error {
	switch {
	case !ValidName(l.Name):
		return badLabel(
			"the name of a label must be 1 to %d letters, digits, dots, dashes or underscores, not %q",
			MaxName,
			shorten(l.Name),
		)
	case !findable(l.Value, MaxLabelValue):
		return badLabel("the value of label %s must be 1 to %d characters without control characters", l.Name,
			MaxLabelValue)
	}
	return nil
}

func badLabel(format string, args ...any) error {
	return fault.New(fault.Invalid, "INVALID_INPUT", format, args...).With(map[string]string{"field": "labels"})
}

// ParseLabel reads a label as people write it: name=value.
func ParseLabel(text string) (Label, error) {
	name, value := text, ""
	for i := range len(text) {
		if text[i] == '=' {
			name, value = text[:i], text[i+1:]
			break
		}
	}
	l := Label{name, value}
	return l, l.check()
}

// String is the label as people write it.
func (l Label) String() string { return l.Name + "=" + l.Value }

// CheckBusinessKey checks a business key, which may be empty: the execution has none.
func CheckBusinessKey(key string) error {
	if key == "" || findable(key, MaxBusinessKey) {
		return nil
	}
	return fault.New(fault.Invalid, "INVALID_INPUT",
		"businessKey must be 1 to %d characters without control characters", MaxBusinessKey).
		With(map[string]string{"field": "businessKey"})
}

// findable reports whether people can write a text down and find it again.
func findable(text string, most int) bool {
	if text == "" || !utf8.ValidString(text) || utf8.RuneCountInString(text) > most {
		return false
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}

// MarshalJSON writes the labels as an object.
func (l Labels) MarshalJSON() ([]byte, error) {
	w := Writer{}
	w.labels(l)
	return w.Dst, w.Err
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Labels) UnmarshalJSON(data []byte) error {
	var of map[string]string
	if err := json.Unmarshal(data, &of); err != nil {
		return err
	}
	*l = nil
	for name, value := range of {
		*l = append(*l, Label{name, value})
	}
	slices.SortFunc(*l, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func (w *Writer) labels(l Labels) {
	before := `{`
	for _, label := range l {
		w.Quote(before, label.Name)
		w.Quote(`:`, label.Value)
		before = `,`
	}
	if len(l) == 0 {
		w.Raw(before)
	}
	w.Raw(`}`)
}
