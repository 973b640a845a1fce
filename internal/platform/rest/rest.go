// Package rest is what the HTTP handlers of all services have in common: it reads queries, ids,
// idempotency keys and versions, and renders pages and entity tags.
//
// It knows no service and keeps no state. Who may call is decided in gate, what a request
// means in the service; a service has its routes and handlers in files named http*.go.
//
// The invariant: what a request has and its handler does not name is refused by name, not
// ignored.
package rest

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/workflow/flow"
)

// Handler answers a route.
type Handler = func(context.Context, *gate.Call) (gate.Reply, error)

// Routes are routes with what the contract says of their operations. Of those that change something
// none takes query parameters.
func Routes(routes []gate.Route) []gate.Route {
	for i := range gate.FromContract(routes) {
		if !strings.HasPrefix(routes[i].Pattern, http.MethodGet+" ") {
			routes[i].Do = NoQuery(routes[i].Do)
		}
	}
	return routes
}

// NoQuery refuses query parameters.
func NoQuery(next Handler) Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		if c.Request.URL.RawQuery != "" {
			if err := ReadQuery(c).Err; err != nil {
				return gate.Reply{}, err
			}
		}
		return next(ctx, c)
	}
}

// WithID answers fault.NotFound unless a parameter of the path is an id; nothing has another.
func WithID(name string, next Handler) Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		if id := c.Path(name); !validID(id) {
			return gate.Reply{}, fault.New(fault.NotFound, "", "there is no %s %.64q: ids are UUIDs in lower case",
				name, id)
		}
		return next(ctx, c)
	}
}

// WithName answers unknown unless the parameter id of the path is a name that something can have: PostgreSQL fails on
// some others.
func WithName(valid func(id string) bool, unknown func(id string) error, next Handler) Handler {
	return func(ctx context.Context, c *gate.Call) (gate.Reply, error) {
		if id := c.Path("id"); !valid(id) {
			return gate.Reply{}, unknown(id)
		}
		return next(ctx, c)
	}
}

// validID reports whether a text is a UUID in lower case.
func validID(text string) bool {
	_, err := flow.ParseID(text)
	return err == nil && text == strings.ToLower(text)
}

// ID is a member of a body: an id that may be left out, but is not empty; in lower case.
type ID string

// UnmarshalText refuses what is empty.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return fault.New(fault.Invalid, canonical.CodeInvalid, "must be an id; leave it out where there is none")
	}
	*id = ID(strings.ToLower(string(text)))
	return nil
}

// Invalid is input that breaks a rule about one field.
func Invalid(field, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, canonical.CodeInvalid, format, args...).With(map[string]string{"field": field})
}

// PutStatus is the status of a PUT, by whether it created something.
func PutStatus(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// Key is what makes a call safe to repeat. Clients choose their keys without knowing of
// each other, so who calls is part of where a key counts. No path has a blank.
func Key(c *gate.Call, o canonical.Options) (canonical.IdempotencyKey, error) {
	return o.ParseIdempotencyKey(c.Key, c.Endpoint()+" "+c.Principal.Subject, c.Body)
}

// OptionalKey is Key of a call that may have a key, nil when it has none.
func OptionalKey(c *gate.Call) (*canonical.IdempotencyKey, error) {
	if c.Key == "" {
		return nil, nil
	}
	key, err := Key(c, canonical.Options{})
	return &key, err
}

// AppendFailure writes the result of one part of a batch: status and members of its error, without the
// bracket in front. Faults of the server are logged here with their cause: the gate does not see them.
func AppendFailure(ctx context.Context, log *slog.Logger, dst []byte, err error) []byte {
	p := gate.Core.Problem(err)
	if p.Kind == fault.Internal {
		log.ErrorContext(ctx, "command failed", "error", err)
	}
	dst = strconv.AppendInt(dst, int64(p.Status), 10)
	return append(append(dst, ','), gate.Core.Render(p)[1:]...)
}
