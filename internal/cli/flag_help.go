package cli

import (
	"fmt"
	"maps"
	"strings"

	"github.com/alecthomas/kong"

	"renga.dev/renga/client"
)

// FlagHelp is the help of flags and arguments for which a tag has no room: by command, then by name. Under "" is that
// of flags that several commands have.
type FlagHelp map[string]map[string]string

// Help of flags that two commands have.
const (
	itemStatusHelp = "Only these: PENDING, APPLIED, ALREADY, REFUSED or FAILED."
	definitionHelp = "Its id; of object, owd and team-roles the name of the object, of field both: " +
		"Account.Tier__c. Stages have none."
	labelHelp  = "Only those with this label. ${repeat}"
	statusHelp = "Only these: ACTIVE, COMPLETED, FAILED or CANCELED; several with commas."
	fieldsHelp = "Value of a field: FIELD=TEXT, or FIELD:=JSON for numbers, true, false and null, which empties " +
		"it. ${repeat}"
	versionHelp = "Only if it still has this recordVersion; the default is whatever it has."
)

// flagHelp is that of the commands here.
var flagHelp = FlagHelp{
	"": {
		"server":          "The server to talk to (" + client.DefaultURL + ").",
		"token":           "Token for a server with --auth jwt; better in the environment or a file.",
		"token-file":      "File that holds the token.",
		"ca-file":         "PEM certificates that may sign the server's, beside those that this machine trusts.",
		"tenant":          "Tenant, for a server with --auth none; otherwise the token names it.",
		"as":              "User, for a server with --auth none; otherwise the token names it.",
		"format":          "Form of the answer: table, json, or of a graph yaml (table).",
		"correlation-id":  "Name for a chain of work, on every event of it; default: the server makes one.",
		"idempotency-key": "Makes it safe to repeat: the same key has one effect; default: a new one.",
		"event-token":     "Token of workflow events and templates; better in the environment.",
		"key":             "Only events of this partition key, such as Account:TENANT:RECORD.",
		"reason-class": "Only failures of this class: auth, validation, template_conflict, run_conflict, " +
			"unsupported_action or infra.",
	},
	"approval decide": {
		"stage": "The stage that you have seen, from 0: another one is refused (default: the one that is open).",
	},
	"audit export":   {"out": "Write to this file instead of the terminal; it is replaced when all is there."},
	"bulk cancel":    {"status": statusHelp, "label": labelHelp},
	"bulk archive":   {"status": statusHelp, "label": labelHelp},
	"bulk items":     {"status": itemStatusHelp},
	"dlq bulk items": {"status": itemStatusHelp},
	"dlq list": {
		"status": "Only these: OPEN (the default), REDRIVING, SKIPPING, APPLIED, SKIPPED, STALE or DUPLICATE; " +
			"several with commas.",
	},
	"event send": {
		"event": "Name of the event: the first action of the template, where --template is not given.",
		"file": "Body of the event, JSON, in place of the flags above; --key goes with one that has no key. - " +
			"is standard input.",
		"key": "Makes it safe to send again: one key starts one run; default: a new one.",
	},
	"event summary": {"limit": "How many of the newest deliveries are shown, 1 to 200 (${default})."},
	"events settings set": {
		"correlation-id": "Name for a chain of work, in the audit log; default: the server makes one.",
		"executions":     "Which events of executions are published: default, all or none.",
	},
	"events tail": {
		"since": "Begin with events announced at or after: " + when + "; without it, with what comes.",
	},
	"execution create": {
		"business-key": "What the business calls it, such as order-17: one active execution of the graph has it.",
		"label":        "A name and a value that it is found by. ${repeat}",
	},
	"execution events": {
		"follow": "Go on with what is appended, until the execution ends; with -o json one event a line.",
	},
	"execution list": {
		"status": statusHelp, "correlation-id": "Only those that were created with this correlation id.",
		"label": labelHelp,
	},
	"graph simulate": {
		"lease":     "Lease that workers claim Tasks with (${default}).",
		"outcome":   "What happens to a node; several for one node are its attempts, one after the other.",
		"script":    "JSON file with input, outcomes, cancelAfter, taskTime and lease; flags go before it.",
		"task-time": "How long a Task takes and a Wait waits, where no outcome says otherwise (${default}).",
	},
	"metadata apply": {
		"file": "Definition in JSON, or an array of definitions; - is standard input. ${repeat}",
	},
	"metadata delete": {"id": definitionHelp},
	"metadata get":    {"id": definitionHelp},
	"recheck all":     {"health": "Is one of these: healthy, degraded, unknown."},
	"recheck show": {
		"status": "Only strategies in one of these: queued, running, succeeded, failed, canceled, planned.",
	},
	"record convert": {
		"opportunity": "Value of a field of a new opportunity, as --set of record create; without any, none is " +
			"made. ${repeat}",
	},
	"record create": {"set": fieldsHelp},
	"record delete": {"version": versionHelp},
	"record list": {
		"where": "Only those of which this is true; OP is eq, ne, gt, gte, lt, lte, in, contains or empty, and " +
			"may be left out. ${repeat}",
	},
	"record update": {
		"set":     fieldsHelp,
		"version": versionHelp,
	},
	"strategy apply": {
		"file": "Strategy in JSON, or an array of strategies; - is standard input. ${repeat}",
		"id":   "Id of the strategy; default: its member id, else the name of the file without its extension.",
	},
	"strategy list": {
		"health": "Is one of healthy, degraded, unknown. May be given several times.",
		"search": "Part of the id or the name, in upper or lower case.",
		"sort":   "id, name, health or last_checked_at, with .asc or .desc behind it (id.asc).",
	},
	"tasks claim":    {"lease": "How long they stay with you without a sign of life (${default})."},
	"schedule apply": {"file": "Schedule in JSON; - is standard input. ${repeat}"},
	"webhooks apply": {"file": "Webhook in JSON; - is standard input. ${repeat}"},
	"trigger apply":  {"file": "Trigger in JSON; - is standard input. ${repeat}"},
	"trigger send": {
		"file": "Body of the event, a JSON object; - is standard input.",
		"key": "Makes it safe to send again, where the trigger takes no key from the body: one key starts one " +
			"execution; default: a new one.",
		"no-key": "Sends it without a key.",
		"secret": "Secret of the trigger; better in the environment. Without it the token is shown.",
	},
	"template apply": {"file": "Template in JSON; - is standard input. ${repeat}"},
	"token mint": {
		"aud":    "Audience that the server expects: renga, of the re-check API pdca or pdca.gui (${default}).",
		"key-id": "Id of the key (kid) in the JWKS of the server; the default is the one that new-key writes.",
		"ttl":    "How long the token is valid (1h).",
	},
	"token new-key": {
		"out": "The files are PREFIX.private.pem, PREFIX.public.pem and PREFIX.jwks.json (${default}).",
	},
	"worker demo": {
		"count": "Stop when so many tasks are done; default: go on until interrupted.",
		"lease": "How long a task stays with this worker without a sign of life (${default}).",
	},
}

// add gives the flags and arguments their help. An entry that no command has is a mistake.
func (h FlagHelp) add(k *kong.Kong) error {
	left := FlagHelp{}
	for command, flags := range h {
		left[command] = maps.Clone(flags)
	}
	give := func(path string, v *kong.Value) {
		for _, command := range []string{path, ""} {
			if text, ok := h[command][v.Name]; ok && v.Help == "" {
				v.Help = text
				delete(left[command], v.Name)
			}
		}
	}
	err := kong.Visit(k.Model, func(v kong.Visitable, next kong.Next) error {
		node, ok := v.(*kong.Node)
		if app, root := v.(*kong.Application); root {
			node, ok = app.Node, true
		}
		if ok {
			for _, flag := range node.Flags {
				give(path(node), flag.Value)
			}
			for _, argument := range node.Positional {
				give(path(node), argument)
			}
		}
		return next(nil)
	})
	for command, flags := range left {
		for name := range flags {
			err = fmt.Errorf("no command %q has a flag %s to give help for", command, name)
		}
	}
	return err
}

// path is the names of a command and of the groups that it is in.
func path(n *kong.Node) string {
	if n.Parent == nil {
		return ""
	}
	return strings.TrimSpace(path(n.Parent) + " " + n.Name)
}
