package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Sharing explains who may see which record.
type Sharing struct{ *transport }

// Territories reads and changes territories and their members.
type Territories struct{ *transport }

// Grantee is whom access is given to.
type Grantee struct {
	Type string `json:"type"` // user, role, subordinates, group, territory, permissionSet, everybody
	ID   string `json:"id,omitempty"`
}

// AccessReason is one reason of access.
type AccessReason struct {
	Cause  string  `json:"cause"`        // owner, role, queue, default, rule, team, territory, account, all
	ID     string  `json:"id,omitempty"` // of what causes it
	Access string  `json:"access"`       // Read, Edit, Full
	Via    Grantee `json:"via"`
}

// RecordAccess is what somebody may with a record, and why.
type RecordAccess struct {
	Grantee Grantee        `json:"grantee"`
	Access  string         `json:"access"` // None, Read, Edit, Full
	Why     []AccessReason `json:"why"`    // the strongest first
}

// Explain says who has access to a record and why: one user, or with "" all to whom
// access is given.
func (c Sharing) Explain(ctx context.Context, object, id, user string) ([]RecordAccess, error) {
	query := url.Values{}
	if user != "" {
		query.Set("userId", user)
	}
	r, err := c.do(ctx, call{method: http.MethodGet, path: "/sharing/" + url.PathEscape(object) + "/" +
		url.PathEscape(id), query: query})
	if err != nil {
		return nil, err
	}
	var out struct {
		Access []RecordAccess `json:"access"`
	}
	err = json.Unmarshal(r.body, &out)
	return out.Access, err
}

// SharingModel is how an object is or was shared.
type SharingModel struct {
	Object           string          `json:"object"`
	Version          int64           `json:"version"`
	Status           string          `json:"status"` // BUILDING, ACTIVE, RETIRED, CANCELED
	OWD              string          `json:"owd"`
	Rules            json.RawMessage `json:"rules"`
	ExecutionID      string          `json:"executionId,omitempty"`
	RecordsProcessed int             `json:"recordsProcessed"`
	RecordsTotal     int             `json:"recordsTotal"`
	CreatedAt        time.Time       `json:"createdAt"`
	ActiveAt         time.Time       `json:"activeAt,omitzero"`
	EndedAt          time.Time       `json:"endedAt,omitzero"`
}

// Models reads a page of the sharing models of an object, or with "" of all.
func (c Sharing) Models(ctx context.Context, object string, at Paging) (*Page[SharingModel], error) {
	query := url.Values{}
	if object != "" {
		query.Set("object", object)
	}
	return list[SharingModel](ctx, c.transport, "/sharing/models", query, at)
}

// Rebuild starts a rebuild of the sharing of an object and gives the version of the
// model that it makes. The same key does it once; with "" the client makes one.
func (c Sharing) Rebuild(ctx context.Context, object, key string) (version int64, err error) {
	if key == "" {
		key = newKey()
	}
	r, err := c.do(ctx, call{
		method: http.MethodPost, path: "/sharing/" + url.PathEscape(object) + "/rebuild",
		key: key,
	})
	if err != nil {
		return 0, err
	}
	var out struct {
		Version int64 `json:"version"`
	}
	err = json.Unmarshal(r.body, &out)
	return out.Version, err
}

// Territory is a part of the market: accounts are in it, and users work in it.
type Territory struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	ParentID string `json:"parentTerritoryId,omitempty"` // "": at the top
	Access   string `json:"access,omitempty"`            // Read or Edit; "": Read
}

const territoriesPath = "/sharing/territories"

// Put makes a territory, or makes it anew.
func (c Territories) Put(ctx context.Context, t Territory) (*Territory, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	r, err := c.do(ctx, call{method: http.MethodPut, path: territoriesPath + "/" + url.PathEscape(t.ID), body: raw})
	if err != nil {
		return nil, err
	}
	stored := &Territory{}
	return stored, json.Unmarshal(r.body, stored)
}

// List reads a page of the territories.
func (c Territories) List(ctx context.Context, at Paging) (*Page[Territory], error) {
	return list[Territory](ctx, c.transport, territoriesPath, url.Values{}, at)
}

// Get reads a territory.
func (c Territories) Get(ctx context.Context, id string) (*Territory, error) {
	return answered(new(Territory), func(got *Territory) error {
		return c.read(ctx, territoriesPath+"/"+url.PathEscape(id), url.Values{}, got)
	})
}

// Delete deletes a territory; one that something is in is ErrRefused.
func (c Territories) Delete(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: territoriesPath + "/" + url.PathEscape(id)})
	return err
}

// TerritoryMember is what is assigned to territories.
type TerritoryMember string

// What is assigned.
const (
	TerritoryUsers    TerritoryMember = "users"
	TerritoryAccounts TerritoryMember = "accounts"
)

// Assign assigns a user or an account to a territory, or takes it out.
func (c Territories) Assign(ctx context.Context, territory string, of TerritoryMember, id string, on bool) error {
	method := http.MethodPut
	if !on {
		method = http.MethodDelete
	}
	_, err := c.do(ctx, call{method: method, path: territoriesPath + "/" + url.PathEscape(territory) + "/" +
		string(of) + "/" + url.PathEscape(id)})
	return err
}

// Members reads a page of the ids of what is assigned to a territory.
func (c Territories) Members(
	ctx context.Context, territory string, of TerritoryMember, at Paging) (*Page[string], error,
) {
	return list[string](ctx, c.transport, territoriesPath+"/"+url.PathEscape(territory)+"/"+string(of), url.Values{},
		at)
}
