package client

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Records reads and changes records, their teams and the members of campaigns.
type Records struct{ *transport }

// AnyVersion stands for the version of a record, whatever it is by now.
const AnyVersion = "*"

// Record is a record as the caller may see it.
type Record struct {
	ID            string         `json:"id"`
	Object        string         `json:"object"` // Account, Contact, Lead, Opportunity, Quote, Campaign
	OwnerID       string         `json:"ownerId"`
	RecordVersion string         `json:"recordVersion"` // rises with every change
	CreatedAt     time.Time      `json:"createdAt"`
	CreatedBy     string         `json:"createdBy"`
	UpdatedAt     time.Time      `json:"updatedAt"`
	UpdatedBy     string         `json:"updatedBy"`
	Fields        map[string]any `json:"fields"` // those that are not empty: string, float64 or bool
}

// RecordDraft is what a caller says of a record. A field that is nil is emptied.
type RecordDraft struct {
	OwnerID string         `json:"ownerId,omitempty"` // a user or a queue; "": the caller, or as it is
	Fields  map[string]any `json:"fields"`
}

// RecordQuery is which records are wanted.
type RecordQuery struct {
	// Filters are values by field, with or without an operator: "StageName", "Amount.gt". The
	// operators are eq, ne, gt, gte, lt, lte, in, contains and empty.
	Filters map[string]string
	Sort    string // "CloseDate.desc,Name.asc"; "": by id
	Paging
}

// RecordEntry is one change in the history of a record.
type RecordEntry struct {
	RecordVersion string              `json:"recordVersion"`
	At            time.Time           `json:"at"`
	UserID        string              `json:"userId"`
	Action        string              `json:"action"` // Created, Updated, Converted
	Changes       []RecordFieldChange `json:"changes"`
}

// RecordFieldChange is a field before and after; of a sensitive one both are not there.
type RecordFieldChange struct {
	Field string          `json:"field"`
	Old   json.RawMessage `json:"old,omitempty"`
	New   json.RawMessage `json:"new,omitempty"`
}

func recordPath(object, id string) string {
	return "/records/" + url.PathEscape(object) + "/" + url.PathEscape(id)
}

// Create makes a record. However often it has to be sent, one is made.
func (c Records) Create(ctx context.Context, object string, d RecordDraft) (*Record, error) {
	return c.write(ctx, http.MethodPost, "/records/"+url.PathEscape(object), newKey(), "", d)
}

// write sends a draft and reads the record that it made.
func (c Records) write(ctx context.Context, method, path, key, version string, d RecordDraft) (*Record, error) {
	if d.Fields == nil {
		d.Fields = map[string]any{}
	}
	body, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	r, err := c.do(ctx, call{method: method, path: path, key: key, body: body, match: version})
	if err != nil {
		return nil, err
	}
	made := new(Record)
	return made, json.Unmarshal(r.body, made)
}

// Get reads a record. What the caller may not see is ErrNotFound.
func (c Records) Get(ctx context.Context, object, id string) (*Record, error) {
	found := new(Record)
	return found, c.read(ctx, recordPath(object, id), nil, found)
}

// List reads a page of the records of an object that the caller may see.
func (c Records) List(ctx context.Context, object string, q RecordQuery) (*Page[Record], error) {
	query := url.Values{}
	for name, value := range q.Filters {
		query.Set(name, value)
	}
	if q.Sort != "" {
		query.Set("sort", q.Sort)
	}
	return list[Record](ctx, c.transport, "/records/"+url.PathEscape(object), query, q.Paging)
}

// Update changes what a draft names. The record must have the version, or it is
// ErrVersion; AnyVersion lets it have any.
func (c Records) Update(ctx context.Context, object, id, version string, d RecordDraft) (*Record, error) {
	return c.write(ctx, http.MethodPatch, recordPath(object, id), "", version, d)
}

// Delete deletes a record of a version, or of AnyVersion. One that others name is
// ErrRefused.
func (c Records) Delete(ctx context.Context, object, id, version string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: recordPath(object, id), match: version})
	return err
}

// History reads a page of what was done to a record, the newest first.
func (c Records) History(ctx context.Context, object, id string, at Paging) (*Page[RecordEntry], error) {
	return list[RecordEntry](ctx, c.transport, recordPath(object, id)+"/history", url.Values{}, at)
}

// RecordOperation is one of a bulk.
type RecordOperation struct {
	Op            string         `json:"op"` // create, update, delete
	ID            string         `json:"id,omitempty"`
	RecordVersion string         `json:"recordVersion,omitempty"` // "": any
	OwnerID       string         `json:"ownerId,omitempty"`
	Fields        map[string]any `json:"fields,omitempty"`
}

// RecordResult is what became of one operation.
type RecordResult struct {
	Status        int    `json:"status"` // as the operation would have been answered alone
	ID            string `json:"id"`
	RecordVersion string `json:"recordVersion"`
	Error         *struct {
		Code    string          `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	} `json:"error"`
}

// Bulk does up to 200 operations on records of one object in one transaction. With
// allOrNone the first that is refused refuses all, as an *Error.
func (c Records) Bulk(
	ctx context.Context, object string, allOrNone bool, ops []RecordOperation) ([]RecordResult, error,
) {
	return c.BulkWithKey(ctx, newKey(), object, allOrNone, ops)
}

// BulkWithKey is Bulk under a key of the caller: the same operations under the
// same key are done once, whoever sends them again, and have the same results.
func (c Records) BulkWithKey(
	ctx context.Context, key, object string, allOrNone bool, ops []RecordOperation) ([]RecordResult, error,
) {
	body, err := json.Marshal(map[string]any{"allOrNone": allOrNone, "operations": ops})
	if err != nil {
		return nil, err
	}
	r, err := c.do(ctx, call{
		method: http.MethodPost, path: "/records/" + url.PathEscape(object) + "/bulk", key: key,
		body: body,
	})
	if err != nil {
		return nil, err
	}
	var answer struct {
		Results []RecordResult `json:"results"`
	}
	return answer.Results, json.Unmarshal(r.body, &answer)
}

// LeadConversion is what a lead is to become.
type LeadConversion struct {
	Version       string `json:"recordVersion,omitempty"` // that the lead must have (ErrVersion); "": any
	OwnerID       string `json:"ownerId,omitempty"`       // of what is created; "": the lead's owner
	AccountID     string `json:"accountId,omitempty"`     // to join
	ContactID     string `json:"contactId,omitempty"`
	OpportunityID string `json:"opportunityId,omitempty"`
	// look for an account and a contact that fit before new ones are made
	Match       bool           `json:"match,omitempty"`
	Opportunity map[string]any `json:"opportunity,omitempty"` // the fields of a new one; nil: none is made
	Key         string         `json:"-"`                     // the same key converts once; "": a new one
}

// ConvertedLead is what a lead became.
type ConvertedLead struct {
	Lead          Record   `json:"lead"`
	AccountID     string   `json:"accountId"`
	ContactID     string   `json:"contactId"`
	OpportunityID *string  `json:"opportunityId"`
	Created       []string `json:"created"` // which of Account, Contact, Opportunity are new
}

// ConvertLead turns a lead into an account, a contact and, if one is wanted, an opportunity.
func (c Records) ConvertLead(ctx context.Context, id string, v LeadConversion) (*ConvertedLead, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	r, err := c.do(ctx, call{
		method: http.MethodPost, path: recordPath("Lead", id) + "/convert",
		key: cmp.Or(v.Key, newKey()), body: body,
	})
	if err != nil {
		return nil, err
	}
	done := new(ConvertedLead)
	return done, json.Unmarshal(r.body, done)
}
