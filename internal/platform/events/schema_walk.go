package events

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"renga.dev/renga/internal/platform/canonical"
)

// walker reads one JSON text, as strictly as Canonical, and holds it against a rule on the way. What it
// cannot judge by looking at the text (see again) it leaves to Check, at the end.
type walker struct {
	canonical.Scanner
	strict bool            // the members of closed objects must be known
	again  bool            // many members, names with escapes or not in NFC, large exponents
	open   int             // how many of names are in use
	names  [maxNames]named // of the members of open objects that no rule has, innermost last
	notes  [noteCount]span // values that rules have a note for
}

// span is a part of a text.
type span struct{ from, to int32 }

// named is a name, and its end.
type named struct {
	tail uint64
	span
}

// note names a value that a walker remembers the place of.
type note uint8

// The values that are remembered: of an envelope, and of a payload.
const (
	noteNone note = iota
	noteID
	noteSchema
	noteType
	noteOccurred
	noteTenant
	noteService
	noteInstance
	noteCorrelation
	noteKey
	noteVersion
	notePlace
	notePayload
	noteObject
	noteRecord
	noteValues
	noteCount
)

// maxNames is how many names are compared with each other, of all open objects.
const maxNames = 64

// walk reads all of a text, which has depth containers around it.
func (w *walker) walk(text []byte, r *rule, depth int) error {
	w.Scanner = canonical.Scanner{In: text}
	w.Space()
	if err := w.value(r, depth); err != nil {
		return err
	}
	w.Space()
	if w.Pos != len(w.In) {
		return w.Fail("there is something after the JSON value")
	}
	if w.again {
		return canonical.Check(text)
	}
	return nil
}

// value reads the value at the cursor, which has depth containers around it.
func (w *walker) value(r *rule, depth int) (err error) {
	start := w.Pos
	switch b := w.Peek(); b {
	case '"':
		err = w.text(r)
	case '{':
		err = w.object(r, depth)
	case '[':
		err = w.array(r, depth)
	case 't', 'f', 'n':
		err = w.literal(r, b)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		err = w.number(r)
	default:
		return w.Fail("a JSON value was expected")
	}
	if err != nil {
		return err
	}
	if r.note != noteNone {
		w.notes[r.note] = span{int32(start), int32(w.Pos)}
	}
	if r.when != nil {
		return w.branch(r, start, depth)
	}
	return nil
}

// branch reads the value that began at start again, by the rules that depend on it.
func (w *walker) branch(r *rule, start, depth int) error {
	end, open := w.Pos, w.open
	w.Pos = start
	err := w.value(r.when, depth)
	more := r.then
	if err != nil {
		var v *violation
		if !errors.As(err, &v) {
			return err
		}
		more = r.otherwise
	}
	w.Pos, w.open = start, open
	if err := w.value(more, depth); err != nil {
		return err
	}
	w.Pos = end
	return nil
}

func (w *walker) object(r *rule, depth int) error {
	if r.kinds&kindObject == 0 {
		return r.wrongKind()
	}
	if depth == canonical.MaxDepth {
		return canonical.TooDeep()
	}
	base, next, seen := w.open, 0, uint64(0)
	for more := w.enter('}'); more; {
		start := w.Pos
		name, err := w.name()
		if err != nil {
			return err
		}
		of := r.others
		switch i := r.find(name, next); {
		case i >= 0 && seen&(1<<i) != 0:
			return canonical.Duplicate(name)
		case i >= 0:
			of, next, seen = r.members[i].rule, i+1, seen|1<<i
		case w.strict && r.closed:
			return violated(name, "is not a known member")
		default:
			if err := w.remember(name, start, base); err != nil {
				return err
			}
		}
		if err := w.value(of, depth+1); err != nil {
			return within(err, name)
		}
		if more, err = w.comma('}', "',' or '}' was expected after a member"); err != nil {
			return err
		}
	}
	w.open = base
	if missing := r.required &^ seen; missing != 0 {
		return violated([]byte(r.members[bits.TrailingZeros64(missing)].name), "is missing")
	}
	return nil
}

// name reads `"name":` at the cursor.
func (w *walker) name() ([]byte, error) {
	if w.Peek() != '"' {
		return nil, w.Fail("a member name in quotes was expected")
	}
	raw, form, err := w.Quoted()
	if err != nil {
		return nil, err
	}
	if form != 0 {
		if form&canonical.Escapes != 0 {
			raw = canonical.Decoded(raw)
		}
		w.again = w.again || form&canonical.Escapes != 0 || !norm.NFC.IsNormal(raw)
	}
	w.Space()
	if w.Peek() != ':' {
		return nil, w.Fail("':' was expected after a member name")
	}
	w.Pos++
	w.Space()
	return raw, nil
}

// remember compares the name that begins at a place with those of its object before
// it, from base on.
func (w *walker) remember(name []byte, start, base int) error {
	if w.again || w.open == maxNames {
		w.again = true
		return nil
	}
	tail := tailOf(name)
	for i := range w.names[base:w.open] {
		if other := &w.names[base+i]; other.tail == tail && string(w.In[other.from:other.to]) == string(name) {
			return canonical.Duplicate(name)
		}
	}
	w.names[w.open] = named{tail, span{int32(start + 1), int32(start + 1 + len(name))}}
	w.open++
	return nil
}

// tailOf is the last eight bytes of a name: what mostly tells it from others.
func tailOf(name []byte) (tail uint64) {
	if len(name) >= 8 {
		return binary.LittleEndian.Uint64(name[len(name)-8:])
	}
	for _, b := range name {
		tail = tail<<8 | uint64(b)
	}
	return tail
}

func (w *walker) array(r *rule, depth int) error {
	if r.kinds&kindArray == 0 {
		return r.wrongKind()
	}
	if depth == canonical.MaxDepth {
		return canonical.TooDeep()
	}
	n := 0
	for more := w.enter(']'); more; n++ {
		err := w.value(r.items, depth+1)
		if err != nil {
			return within(err, strconv.AppendInt(nil, int64(n), 10))
		}
		if more, err = w.comma(']', "',' or ']' was expected after an array element"); err != nil {
			return err
		}
	}
	if n < r.minItems {
		return &violation{what: fmt.Sprintf("must have at least %d elements", r.minItems)}
	}
	return nil
}

// enter goes into a container and reports whether there is something in it; if not, it
// has left it.
func (w *walker) enter(end byte) bool {
	w.Pos++
	w.Space()
	if w.Peek() != end {
		return true
	}
	w.Pos++
	return false
}

// comma passes over what stands behind a member or an element and reports whether
// another one follows; if not, it has left the container.
func (w *walker) comma(end byte, expected string) (more bool, err error) {
	w.Space()
	switch w.Peek() {
	case ',':
		w.Pos++
		w.Space()
		return true, nil
	case end:
		w.Pos++
		return false, nil
	}
	return false, w.Fail(expected)
}
