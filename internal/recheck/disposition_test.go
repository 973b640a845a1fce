package recheck

import (
	"mime"
	"strings"
	"testing"
)

// TestNamesOfFilesAreSafe holds names that somebody chose against what a browser makes of the
// header: a name in one folder, of the type that it shows, and no other parameter.
func TestNamesOfFilesAreSafe(t *testing.T) {
	for name, want := range map[string]string{
		"orders.csv":        `attachment; filename="orders.csv"`,
		"my report (1).txt": `attachment; filename="my report (1).txt"`,
		"résumé \"1\".html": `attachment; filename="r_sum_ _1_.html"; ` +
			`filename*=UTF-8''r%C3%A9sum%C3%A9%20_1_.html`,
		"東京.pdf":                     `attachment; filename="__.pdf"; filename*=UTF-8''%E6%9D%B1%E4%BA%AC.pdf`,
		"../../etc/passwd":           `attachment; filename="_.._.._etc_passwd"`,
		`..\..\evil.exe`:             `attachment; filename="_.._.._evil.exe"`,
		".bashrc":                    `attachment; filename="_.bashrc"`,
		"a\"; filename=\"evil.exe":   `attachment; filename="a__ filename=_evil.exe"`,
		"a\r\nSet-Cookie: x=1":       `attachment; filename="a__Set-Cookie_ x=1"`,
		"invoice\u202efdp.exe":       `attachment; filename="invoice_fdp.exe"`,
		"zero\u200bwidth.txt":        `attachment; filename="zero_width.txt"`,
		"NUL":                        `attachment; filename="_NUL"`,
		"com1.txt":                   `attachment; filename="_com1.txt"`,
		"a%2fb%00.txt":               `attachment; filename="a_2fb_00.txt"`,
		"evil.exe. . ":               `attachment; filename="evil.exe"`,
		"  ":                         `attachment; filename="file"`,
		"...":                        `attachment; filename="file"`,
		"bad\xffutf8":                `attachment; filename="bad_utf8"`,
		"semi;colon,comma.txt":       `attachment; filename="semi_colon_comma.txt"`,
		"it's.txt":                   `attachment; filename="it's.txt"`,
		"tab\tand\u0085control\x7f.": `attachment; filename="tab_and_control_"`,
	} {
		got := attachment(name)
		if got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
		kind, params, err := mime.ParseMediaType(got)
		if err != nil || kind != "attachment" || len(params) != 1 || params["filename"] == "" ||
			strings.ContainsAny(params["filename"], "/\\\"\r\n") {
			t.Errorf("%q is read as %s %q, %v", name, kind, params, err)
		}
	}
}
