package program

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"renga.dev/renga/internal/app"
	"renga.dev/renga/internal/platform/bus/jet"
	"renga.dev/renga/internal/platform/fault"
	"renga.dev/renga/internal/platform/gate"
	"renga.dev/renga/internal/recheck"
	"renga.dev/renga/internal/webhooks"
	"renga.dev/renga/internal/workflow/engine"
	"renga.dev/renga/internal/workflow/flow"
)

// serveCmd is `renga serve`.
type serveCmd struct {
	Addr             string        `default:"127.0.0.1:8080" env:"RENGA_ADDR" placeholder:"HOST:PORT"`
	TLSCert          string        `name:"tls-cert" env:"RENGA_TLS_CERT" placeholder:"FILE" type:"path"`
	TLSKey           string        `name:"tls-key" env:"RENGA_TLS_KEY" placeholder:"FILE" type:"path"`
	DataDir          string        `default:"./data" env:"RENGA_DATA_DIR" placeholder:"DIR" type:"path"`
	DatabaseURL      string        `name:"database-url" env:"RENGA_DATABASE_URL" placeholder:"URL"`
	Shards           int           `default:"0" env:"RENGA_SHARDS" placeholder:"N"`
	NATSURL          string        `name:"nats-url" env:"RENGA_NATS_URL" placeholder:"URL"`
	ReadyNeedsNATS   bool          `name:"ready-needs-nats" env:"RENGA_READY_NEEDS_NATS"`
	NATSListen       string        `name:"nats-listen" env:"RENGA_NATS_LISTEN" placeholder:"HOST:PORT"`
	NATSUsers        string        `name:"nats-users" env:"RENGA_NATS_USERS" placeholder:"FILE" type:"path"`
	NATSTLSCert      string        `name:"nats-tls-cert" env:"RENGA_NATS_TLS_CERT" placeholder:"FILE" type:"path"`
	NATSTLSKey       string        `name:"nats-tls-key" env:"RENGA_NATS_TLS_KEY" placeholder:"FILE" type:"path"`
	Auth             string        `default:"none" enum:"none,jwt" env:"RENGA_AUTH"`
	JWTKeys          string        `name:"jwt-keys" env:"RENGA_JWT_KEYS" placeholder:"FILE|URL"`
	JWTIssuer        string        `name:"jwt-issuer" default:"noctria.auth" env:"RENGA_JWT_ISSUER" placeholder:"NAME"`
	OIDC             oidcFlags     `embed:"" prefix:"oidc-"`
	Rates            []string      `name:"rate" env:"RENGA_RATES" placeholder:"CLASS=N/min"`
	Consumers        []string      `name:"consumer" env:"RENGA_CONSUMERS" placeholder:"NAME:OPTION=VALUE"`
	HeavyRequests    int           `name:"heavy-requests" default:"0" env:"RENGA_HEAVY_REQUESTS" placeholder:"N"`
	Open             []string      `name:"open" env:"RENGA_OPEN" placeholder:"CLASS=N/M"`
	KeyRetention     time.Duration `default:"720h" env:"RENGA_KEY_RETENTION" placeholder:"DURATION"`
	RecheckTimeout   time.Duration `default:"1h" env:"RENGA_RECHECK_TIMEOUT" placeholder:"DURATION"`
	RecheckRetention time.Duration `default:"2160h" env:"RENGA_RECHECK_RETENTION" placeholder:"DURATION"`
	ArtifactURLLife  time.Duration `default:"5m" env:"RENGA_ARTIFACT_URL_LIFE" placeholder:"DURATION"`
	PublicURL        string        `name:"public-url" env:"RENGA_PUBLIC_URL" placeholder:"URL"`
	Actions          []string      `name:"workflow-actions" env:"AX_WORKFLOW_EVENT_ACTIONS" placeholder:"NAME,…"`
	OpenEvents       bool          `name:"open-workflow-events" env:"RENGA_OPEN_WORKFLOW_EVENTS"`
	WebhookAllow     []string      `name:"webhook-allow" env:"RENGA_WEBHOOK_ALLOW" placeholder:"CIDR|HOST"`
	WebhookHTTP      bool          `name:"webhook-http" env:"RENGA_WEBHOOK_HTTP"`
	Airflow          airflowFlags  `embed:"" prefix:"airflow-"`
	NoBus            bool          `name:"no-bus" hidden:""`
	LogFormat        string        `default:"text" enum:"text,json" env:"RENGA_LOG_FORMAT"`
	LogLevel         string        `default:"info" enum:"debug,info,warn,error" env:"RENGA_LOG_LEVEL"`
}

// Help shows the two ways to run it.
func (serveCmd) Help() string {
	return `Runs until it is told to end (SIGTERM, Ctrl-C), then finishes what it has accepted. A second signal
ends it at once.

Without a database URL everything is in this process and in the data folder. With one, any number of
processes on any number of machines are one system; they wake each other's workers sooner when they
share a NATS server. Put passwords into RENGA_DATABASE_URL and RENGA_NATS_URL rather than on the
command line.

` + workflowHelp + `

Examples:
  renga serve
  renga serve --addr 127.0.0.1:9090 --data-dir /var/lib/renga
  renga serve --database-url postgres://renga@localhost/renga --nats-url nats://localhost:4222
  renga serve --addr 0.0.0.0:8080 --auth jwt --jwt-keys keys.pem
  renga serve --addr 0.0.0.0:8080 --auth jwt --jwt-keys https://auth.example.com/.well-known/jwks.json
  renga serve --auth jwt --jwt-keys https://id.example.com/keys --jwt-issuer https://id.example.com \
    --oidc-issuer https://id.example.com --oidc-client-id renga --public-url https://renga.example.com
  renga serve --addr 0.0.0.0:8443 --tls-cert cert.pem --tls-key key.pem --auth jwt --jwt-keys keys.pem
  renga serve --nats-listen 127.0.0.1:4222 --nats-users followers.yaml
  renga serve --airflow-url https://airflow.example.com --airflow-dag recheck \
    --airflow-user renga --airflow-password-file airflow.txt`
}

// check compares the flags with each other and with what this build can do.
func (c *serveCmd) check() error {
	switch {
	case c.DatabaseURL != "" && !strings.HasPrefix(c.DatabaseURL, "postgres://") && !strings.HasPrefix(c.DatabaseURL,
		"postgresql://"):
		return errors.New("--database-url must be postgres://USER:PASSWORD@HOST:PORT/DATABASE; leave it out to use " +
			"SQLite in the data folder")
	case c.Shards < 0 || c.Shards > engine.MaxShards:
		return fmt.Errorf("--shards must be 1 to %d, or 0 for two per core", engine.MaxShards)
	case c.Auth == string(gate.ModeJWT) && c.JWTKeys == "":
		return errors.New("--auth jwt needs --jwt-keys: a file or URL with the PEM public key or the JWKS that " +
			"tokens are signed with")
	case c.Auth == string(gate.ModeNone) && c.JWTKeys != "":
		return errors.New("--jwt-keys has no effect with --auth none: add --auth jwt, or leave it out")
	case c.OpenEvents && c.Auth == string(gate.ModeNone):
		return errors.New("--open-workflow-events has no effect with --auth none, which lets everybody in: " +
			"leave it out")
	case c.HeavyRequests < 0 || c.HeavyRequests > 1024:
		return errors.New("--heavy-requests must be 1 to 1024, or 0 for four per core")
	case c.KeyRetention < time.Minute:
		return errors.New("--key-retention must be at least 1m, or repetitions would take effect twice")
	case c.RecheckTimeout < time.Second || c.RecheckTimeout > flow.MaxSpan:
		return errors.New("--recheck-timeout must be between 1s and 8760h")
	case c.RecheckRetention < time.Hour:
		return errors.New("--recheck-retention must be at least 1h, or results would be gone before they are read")
	case c.ArtifactURLLife < time.Second || c.ArtifactURLLife > 24*time.Hour:
		return errors.New("--artifact-url-life must be between 1s and 24h")
	case c.PublicURL != "" && !gate.IsURL(c.PublicURL):
		return errors.New("--public-url must be a URL such as https://renga.example.com")
	}
	return nil
}

// listen is how the NATS server inside lets followers in; nil: it does not.
func (c *serveCmd) listen() (*jet.Listen, error) {
	switch {
	case c.NATSListen == "" && (c.NATSUsers != "" || c.NATSTLSCert != "" || c.NATSTLSKey != ""):
		return nil, errors.New("--nats-users, --nats-tls-cert and --nats-tls-key have no effect without --nats-listen")
	case c.NATSListen == "":
		return nil, nil
	case c.NATSURL != "":
		return nil, errors.New("--nats-listen is for the NATS server inside; the one that --nats-url names has users " +
			"of its own")
	case c.NATSUsers == "":
		return nil, errors.New("--nats-listen needs --nats-users: " +
			"a file that says who may follow which tenant's events")
	case (c.NATSTLSCert == "") != (c.NATSTLSKey == ""):
		return nil, errors.New("--nats-tls-cert and --nats-tls-key go together")
	}
	text, err := readClosed(c.NATSUsers, "the passwords")
	if err != nil {
		return nil, err
	}
	followers, err := jet.ReadFollowers(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.NATSUsers, err)
	}
	l := &jet.Listen{Addr: c.NATSListen, Followers: followers}
	if c.NATSTLSCert != "" {
		pair, err := tls.LoadX509KeyPair(c.NATSTLSCert, c.NATSTLSKey)
		if err != nil {
			return nil, fmt.Errorf("--nats-tls-cert and --nats-tls-key cannot be used: %w", err)
		}
		l.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	}
	return l, nil
}

// readClosed reads a file of secrets, such as passwords, unless everybody on this machine can. Groups are
// for the operator to choose: in a container the file is often that of one. Windows has no
// such bits.
func readClosed(path, what string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("every user of this machine can read %s in %s: chmod o= %s "+
			"(in Kubernetes: defaultMode: 0440)", what, path, path)
	}
	return io.ReadAll(f)
}

// misused is an error in what the operator asked for.
func misused(err error) error { return fault.New(fault.Invalid, "INVALID_INPUT", "%v", err) }

// config is what the flags ask for.
func (c *serveCmd) config(ctx context.Context, log *slog.Logger) (cfg app.Config, warnings []string, err error) {
	if err := c.check(); err != nil {
		return cfg, nil, err
	}
	cfg = app.Config{
		Place: app.Place{DataDir: c.DataDir, DatabaseURL: c.DatabaseURL},
		Addr:  c.Addr, Shards: c.Shards, Silent: c.NoBus, Log: log, KeyRetention: c.KeyRetention,
		Consumers: c.Consumers,
		Recheck: recheck.RecheckConfig{
			Timeout: c.RecheckTimeout, Retention: c.RecheckRetention, URLLife: c.ArtifactURLLife,
		},
		NATSURL: c.NATSURL, ReadyNeedsNATS: c.ReadyNeedsNATS, Heavy: c.HeavyRequests, PublicURL: c.PublicURL,
		Auth: gate.AuthConfig{Mode: gate.Mode(c.Auth), Keys: c.JWTKeys, Issuer: c.JWTIssuer},
	}
	if c.JWTKeys != "" && !gate.IsURL(c.JWTKeys) {
		cfg.Auth.Keys = kong.ExpandPath(c.JWTKeys)
	}
	if cfg.Rates, err = gate.ParseRates(c.Rates); err != nil {
		return cfg, nil, fmt.Errorf("--rate: %w", err)
	}
	if cfg.Open, err = gate.ParseOpen(c.Open); err != nil {
		return cfg, nil, fmt.Errorf("--open: %w", err)
	}
	if err := gate.CheckListen(ctx, c.Addr, gate.Mode(c.Auth)); err != nil {
		return cfg, nil, err
	}
	if cfg.TLS, err = openTLS(c.TLSCert, c.TLSKey, log); err != nil {
		return cfg, nil, err
	}
	if cfg.NATSListen, err = c.listen(); err != nil {
		return cfg, nil, err
	}
	if cfg.EventPass, cfg.Inbound, warnings, err = readWorkflow(os.Getenv, c.Actions, c.OpenEvents); err != nil {
		return cfg, nil, err
	}
	if cfg.Webhooks, err = webhooks.ParseAllowed(c.WebhookAllow); err != nil {
		return cfg, nil, fmt.Errorf("--webhook-allow: %w", err)
	}
	cfg.Webhooks.HTTP = c.WebhookHTTP
	if cfg.OIDC, err = c.OIDC.config(gate.Mode(c.Auth), c.PublicURL); err != nil {
		return cfg, nil, err
	}
	cfg.Airflow, err = c.Airflow.config(os.Getenv)
	return cfg, warnings, err
}

// Run serves until ctx ends, then drains. The error is why the process had to end.
func (c *serveCmd) Run(ctx context.Context, out streams) error {
	log := newLogger(out.err, c.LogFormat, c.LogLevel)
	cfg, warnings, err := c.config(ctx, log)
	if err != nil {
		return misused(err)
	}
	app.TuneMemory(ctx)
	a, err := app.New(ctx, cfg)
	if err != nil {
		return err
	}
	log.Info("serving", "address", a.Addr().String(), "tls", cfg.TLS != nil, "dataDir", c.DataDir, "database",
		cfg.Place.String(), "version", app.Version)
	if cfg.Auth.Mode == gate.ModeNone {
		log.Warn("without authentication every program on this machine may do everything; " +
			"use --auth jwt to change that")
	}
	warnWorkflow(log, cfg.EventPass, cfg.Auth.Mode, warnings)
	if addr := a.FollowAddr(); addr != nil {
		log.Info("events can be followed over NATS", "address", addr.String())
	}
	app.TuneProcessors()
	return a.Run(ctx)
}

func newLogger(out io.Writer, format, level string) *slog.Logger {
	options := &slog.HandlerOptions{}
	var at slog.Level
	if err := at.UnmarshalText([]byte(level)); err == nil { // kong has checked it
		options.Level = at
	}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}
