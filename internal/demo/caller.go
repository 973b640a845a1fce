package demo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/client"
)

// On a server with --auth jwt whoever loads demo data is a user. Where the token's subject is
// none, in a tenant that has no users yet, it is made one who may do everything.

// register makes the caller, whom the server has refused, a user of a tenant without users.
// refused is its answer where that cannot be.
func (l *Loader) register(ctx context.Context, refused error) error {
	if failure := (*client.Error)(nil); !errors.As(refused, &failure) || failure.Code != "USER_UNKNOWN" ||
		l.subject == "" {
		return refused
	}
	users, err := l.server.Metadata.List(ctx, client.DefineUser, "", client.Paging{Size: 10})
	if err != nil {
		return err
	}
	if users.Total > 1 { // the system user is one
		return refused
	}
	set := l.id("permission set", "loader")
	for _, def := range []definition{
		{client.DefinePermissionSet, set, map[string]any{"name": "Demo loader", "modifyAll": true}},
		{client.DefineUser, l.id("user", "loader"), map[string]any{
			"name": l.subject, "subject": l.subject, "permissionSetIds": []string{set},
		}},
	} {
		if _, _, err := l.server.Metadata.Put(ctx, def.kind, def.id, def.body, ""); err != nil {
			return about(string(def.kind)+" "+def.id, err)
		}
	}
	return nil
}

// restrictedField is what the demo company lets few of its people write.
const restrictedField = "CreditLimit__c"

// permitCaller gives a caller who is a user the permission set that has the restricted field.
// The system user, who loads it without a token, may write it anyway.
func (l *Loader) permitCaller(ctx context.Context) error {
	account, err := l.server.Metadata.Describe(ctx, "Account")
	if err != nil {
		return err
	}
	if slices.ContainsFunc(account.Fields, func(f client.ObjectField) bool {
		return f.Name == restrictedField && f.Editable
	}) {
		return nil
	}
	caller, set := cmp.Or(l.subject, l.user), l.id("permission set", "Finance")
	for page := 1; ; page++ {
		users, err := l.server.Metadata.List(ctx, client.DefineUser, "", client.Paging{Page: page, Size: 100})
		if err != nil {
			return err
		}
		for _, raw := range users.Items {
			user := map[string]any{}
			if err := json.Unmarshal(raw, &user); err != nil {
				return err
			}
			if id, _ := user["id"].(string); user["subject"] == caller || strings.EqualFold(id, caller) {
				sets, _ := user["permissionSetIds"].([]any)
				user["permissionSetIds"] = append(sets, set)
				_, _, err := l.server.Metadata.Put(ctx, client.DefineUser, id, user, "")
				return about("user "+id, err)
			}
		}
		if page*100 >= users.Total {
			return refuse("INVALID_INPUT", "no user has the id or the subject %q", caller)
		}
	}
}
