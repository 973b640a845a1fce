package httpapi

import (
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/platform/wire"
)

// ownKey is what makes a call safe to repeat. Clients choose their keys without knowing of
// each other, so who calls is part of where a key counts. No path has a blank.
func ownKey(c *gate.Call, o wire.Options) (wire.Once, error) {
	return o.ParseOnce(c.Key, c.Endpoint()+" "+c.Principal.Subject, c.Body)
}

// onceOf is ownKey of a call that may have a key, nil when it has none.
func onceOf(c *gate.Call) (*wire.Once, error) {
	if c.Key == "" {
		return nil, nil
	}
	once, err := ownKey(c, wire.Options{})
	return &once, err
}
