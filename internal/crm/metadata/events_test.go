package metadata

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/crm/model"
)

// TestEveryChangeEmitsExactlyItsEvents is the emission table: a change, and the events
// that the outbox has of it, with their keys, their place in the change and all of
// their payload but the time.
func TestEveryChangeEmitsExactlyItsEvents(t *testing.T) {
	stage := model.StandardField("Opportunity", "StageName").ID
	amount := model.StandardField("Opportunity", "Amount").ID
	industry := model.StandardField("Account", "Industry").ID
	script := `
put role #1 {"name":"CEO"}
	RoleHierarchyChanged Role:#1/0 {"changeType":"RoleCreated","roleId":"#1","roleName":"CEO","parentRoleId":null}
put role #1 {"name":"CEO"}
put role #2 {"name":"Sales","parentRoleId":"#1"}
	RoleHierarchyChanged Role:#2/0 {"changeType":"RoleCreated","roleId":"#2","roleName":"Sales","parentRoleId":"#1"}
put role #2 {"name":"Sales Manager","parentRoleId":"#1"}
	RoleHierarchyChanged Role:#2/0 {"changeType":"RoleUpdated","roleId":"#2","roleName":"Sales Manager","parentRoleId":"#1"}
put role #2 {"name":"Sales Manager"}
	RoleHierarchyChanged Role:#2/0 {"changeType":"ParentChanged","roleId":"#2","roleName":"Sales Manager","parentRoleId":null}
put role #2 {"name":"Sales","parentRoleId":"#1"}
	RoleHierarchyChanged Role:#2/0 {"changeType":"RoleUpdated","roleId":"#2","roleName":"Sales","parentRoleId":"#1"}
	RoleHierarchyChanged Role:#2/1 {"changeType":"ParentChanged","roleId":"#2","roleName":"Sales","parentRoleId":"#1"}
put role #3 {"name":"Temp"}
	RoleHierarchyChanged Role:#3/0 {"changeType":"RoleCreated","roleId":"#3","roleName":"Temp","parentRoleId":null}
delete role #3
	RoleHierarchyChanged Role:#3/0 {"changeType":"RoleDeleted","roleId":"#3","roleName":"Temp","parentRoleId":null}
put permission-set #11 {"name":"Reader","objects":{"Account":{"read":true}}}
	PermissionChanged Permission:#11/0 {"changeType":"PermissionSetCreated","subject":{"type":"PermissionSet","id":"#11"}}
put permission-set #11 {"name":"Reader","objects":{"Account":{"create":false,"read":true}},"fields":{},"viewAll":false}
put permission-set #11 {"name":"Reader","objects":{"Account":{"read":true}},"viewAll":true}
	PermissionChanged Permission:#11/0 {"changeType":"PermissionSetUpdated","subject":{"type":"PermissionSet","id":"#11"}}
put user #21 {"name":"Anna","roleId":"#2","permissionSetIds":["#11","#11"]}
	PermissionChanged Permission:#21/0 {"changeType":"UserCreated","subject":{"type":"User","id":"#21"}}
put user #21 {"name":"Anna","roleId":"#2","permissionSetIds":["#11"],"isActive":true}
put user #21 {"name":"Anna B.","subject":"anna","roleId":"#2","permissionSetIds":["#11"]}
	PermissionChanged Permission:#21/0 {"changeType":"UserUpdated","subject":{"type":"User","id":"#21"}}
put user #21 {"name":"Anna C.","roleId":"#1","isActive":false}
	PermissionChanged Permission:#21/0 {"changeType":"UserUpdated","subject":{"type":"User","id":"#21"}}
	PermissionChanged Permission:#21/1 {"changeType":"UserRoleChanged","subject":{"type":"User","id":"#21"}}
	PermissionChanged Permission:#21/2 {"changeType":"UserDeactivated","subject":{"type":"User","id":"#21"}}
	PermissionChanged Permission:#21/3 {"changeType":"PermissionSetUnassigned","subject":{"type":"User","id":"#21"}}
put user #21 {"name":"Anna C.","roleId":"#1","permissionSetIds":["#11"]}
	PermissionChanged Permission:#21/0 {"changeType":"UserActivated","subject":{"type":"User","id":"#21"}}
	PermissionChanged Permission:#21/1 {"changeType":"PermissionSetAssigned","subject":{"type":"User","id":"#21"}}
put user #22 {"name":"Ben"}
	PermissionChanged Permission:#22/0 {"changeType":"UserCreated","subject":{"type":"User","id":"#22"}}
put user #22 {"name":"Ben","managerId":"#21"}
	PermissionChanged Permission:#22/0 {"changeType":"UserManagerChanged","subject":{"type":"User","id":"#22"}}
put user #23 {"name":"Temp"}
	PermissionChanged Permission:#23/0 {"changeType":"UserCreated","subject":{"type":"User","id":"#23"}}
delete user #23
	PermissionChanged Permission:#23/0 {"changeType":"UserDeleted","subject":{"type":"User","id":"#23"}}
put group #31 {"name":"Desk","type":"queue"}
put group #31 {"name":"Desk","type":"queue","members":[{"type":"User","id":"#22"},{"type":"Role","id":"#2"}]}
	GroupMemberChanged Group:#31/0 {"changeType":"MemberAdded","groupId":"#31","groupName":"Desk","groupType":"queue","memberType":"Role","memberId":"#2"}
	GroupMemberChanged Group:#31/1 {"changeType":"MemberAdded","groupId":"#31","groupName":"Desk","groupType":"queue","memberType":"User","memberId":"#22"}
put group #31 {"name":"Help Desk","type":"queue","members":[{"type":"Role","id":"#2"},{"type":"User","id":"#22"}]}
put group #31 {"name":"Help Desk","type":"queue","members":[{"type":"User","id":"#21"},{"type":"User","id":"#22"}]}
	GroupMemberChanged Group:#31/0 {"changeType":"MemberAdded","groupId":"#31","groupName":"Help Desk","groupType":"queue","memberType":"User","memberId":"#21"}
	GroupMemberChanged Group:#31/1 {"changeType":"MemberRemoved","groupId":"#31","groupName":"Help Desk","groupType":"queue","memberType":"Role","memberId":"#2"}
delete group #31
	GroupMemberChanged Group:#31/0 {"changeType":"MemberRemoved","groupId":"#31","groupName":"Help Desk","groupType":"queue","memberType":"User","memberId":"#21"}
	GroupMemberChanged Group:#31/1 {"changeType":"MemberRemoved","groupId":"#31","groupName":"Help Desk","groupType":"queue","memberType":"User","memberId":"#22"}
put group #32 {"name":"West","type":"public","members":[{"type":"Role","id":"#1"}]}
	GroupMemberChanged Group:#32/0 {"changeType":"MemberAdded","groupId":"#32","groupName":"West","groupType":"public","memberType":"Role","memberId":"#1"}
put object Account {"label":"Customer","pluralLabel":"Customers"}
	MetadataChanged Object:Account/0 {"changeType":"ObjectUpdated","objectName":"Account","resourceId":"Account"}
put object Account {"label":"Customer","pluralLabel":"Customers","name":"Account"}
put field Opportunity.Amount {"label":"Amount","sensitive":true}
	MetadataChanged Field:AMOUNT/0 {"changeType":"FieldUpdated","objectName":"Opportunity","resourceId":"AMOUNT"}
put field Account.Industry {"values":["Chip","Car"],"label":"Industry"}
	MetadataChanged Field:INDUSTRY/0 {"changeType":"PicklistChanged","objectName":"Account","resourceId":"INDUSTRY"}
put field Account.Industry {"values":["Chip","Car","Food"],"label":"Branch"}
	MetadataChanged Field:INDUSTRY/0 {"changeType":"FieldUpdated","objectName":"Account","resourceId":"INDUSTRY"}
	MetadataChanged Field:INDUSTRY/1 {"changeType":"PicklistChanged","objectName":"Account","resourceId":"INDUSTRY"}
put field Account.Tier__c {"label":"Tier","type":"picklist","values":["A","B"]}
	MetadataChanged Field:TIER/0 {"changeType":"FieldAdded","objectName":"Account","resourceId":"TIER"}
put field Account.Tier__c {"label":"Tier","type":"picklist","values":["A","B"],"object":"Account","name":"Tier__c","custom":true,"required":false}
delete field Account.Tier__c
	MetadataChanged Field:TIER/0 {"changeType":"FieldDeleted","objectName":"Account","resourceId":"TIER"}
put stages Opportunity {"stages":[{"name":"Open","probability":10,"forecastCategory":"Pipeline"},{"name":"Won","probability":100,"forecastCategory":"Closed","isClosed":true,"isWon":true}]}
	MetadataChanged Field:STAGE/0 {"changeType":"PicklistChanged","objectName":"Opportunity","resourceId":"STAGE"}
put owd Opportunity {"access":"Private"}
put owd Opportunity {"access":"ReadOnly"}
	SharingConfigChanged OWD:Opportunity/0 {"changeType":"OWDChanged","objectName":"Opportunity","oldOWD":"Private","newOWD":"ReadOnly"}
put sharing-rule #41 {"name":"All to West","object":"Account","kind":"owner","source":{"type":"RoleAndSubordinates","id":"#1"},"target":{"type":"Group","id":"#32"},"access":"Read"}
	SharingConfigChanged Rule:#41/0 {"changeType":"ShareRuleCreated","objectName":"Account","resourceId":"#41"}
put sharing-rule #41 {"name":"All to West","object":"Account","kind":"owner","source":{"type":"RoleAndSubordinates","id":"#1"},"target":{"type":"Group","id":"#32"},"access":"Read","isActive":false}
	SharingConfigChanged Rule:#41/0 {"changeType":"ShareRuleUpdated","objectName":"Account","resourceId":"#41"}
delete sharing-rule #41
	SharingConfigChanged Rule:#41/0 {"changeType":"ShareRuleDeleted","objectName":"Account","resourceId":"#41"}
put team-roles Account {"roles":[{"name":"Advisor","access":"Read"}]}
	SharingConfigChanged TeamRole:Account/0 {"changeType":"TeamRoleSettingChanged","objectName":"Account"}
put validation-rule #51 {"name":"VR-OPP-01","object":"Opportunity","condition":"record.Amount < 0","message":"Amount must not be negative","field":"Amount"}
	AutomationConfigChanged Rule:#51/0 {"changeType":"ValidationRuleCreated","objectName":"Opportunity","automationType":"ValidationRule","automationId":"#51","automationName":"VR-OPP-01","isActive":true}
put validation-rule #51 {"name":"VR-OPP-01","object":"Opportunity","condition":"record.Amount < 0","message":"Amount must not be negative","field":"Amount","isActive":false}
	AutomationConfigChanged Rule:#51/0 {"changeType":"ValidationRuleUpdated","objectName":"Opportunity","automationType":"ValidationRule","automationId":"#51","automationName":"VR-OPP-01","isActive":false}
delete validation-rule #51
	AutomationConfigChanged Rule:#51/0 {"changeType":"ValidationRuleDeleted","objectName":"Opportunity","automationType":"ValidationRule","automationId":"#51","automationName":"VR-OPP-01","isActive":false}
put workflow-rule #52 {"name":"Tell","object":"Lead","on":["create"],"when":"after","actions":[{"key":"a","type":"notify","message":"New"}]}
	AutomationConfigChanged Rule:#52/0 {"changeType":"WorkflowRuleCreated","objectName":"Lead","automationType":"WorkflowRule","automationId":"#52","automationName":"Tell","isActive":true}
put workflow-rule #52 {"name":"Tell all","object":"Lead","on":["create"],"when":"after","actions":[{"key":"a","type":"notify","message":"New"}]}
	AutomationConfigChanged Rule:#52/0 {"changeType":"WorkflowRuleUpdated","objectName":"Lead","automationType":"WorkflowRule","automationId":"#52","automationName":"Tell all","isActive":true}
delete workflow-rule #52
	AutomationConfigChanged Rule:#52/0 {"changeType":"WorkflowRuleDeleted","objectName":"Lead","automationType":"WorkflowRule","automationId":"#52","automationName":"Tell all","isActive":false}
put scheduled-job #53 {"name":"Nightly","cron":"0 3 * * *","timeZone":"Asia/Tokyo","actions":[{"key":"a","type":"startGraph","graphId":"nightly"}]}
	AutomationConfigChanged Job:#53/0 {"changeType":"ScheduledJobCreated","objectName":null,"automationType":"ScheduledJob","automationId":"#53","automationName":"Nightly","isActive":true}
put scheduled-job #53 {"name":"Nightly","cron":"0 4 * * *","timeZone":"Asia/Tokyo","actions":[{"key":"a","type":"startGraph","graphId":"nightly"}]}
	AutomationConfigChanged Job:#53/0 {"changeType":"ScheduledJobUpdated","objectName":null,"automationType":"ScheduledJob","automationId":"#53","automationName":"Nightly","isActive":true}
delete scheduled-job #53
	AutomationConfigChanged Job:#53/0 {"changeType":"ScheduledJobDeleted","objectName":null,"automationType":"ScheduledJob","automationId":"#53","automationName":"Nightly","isActive":false}
put approval-process #61 {"name":"Quote Discount Approval","object":"Quote","condition":"record.DiscountPercent > 20","lockedFields":["DiscountPercent"],"steps":[{"name":"Manager","approvers":[{"type":"Role","id":"#2"}]}]}
	ApprovalConfigChanged Process:#61/0 {"changeType":"ProcessCreated","objectName":"Quote","processId":"#61","processName":"Quote Discount Approval","isActive":true}
put approval-process #61 {"name":"Quote Discount Approval","object":"Quote","condition":"record.DiscountPercent > 20","lockedFields":["DiscountPercent"],"steps":[{"name":"Manager","approvers":[{"type":"Role","id":"#2"}],"decide":"any"}],"isActive":false}
	ApprovalConfigChanged Process:#61/0 {"changeType":"ProcessDeactivated","objectName":"Quote","processId":"#61","processName":"Quote Discount Approval","isActive":false}
put approval-process #61 {"name":"Discounts","object":"Quote","steps":[{"name":"Manager","approvers":[{"type":"Role","id":"#2"}]}]}
	ApprovalConfigChanged Process:#61/0 {"changeType":"ProcessUpdated","objectName":"Quote","processId":"#61","processName":"Discounts","isActive":true}
	ApprovalConfigChanged Process:#61/1 {"changeType":"ProcessActivated","objectName":"Quote","processId":"#61","processName":"Discounts","isActive":true}
put approval-process #61 {"name":"Discounts","object":"Quote","steps":[{"name":"Director","approvers":[{"type":"Role","id":"#1"}]}]}
	ApprovalConfigChanged Process:#61/0 {"changeType":"ProcessUpdated","objectName":"Quote","processId":"#61","processName":"Discounts","isActive":true}
put approval-process #61 {"name":"Discounts","object":"Quote","steps":[{"name":"Director","approvers":[{"type":"Role","id":"#1"}]}],"onApproved":{},"onRejected":{}}
put approval-process #61 {"name":"Discounts","object":"Quote","steps":[{"name":"Director","approvers":[{"type":"Manager","id":"owner"}]}],"onApproved":{"Status":"Approved","Description":null}}
	ApprovalConfigChanged Process:#61/0 {"changeType":"ProcessUpdated","objectName":"Quote","processId":"#61","processName":"Discounts","isActive":true}
delete approval-process #61
	ApprovalConfigChanged Process:#61/0 {"changeType":"ProcessDeleted","objectName":"Quote","processId":"#61","processName":"Discounts","isActive":false}
`
	onEvery(t, func(t *testing.T, r *rig) {
		named := strings.NewReplacer(stage, "STAGE", amount, "AMOUNT", industry, "INDUSTRY")
		place := int64(0)
		var step string
		var want []string
		check := func() {
			if step == "" {
				return
			}
			d, _, err := r.do(step)
			if err != nil {
				t.Fatalf("%s: %v", step, err)
			}
			if f, ok := d.Value.(*model.Field); ok && f.Custom {
				named = strings.NewReplacer(stage, "STAGE", amount, "AMOUNT", industry, "INDUSTRY", f.ID, "TIER")
			}
			var got []string
			got, place = r.events(tenantA, place)
			for i := range got {
				got[i] = named.Replace(got[i])
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step, diff)
			}
		}
		for line := range strings.Lines(script) {
			line = strings.TrimRight(line, "\n")
			if event, ok := strings.CutPrefix(line, "\t"); ok {
				want = append(want, event)
				continue
			}
			check()
			step, want = line, nil
		}
		check()
		if others, _ := r.events(tenantB, 0); others != nil {
			t.Errorf("another tenant has %q", others)
		}
	})
}
