package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/workflow/flow"
)

// maxFile is the most that is read of a file: the largest body that a server takes.
const maxFile = 8 << 20

// read is the content of a file; "-" is standard input.
func (a *App) read(name string) ([]byte, error) {
	in := a.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, cannotRead(name, err)
		}
		defer file.Close()
		in = file
	}
	content, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, cannotRead(name, err)
	case len(content) > maxFile:
		return nil, usage("%s is larger than %d MiB, the most that a server takes", name, maxFile>>20)
	}
	return content, nil
}

func cannotRead(name string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return usage("cannot read %s: %v", name, err)
}

// object is a JSON object from the command line: the text itself, @FILE, or - for standard input; nothing for "".
func (a *App) object(flag, value string) (json.RawMessage, error) {
	if value == "" {
		return nil, nil
	}
	raw, where := []byte(value), flag
	if name, ok := strings.CutPrefix(value, "@"); ok || value == "-" {
		if !ok {
			name = "-"
		}
		content, err := a.read(name)
		if err != nil {
			return nil, err
		}
		raw, where = content, flag+" ("+name+")"
	}
	raw = bytes.TrimSpace(raw)
	if err := canonical.Check(raw); err != nil || len(raw) == 0 || raw[0] != '{' {
		why := "it must be a JSON object, such as '{\"total\":4200}', @FILE, or - for standard input"
		if e, ok := fault.As(err); ok {
			why = e.Message
		}
		return nil, usage("%s: %s", where, why)
	}
	return raw, nil
}

// graphFile is a graph that was read from a file.
type graphFile struct {
	name  string // of the file
	id    string // of the graph
	raw   []byte
	yaml  bool
	graph flow.Graph
}

// graph reads a graph from a file.
func (a *App) graph(name, id string) (graphFile, error) {
	f := graphFile{name: name, id: id}
	var err error
	if f.raw, err = a.read(name); err != nil {
		return f, err
	}
	if f.id, err = idOf("graph", name, id); err != nil {
		return f, err
	}
	f.yaml = isYAML(name, f.raw)
	if f.graph, err = flow.ParseGraph(f.raw, f.yaml); err != nil {
		return f, inFile(name, err)
	}
	return f, nil
}

// idOf is the given id of what a file holds, or else the name of the file without its extension.
func idOf(what, file, id string) (string, error) {
	if id == "" {
		if file == "-" {
			return "", usage("a %s from standard input has no name: give it one with --id", what)
		}
		id = stem(file)
	}
	if !canonical.Name(id) {
		return id, usage("%q cannot be the id of a %s (1 to %d letters, digits, dots, dashes or underscores): give "+
			"another one with --id", id, what, canonical.MaxName)
	}
	return id, nil
}

// oneID refuses one id for several files.
func oneID(what, id string, files []string) error {
	if id != "" && len(files) > 1 {
		return usage("--id names one %s, and there are %d files", what, len(files))
	}
	return nil
}

// readAll reads files and splits each into what it holds.
func readAll[S any](a *App, files []string, split func(file string, raw []byte) ([]S, error)) (all []S, err error) {
	for _, name := range files {
		raw, err := a.read(name)
		if err != nil {
			return nil, err
		}
		some, err := split(name, raw)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// oneOrMany are the elements of a JSON array; anything else stands alone.
func oneOrMany(file string, raw []byte) ([]jsontext.Value, error) {
	values := []jsontext.Value{raw}
	if values[0].Kind() == '[' && jsonv2.Unmarshal(raw, &values) != nil {
		return nil, usage("%s: this is no JSON array", file)
	}
	return values, nil
}

// stem is the name of a file without its folder and extension.
func stem(file string) string { return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) }

// isYAML tells by the extension, or where there is none that says it, by the first character.
func isYAML(name string, raw []byte) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		return false
	case ".yaml", ".yml":
		return true
	}
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || raw[0] != '{'
}

// inFile says which file an error is about.
func inFile(name string, err error) error {
	e, ok := fault.As(err)
	if !ok || e.Message == "" {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fault.New(e.Kind, e.Code, "%s: %s", name, e.Message).With(e.Details)
}
