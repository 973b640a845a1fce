package tidy

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestArchitectureListsEveryLimit asks that the table of limits has every exported
// constant that begins with Max, and the value it has in the code.
func TestArchitectureListsEveryLimit(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	limits := maxima(t, os.DirFS("internal"))
	if len(limits) < 20 {
		t.Fatalf("found only %d limits: the test reads too little", len(limits))
	}
	for name, value := range limits {
		if why := listed(string(page), name, value); why != "" {
			t.Error(why)
		}
	}
	for _, name := range rows(string(page)) {
		_, constant, _ := strings.Cut(name, ".")
		if _, ok := limits[name]; !ok && strings.HasPrefix(constant, "Max") {
			t.Errorf("docs/architecture.md lists %s, which does not exist", name)
		}
	}
}

func TestLimitsAreCompared(t *testing.T) {
	const page = "| `a.MaxB` | 2 KiB | b |\n| `a.MaxC` | 1,000 | c |\n"
	tests := []struct {
		name, value string
		listed      bool
	}{
		{"a.MaxB", "2 << 10", true},
		{"a.MaxB", "2_049", false},
		{"a.MaxC", "1_000", true},
		{"a.MaxC", "4 * MaxB", true}, // cannot be evaluated alone
		{"a.MaxD", "1", false},
	}
	for _, tt := range tests {
		if why := listed(page, tt.name, tt.value); (why == "") != tt.listed {
			t.Errorf("%s = %s: got %q, want listed %t", tt.name, tt.value, why, tt.listed)
		}
	}
}

// listed says what is wrong with a limit's row in a page, "" when nothing is.
func listed(page, name, value string) string {
	_, row, ok := strings.Cut(page, "| `"+name+"` | ")
	if !ok {
		return fmt.Sprintf("docs/architecture.md does not list %s", name)
	}
	shown, _, _ := strings.Cut(row, " |")
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, value)
	if err != nil || v.Value == nil {
		return "" // it names another constant
	}
	n, exact := constant.Int64Val(v.Value)
	if exact && !slices.Contains(spellings(n), shown) {
		return fmt.Sprintf("docs/architecture.md says %s of %s, the code %s", shown, name, value)
	}
	return ""
}

// spellings are the ways in which a page may write a number.
func spellings(n int64) []string {
	plain := fmt.Sprint(n)
	for i := len(plain) - 3; i > 0; i -= 3 {
		plain = plain[:i] + "," + plain[i:]
	}
	all := []string{plain}
	for shift, unit := range map[int]string{10: "KiB", 20: "MiB"} {
		if n>>shift<<shift == n {
			all = append(all, fmt.Sprintf("%d %s", n>>shift, unit))
		}
	}
	return all
}

// maxima collects the limits of all packages: "package.Name" and the source of its value.
func maxima(t *testing.T, tree fs.FS) map[string]string {
	limits := map[string]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.CONST {
				collect(limits, file.Name.Name, group)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return limits
}

func collect(limits map[string]string, pkg string, group *ast.GenDecl) {
	for _, spec := range group.Specs {
		value := spec.(*ast.ValueSpec)
		for i, name := range value.Names {
			if strings.HasPrefix(name.Name, "Max") && i < len(value.Values) {
				limits[pkg+"."+name.Name] = types.ExprString(value.Values[i])
			}
		}
	}
}
