package records

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/crm/kit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/rest"
)

// MaxBody is the longest body of a bulk of records, in bytes.
const MaxBody = 8 << 20

// api answers the calls of records.
type api struct {
	records *Records
	log     *slog.Logger
}

// Routes are the routes of records and of what belongs to them. Failures of the server in a
// bulk, whose answer has others, are logged; nil: nowhere.
func (s *Records) Routes(log *slog.Logger) []gate.Route {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	a := &api{records: s, log: log}
	return rest.Routes(append([]gate.Route{
		{Operation: "createRecord", Do: a.create},
		{Operation: "listRecords", Heavy: true, Do: a.list},
		{Operation: "bulkRecords", MaxBody: MaxBody, Do: a.bulk},
		{Operation: "getRecord", Do: rest.NoQuery(a.get)},
		{Operation: "updateRecord", Do: a.update},
		{Operation: "deleteRecord", Do: a.remove},
		{Operation: "listRecordHistory", Do: a.history},
		{Operation: "nameIDs", Do: rest.NoQuery(a.names)},
	}, a.partRoutes()...))
}

// recordBody is what a caller says of a record.
type recordBody struct {
	OwnerID       rest.ID                   `json:"ownerId"`
	Fields        map[string]jsontext.Value `json:"fields"`
	RecordVersion *canonical.Stamp          `json:"recordVersion"`
}

// read gives the body of a call and the identity of its request, nil of one that has no key.
func read[B any](c *gate.Call) (b B, key *canonical.IdempotencyKey, err error) {
	if key, err = rest.OptionalKey(c); err == nil {
		err = c.Decode(&b)
	}
	return b, key, err
}

// create answers POST /records/{object}.
func (a *api) create(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	b, key, err := read[recordBody](c)
	if err != nil {
		return gate.Reply{}, err
	}
	if b.RecordVersion != nil {
		return gate.Reply{}, rest.Invalid("recordVersion", "a new record has no recordVersion")
	}
	op := Op{Kind: Create, OwnerID: string(b.OwnerID), Fields: b.Fields}
	reply, err := a.applyOne(ctx, c, op, key)
	reply.Status = http.StatusCreated
	return reply, err
}

// update answers PATCH /records/{object}/{id}.
func (a *api) update(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	b, key, err := read[recordBody](c)
	if err != nil {
		return gate.Reply{}, err
	}
	version, err := seenVersion(c, b.RecordVersion)
	if err != nil {
		return gate.Reply{}, err
	}
	return a.applyOne(ctx, c, Op{
		Kind: Update, ID: c.Path("id"), Version: version, OwnerID: string(b.OwnerID), Fields: b.Fields,
	}, key)
}

// remove answers DELETE /records/{object}/{id}.
func (a *api) remove(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	key, err := rest.OptionalKey(c)
	if err != nil {
		return gate.Reply{}, err
	}
	version, err := seenVersion(c, nil)
	if err != nil {
		return gate.Reply{}, err
	}
	_, err = a.applyOne(ctx, c, Op{Kind: Delete, ID: c.Path("id"), Version: version}, key)
	return gate.Reply{Status: http.StatusNoContent}, err
}

// seenVersion is the version that a caller has seen, by the header If-Match or by the
// body; 0 is any.
func seenVersion(c *gate.Call, body *canonical.Stamp) (canonical.Stamp, error) {
	header, err := rest.IfMatch(c)
	switch {
	case err != nil:
		return 0, err
	case header == "" && body == nil:
		return 0, fault.New(fault.Invalid, "VERSION_REQUIRED", `the version that you have seen is required, `+
			`as the header If-Match: "<recordVersion>" or as recordVersion in the body`).
			With(map[string]string{"field": "recordVersion"})
	case header != "" && body != nil:
		return 0, rest.Invalid("recordVersion", "recordVersion is there twice, in the header If-Match and in the body")
	case header == "":
		return *body, nil
	case header == "*":
		return 0, nil
	}
	version, err := canonical.ParseStamp(header)
	if err != nil {
		return 0, rest.Invalid("If-Match", "the header If-Match must be a recordVersion in quotes, or *")
	}
	return version, nil
}

// applyOne does one operation and shows the record.
func (a *api) applyOne(ctx context.Context, c *gate.Call, op Op, key *canonical.IdempotencyKey) (gate.Reply, error) {
	shown, _, err := a.records.One(ctx, kit.CallerOf(c), c.Path("object"), op, key)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: &shown, Header: rest.Version(shown.RecordVersion.String())}, nil
}

// get answers GET /records/{object}/{id}.
func (a *api) get(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	found, err := a.records.Get(ctx, kit.CallerOf(c), c.Path("object"), c.Path("id"))
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: &found, Header: rest.Version(found.RecordVersion.String())}, nil
}

// list answers GET /records/{object}. Every parameter that is not one of a page is
// a filter.
func (a *api) list(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	names := slices.Sorted(maps.Keys(c.Query()))
	q := rest.ReadQuery(c, names...)
	p := q.Page()
	want := Query{Offset: p.Offset(), Limit: p.Size}
	for _, name := range names {
		switch text, _ := q.Text(name); name {
		case "page", "page_size":
		case "sort":
			if want.Sort = text; text == "" {
				q.Fail("sort", "sort must be fields with .asc or .desc, separated by commas")
			}
		default:
			want.Filters = append(want.Filters, Filter{Name: name, Value: text})
		}
	}
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.records.List(ctx, kit.CallerOf(c), c.Path("object"), want)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}

// history answers GET /records/{object}/{id}/history.
func (a *api) history(ctx context.Context, c *gate.Call) (gate.Reply, error) {
	q, p := rest.ReadPage(c)
	if q.Err != nil {
		return gate.Reply{}, q.Err
	}
	rows, total, err := a.records.History(ctx, kit.CallerOf(c), c.Path("object"), c.Path("id"), p.Offset(), p.Size)
	if err != nil {
		return gate.Reply{}, err
	}
	return gate.Reply{Body: rest.NewList(p, rows, total)}, nil
}
