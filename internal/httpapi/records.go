package httpapi

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/records"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
	"renga.dev/renga/internal/platform/wire"
)

// Records keeps the records of tenants. What a caller may not see is fault.NotFound.
type Records interface {
	// Apply does operations in one transaction; answer writes down what is remembered with
	// the key of the request. replay says that it was answered before.
	Apply(ctx context.Context, c records.Caller, b records.Batch, answer records.Answer) (body []byte, replay bool, err error)
	// One does one operation and gives the record. replay says that it was done before, with
	// the same key; then the record is as it was, as far as the caller may see it now.
	One(ctx context.Context, c records.Caller, object string, op records.Op, key *wire.Once) (shown records.View, replay bool, err error)
	Get(ctx context.Context, c records.Caller, object, id string) (records.View, error)
	// List and History give a page and how many there are on all pages.
	List(ctx context.Context, c records.Caller, object string, q records.Query) (page []records.View, total int, err error)
	History(ctx context.Context, c records.Caller, object, id string, offset, limit int) (page []records.Entry, total int, err error)
}

// The scopes and the rate classes of records.
const (
	scopeRecordsRead  = "records:read"
	scopeRecordsWrite = "records:write"

	rateRecordsRead  = "records.read"
	rateRecordsWrite = "records.write"
)

// MaxRecordsBody is the longest body of a bulk of records, in bytes.
const MaxRecordsBody = 8 << 20

// recordRoutes are the routes of records.
func (a *API) recordRoutes() []gate.Route {
	return []gate.Route{
		{Pattern: "POST /records/{object}", Scope: scopeRecordsWrite, Rate: rateRecordsWrite, Once: gate.Optional, Do: rest.NoQuery(a.createRecord)},
		{Pattern: "GET /records/{object}", Heavy: true, Scope: scopeRecordsRead, Rate: rateRecordsRead, Do: a.listRecords},
		{
			Pattern: "POST /records/{object}/bulk", Scope: scopeRecordsWrite, Rate: rateRecordsWrite, Once: gate.Optional, MaxBody: MaxRecordsBody,
			Do: rest.NoQuery(a.bulkRecords),
		},
		{Pattern: "GET /records/{object}/{id}", Scope: scopeRecordsRead, Rate: rateRecordsRead, Do: rest.NoQuery(a.getRecord)},
		{Pattern: "PATCH /records/{object}/{id}", Scope: scopeRecordsWrite, Rate: rateRecordsWrite, Once: gate.Optional, Do: rest.NoQuery(a.updateRecord)},
		{Pattern: "DELETE /records/{object}/{id}", Scope: scopeRecordsWrite, Rate: rateRecordsWrite, Once: gate.Optional, Do: rest.NoQuery(a.deleteRecord)},
		{Pattern: "GET /records/{object}/{id}/history", Scope: scopeRecordsRead, Rate: rateRecordsRead, Do: a.recordHistory},
	}
}

// recordBody is what a caller says of a record.
type recordBody struct {
	OwnerID       rest.ID                   `json:"ownerId"`
	Fields        map[string]jsontext.Value `json:"fields"`
	RecordVersion *wire.Stamp               `json:"recordVersion"`
}

// callerOf is who wants something of records.
func callerOf(c *gate.Call) records.Caller {
	return records.Caller{Tenant: c.Principal.Tenant, Subject: c.Principal.Subject, CorrelationID: c.CorrelationID}
}

// createRecord answers POST /records/{object}.
func (a *API) createRecord(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	once, err := rest.OptionalKey(c)
	if err != nil {
		return gate.Reply{}, err
	}
	var b recordBody
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	if b.RecordVersion != nil {
		return gate.Reply{}, rest.Invalid("recordVersion", "a new record has no recordVersion")
	}
	op := records.Op{Kind: records.Create, OwnerID: string(b.OwnerID), Fields: b.Fields}
	reply, err := a.applyOne(ctx, c, op, once)
	reply.Status = http.StatusCreated
	return reply, err
}

// updateRecord answers PATCH /records/{object}/{id}.
func (a *API) updateRecord(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	once, err := rest.OptionalKey(c)
	if err != nil {
		return gate.Reply{}, err
	}
	var b recordBody
	if err := c.Decode(&b); err != nil {
		return gate.Reply{}, err
	}
	version, err := seenVersion(c, b.RecordVersion)
	if err != nil {
		return gate.Reply{}, err
	}
	return a.applyOne(ctx, c, records.Op{
		Kind: records.Update, ID: c.Path("id"), Version: version, OwnerID: string(b.OwnerID), Fields: b.Fields,
	}, once)
}

// deleteRecord answers DELETE /records/{object}/{id}.
func (a *API) deleteRecord(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	once, err := rest.OptionalKey(c)
	if err != nil {
		return gate.Reply{}, err
	}
	version, err := seenVersion(c, nil)
	if err != nil {
		return gate.Reply{}, err
	}
	_, err = a.applyOne(ctx, c, records.Op{Kind: records.Delete, ID: c.Path("id"), Version: version}, once)
	return gate.Reply{Status: http.StatusNoContent}, err
}

// seenVersion is the version that a caller has seen, by the header If-Match or by the
// body; 0 is any.
func seenVersion(c *gate.Call, body *wire.Stamp) (wire.Stamp, error) {
	header, err := rest.IfMatch(c)
	switch {
	case err != nil:
		return 0, err
	case header == "" && body == nil:
		return 0, fault.New(fault.Invalid, "VERSION_REQUIRED", `the version that you have seen is required, as the header If-Match: "<recordVersion>" or as recordVersion in the body`).
			With(map[string]string{"field": "recordVersion"})
	case header != "" && body != nil:
		return 0, rest.Invalid("recordVersion", "recordVersion is there twice, in the header If-Match and in the body")
	case header == "":
		return *body, nil
	case header == "*":
		return 0, nil
	}
	version, err := wire.ParseStamp(header)
	if err != nil {
		return 0, rest.Invalid("If-Match", "the header If-Match must be a recordVersion in quotes, or *")
	}
	return version, nil
}

// applyOne does one operation and shows the record.
func (a *API) applyOne(ctx context.Context, c *gate.Call, op records.Op, once *wire.Once) (gate.Reply, error) {
	shown, _, err := a.records.One(ctx, callerOf(c), c.Path("object"), op, once)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: &shown, Header: rest.Version(shown.RecordVersion.String())}, nil
}

// getRecord answers GET /records/{object}/{id}.
func (a *API) getRecord(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	found, err := a.records.Get(ctx, callerOf(c), c.Path("object"), c.Path("id"))
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: &found, Header: rest.Version(found.RecordVersion.String())}, nil
}

// listRecords answers GET /records/{object}. Every parameter that is not one of a page is
// a filter.
func (a *API) listRecords(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	names := slices.Sorted(maps.Keys(c.Query()))
	q := rest.ReadQuery(c, names...)
	p := q.Page()
	want := records.Query{Offset: p.Offset(), Limit: p.Size}
	for _, name := range names {
		switch text, _ := q.Text(name); name {
		case "page", "page_size":
		case "sort":
			if want.Sort = text; text == "" {
				q.Fail("sort", "sort must be fields with .asc or .desc, separated by commas")
			}
		default:
			want.Filters = append(want.Filters, records.Filter{Name: name, Value: text})
		}
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.records.List(ctx, callerOf(c), c.Path("object"), want)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}

// recordHistory answers GET /records/{object}/{id}/history.
func (a *API) recordHistory(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.records.History(ctx, callerOf(c), c.Path("object"), c.Path("id"), p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}
