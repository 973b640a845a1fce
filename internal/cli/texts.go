package cli

import (
	"errors"
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

// texts are the help of flags, and what it and the tags of the commands name as ${…}. scopes are those of tokens,
// worker the default name of a worker.
func texts(scopes, worker string) kong.Option {
	vars := kong.Vars{
		"scopes": scopes, "worker": worker, "url": client.DefaultURL, "time": when,

		"definitions":          definitionKinds,
		"listed":               strings.Replace(definitionKinds, "stages,", "", 1),
		"dead_letter_statuses": "OPEN,REDRIVING,SKIPPING,APPLIED,SKIPPED,STALE,DUPLICATE",
		"item_statuses":        "PENDING,APPLIED,ALREADY,REFUSED,FAILED",
		"outputs":              "table,json,yaml",
		"reason_classes": "" +
			"auth,validation,template_conflict,run_conflict,unsupported_action,infra",
		"recheck_statuses": "queued,running,succeeded,failed,canceled,planned",
		"record_objects":   "Account,Contact,Lead,Opportunity,Quote,Campaign",

		"file_id":        "default: the name of the file without its extension.",
		"metadata_apply": "Define users, roles, groups, fields, permissions, rules and processes from files.",
		"repeat":         "May be given several times.",
	}
	return kong.OptionFunc(func(k *kong.Kong) error {
		return errors.Join(vars.Apply(k), kong.PostBuild(flagHelp.add).Apply(k))
	})
}
