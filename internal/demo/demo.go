// Package demo is the sample company: users, roles, rules and records with a history, and how a tenant is filled
// with them. It talks to a server as any other caller does, through package client.
//
// The invariant: what is loaded follows from a seed, a number of records and the day on which it was loaded first,
// and every request has a key made of these, so loading can be repeated, also after an interruption, and creates
// nothing twice.
package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"renga.dev/renga/client"
)

// How many records a company may have.
const (
	MinRecords = 100
	MaxRecords = 200_000
)

// Options say which company to load into which tenant.
type Options struct {
	Seed    int64 // the same seed gives the same data
	Records int
	Now     time.Time // the dates lie around its day, unless the company was loaded before
	Subject string    // of the caller's token; "": without a token
	User    string    // the caller on a server without tokens; "": the system user
	Force   bool      // also into a tenant that has records of its own
}

// Error is a refusal of what the Options ask for. Its code is one of the server's vocabulary or TENANT_NOT_EMPTY.
type Error struct{ Code, Message string }

func (e *Error) Error() string { return e.Message }

func refuse(code, format string, args ...any) error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Prepare plans the company. It refuses a tenant that holds something else. In an empty tenant the subject of a
// token that is no user becomes one who may modify all records.
func Prepare(ctx context.Context, c *client.Client, o Options) (*Loader, error) {
	l := &Loader{server: c, subject: o.Subject, user: o.User, ids: map[string][]string{}}
	day, err := l.firstLoaded(ctx, o)
	if err != nil {
		return nil, err
	}
	l.company = plan(o.Seed, o.Records, day)
	return l, nil
}

// firstLoaded is the day that the data lies around: today, or that of the data that is there.
func (l *Loader) firstLoaded(ctx context.Context, o Options) (time.Time, error) {
	today := o.Now.UTC().Truncate(24 * time.Hour)
	l.company = plan(o.Seed, MinRecords, today)
	marker := l.marker()
	found, err := l.server.Metadata.Get(ctx, marker.kind, marker.id)
	if err == nil {
		var body struct {
			Description string `json:"description"`
		}
		if err := json.Unmarshal(found.Body, &body); err != nil {
			return today, err
		}
		size, day, ok := readMarker(body.Description)
		switch {
		case !ok:
			return today, refuse("INVALID_INPUT", "the permission set %s does not say any more when the demo data was "+
				"loaded; choose another --seed", marker.id)
		case size != o.Records:
			return today, refuse("INVALID_INPUT", "the tenant has demo data of seed %d with %d records: repeat it "+
				"with --records %d, or choose another --seed", o.Seed, size, size)
		}
		return day, nil
	}
	if !errors.Is(err, client.ErrNotFound) {
		return today, err
	}
	page, err := l.server.Records.List(ctx, "Account", client.RecordQuery{})
	if err != nil {
		if err = l.register(ctx, err); err == nil {
			page, err = l.server.Records.List(ctx, "Account", client.RecordQuery{})
		}
	}
	if err == nil && page.Total > 0 && !o.Force {
		return today, refuse("TENANT_NOT_EMPTY", "the tenant has %d accounts; choose another with --tenant, or "+
			"say --force", page.Total)
	}
	return today, err
}
