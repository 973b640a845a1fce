// Command generate writes what is generated from openapi.yaml: the table of operations that the server and the
// command line read, and the client's types and keys. It runs in the folder of the contract (go generate ./api).
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"renga.dev/renga/api/contract"
)

// clientDir is the folder of the client.
var clientDir = filepath.Join("..", "client")

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	all, err := files()
	if err != nil {
		return err
	}
	for name, source := range all {
		if err := os.WriteFile(name, source, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files are the sources of all generated files by name.
func files() (map[string][]byte, error) {
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		return nil, err
	}
	doc, err := contract.Parse(text)
	if err != nil {
		return nil, err
	}
	all, err := types(doc, clientDir)
	if err != nil {
		return nil, err
	}
	if all["operations_gen.go"], err = operationsOfAPI(doc); err != nil {
		return nil, err
	}
	all[filepath.Join(clientDir, "operations_gen.go")], err = operationsOfClient(doc)
	return all, err
}
