package cli

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/client"
)

// On a server with --auth jwt whoever loads demo data is a user. Where the token's subject is
// none, in a tenant that has no users yet, it is made one who may do everything.

// subjectOf is the subject of a token, "" when it has none. The server checks the token.
func subjectOf(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	var claims struct {
		Subject string `json:"sub"`
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &claims) != nil {
		return ""
	}
	return claims.Subject
}

// register makes the caller, whom the server has refused, a user of a tenant without users.
// refused is its answer where that cannot be.
func (r *remote) register(ctx context.Context, d *company, refused error) error {
	subject := subjectOf(r.token)
	if told := (*client.Error)(nil); !errors.As(refused, &told) || told.Code != "USER_UNKNOWN" || subject == "" {
		return refused
	}
	users, err := r.Metadata.List(ctx, client.DefineUser, "", client.Paging{Size: 10})
	if err != nil {
		return err
	}
	if users.Total > 1 { // the system user is one
		return refused
	}
	set := d.id("permission set", "loader")
	for _, def := range []demoDefinition{
		{client.DefinePermissionSet, set, map[string]any{"name": "Demo loader", "modifyAll": true}},
		{client.DefineUser, d.id("user", "loader"), map[string]any{
			"name": subject, "subject": subject,
			"permissionSetIds": []string{set},
		}},
	} {
		if _, _, err := r.Metadata.Put(ctx, def.kind, def.id, def.body, ""); err != nil {
			return inSource(string(def.kind)+" "+def.id, err)
		}
	}
	return nil
}

// restrictedField is what the demo company lets few of its people write.
const restrictedField = "CreditLimit__c"

// permitCaller gives a caller who is a user the permission set that has the restricted field.
// The system user, who loads it without a token, may write it anyway.
func (l *demoLoad) permitCaller(ctx context.Context) error {
	account, err := l.Metadata.Describe(ctx, "Account")
	if err != nil {
		return err
	}
	if slices.ContainsFunc(account.Fields, func(f client.ObjectField) bool {
		return f.Name == restrictedField &&
			f.Editable
	}) {
		return nil
	}
	subject, set := cmp.Or(subjectOf(l.token), l.app.As), l.id("permission set", "Finance")
	for page := 1; ; page++ {
		users, err := l.Metadata.List(ctx, client.DefineUser, "", client.Paging{Page: page, Size: 100})
		if err != nil {
			return err
		}
		for _, raw := range users.Items {
			user := map[string]any{}
			if err := json.Unmarshal(raw, &user); err != nil {
				return err
			}
			if id, _ := user["id"].(string); user["subject"] == subject || strings.EqualFold(id, subject) {
				sets, _ := user["permissionSetIds"].([]any)
				user["permissionSetIds"] = append(sets, set)
				_, _, err := l.Metadata.Put(ctx, client.DefineUser, id, user, "")
				return inSource("user "+id, err)
			}
		}
		if page*100 >= users.Total {
			return usage("no user has the id or the subject %q", subject)
		}
	}
}
