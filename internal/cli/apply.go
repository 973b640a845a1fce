package cli

import (
	"context"
	"errors"
	"time"

	"renga.dev/renga/client"
)

// appliedFile is what a file holds, as it is stored now.
type appliedFile[T any] struct {
	File   string `json:"file"`
	Change string `json:"change"` // created, changed, unchanged
	Stored *T     `json:",inline"`
}

// definitions are stored on the server, each under an id that its author chooses.
type definitions[T any] interface {
	Get(ctx context.Context, id string) (*T, error)
	PutSource(ctx context.Context, id string, source []byte) (stored *T, created bool, err error)
}

// applyFiles stores what files hold and prints what has changed. updatedAt shows whether a stored definition did.
func applyFiles[T any](
	ctx context.Context, r *remote, what string, files []string, id string, on definitions[T], t table[appliedFile[T]],
	updatedAt func(*T) time.Time,
) error {
	if err := oneID(what, id, files); err != nil {
		return err
	}
	type source struct {
		name, id string
		raw      []byte
	}
	var sources []source
	for _, name := range files {
		id, err := idOf(what, name, id)
		if err != nil {
			return err
		}
		raw, err := r.read(name)
		if err != nil {
			return err
		}
		sources = append(sources, source{name, id, raw})
	}
	return storeAll(r.App, "stored", sources, func(s source) (appliedFile[T], error) {
		one := appliedFile[T]{File: s.name, Change: "changed"}
		old, err := on.Get(ctx, s.id)
		if err != nil && !errors.Is(err, client.ErrNotFound) {
			return one, inSource(s.name, err)
		}
		var created bool
		one.Stored, created, err = on.PutSource(ctx, s.id, s.raw)
		switch {
		case err != nil:
		case created:
			one.Change = "created"
		case old != nil && updatedAt(old).Equal(updatedAt(one.Stored)):
			one.Change = "unchanged"
		}
		return one, inSource(s.name, err)
	}, t)
}

// inSource says which file a refusal is about.
func inSource(name string, err error) error {
	var failure *client.Error
	if errors.As(err, &failure) && errors.Is(failure, client.ErrInvalid) {
		failure.Message = name + ": " + failure.Message
	}
	return err
}
