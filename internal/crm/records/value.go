package records

import (
	"renga.dev/renga/internal/crm/model"
	"renga.dev/renga/internal/platform/fault"
)

// The codes of what is refused about a field.
const (
	CodeFieldUnknown  = "FIELD_UNKNOWN"
	CodeFieldInvalid  = "FIELD_INVALID"
	CodeFieldRequired = "FIELD_REQUIRED"
	CodeFieldReadOnly = "FIELD_READ_ONLY"
	CodeFieldLocked   = "FIELD_LOCKED"
)

// about is a refusal that names a field.
func about(code, field, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, code, format, args...).With(map[string]string{"field": field})
}

// unfit says what the value of a field must be.
func unfit(f *model.Field, format string, args ...any) error {
	e := about(CodeFieldInvalid, f.Name, format, args...)
	e.Message = f.Name + " " + e.Message
	return e
}
