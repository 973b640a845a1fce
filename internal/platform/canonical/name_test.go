package canonical

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "A-z_0.9": true, "..": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "a/b": false, "é": false, "a\n": false,
		"a\x00": false, "a:b": false,
	} {
		if Name(s) != want {
			t.Errorf("Name(%q) is %v", s, !want)
		}
	}
}

func TestKey(t *testing.T) {
	for s, want := range map[string]bool{
		"k": true, " ~": true, "a b/c:d": true, strings.Repeat("x", 255): true,
		"": false, strings.Repeat("x", 256): false, "é": false, "a\tb": false, "a\x7f": false, "a\r\nb": false,
	} {
		if Key(s) != want {
			t.Errorf("Key(%q) is %v", s, !want)
		}
	}
}
