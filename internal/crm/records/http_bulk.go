package records

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// recordsBody is the body of POST /records/{object}/bulk.
type recordsBody struct {
	AllOrNone  bool       `json:"allOrNone"`
	Operations []recordOp `json:"operations"`
}

// recordOp is one of its operations.
type recordOp struct {
	Op            Kind                      `json:"op"`
	ID            string                    `json:"id"`
	RecordVersion *canonical.Stamp          `json:"recordVersion"`
	OwnerID       rest.ID                   `json:"ownerId"`
	Fields        map[string]jsontext.Value `json:"fields"`
}

// bulk answers POST /records/{object}/bulk.
func (a *api) bulk(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	b, key, err := read[recordsBody](c)
	if err != nil {
		return gate.Reply{}, err
	}
	if n := len(b.Operations); n < 1 || n > MaxBulk {
		return gate.Reply{}, rest.Invalid("operations", "operations must have 1 to %d members", MaxBulk)
	}
	batch := Batch{
		Object:      c.Path("object"),
		AllOrNone:   b.AllOrNone,
		Idempotency: key,
		Ops:         make([]Op, len(b.Operations)),
	}
	for i := range b.Operations {
		if batch.Ops[i], err = b.Operations[i].op(i); err != nil {
			return gate.Reply{}, err
		}
	}
	body, _, err := a.records.Apply(ctx, kit.CallerOf(c), batch, func(results []Result) ([]byte, error) {
		return a.appendResults(ctx, nil, results), nil
	})
	return gate.Reply{Raw: body}, err
}

// op is an operation as the records have it.
func (o *recordOp) op(i int) (Op, error) {
	at := func(member, rule string) error {
		path := fmt.Sprintf("operations[%d].%s", i, member)
		return rest.Invalid(path, "%s %s", path, rule)
	}
	op := Op{Kind: o.Op, ID: o.ID, OwnerID: string(o.OwnerID), Fields: o.Fields}
	if o.RecordVersion != nil {
		op.Version = *o.RecordVersion
	}
	switch {
	case o.Op != Create && o.Op != Update && o.Op != Delete:
		return op, at("op", "must be create, update or delete")
	case o.Op == Create && o.ID != "":
		return op, at("id", "is made by the server; a new record has none yet")
	case o.Op == Create && o.RecordVersion != nil:
		return op, at("recordVersion", "is of records that are there; a new record has none yet")
	case o.Op != Create && o.ID == "":
		return op, at("id", "is required")
	case o.Op == Delete && o.Fields != nil:
		return op, at("fields", "has no place in a delete")
	case o.Op == Delete && o.OwnerID != "":
		return op, at("ownerId", "has no place in a delete")
	}
	return op, nil
}

// appendResults writes what became of the operations: the status that each would have had
// alone, and the record's id and version or the error.
func (a *api) appendResults(ctx context.Context, dst []byte, results []Result) []byte {
	dst = append(dst, `{"results":[`...)
	for i := range results {
		r := &results[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"status":`...)
		if r.Err != nil {
			dst = rest.AppendFailure(ctx, a.log, dst, r.Err)
			continue
		}
		dst = strconv.AppendInt(dst, int64(doneStatus(r.Kind)), 10)
		dst = append(append(dst, `,"id":"`...), r.ID...)
		dst = append(append(dst, `","recordVersion":"`...), r.Version.String()...)
		dst = append(dst, `"}`...)
	}
	return append(dst, `]}`...)
}

func doneStatus(k Kind) int {
	switch k {
	case Create:
		return http.StatusCreated
	case Delete:
		return http.StatusNoContent
	}
	return http.StatusOK
}
