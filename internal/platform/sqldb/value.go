package sqldb

import (
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"reflect"

	"github.com/jackc/pgx/v5/pgconn"

	"renga.dev/renga/internal/platform/fault"
)

// Row is one row of a result.
type Row struct {
	values []driver.Value            // SQLite
	raw    [][]byte                  // PostgreSQL
	fields []pgconn.FieldDescription // of raw
	err    error
}

// Scan copies the columns into pointers. NULL gives the zero value. Byte slices belong to the caller.
func (r *Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	if n := max(len(r.values), len(r.raw)); n != len(dest) {
		return fault.Wrap("sqldb.scan", fmt.Errorf("%d columns for %d places", n, len(dest)))
	}
	for i, d := range dest {
		if err := r.scan(i, d); err != nil {
			return fault.Wrap("sqldb.scan", fmt.Errorf("column %d: %w", i+1, err))
		}
	}
	return nil
}

func (r *Row) scan(i int, dest any) error {
	if r.raw == nil {
		return scanValue(dest, r.values[i])
	}
	if r.scanRaw(i, dest) {
		return nil
	}
	return scanValue(dest, r.column(i))
}

// bindValue converts an argument for the driver.
func bindValue(arg any) (driver.Value, error) {
	switch v := arg.(type) {
	case nil, int64, float64, bool, string, []byte:
		return v, nil
	case int:
		return int64(v), nil
	case uint64:
		return bindUint(v)
	case driver.Valuer:
		return v.Value()
	}
	v := reflect.ValueOf(arg)
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int(), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return bindUint(v.Uint())
	case reflect.Bool:
		return v.Bool(), nil
	case reflect.Float32, reflect.Float64:
		return v.Float(), nil
	case reflect.String:
		return v.String(), nil
	}
	switch {
	case isBytes(v, reflect.Slice):
		return v.Bytes(), nil
	case isBytes(v, reflect.Array):
		b := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(b), v)
		return b, nil
	}
	return nil, fmt.Errorf("sqldb: %T cannot be an argument", arg)
}

func isBytes(v reflect.Value, kind reflect.Kind) bool {
	return v.Kind() == kind && v.Type().Elem().Kind() == reflect.Uint8
}

func bindUint(v uint64) (driver.Value, error) {
	if v > math.MaxInt64 {
		return nil, fmt.Errorf("sqldb: %d does not fit an integer column", v)
	}
	return int64(v), nil
}

func scanValue(dest any, v driver.Value) error {
	switch d := dest.(type) {
	case *int64:
		if n, ok := v.(int64); ok {
			*d = n
			return nil
		}
	case *string:
		if s, ok := v.(string); ok {
			*d = s
			return nil
		}
	case *[]byte:
		if b, ok := v.([]byte); ok {
			*d = b
			return nil
		}
	case *any:
		*d = v
		return nil
	case sql.Scanner:
		return d.Scan(v)
	}
	p := reflect.ValueOf(dest)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return fmt.Errorf("%T is no pointer", dest)
	}
	return scanInto(p.Elem(), v)
}

// scanInto handles named types and lossless conversions.
func scanInto(to reflect.Value, v driver.Value) error {
	switch v := v.(type) {
	case nil:
		to.SetZero()
		return nil
	case int64:
		return scanInt(to, v)
	case float64:
		if to.CanFloat() {
			to.SetFloat(v)
			return nil
		}
	case bool:
		if to.Kind() == reflect.Bool {
			to.SetBool(v)
			return nil
		}
	case string:
		return scanText(to, v)
	case []byte:
		return scanBytes(to, v)
	}
	return fmt.Errorf("%T does not fit %s", v, to.Type())
}

func scanInt(to reflect.Value, v int64) error {
	switch {
	case to.CanInt() && !to.OverflowInt(v):
		to.SetInt(v)
	case to.CanUint() && v >= 0 && !to.OverflowUint(uint64(v)):
		to.SetUint(uint64(v))
	case to.Kind() == reflect.Bool:
		to.SetBool(v != 0)
	case to.CanFloat():
		to.SetFloat(float64(v))
	default:
		return fmt.Errorf("%d does not fit %s", v, to.Type())
	}
	return nil
}

func scanText(to reflect.Value, v string) error {
	switch {
	case to.Kind() == reflect.String:
		to.SetString(v)
	case isBytes(to, reflect.Slice):
		to.SetBytes([]byte(v))
	default:
		return fmt.Errorf("a text does not fit %s", to.Type())
	}
	return nil
}

func scanBytes(to reflect.Value, v []byte) error {
	switch {
	case isBytes(to, reflect.Slice):
		to.SetBytes(v)
	case isBytes(to, reflect.Array) && to.Len() == len(v):
		reflect.Copy(to, reflect.ValueOf(v))
	case to.Kind() == reflect.String:
		to.SetString(string(v))
	default:
		return fmt.Errorf("%d bytes do not fit %s", len(v), to.Type())
	}
	return nil
}
