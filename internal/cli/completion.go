package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCmd) Help() string {
	return `The script asks this binary what can follow, so it never gets old.

Examples:
  source <(renga completion bash)                                    # in ~/.bashrc
  source <(renga completion zsh)                                     # in ~/.zshrc, after compinit
  renga completion fish > ~/.config/fish/completions/renga.fish`
}

// completions are the scripts. Each asks `renga __complete` with the line up to the cursor; without an answer the
// shell offers files.
var completions = map[string]string{
	"bash": `# bash completion for renga
_renga() {
    local IFS=$'\n'
    local line="${COMP_LINE:0:COMP_POINT}"
    local -a found
    found=($(renga __complete bash "$line" 2>/dev/null))
    COMPREPLY=("${found[@]}")
}
complete -o default -F _renga renga
`,
	"zsh": `#compdef renga
# zsh completion for renga
_renga() {
    local -a found
    found=("${(@f)$(renga __complete zsh "${(j: :)words[1,CURRENT]}" 2>/dev/null)}")
    found=("${(@)found:#}")
    if (( ${#found} )); then _describe 'renga' found; else _files; fi
}
if [ "$funcstack[1]" = "_renga" ]; then _renga "$@"; else compdef _renga renga; fi
`,
	"fish": `# fish completion for renga
function __renga_complete
    renga __complete fish (commandline -cp) 2>/dev/null
end
complete -c renga -a '(__renga_complete)'
`,
}

func (c *completionCmd) Run(a *App) error {
	_, err := io.WriteString(a.Out, completions[c.Shell])
	return err
}

// completeCmd answers the scripts.
type completeCmd struct {
	Args []string `arg:"" optional:""`
}

// Run prints one candidate a line, in the form of the shell that asks.
func (c *completeCmd) Run(a *App, k *kong.Context) error {
	if len(c.Args) != 2 {
		return nil
	}
	var out strings.Builder
	for _, found := range candidates(k.Model.Node, words(c.Args[1])) {
		fmt.Fprintln(&out, found.in(c.Args[0]))
	}
	_, err := io.WriteString(a.Out, out.String())
	return err
}

// candidate is a word that can stand at the cursor, and what it means.
type candidate struct{ word, help string }

func (c candidate) in(shell string) string {
	switch shell {
	case "zsh":
		return strings.ReplaceAll(c.word, ":", `\:`) + ":" + c.help
	case "fish":
		return c.word + "\t" + c.help
	}
	_, value, given := strings.Cut(c.word, "=") // bash completes what stands behind it
	if given {
		return value
	}
	return c.word
}

// words splits a line as far as completing needs it; the last one, perhaps empty, is at the cursor.
func words(line string) []string {
	all := strings.Fields(line)
	if len(all) > 0 {
		all = all[1:] // the program
	}
	if strings.HasSuffix(line, " ") || len(all) == 0 {
		all = append(all, "")
	}
	return all
}

// candidates are what can stand in the place of the last word.
func candidates(node *kong.Node, words []string) []candidate {
	current := words[len(words)-1]
	var wants *kong.Flag // the flag whose value comes next
	for _, word := range words[:len(words)-1] {
		if wants != nil {
			wants = nil
			continue
		}
		if strings.HasPrefix(word, "-") {
			if flag := flagOf(node, word); flag != nil && !flag.IsBool() && !strings.Contains(word, "=") {
				wants = flag
			}
			continue
		}
		switch child := childOf(node, word); {
		case child != nil:
			node = child
		case len(node.Children) > 0 && node.DefaultCmd == nil:
			return nil // there is no such command
		}
	}
	switch name, value, given := strings.Cut(current, "="); {
	case wants != nil:
		return enumOf(wants.Value, "", current)
	case strings.HasPrefix(current, "-") && given:
		if flag := flagOf(node, name); flag != nil {
			return enumOf(flag.Value, name+"=", value)
		}
		return nil
	case strings.HasPrefix(current, "-"):
		return flagsOf(node, current)
	}
	return childrenOf(node, current)
}

func childOf(node *kong.Node, word string) *kong.Node {
	for _, child := range node.Children {
		if child.Type == kong.CommandNode && (child.Name == word || slices.Contains(child.Aliases, word)) {
			return child
		}
	}
	return nil
}

// flagOf finds a flag by how it is written, in a command or above it.
func flagOf(node *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for _, level := range leaf(node).AllFlags(false) {
		for _, flag := range level {
			if name == "--"+flag.Name || flag.Short != 0 && name == "-"+string(flag.Short) {
				return flag
			}
		}
	}
	return nil
}

// leaf is the command that runs when no other follows.
func leaf(node *kong.Node) *kong.Node {
	if node.DefaultCmd != nil {
		return node.DefaultCmd
	}
	return node
}

func flagsOf(node *kong.Node, prefix string) []candidate {
	var found []candidate
	for _, level := range leaf(node).AllFlags(true) {
		for _, flag := range level {
			if word := "--" + flag.Name; strings.HasPrefix(word, prefix) {
				found = append(found, candidate{word, flag.Help})
			}
		}
	}
	return found
}

func childrenOf(node *kong.Node, prefix string) []candidate {
	var found []candidate
	for _, child := range node.Children {
		if child.Type == kong.CommandNode && !child.Hidden && strings.HasPrefix(child.Name, prefix) {
			found = append(found, candidate{child.Name, child.Help})
		}
	}
	for _, argument := range leaf(node).Positional {
		found = append(found, enumOf(argument, "", prefix)...)
	}
	return found
}

func enumOf(value *kong.Value, before, prefix string) []candidate {
	var found []candidate
	if value.Enum == "" {
		return nil
	}
	for _, word := range value.EnumSlice() {
		if strings.HasPrefix(word, prefix) {
			found = append(found, candidate{before + word, fmt.Sprintf("of %s", value.Name)})
		}
	}
	return found
}
