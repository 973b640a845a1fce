package httpapi

import (
	"bytes"
	"cmp"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/workflow/flow"
)

// reader splits JSON into raw values. It checks the grammar only; canonical.ParseIdempotencyKey, which sees every
// body of a command, holds the strict rules.
type reader struct {
	src []byte
	dec *jsontext.Decoder
}

func newReader(src []byte) reader {
	return reader{src, jsontext.NewDecoder(bytes.NewBuffer(src), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))}
}

// value reads the next value or name. The result is a slice of the source.
func (r *reader) value() (jsontext.Value, error) {
	v, err := r.dec.ReadValue()
	if err != nil {
		return nil, r.malformed()
	}
	end := r.dec.InputOffset()
	return jsontext.Value(r.src[end-int64(len(v)) : end : end]), nil
}

// skip reads a bracket.
func (r *reader) skip() error {
	if _, err := r.dec.ReadToken(); err != nil {
		return r.malformed()
	}
	return nil
}

// object reads an object and gives its members one by one, names in quotes.
func (r *reader) object(member func(name, value jsontext.Value)) error {
	if err := r.skip(); err != nil {
		return err
	}
	for r.dec.PeekKind() != '}' {
		name, err := r.value()
		if err != nil {
			return err
		}
		value, err := r.value()
		if err != nil {
			return err
		}
		member(name, value)
	}
	return r.skip()
}

// malformed says what is wrong with the source.
func (r *reader) malformed() error {
	if err := canonical.Check(r.src); err != nil {
		return err
	}
	return fault.New(fault.Invalid, canonical.CodeInvalid, "the body is not valid JSON (byte %d)", r.dec.InputOffset())
}

// readBody reads the body of one command's own endpoint. What it leaves unseen
// (see reader) is for canonical.ParseIdempotencyKey to refuse, before a member is looked into.
func readBody(src []byte, may memberSet, into *body) error {
	if len(src) == 0 {
		return nil
	}
	r := newReader(src)
	if r.dec.PeekKind() != '{' {
		return fault.New(fault.Invalid, canonical.CodeInvalid, "the body must be a JSON object")
	}
	return r.object(func(name, value jsontext.Value) { into.set(name, value, may) })
}

// failure is why a node failed, nil when the member is not there.
func (b *body) failure(m member) *flow.Error {
	raw := b.object(m)
	if raw == nil {
		return nil
	}
	e, r := new(flow.Error), newReader(raw)
	err := r.object(func(name, value jsontext.Value) {
		field := unquote(name)
		path := pathOf(memberNames[m], field)
		if broken := setFailure(e, field, path, value); broken != nil && b.err == nil {
			b.err = broken
		}
	})
	if err != nil && b.err == nil {
		b.err = err
	}
	return e
}

// businessKey is what the business calls the execution, "" when the member is not there.
func (b *body) businessKey() string {
	key := b.text(mBusinessKey, 1, flow.MaxBusinessKey)
	if err := flow.CheckBusinessKey(key); err != nil && b.err == nil {
		b.err = err
	}
	return key
}

// labels are the labels of the execution, nil when the member is not there.
func (b *body) labels() flow.Labels {
	raw := b.object(mLabels)
	if raw == nil || b.err != nil {
		return nil
	}
	of, r := map[string]string{}, newReader(raw)
	err := r.object(func(name, value jsontext.Value) {
		field := unquote(name)
		switch _, twice := of[field]; {
		case b.err != nil:
		case twice:
			b.err = rest.Invalid(pathOf("labels", field), "%s is there twice", pathOf("labels", field))
		case value.Kind() != '"':
			b.err = rest.Invalid(pathOf("labels", field), "%s must be a string", pathOf("labels", field))
		default:
			of[field] = unquote(value)
		}
	})
	labels, bad := flow.NewLabels(of)
	if b.err == nil {
		b.err = cmp.Or(err, bad)
	}
	return labels
}

// setFailure sets one member of a failure.
func setFailure(e *flow.Error, field, path string, value jsontext.Value) error {
	var text *string
	var most int
	switch field {
	case "code":
		text, most = &e.Code, maxErrorCode
	case "message":
		text, most = &e.Message, maxMessage
	case "detail":
		if value.Kind() != '{' {
			return rest.Invalid(path, "%s must be an object", path)
		}
		e.Detail = value
		return nil
	case "final":
		if k := value.Kind(); k != 't' && k != 'f' {
			return rest.Invalid(path, "%s must be true or false", path)
		}
		e.Final = value.Kind() == 't'
		return nil
	default:
		return unknown(path)
	}
	if value.Kind() != '"' {
		return rest.Invalid(path, "%s must be a string", path)
	}
	if *text = unquote(value); utf8.RuneCountInString(*text) > most {
		return rest.Invalid(path, "%s must have %s", path, count(0, most, "characters"))
	}
	return nil
}
