package client

import (
	"context"
	"iter"
	"net/url"
	"time"
)

// Audit reads and exports who did what.
type Audit struct{ *transport }

// AuditFilter selects entries of the audit log; the zero value all.
type AuditFilter struct {
	Action  string
	Actor   string
	Subject string
	From    time.Time // at or after
	To      time.Time // before
}

func (f *AuditFilter) query() url.Values {
	return given(map[string]string{
		"action": f.Action, "actor": f.Actor, "subject": f.Subject, "from": instant(f.From), "to": instant(f.To),
	})
}

// List reads a page of the audit log, newest first. It goes back 50,000 entries;
// older ones are reached with To.
func (c Audit) List(ctx context.Context, f AuditFilter, at Paging) (*Page[AuditEntry], error) {
	return list[AuditEntry](ctx, c.transport, "/audit", f.query(), at)
}

// All reads the newest 50,000 entries of the audit log, newest first, each once.
func (c Audit) All(ctx context.Context, f AuditFilter) iter.Seq2[AuditEntry, error] {
	return newestFirst(func(at Paging) (*Page[AuditEntry], error) { return c.List(ctx, f, at) },
		func(e *AuditEntry) string { return e.AuditID })
}
