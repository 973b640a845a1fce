package sqldb

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

const (
	textFormat   int16 = 0
	binaryFormat int16 = 1
)

// appendArg appends an argument; nil: NULL. Numbers and texts travel as text, which the server converts to the
// parameter's type; bytes and arrays travel in binary.
func appendArg(buf []byte, oid uint32, arg any) ([]byte, int16, error) {
	switch v := arg.(type) {
	case []int64:
		return appendArray(buf, oid, v, func(buf []byte, n int64) ([]byte, bool) {
			return binary.BigEndian.AppendUint64(buf, uint64(n)), true
		})
	case []string:
		return appendArray(buf, oid, v, func(buf []byte, s string) ([]byte, bool) { return append(buf, s...), true })
	case [][]byte: // a nil slice is NULL
		return appendArray(buf, oid, v, func(buf, b []byte) ([]byte, bool) { return append(buf, b...), b != nil })
	case []bool:
		return appendArray(buf, oid, v, func(buf []byte, is bool) ([]byte, bool) { return appendBool(buf, is), true })
	case column:
		return appendColumn(buf, oid, v)
	}
	bound, err := bindValue(arg)
	if err != nil {
		return nil, 0, err
	}
	switch v := bound.(type) {
	case nil:
		return nil, textFormat, nil
	case int64:
		return strconv.AppendInt(buf, v, 10), textFormat, nil
	case float64:
		return strconv.AppendFloat(buf, v, 'g', -1, 64), textFormat, nil
	case bool:
		return strconv.AppendBool(buf, v), textFormat, nil
	case string:
		return notNil(append(buf, v...)), textFormat, nil
	case []byte:
		if v == nil {
			return nil, binaryFormat, nil
		}
		return notNil(append(buf, v...)), binaryFormat, nil
	}
	return nil, 0, fmt.Errorf("sqldb: %T cannot be an argument", bound)
}

// notNil distinguishes an empty value from NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func appendBool(buf []byte, is bool) []byte {
	if is {
		return append(buf, 1)
	}
	return append(buf, 0)
}

// elements are the element types of arrays.
var elements = map[uint32]uint32{
	pgtype.Int8ArrayOID: pgtype.Int8OID, pgtype.TextArrayOID: pgtype.TextOID, pgtype.ByteaArrayOID: pgtype.ByteaOID,
	pgtype.UUIDArrayOID: pgtype.UUIDOID, pgtype.BoolArrayOID: pgtype.BoolOID,
}

// appendArray appends an array of one dimension.
func appendArray[T any](buf []byte, oid uint32, all []T, add func([]byte, T) ([]byte, bool)) ([]byte, int16, error) {
	element, ok := elements[oid]
	if !ok {
		return nil, 0, fmt.Errorf("sqldb: %T for a parameter of type %d, which is no array of them", all, oid)
	}
	be := binary.BigEndian
	head := len(buf)
	buf = be.AppendUint32(buf, min(1, uint32(len(all)))) // dimensions
	buf = be.AppendUint32(buf, 0)                        // 1 when an element is NULL
	buf = be.AppendUint32(buf, element)
	if len(all) > 0 {
		buf = be.AppendUint32(buf, uint32(len(all)))
		buf = be.AppendUint32(buf, 1) // the first index
	}
	for _, v := range all {
		at := len(buf)
		buf = be.AppendUint32(buf, math.MaxUint32) // NULL
		var some bool
		if buf, some = add(buf, v); some {
			be.PutUint32(buf[at:], uint32(len(buf)-at-4))
		} else {
			be.PutUint32(buf[head+4:], 1)
		}
	}
	return buf, binaryFormat, nil
}

// appendColumn appends a column of rows as an array.
func appendColumn(buf []byte, oid uint32, c column) ([]byte, int16, error) {
	element, ok := elements[oid]
	if !ok {
		return nil, 0, fmt.Errorf("sqldb: a column for a parameter of type %d, which is no array", oid)
	}
	be := binary.BigEndian
	n := (len(c.values) - c.from + c.step - 1) / c.step
	buf = be.AppendUint32(buf, 1) // dimensions
	buf = be.AppendUint32(buf, 0) // none is NULL
	buf = be.AppendUint32(buf, element)
	buf = be.AppendUint32(buf, uint32(n))
	buf = be.AppendUint32(buf, 1) // the first index
	for i := c.from; i < len(c.values); i += c.step {
		value, err := bindValue(c.values[i])
		if err != nil {
			return nil, 0, err
		}
		at := len(buf)
		buf = be.AppendUint32(buf, 0) // its length
		if buf, ok = appendElement(buf, element, value); !ok {
			return nil, 0, fmt.Errorf("sqldb: %T in a column of type %d", c.values[i], element)
		}
		be.PutUint32(buf[at:], uint32(len(buf)-at-4))
	}
	return buf, binaryFormat, nil
}

// appendElement appends an array element and reports whether its type fits.
func appendElement(buf []byte, element uint32, value driver.Value) ([]byte, bool) {
	switch v := value.(type) {
	case int64:
		return binary.BigEndian.AppendUint64(buf, uint64(v)), element == pgtype.Int8OID
	case string:
		return append(buf, v...), element == pgtype.TextOID
	case []byte:
		return append(buf, v...), element == pgtype.ByteaOID && v != nil
	case bool:
		return appendBool(buf, v), element == pgtype.BoolOID
	}
	return buf, false
}

// resultFormat is binary for what newRow reads directly, else text.
func resultFormat(oid uint32) int16 {
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.BoolOID, pgtype.Float8OID,
		pgtype.ByteaOID, pgtype.UUIDOID, pgtype.TextOID, pgtype.VarcharOID:
		return binaryFormat
	}
	return textFormat
}

// newRow copies a row out of the connection's buffer.
func newRow(fields []pgconn.FieldDescription, raw [][]byte) *Row {
	size := 0
	for _, col := range raw {
		size += len(col)
	}
	own := make([]byte, 0, size)
	row := &Row{fields: fields, raw: make([][]byte, len(raw))}
	for i, col := range raw {
		if col != nil {
			own = append(own, col...)
			row.raw[i] = own[len(own)-len(col) : len(own) : len(own)]
		}
	}
	return row
}

// column is a column as SQLite would return it.
func (r *Row) column(i int) driver.Value {
	raw := r.raw[i]
	if raw == nil {
		return nil
	}
	switch r.fields[i].DataTypeOID {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID:
		return intOf(raw)
	case pgtype.BoolOID:
		return raw[0] != 0
	case pgtype.Float8OID:
		return math.Float64frombits(binary.BigEndian.Uint64(raw))
	case pgtype.ByteaOID, pgtype.UUIDOID:
		return raw
	case pgtype.NumericOID: // a sum of integers; a larger one stays a text
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return n
		}
	}
	return string(raw)
}

func intOf(raw []byte) int64 {
	switch len(raw) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(raw)))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(raw)))
	}
	return int64(binary.BigEndian.Uint64(raw))
}

// scanRaw is the fast path of Scan for common types; false: not taken.
func (r *Row) scanRaw(i int, dest any) bool {
	raw := r.raw[i]
	if raw == nil {
		return false
	}
	switch d := dest.(type) {
	case *int64:
		switch r.fields[i].DataTypeOID {
		case pgtype.Int8OID, pgtype.Int4OID, pgtype.Int2OID:
			*d = intOf(raw)
			return true
		}
	case *[]byte:
		switch r.fields[i].DataTypeOID {
		case pgtype.ByteaOID, pgtype.UUIDOID:
			*d = raw
			return true
		}
	case *string:
		if r.fields[i].DataTypeOID == pgtype.TextOID {
			*d = string(raw)
			return true
		}
	}
	return false
}
