package recheck

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// device is a name that is no file on Windows, whatever its extension.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// attachment is the Content-Disposition (RFC 6266) of a file to save. A foreign name must not lead to
// another folder, look like a file of another type, or become a parameter.
func attachment(name string) string {
	name = fileName(name)
	ascii := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return '_'
		}
		return r
	}, name)
	header := `attachment; filename="` + ascii + `"`
	if ascii != name {
		header += "; filename*=UTF-8''" + extValue(name)
	}
	return header
}

// fileName is a name that every system can have in a folder. No character of it has to be
// quoted.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || r == unicode.ReplacementChar || unicode.IsSpace(r) && r != ' ' ||
			strings.ContainsRune(`/\<>:"|?*%;,`, r) {
			return '_'
		}
		return r
	}, name)
	name = strings.TrimRight(name, ". ")
	switch name = strings.TrimLeft(name, " "); {
	case name == "":
		return "file"
	case name[0] == '.', device.MatchString(name):
		return "_" + name
	}
	return name
}

// extValue is a text as RFC 8187 has it, behind the character set.
func extValue(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
