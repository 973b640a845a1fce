package tidy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"renga.dev/renga/internal/workflow/flow"
)

// TestWordsListsTheWholeVocabulary asks that docs/words.md has every word that
// the core puts on the wire, each set off as code so that a reader can search it.
func TestWordsListsTheWholeVocabulary(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "words.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := vocabulary(t)
	if len(words) < 24+8+4+7+15 {
		t.Fatalf("found only %d words in the core: the test reads too little", len(words))
	}
	for _, word := range missing(string(page), words) {
		t.Errorf("docs/words.md does not have `%s`", word)
	}
}

func TestMissingWordsAreFound(t *testing.T) {
	got := missing("`READY`, then NODE_READY", []string{"READY", "NODE_READY"})
	if !slices.Equal(got, []string{"NODE_READY"}) {
		t.Errorf("got %q, want only the word that is not set off as code", got)
	}
}

// TestTheGlossaryIsShortAndTrue asks of every row of the glossary a sentence, and a place that exists.
func TestTheGlossaryIsShortAndTrue(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "words.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, glossary, _ := strings.Cut(string(page), "## Glossary\n")
	glossary, _, _ = strings.Cut(glossary, "\n\nFive ")
	found := glossed(glossary)
	if len(found) < 25 || len(found) > 40 {
		t.Errorf("the glossary has %d terms, want about 30", len(found))
	}
	for term, row := range found {
		if !strings.HasSuffix(row.meaning, ".") {
			t.Errorf("%s: its meaning is no sentence: %q", term, row.meaning)
		}
		if _, err := os.Stat(filepath.FromSlash(row.place)); err != nil {
			t.Errorf("%s: %v", term, err)
		}
	}
}

func TestTheGlossaryIsRead(t *testing.T) {
	got := glossed("| term | meaning | where it lives |\n| --- | --- | --- |\n" +
		"| a b | It is so. | `x/y` |\n| c | not code | x |\n")
	if len(got) != 1 || got["a b"] != (gloss{"It is so.", "x/y"}) {
		t.Errorf("got %v", got)
	}
}

// gloss is a row of the glossary.
type gloss struct{ meaning, place string }

// glossed reads the rows of a table whose third cell is set off as code, by their terms.
func glossed(table string) map[string]gloss {
	found := map[string]gloss{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 3 {
			continue
		}
		if place, ok := strings.CutPrefix(strings.TrimSpace(cells[2]), "`"); ok {
			found[strings.TrimSpace(cells[0])] = gloss{strings.TrimSpace(cells[1]), strings.TrimSuffix(place, "`")}
		}
	}
	return found
}

func missing(page string, words []string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return strings.Contains(page, "`"+w+"`") })
}

// vocabulary is every event type, node type, status and command, and the values
// of the string types that the core declares as constants.
func vocabulary(t *testing.T) []string {
	var words []string
	for _, typ := range flow.Types() {
		words = append(words, typ.String())
	}
	for k := flow.StartKind; k <= flow.CanceledKind; k++ {
		words = append(words, k.String())
	}
	for s := flow.Active; s <= flow.Canceled; s++ {
		words = append(words, s.String())
	}
	for s := flow.NodeIsCreated; s <= flow.NodeIsCanceled; s++ {
		words = append(words, s.String())
	}
	for _, c := range []flow.Command{
		flow.Create{},
		flow.Start{},
		flow.Cancel{},
		flow.Archive{},
		flow.StartNode{},
		flow.Progress{},
		flow.Wait{},
		flow.Resume{},
		flow.Succeed{},
		flow.Fail{},
		flow.CancelNode{},
		flow.Expire{},
	} {
		words = append(words, c.Name())
	}
	return append(words, constants(t, filepath.Join("internal", "workflow", "flow"), "Guard", "Policy", "Outcome")...)
}

// constants reads the values of string constants of the named types.
func constants(t *testing.T, dir string, types ...string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if typ, ok := spec.Type.(*ast.Ident); ok && slices.Contains(types, typ.Name) {
				values = append(values, literals(t, spec.Values)...)
			}
			return true
		})
	}
	return values
}

func literals(t *testing.T, values []ast.Expr) []string {
	var texts []string
	for _, v := range values {
		if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
	}
	return texts
}
