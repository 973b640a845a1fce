package client

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Defaults of a Config.
const (
	DefaultURL      = "http://127.0.0.1:8080"
	DefaultTimeout  = 15 * time.Second // a server answers within 10 s, or with 503
	DefaultRetryFor = time.Minute
)

// Forever as Config.RetryFor repeats a request until its context ends.
const Forever time.Duration = -1

// Config is what a Client is made of. Zero values mean the documented default.
type Config struct {
	// URL is where the server is; default DefaultURL. Several, with commas between
	// them, are processes of one system: a request that one of them does not answer
	// goes to the next.
	URL string
	// Token gives the bearer token. It is asked for every try, so it may renew one
	// that expires. Default: none is sent.
	Token func(context.Context) (string, error)
	// EventToken is what workflow events and templates go by in place of Token; "": they go by Token.
	EventToken string
	// Tenant and User are who to act as, on servers with --auth none only.
	Tenant, User string
	// HTTP sends the requests. It should have no Timeout: long polls and streams take
	// as long as they take. Default: one of its own, which Close closes.
	HTTP *http.Client
	// UserAgent is the header of that name; default "renga-go".
	UserAgent string
	// Timeout is how long one try may take, beyond what a long poll waits.
	Timeout time.Duration
	// RetryFor is how long a request is repeated before its last error is given
	// back; default DefaultRetryFor, Forever until the context ends.
	RetryFor time.Duration
	// Log gets a warning when a request has to be repeated; default: none is logged.
	Log *slog.Logger
}

// Client sends requests to a server. Its fields are the parts of the API; commands go
// through Send and SendAll. It may be used by many goroutines at once.
type Client struct {
	*transport

	Executions      Executions
	Tasks           Tasks
	Graphs          Graphs
	Bulks           Bulks
	Records         Records
	Metadata        Metadata
	Sharing         Sharing
	Territories     Territories
	Search          Search
	Reports         Reports
	Approvals       Approvals
	Automation      Automation
	Events          Events
	DeadLetters     DeadLetters
	DeadLetterBulks DeadLetterBulks
	Replays         Replays
	WorkflowEvents  WorkflowEvents
	Templates       Templates
	Schedules       Schedules
	Webhooks        Webhooks
	Triggers        Triggers
	Messages        Messages
	Waits           Waits
	Rechecks        Rechecks
	Strategies      Strategies
	Audit           Audit
}

// New makes a client. It does no I/O; every call returns what is wrong with the URL.
func New(cfg Config) *Client {
	t := newTransport(cfg)
	return &Client{
		transport:       t,
		Executions:      Executions{t},
		Tasks:           Tasks{t},
		Graphs:          Graphs{t},
		Bulks:           Bulks{bulks[Bulk, BulkItem]{t, "/bulks"}},
		Records:         Records{t},
		Metadata:        Metadata{t},
		Sharing:         Sharing{t},
		Territories:     Territories{t},
		Search:          Search{t},
		Reports:         Reports{t},
		Approvals:       Approvals{t},
		Automation:      Automation{t},
		Events:          Events{t},
		DeadLetters:     DeadLetters{t},
		DeadLetterBulks: DeadLetterBulks{bulks[DeadLetterBulk, DeadLetterBulkItem]{t, "/events/bulks"}},
		Replays:         Replays{t},
		WorkflowEvents:  WorkflowEvents{t},
		Templates:       Templates{t},
		Schedules:       Schedules{t},
		Webhooks:        Webhooks{t},
		Triggers:        Triggers{t},
		Messages:        Messages{t},
		Waits:           Waits{t},
		Rechecks:        Rechecks{t},
		Strategies:      Strategies{t},
		Audit:           Audit{t},
	}
}

// Close closes the connections that are not in use, when the client made them itself.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

type correlationKey struct{}

// WithCorrelationID gives the requests under a context a correlation id, which
// travels into every event that they lead to.
func WithCorrelationID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, correlationKey{}, id)
}

func correlationID(ctx context.Context) string {
	id, _ := ctx.Value(correlationKey{}).(string)
	return id
}
