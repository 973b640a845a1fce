package httpapi

import (
	"errors"

	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/workflow/engine"
)

// ReadSingle makes the request that a command's own endpoint would make.
func ReadSingle(name, key, execution, node string, src []byte) (engine.Request, error) {
	cmd := find([]byte(`"` + name + `"`))
	if cmd == nil {
		return engine.Request{}, errors.New("no such command")
	}
	var b body
	if err := readBody(src, cmd.may, &b); err != nil {
		return engine.Request{}, err
	}
	return cmd.request(&gate.Call{Principal: gate.Principal{All: true}}, target{key, execution, node}, src, &b)
}

// ReadBatch makes the requests of a POST /commands, and gives why the others are none.
func ReadBatch(src []byte) ([]engine.Request, []engine.Result, error) {
	b := newBatch(&gate.Call{Principal: gate.Principal{All: true}, Body: src})
	err := b.read()
	return b.requests, b.results, err
}

// MadePrefixes are in front of the names of graphs that the server makes itself.
var MadePrefixes = madePrefixes
