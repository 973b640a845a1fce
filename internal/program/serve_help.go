package program

// serveHelp is the help of the flags of `renga serve`.
var serveHelp = map[string]string{
	"addr": "Address to listen on (${default}).",
	"tls-cert": "PEM certificate, with those in between, to serve HTTPS and HTTP/2; needs --tls-key. A renewed one " +
		"is taken without a restart.",
	"tls-key":  "PEM key of the certificate, which others on this machine must not be able to read.",
	"data-dir": "Folder of the data (./data).",
	"database-url": "PostgreSQL (postgres://…) that any number of processes share; the default is SQLite in " +
		"the data folder.",
	"shards":   "Engines in this process over PostgreSQL, 1 to 16; 0 is one per core, 2 to 4 (${default}).",
	"nats-url": "NATS server with JetStream; the default is one inside this process.",
	"ready-needs-nats": "Answer 503 to /readyz while NATS is lost. Without it that is only shown: " +
		"commands do not need NATS.",
	"nats-listen":   "Lets outsiders follow their tenant's events on the NATS server inside; needs --nats-users.",
	"nats-users":    "YAML: who may follow which tenant's events, with --nats-listen.",
	"nats-tls-cert": "PEM certificate for --nats-listen; needed beyond loopback.",
	"nats-tls-key":  "PEM key of the certificate.",
	"auth":          "How callers prove who they are: none (loopback only) or jwt (${default}).",
	"jwt-keys": "PEM public key or JWKS, a file or an https URL that is asked again when keys change; " +
		"with --auth jwt.",
	"jwt-issuer": "Issuer of the tokens (${default}).",
	"oidc-issuer": "OpenID provider at which people sign in to the console, with --auth jwt; it issues JWTs as " +
		"access tokens, signed with --jwt-keys. Needs --public-url.",
	"oidc-client-id": "Name that the OpenID provider knows this server by; the redirect URI is that of --public-url " +
		"with /session/callback.",
	"oidc-client-secret-file": "File with the secret of a confidential client; without it, the client is public.",
	"oidc-scope": "Scopes that the OpenID provider is asked for, repeatable (${default}); with offline_access " +
		"many give a token to renew sessions.",
	"rate": "Limit of a rate class per client (/s, /min, /h or unlimited), can be repeated; the " +
		"default is pdca.read=600/min, pdca.recheck=120/min, pdca.bulk=10/min, " +
		"session.open=120/min and no limit for " +
		"the others.",
	"consumer": "Options of a consumer, repeatable: tries=N (10), redrive=DURATION before an automatic " +
		"redrive of dead letters (never), continue=true to process later events of a key that has " +
		"a dead letter (false).",
	"heavy-requests": "Heavy requests that run at a time, half of them of one tenant; of those with large " +
		"bodies or answers a quarter as many; 0 is four per core, at least 8 (${default}).",
	"open": "How many streams, claims and watches of one caller, and of all, may be open in this " +
		"process, can be repeated; one tenant has at most half of all. The default is " +
		"streams=200/2000, claims=1000/4096, watches=1000/4096.",
	"key-retention":   "How long an idempotency key is remembered (${default}).",
	"recheck-timeout": "How long one attempt to check a strategy again may take (${default}).",
	"recheck-retention": "How long a request to check strategies again is kept after its end, with its " +
		"results and artifacts (${default}).",
	"artifact-url-life": "How long the URL of an artifact of a re-check is good (${default}).",
	"public-url": "Where callers reach this process, for URLs that it gives them, which have no host " +
		"without it; web pages of this origin are its own.",
	"open-workflow-events": "With --auth jwt and without AX_WORKFLOW_EVENT_TOKEN: let everybody send workflow events " +
		"and store templates, who needs a token with the scope workflow:write otherwise.",
	"workflow-actions": "First actions that a workflow event may start; the default are those of the document.",
	"webhook-allow": "Network or host inside to which webhooks may be sent, repeatable; the default is none: " +
		"public addresses only.",
	"webhook-http": "Lets webhooks be sent to http, too; the default is https alone.",
	"no-bus":       "Publish nothing, to measure what publishing costs.",
	"log-format":   "Form of the log: text or json (${default}).",
	"log-level":    "What is logged: debug, info, warn or error (${default}).",
	"airflow-url": "Airflow that checks strategies again, 2.x or 3.x; without it, workers of the queue " +
		"pdca.recheck do.",
	"airflow-dag":             "DAG that is run for every strategy.",
	"airflow-result-task":     "Task of the DAG whose return value is the result; without it, results are empty.",
	"airflow-api":             "Version of Airflow's API: v1 (2.x), v2 (3.x) or auto (${default}).",
	"airflow-user":            "User of Airflow; the password comes from a file or from RENGA_AIRFLOW_PASSWORD.",
	"airflow-password-file":   "File with the password; it is read again when Airflow refuses the last one.",
	"airflow-token-file":      "File with a bearer token, in place of a user; or RENGA_AIRFLOW_TOKEN.",
	"airflow-connect-timeout": "How long a connection to Airflow may take (${default}).",
	"airflow-read-timeout":    "How long an answer of Airflow may take (${default}).",
	"airflow-failures":        "Consecutive failures that open the circuit to Airflow (${default}).",
	"airflow-probe":           "How often a dead Airflow is asked whether it is back (${default}).",
	"airflow-runs":            "DAG runs that this process follows at a time (${default}).",
	"airflow-lease":           "How long a check stays with a process that gives no sign of life (${default}).",
	"airflow-calls":           "Calls to Airflow at a time (${default}).",
}
