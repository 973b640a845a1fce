package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"renga.dev/renga/internal/platform/gate"
)

func TestAnOpenIDProviderIsTakenWhereItIsSafe(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const id, here = "https://id.example.com", "https://renga.example.com/flow"
	for _, tc := range []struct {
		flags  oidcFlags
		mode   gate.Mode
		public string
		want   string // of the error; "": none
	}{
		{oidcFlags{Issuer: id, ClientID: "renga", SecretFile: file("a", " s3cret\n", 0o600)}, gate.ModeJWT, here, ""},
		{oidcFlags{Issuer: "http://localhost:1", ClientID: "renga"}, gate.ModeJWT, "http://127.0.0.1:2", ""},
		{oidcFlags{}, gate.ModeJWT, "", ""},
		{oidcFlags{ClientID: "renga"}, gate.ModeJWT, here, "no effect without --oidc-issuer"},
		{oidcFlags{Issuer: id, ClientID: "renga"}, gate.ModeNone, here, "no effect with --auth none"},
		{oidcFlags{Issuer: id}, gate.ModeJWT, here, "needs --oidc-client-id"},
		{oidcFlags{Issuer: id, ClientID: "renga"}, gate.ModeJWT, "", "needs --public-url"},
		{oidcFlags{Issuer: id, ClientID: "renga"}, gate.ModeJWT, "http://renga.example.com", "needs --public-url"},
		{oidcFlags{Issuer: "http://id.example.com", ClientID: "renga"}, gate.ModeJWT, here, "must be an https URL"},
		{oidcFlags{Issuer: "https://a:b@id.example", ClientID: "renga"}, gate.ModeJWT, here, "must be an https URL"},
		{
			oidcFlags{Issuer: id, ClientID: "renga", SecretFile: file("b", " \n", 0o600)},
			gate.ModeJWT, here,
			"holds no secret",
		},
		{
			oidcFlags{Issuer: id, ClientID: "renga", SecretFile: file("c", "s3cret", 0o604)},
			gate.ModeJWT, here,
			"every user of this machine",
		},
	} {
		o, err := tc.flags.config(tc.mode, tc.public)
		switch {
		case tc.want != "":
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "a:b") {
				t.Errorf("%+v: got %v, want %q", tc.flags, err, tc.want)
			}
		case err != nil, (o == nil) != (tc.flags.Issuer == ""):
			t.Errorf("%+v: got %v, %v", tc.flags, o, err)
		case tc.flags.SecretFile != "" && o.Secret != "s3cret":
			t.Errorf("the secret is %q", o.Secret)
		}
	}
}
