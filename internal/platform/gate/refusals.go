package gate

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json"
	"go.opentelemetry.io/otel/metric"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/canonical"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/sqldb"
)

// Named limits of what the audit log takes of refused tokens.
const (
	maxRefusals   = 256             // that wait to be written
	refusalWithin = 5 * time.Second // that one may take to be written, and at the end all of them
)

// allRefusals is how many refused tokens the audit log takes, whoever sent them: those
// who come from ever new addresses must not be able to fill it.
var allRefusals = Rate{Limit: 600, Per: time.Minute}

// TokenRefused is the action of a refused token in the audit log.
const TokenRefused = "token.refused"

// Refusals writes refused tokens into the audit log, beside the requests: none of them
// waits for it. What finds no room, or no database, is dropped and counted.
type Refusals struct {
	db      *sqldb.DB
	waiting chan audit.Entry
	dropped metric.Int64Counter
	limit   *limiter
	within  time.Duration // refusalWithin; tests are in more of a hurry
}

// NewRefusals makes one. It does no I/O.
func NewRefusals(db *sqldb.DB, meter metric.Meter) (*Refusals, error) {
	dropped, err := meter.Int64Counter("audit.dropped",
		metric.WithDescription("Refused tokens that are not in the audit log."))
	if err == nil {
		dropped.Add(context.Background(), 0) // so that it is shown before there is one
	}
	return &Refusals{
		db: db, waiting: make(chan audit.Entry, maxRefusals), dropped: dropped,
		limit: newLimiter(allRefusals), within: refusalWithin,
	}, err
}

// Run writes until ctx ends, and then what waits.
func (r *Refusals) Run(ctx context.Context) {
	begun := context.WithoutCancel(ctx)
	for {
		select {
		case e := <-r.waiting:
			r.write(begun, e)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(begun, r.within) // all of them together
			defer cancel()
			for {
				select {
				case e := <-r.waiting:
					r.write(last, e)
				default:
					return
				}
			}
		}
	}
}

func (r *Refusals) write(ctx context.Context, e audit.Entry) {
	ctx, cancel := context.WithTimeout(ctx, r.within)
	defer cancel()
	err := r.db.Write(ctx, sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		return audit.Write(ctx, tx, e)
	})
	if err != nil {
		r.drop(ctx)
	}
}

// note has a refused token written soon.
func (r *Refusals) note(ctx context.Context, e audit.Entry, now time.Time) {
	if r.limit.admit("", now).ok {
		select {
		case r.waiting <- e:
			return
		default:
		}
	}
	r.drop(ctx)
}

// drop counts a refused token that is not going to be in the audit log.
func (r *Refusals) drop(ctx context.Context) { r.dropped.Add(ctx, 1) }

// tellRefused puts a refused token or cookie into the log and the audit log, a few of each address.
func (g *Gate) tellRefused(c *Call, action string, err error) {
	ctx, from, now := c.Request.Context(), address(c.Request), g.now()
	few := g.refused.admit(from, now).ok
	if few {
		g.log.LogAttrs(ctx, slog.LevelInfo, refusedLines[action], slog.String(keyAddress, from),
			slog.String(keyRoute, c.route.Pattern), slog.String(keyError, err.Error()),
			slog.String(keyCorrelation, c.CorrelationID), slog.String(keyRequest, c.RequestID))
	}
	switch {
	case g.refusals == nil, c.route.Pass != nil && c.bearer() != BearerInstead: // with a pass it audits itself
	case few:
		g.refusals.note(ctx, c.refusal(action, from, err, now), now)
	default:
		g.refusals.drop(ctx)
	}
}

// refusedLines are what the log says of refusals, by action.
var refusedLines = map[string]string{TokenRefused: "token refused", SessionRefused: "session refused"}

// refusal is the entry of a request whose token or cookie was refused. Nothing in it is of either: the reason is
// the sentence that the caller gets.
func (c *Call) refusal(action, from string, err error, now time.Time) audit.Entry {
	detail, _ := json.Marshal(struct { // texts can always be written
		Address string `json:"address"`
		Route   string `json:"route"`
	}{from, c.route.Pattern})
	e := audit.Entry{
		At: canonical.Stamp(now.UnixMilli()), Tenant: defaultTenant, Action: action,
		CorrelationID: c.CorrelationID, Outcome: audit.Refused,
		ReasonClass: fault.RefusedToken.Class, ReasonCode: fault.RefusedToken.Code,
		RetryAdvice: fault.RefusedToken.Advice, Detail: detail,
	}
	if failure, ok := fault.As(err); ok {
		e.Reason = failure.Message
	}
	return e
}
