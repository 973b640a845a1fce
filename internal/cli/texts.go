package cli

import (
	"strings"

	"github.com/alecthomas/kong"

	"renga.dev/renga/client"
)

// when is how a time may be written.
const when = "an RFC 3339 time, a date, or how long ago (24h)"

// definitionKinds are the kinds of definitions; there is no list of stages.
const definitionKinds = "object,field,stages,permission-set,role,user,group,owd,sharing-rule,team-roles," +
	"validation-rule,workflow-rule,scheduled-job,approval-process"

// kindWords lists them in help texts.
var kindWords = strings.ReplaceAll(definitionKinds, ",", ", ")

// texts are what the tags of the commands name as ${…}: what several say, and what is too long for a line. scopes are
// those of tokens, worker the default name of a worker.
func texts(scopes, worker string) kong.Vars {
	return kong.Vars{
		"scopes": scopes, "worker": worker, "url": client.DefaultURL, "time": when,

		"definitions":          definitionKinds,
		"listed":               strings.Replace(definitionKinds, "stages,", "", 1),
		"dead_letter_statuses": "OPEN,REDRIVING,SKIPPING,APPLIED,SKIPPED,STALE,DUPLICATE",
		"item_statuses":        "PENDING,APPLIED,ALREADY,REFUSED,FAILED",
		"outputs":              "table,json",
		"reason_classes": "" +
			"auth,validation,template_conflict,run_conflict,unsupported_action,infra",
		"recheck_statuses": "queued,running,succeeded,failed,canceled,planned",
		"record_objects":   "Account,Contact,Lead,Opportunity,Quote,Campaign",

		"approval_decide_stage": "The stage that you have seen, from 0: another one is refused (default: the " +
			"one that is open).",
		"as": "User, for a server with --auth none; otherwise the token names it.",
		"audit_export_out": "Write to this file instead of the terminal; it is replaced when all is " +
			"there.",
		"bulk_item_status": "Only these: PENDING, APPLIED, ALREADY, REFUSED or FAILED.",
		"chain": "Name for a chain of work, on every event of it; default: the server makes " +
			"one.",
		"definition_id": "Its id; of object, owd and team-roles the name of the object, of field both: " +
			"Account.Tier__c. Stages have none.",
		"dlq_list_status": "Only these: OPEN (the default), REDRIVING, SKIPPING, APPLIED, SKIPPED, STALE or " +
			"DUPLICATE; several with commas.",
		"event_send_event": "Name of the event: the first action of the template, where --template is not " +
			"given.",
		"event_send_file": "Body of the event, JSON, in place of the flags above; --key goes with one that has " +
			"no key. - is standard input.",
		"event_send_key":      "Makes it safe to send again: one key starts one run; default: a new one.",
		"event_summary_limit": "How many of the newest deliveries are shown, 1 to 200",
		"event_token":         "Token of workflow events and templates; better in the environment.",
		"events_published":    "Which events of executions are published: default, all or none.",
		"events_settings_chain": "Name for a chain of work, in the audit log; default: the server makes " +
			"one.",
		"events_tail_since": "Begin with events announced at or after: " + when + "; without it, with what " +
			"comes.",
		"execution_events_follow": "Go on with what is appended, until the execution ends; with -o json one " +
			"event a line.",
		"file_id":         "default: the name of the file without its extension.",
		"filter_status":   "Only these: ACTIVE, COMPLETED, FAILED or CANCELED; several with commas.",
		"idempotency_key": "Makes it safe to repeat: the same key has one effect; default: a new one.",
		"key_form":        "Only events of this partition key, such as Account:TENANT:RECORD.",
		"metadata_apply": "Define users, roles, groups, fields, permissions, rules and processes from " +
			"files.",
		"metadata_apply_files": "Definition in JSON, or an array of definitions; - is standard input.",
		"output":               "Form of the answer: table or json (table).",
		"reason_class": "Only failures of this class: auth, validation, template_conflict, run_conflict, " +
			"unsupported_action or infra.",
		"recheck_all_health": "Is one of these: healthy, degraded, unknown.",
		"recheck_show_status": "Only strategies in one of these: queued, running, succeeded, failed, canceled, " +
			"planned.",
		"record_convert_opportunity": "Value of a field of a new opportunity, as --set of record create; " +
			"without any, none is made.",
		"record_fields_set": "Value of a field: FIELD=TEXT, or FIELD:=JSON for numbers, true, false and null, " +
			"which empties it.",
		"record_list_where": "Only those of which this is true; OP is eq, ne, gt, gte, lt, lte, in, contains or " +
			"empty, and may be left out.",
		"record_version": "Only if it still has this recordVersion; the default is whatever it has.",
		"repeat":         "May be given several times.",
		"server":         "The server to talk to (" + client.DefaultURL + ").",
		"simulate_lease": "Lease that workers claim Tasks with",
		"simulate_outcome": "What happens to a node; several for one node are its attempts, one after the " +
			"other.",
		"simulate_script": "JSON file with input, outcomes, cancelAfter, taskTime and lease; flags go before " +
			"it.",
		"simulate_task_time":   "How long a Task takes and a Wait waits, where no outcome says otherwise",
		"strategy_apply_files": "Strategy in JSON, or an array of strategies; - is standard input.",
		"strategy_apply_id": "Id of the strategy; default: its member id, else the name of the file without its " +
			"extension.",
		"strategy_list_health": "Is one of healthy, degraded, unknown. May be given several times.",
		"strategy_list_sort": "id, name, health or last_checked_at, with .asc or .desc behind it " +
			"(id.asc).",
		"strategy_list_text":   "Part of the id or the name, in upper or lower case.",
		"tasks_claim_lease":    "How long they stay with you without a sign of life",
		"template_apply_files": "Template in JSON; - is standard input.",
		"tenant":               "Tenant, for a server with --auth none; otherwise the token names it.",
		"token": "Token for a server with --auth jwt; better in the environment or a " +
			"file.",
		"token_aud":  "Audience that the server expects: renga, of the re-check API pdca or pdca.gui",
		"token_file": "File that holds the token.",
		"token_key_id": "Id of the key (kid) in the JWKS of the server; the default is the one that new-key " +
			"writes.",
		"token_new_key_out": "The files are PREFIX.private.pem, PREFIX.public.pem and PREFIX.jwks.json",
		"token_ttl":         "How long the token is valid (1h).",
		"worker_demo_count": "Stop when so many tasks are done; default: go on until interrupted.",
		"worker_demo_lease": "How long a task stays with this worker without a sign of life",
	}
}
