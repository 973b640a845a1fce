package client

import (
	"context"
	"net/http"
)

// Records reads and changes records, their teams and the members of campaigns.
type Records struct{ *transport }

// AnyVersion stands for the version of a record, whatever it is by now.
const AnyVersion = "*"

// RecordQuery is which records are wanted.
type RecordQuery struct {
	// Filters are values by field, with or without an operator: "StageName", "Amount.gt". The
	// operators are eq, ne, gt, gte, lt, lte, in, contains and empty.
	Filters map[string]string
	Sort    string // "CloseDate.desc,Name.asc"; "": by id
	Paging
}

const recordPath = "/records/{object}/{id}"

// Create makes a record. However often it has to be sent, one is made.
func (c Records) Create(ctx context.Context, object string, d RecordDraft) (*Record, error) {
	return c.write(ctx, call{method: http.MethodPost, path: pathOf("/records/{object}", object), key: newKey()}, d)
}

// write sends a draft and reads the record that it made.
func (c Records) write(ctx context.Context, q call, d RecordDraft) (*Record, error) {
	if d.Fields == nil {
		d.Fields = map[string]any{}
	}
	return pointer(exchange[Record](ctx, c.transport, q, d))
}

// Get reads a record. What the caller may not see is ErrNotFound.
func (c Records) Get(ctx context.Context, object, id string) (*Record, error) {
	return get[Record](ctx, c.transport, pathOf(recordPath, object, id), nil)
}

// List reads a page of the records of an object that the caller may see.
func (c Records) List(ctx context.Context, object string, q RecordQuery) (*Page[Record], error) {
	query := given(map[string]string{"sort": q.Sort})
	for name, value := range q.Filters {
		query.Set(name, value)
	}
	return list[Record](ctx, c.transport, pathOf("/records/{object}", object), query, q.Paging)
}

// Update changes what a draft names. The record must have the version, or it is
// ErrVersion; AnyVersion lets it have any.
func (c Records) Update(ctx context.Context, object, id, version string, d RecordDraft) (*Record, error) {
	return c.write(ctx, call{method: http.MethodPatch, path: pathOf(recordPath, object, id), match: version}, d)
}

// Delete deletes a record of a version, or of AnyVersion. One that others name is
// ErrRefused.
func (c Records) Delete(ctx context.Context, object, id, version string) error {
	return c.remove(ctx, pathOf(recordPath, object, id), version)
}

// History reads a page of what was done to a record, the newest first.
func (c Records) History(ctx context.Context, object, id string, at Paging) (*Page[RecordEntry], error) {
	return list[RecordEntry](ctx, c.transport, pathOf(recordPath+"/history", object, id), nil, at)
}

// Names says what ids stand for, up to 500 of them: definitions, territories and records. A user is also found by its
// subject. What there is not, and what the caller may not see, is left out.
func (c Records) Names(ctx context.Context, ids ...string) ([]NameOfID, error) {
	q := call{method: http.MethodPost, path: "/names"}
	found, _, err := exchange[namesFound](ctx, c.transport, q, namesWanted{ids})
	return found.Items, err
}

// Bulk does up to 200 operations on records of one object in one transaction. With
// allOrNone the first that is refused refuses all, as an *Error.
func (c Records) Bulk(
	ctx context.Context, object string, allOrNone bool, ops []RecordOperation,
) ([]RecordResult, error) {
	return c.BulkWithKey(ctx, "", object, allOrNone, ops)
}

// BulkWithKey is Bulk under a key of the caller: the same operations under the
// same key are done once, whoever sends them again, and have the same results.
func (c Records) BulkWithKey(
	ctx context.Context, key, object string, allOrNone bool, ops []RecordOperation,
) ([]RecordResult, error) {
	path := pathOf("/records/{object}/bulk", object)
	answer, _, err := post[recordResults](ctx, c.transport, path, key, recordBulk{allOrNone, ops})
	return answer.Results, err
}

// ConvertLead turns a lead into an account, a contact and, if one is wanted, an opportunity.
func (c Records) ConvertLead(ctx context.Context, id string, v LeadConversion) (*ConvertedLead, error) {
	lead, _, err := post[*ConvertedLead](ctx, c.transport, pathOf(recordPath+"/convert", "Lead", id), v.Key, v)
	return lead, err
}
