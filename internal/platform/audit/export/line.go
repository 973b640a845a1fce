package export

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/audit"
)

type member struct {
	name  string
	value jsontext.Value
}

// appendLine writes an entry as one line: {"at","event_type","status","action","run_id","details":{…}}. No text in it
// can end the line.
func appendLine(dst []byte, e *audit.Entry) []byte {
	detail := members(e.Detail)
	action := text(e.Action)
	if e.Action == audit.WorkflowEvent {
		action = find(detail, "action")
	}
	var run jsontext.Value
	if e.Action == audit.WorkflowEvent || strings.HasPrefix(e.Action, "execution.") {
		run = orNull(e.Subject)
	}
	from := len(dst)
	dst = appendObject(dst, []member{
		{"at", text(e.At.String())},
		{"event_type", text(e.Action)},
		{"status", text(e.Outcome.Status())},
		{"action", action},
		{"run_id", run},
		{"details", appendObject(nil, details(e, detail))},
	})
	return append(audit.OneLine(dst, from), '\n')
}

// details is the detail of an entry, then its columns, which win over members of the same name.
func details(e *audit.Entry, detail []member) []member {
	columns := []member{
		{"tenant", text(e.Tenant)},
		{"audit_id", text(e.ID)},
		{"actor", orNull(e.Actor)},
		{"subject", orNull(e.Subject)},
		{"correlation_id", orNull(e.CorrelationID)},
		{"reason", orNull(e.Reason)},
		{"reason_class", orNull(string(e.ReasonClass))},
		{"reason_code", orNull(string(e.ReasonCode))},
		{"retry_advice", orNull(string(e.RetryAdvice))},
	}
	own := slices.DeleteFunc(detail, func(m member) bool { return find(columns, m.name) != nil })
	return append(own, columns...)
}

// members reads an object as far as it is valid.
func members(object []byte) (all []member) {
	d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowInvalidUTF8(true))
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == jsontext.KindString {
		name, err := d.ReadToken()
		if err != nil {
			return all
		}
		m := member{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return all
		}
		m.value = value.Clone()
		all = append(all, m)
	}
	return all
}

func find(all []member, name string) jsontext.Value {
	for i := range all {
		if all[i].name == name {
			return all[i].value
		}
	}
	return nil
}

// appendObject writes members; a nil value is null.
func appendObject(dst []byte, all []member) []byte {
	dst = append(dst, '{')
	for i, m := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, text(m.name)...), ':')
		if m.value == nil {
			dst = append(dst, "null"...)
		}
		dst = append(dst, m.value...)
	}
	return append(dst, '}')
}

func text(s string) jsontext.Value {
	quoted, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd")) // fails for bad UTF-8 alone
	return quoted
}

func orNull(s string) jsontext.Value {
	if s == "" {
		return nil
	}
	return text(s)
}
