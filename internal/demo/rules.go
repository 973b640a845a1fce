package demo

import "renga.dev/renga/client"

// graphID is what a deal that was won sets going; `renga worker demo` can do its tasks.
const (
	graphID = "demo-onboarding"
	graph   = `{
  "nodes": [
    {"nodeId": "start", "type": "Start"},
    {"nodeId": "contract", "type": "Task", "queue": "onboarding", "retry": {"maxAttempts": 3}},
    {"nodeId": "kickoff", "type": "Task", "queue": "onboarding", "retry": {"maxAttempts": 3}},
    {"nodeId": "done", "type": "Success"}
  ],
  "edges": [
    {"from": "start", "to": "contract"}, {"from": "contract", "to": "kickoff"}, {"from": "kickoff", "to": "done"}
  ]
}`
)

// largeDeal is from which amount on others hear of a deal.
const largeDeal = "5000000"

// discount is from how many percent on a quote is approved, and bigDiscount from how many
// by the deal desk, too.
const discount, bigDiscount = "10", "25"

// automate defines the rules, the job and the approval process.
func (d *company) automate() {
	d.validate()
	d.react()
	name := "Hot leads that nobody calls cool down"
	d.define(client.DefineScheduledJob, d.id("job", name), map[string]any{
		"name": name, "object": "Lead",
		"condition": `record.Rating == "Hot" && record.Status == "Open - Not Contacted"`, "cron": "0 8 * * 1",
		"timeZone": "Asia/Tokyo",
		"actions": []any{
			map[string]any{"key": "cool", "type": "updateField", "field": "Rating", "value": "Warm"},
			map[string]any{"key": "tell", "type": "notify", "message": "Nobody has called this lead for a week."},
		},
	})
	d.define(client.DefineApprovalProcess, d.process(), map[string]any{
		"name": "見積の値引き承認", "object": "Quote", "condition": `record.DiscountPercent >= ` + discount +
			` && record.Status == "Needs Review"`,
		"lockedFields": []string{"DiscountPercent", "Subtotal"},
		"steps": []any{
			map[string]any{"name": "上長承認", "approvers": []any{member("Manager", "owner")}},
			map[string]any{
				"name": "Deal Desk", "condition": `record.DiscountPercent >= ` + bigDiscount,
				"approvers": []any{member("Group", d.id("group", "deal desk"))},
			},
		},
		"onApproved": map[string]any{"Status": "Approved"}, "onRejected": map[string]any{"Status": "Rejected"},
		"onRecalled": map[string]any{"Status": "Draft"},
	})
}

// process is the id of the approval process.
func (d *company) process() string { return d.id("approval process", "discounts") }

// validate defines what records may not be.
func (d *company) validate() {
	for _, r := range []struct{ name, object, condition, field, message string }{
		{
			"A deal is won with an amount", "Opportunity",
			`record.IsWon && (record.Amount == null || record.Amount <= 0)`,
			"Amount", "A deal that is won needs its amount.",
		},
		{
			"Leads can be reached", "Lead",
			`record.Email == null && record.Phone == null && record.MobilePhone == null`,
			"Email", "メールアドレスか電話番号を入力してください。",
		},
		{
			"No discount above 40 percent", "Quote", `record.DiscountPercent != null && record.DiscountPercent > 40`,
			"DiscountPercent", "A discount of more than 40 % is given to nobody.",
		},
		{
			"An approved quote keeps its discount", "Quote",
			`old != null && old.Status == "Approved" && record.Status == "Approved" && ` +
				`record.DiscountPercent != old.DiscountPercent`,
			"DiscountPercent", "承認済みの値引きは変更できません。 Make another quote instead.",
		},
	} {
		d.define(client.DefineValidationRule, d.id("validation rule", r.name), map[string]any{
			"name": r.name, "object": r.object, "condition": r.condition, "field": r.field, "message": r.message,
		})
	}
}

// react defines what follows from changes of records.
func (d *company) react() {
	const won = `record.IsWon && !old.IsWon`
	desk := member("Group", d.id("group", "deal desk"))
	for _, r := range []struct {
		name, object string
		on           []string
		when         string
		condition    string
		actions      []any
	}{
		{
			"A closed deal has no next step", "Opportunity",
			[]string{"create", "update"},
			"before", `record.IsClosed && record.NextStep != null`,
			[]any{map[string]any{"key": "clear", "type": "setField", "field": "NextStep", "value": nil}},
		},
		{
			"Large deals are reviewed", "Opportunity",
			[]string{"update"},
			"after", `record.StageName == "Negotiation" && old.StageName != "Negotiation" && record.Amount >= ` +
				largeDeal,
			[]any{
				map[string]any{"key": "request", "type": "updateField", "field": "Review__c", "value": "Requested"},
				map[string]any{
					"key": "tell", "type": "notify", "to": desk,
					"message": "A large deal is being negotiated: please review it.",
				},
			},
		},
		{
			"受注後の引き継ぎ", "Opportunity",
			[]string{"update"},
			"after", won,
			[]any{map[string]any{"key": "hand-over", "type": "createTask", "message": "サービス部門へ引き継ぐ", "dueDays": 7}},
		},
		{
			"Onboarding of large customers", "Opportunity",
			[]string{"update"},
			"after", won + ` && record.Amount >= ` + largeDeal,
			[]any{
				map[string]any{"key": "start", "type": "startGraph", "graphId": graphID},
				map[string]any{"key": "tell", "type": "notify", "to": desk, "message": "大型案件を受注しました。"},
			},
		},
		{
			"Hot leads are called at once", "Lead",
			[]string{"create"},
			"after", `record.Rating == "Hot"`,
			[]any{map[string]any{"key": "call", "type": "createTask", "message": "Call within a day", "dueDays": 1}},
		},
		{
			"Approved quotes are sent", "Quote",
			[]string{"update"},
			"after", `record.Status == "Approved" && old.Status != "Approved"`,
			[]any{map[string]any{
				"key": "send", "type": "notify",
				"message": "The discount was approved: the quote can be sent.",
			}},
		},
	} {
		d.define(client.DefineWorkflowRule, d.id("workflow rule", r.name), map[string]any{
			"name": r.name, "object": r.object, "on": r.on, "when": r.when, "condition": r.condition,
			"actions": r.actions,
		})
	}
}
