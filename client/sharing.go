package client

import (
	"context"
	"net/http"
)

// Sharing explains who may see which record.
type Sharing struct{ *transport }

// Territories reads and changes territories and their members.
type Territories struct{ *transport }

// Explain says who has access to a record and why: one user, or with "" all to whom
// access is given.
func (c Sharing) Explain(ctx context.Context, object, id, user string) ([]RecordAccess, error) {
	out, err := get[accessExplanation](ctx, c.transport, pathOf("/sharing/{object}/{id}", object, id),
		given(map[string]string{"userId": user}))
	if err != nil {
		return nil, err
	}
	return out.Access, nil
}

// Models reads a page of the sharing models of an object, or with "" of all.
func (c Sharing) Models(ctx context.Context, object string, at Paging) (*Page[SharingModel], error) {
	return list[SharingModel](ctx, c.transport, "/sharing/models", given(map[string]string{"object": object}), at)
}

// Rebuild starts a rebuild of the sharing of an object and gives the version of the
// model that it makes. The same key does it once; with "" the client makes one.
func (c Sharing) Rebuild(ctx context.Context, object, key string) (version int64, err error) {
	started, _, err := post[sharingRebuild](ctx, c.transport, pathOf("/sharing/{object}/rebuild", object), key, nil)
	return started.Version, err
}

const (
	territoriesPath = "/sharing/territories"
	territoryPath   = territoriesPath + "/{id}"
)

// Put makes a territory, or makes it anew.
func (c Territories) Put(ctx context.Context, t Territory) (*Territory, error) {
	stored, _, err := put[Territory](ctx, c.transport, pathOf(territoryPath, t.ID), t)
	return stored, err
}

// List reads a page of the territories.
func (c Territories) List(ctx context.Context, at Paging) (*Page[Territory], error) {
	return list[Territory](ctx, c.transport, territoriesPath, nil, at)
}

// Get reads a territory.
func (c Territories) Get(ctx context.Context, id string) (*Territory, error) {
	return get[Territory](ctx, c.transport, pathOf(territoryPath, id), nil)
}

// Delete deletes a territory; one that something is in is ErrRefused.
func (c Territories) Delete(ctx context.Context, id string) error {
	return c.remove(ctx, pathOf(territoryPath, id), "")
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
	_, err := c.do(ctx, call{method: method, path: pathOf(territoryPath+"/{of}/{id}", territory, string(of), id)})
	return err
}

// Members reads a page of the ids of what is assigned to a territory.
func (c Territories) Members(
	ctx context.Context, territory string, of TerritoryMember, at Paging,
) (*Page[string], error) {
	return list[string](ctx, c.transport, pathOf(territoryPath+"/{of}", territory, string(of)), nil, at)
}
