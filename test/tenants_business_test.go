package test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// The definitions with which the hostile tenant makes its own records costly.

// openRules defines a hundred rules of each kind that are evaluated with every change.
func openRules(h *hostile) {
	for n := range 100 {
		h.must(http.MethodPut, "/metadata/validation-rules/"+hostileID(4, n), map[string]any{
			"name": fmt.Sprint("rule ", n), "object": "Opportunity", "condition": costly("record.Name") +
				fmt.Sprintf(" && %d > 0", n+1), "message": "no",
		}, nil)
	}
}

func closeRules(h *hostile) {
	for n := range 100 {
		h.must(http.MethodDelete, "/metadata/validation-rules/"+hostileID(4, n), nil, nil)
	}
}

// changeBulk changes 200 records, which nobody else changes.
func changeBulk(ctx context.Context, h *hostile, n int) {
	var b strings.Builder
	b.WriteString(`{"operations":[`)
	for i := range 200 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"op":"update","id":%q,"fields":{"NextStep":"common %d"}}`,
			h.ids[(n%attackers*200+i)%len(h.ids)], n)
	}
	b.WriteString(`]}`)
	h.shoot(ctx, http.MethodPost, "/records/Opportunity/bulk", []byte(b.String()))
}

// openSharing defines sharing rules with costly criteria.
func openSharing(h *hostile) {
	h.must(http.MethodPut, "/metadata/groups/"+hostileID(5, 0), map[string]any{
		"name": "desk", "type": "public", "members": []map[string]any{{"type": "User", "id": hostileID(3, 1)}},
	}, nil)
	for n := range 20 {
		h.must(http.MethodPut, "/metadata/sharing-rules/"+hostileID(5, n+1), map[string]any{
			"name": fmt.Sprint("share ", n), "object": "Opportunity", "kind": "criteria",
			"criteria": costly("record.Name") + fmt.Sprintf(" && %d > 0", n+1), "access": "Read",
			"target": map[string]any{"type": "Group", "id": hostileID(5, 0)},
		}, nil)
	}
}

func closeSharing(h *hostile) {
	for n := range 20 {
		h.must(http.MethodDelete, "/metadata/sharing-rules/"+hostileID(5, n+1), nil, nil)
	}
}

// changeMetadata changes what much follows from: roles, users, groups, defaults, fields.
func changeMetadata(ctx context.Context, h *hostile, n int) {
	switch n % 5 {
	case 0:
		role := object("name", fmt.Sprint("role ", n), "parentRoleId", hostileID(2, n%14))
		h.shoot(ctx, http.MethodPut, "/metadata/roles/"+hostileID(2, 15+n%15), role)
	case 1:
		h.shoot(ctx, http.MethodPut, "/metadata/users/"+hostileID(3, n%60), object("name", fmt.Sprint("user ", n),
			"roleId", hostileID(2, n%30), "permissionSetIds", []string{hostileID(1, 1)}))
	case 2:
		members := []map[string]any{}
		for i := range 60 {
			members = append(members, map[string]any{"type": "User", "id": hostileID(3, i)})
		}
		h.shoot(ctx, http.MethodPut, "/metadata/groups/"+hostileID(5, 50+n%50), object("name", fmt.Sprint("g", n),
			"type", "public", "members", members[:1+n%60]))
	case 3:
		h.shoot(ctx, http.MethodPut, "/metadata/owd/Opportunity",
			object("access", []string{"Private", "ReadOnly"}[n/5%2]))
	case 4:
		h.shoot(ctx, http.MethodGet, "/metadata/describe/Opportunity", nil)
	}
}

// largeMetadata sends definitions that are as large as may be.
func largeMetadata(ctx context.Context, h *hostile, n int) {
	switch n % 3 {
	case 0:
		names := []string{}
		for i := range 1000 {
			names = append(names, fmt.Sprintf("%0200d-%d-%d", i, i, n))
		}
		h.shoot(ctx, http.MethodPut, fmt.Sprintf("/metadata/objects/Opportunity/fields/Large%d__c", n%20),
			object("label", "Large", "type", "picklist", "values", names))
	case 1:
		h.shoot(ctx, http.MethodPut, "/metadata/validation-rules/"+hostileID(4, 200+n%100),
			object("name", fmt.Sprint("r", n), "object", "Quote", "condition", longCondition(n), "message", "no"))
	default:
		h.shoot(ctx, http.MethodPut, "/metadata/stages",
			[]byte(`{"stages":[`+strings.TrimSuffix(strings.Repeat("[],", 80_000), ",")+`]}`))
	}
}

// longCondition has nearly as many parts as an expression may have.
func longCondition(n int) string {
	return fmt.Sprint(n) + " > 0 && " + strings.TrimSuffix(strings.Repeat("record.Tax == 1.5 || ", 190), " || ")
}

// openJobs defines jobs that come every minute and look at all records with a costly condition.
func openJobs(h *hostile) {
	for n := range 50 {
		h.must(http.MethodPut, "/metadata/scheduled-jobs/"+hostileID(6, 500+n), map[string]any{
			"name": fmt.Sprint("job ", n), "object": "Opportunity", "condition": costly("record.Name"),
			"cron": "* * * * *", "timeZone": "UTC",
			"actions": []map[string]any{{"key": "ask", "type": "createTask", "message": "?"}},
		}, nil)
	}
	// Until the next minute comes, so that they are under way.
	pause(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + time.Second)))
}

func closeJobs(h *hostile) {
	for n := range 50 {
		h.must(http.MethodDelete, "/metadata/scheduled-jobs/"+hostileID(6, 500+n), nil, nil)
	}
}

// openNotes defines jobs that come every minute and tell everybody of all records, in as many
// actions as there may be.
func openNotes(h *hostile) {
	var members, actions []map[string]any
	for n := range 60 {
		members = append(members, map[string]any{"type": "User", "id": hostileID(3, n)})
	}
	h.must(http.MethodPut, "/metadata/groups/"+hostileID(5, 110), map[string]any{
		"name": "everybody", "type": "public", "members": members,
	}, nil)
	for n := range 20 {
		actions = append(actions, map[string]any{
			"key": fmt.Sprint("tell", n), "type": "notify", "message": strings.Repeat("x", 400),
			"to": map[string]any{"type": "Group", "id": hostileID(5, 110)},
		})
	}
	for n := range 10 {
		h.must(http.MethodPut, "/metadata/scheduled-jobs/"+hostileID(6, 600+n), map[string]any{
			"name": fmt.Sprint("tell ", n), "object": "Opportunity", "cron": "* * * * *", "timeZone": "UTC",
			"actions": actions,
		}, nil)
	}
	// Until the next minute comes, so that they are under way.
	pause(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute + time.Second)))
}

func closeNotes(h *hostile) {
	for n := range 10 {
		h.must(http.MethodDelete, "/metadata/scheduled-jobs/"+hostileID(6, 600+n), nil, nil)
	}
}

// openStrategies registers as many strategies as a request may match.
func openStrategies(h *hostile) {
	if status, _ := h.send(context.Background(), http.MethodGet, "/gui/strategies", nil); status != http.StatusOK {
		h.t.Fatalf("strategies are answered %d", status)
	}
	work := make(chan int)
	done := make(chan struct{})
	for range 16 {
		go func() {
			defer func() { done <- struct{}{} }()
			for n := range work {
				h.must(http.MethodPut, fmt.Sprintf("/pdca/strategies/s%05d", n),
					map[string]any{"name": strings.Repeat("a", 150) + fmt.Sprint(n), "tags": []string{
						"daily",
						"weekly",
					}}, nil)
			}
		}()
	}
	for n := range 5000 {
		work <- n
	}
	close(work)
	for range 16 {
		<-done
	}
}

// templates puts templates with as many steps as there may be.
func templates(ctx context.Context, h *hostile, n int) {
	steps := []map[string]any{{"action": "mf_reconcile", "trigger_kind": "external_event"}}
	for i := range 99 {
		steps = append(steps, map[string]any{
			"action": "month_close", "trigger_kind": "manual",
			"title": fmt.Sprintf("%d %d", n, i),
		})
	}
	h.shoot(ctx, http.MethodPut, fmt.Sprintf("/api/workflow-templates/t%d", n%100), object("name", fmt.Sprint("n", n),
		"year", 2026, "steps", steps, "notes", strings.Repeat("x", 8000)))
}

// streamFor opens streams and reads them for a moment.
func streamFor(paths ...string) func(context.Context, *hostile, int) {
	return func(ctx context.Context, h *hostile, n int) {
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		path := paths[n%len(paths)]
		if strings.Contains(path, "%s") {
			path = fmt.Sprintf(path, h.wide)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+path, nil)
		if err != nil {
			h.t.Error(err)
			return
		}
		req.Header.Set("X-Tenant-Id", h.id)
		resp, err := h.http.Do(req)
		if err != nil {
			return
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		h.mu.Lock()
		h.answers[resp.StatusCode]++
		h.mu.Unlock()
	}
}
