package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// attacks are the worst requests that were found, by endpoint.
func attacks() []attack {
	large, largest := largeInput(), largestInput()
	return []attack{
		{name: "graphs, 10,000 nodes in JSON", send: putGraph("application/json", [][]byte{
			wideGraph(9_996),
			longGraph(9_998),
		})},
		{name: "graphs, 10,000 nodes in YAML", send: putGraph("application/yaml", [][]byte{
			wideGraph(9_996),
			longGraph(9_998),
		})},
		{name: "graphs, 8 MiB of YAML", send: putGraph("application/yaml", [][]byte{yamlOnes(), yamlAliases()})},
		{name: "graphs, 8 MiB of JSON", send: putGraph("application/json", [][]byte{jsonOnes(), jsonUnknown()})},
		{name: "graphs, read", send: readEach("/graphs/wide", "/graphs?page_size=100", "/graphs/wide?version=1")},
		{name: "wide executions", send: wideExecutions},
		{name: "wide executions, batched", send: wideBatch},
		{name: "executions, read", send: func(ctx context.Context, h *hostile, n int) {
			paths := []string{
				"/executions/" + h.wide, "/executions/" + h.wide + "?at=3", "/executions/" + h.wide +
					"/events?page_size=100&page=50", "/executions/" + h.wide + "/commands?page_size=100",
				"/executions?page=1000000&page_size=100",
				"/executions?status=ACTIVE,COMPLETED,FAILED,CANCELED&graphId=one&page=100&page_size=100",
			}
			h.shoot(ctx, http.MethodGet, paths[n%len(paths)], nil)
		}},
		{name: "conditions", open: func(h *hostile) {
			h.must(http.MethodPut, "/graphs/conditions",
				conditionGraph(3_000), nil)
		}, send: conditions},
		{name: "commands, 500 at once", send: func(ctx context.Context, h *hostile, n int) {
			h.shoot(ctx, http.MethodPost, "/commands", creations(500, "one", "", n))
		}},
		{name: "commands, 8 MiB", send: func(ctx context.Context, h *hostile, n int) {
			h.shoot(ctx, http.MethodPost, "/commands", creations(100, "one", large, n))
		}},
		{name: "large inputs", send: func(ctx context.Context, h *hostile, _ int) {
			h.shoot(ctx, http.MethodPost, "/executions", []byte(`{"graphId":"one","start":true,"input":`+largest+`}`))
		}},
		{name: "claims", send: func(ctx context.Context, h *hostile, n int) {
			h.shoot(ctx, http.MethodPost, "/tasks/claim", object("workerId", "w", "queues", queueNames(), "max", 100,
				"leaseSeconds", 1, "waitSeconds", 1))
		}},
		{name: "watches", send: func(ctx context.Context, h *hostile, n int) {
			h.shoot(ctx, http.MethodPost, "/tasks/watch", watchBodyOf(h.wide, n%2))
		}},
		{name: "bulks", send: func(ctx context.Context, h *hostile, n int) {
			_, text := h.shoot(ctx, http.MethodPost, "/bulks", object("command", "cancel", "filter",
				map[string]any{"graphId": "one"}))
			var made struct{ BulkID string }
			if json.Unmarshal(text, &made) == nil && made.BulkID != "" {
				h.shoot(ctx, http.MethodPost, "/bulks/"+made.BulkID+"/start", []byte("{}"))
				h.shoot(ctx, http.MethodGet, "/bulks/"+made.BulkID+"/items?page_size=100&page=50", nil)
			}
		}},
		{name: "rules", open: openRules, send: changeBulk, close: closeRules},
		{name: "records, bulk of 200", send: changeBulk},
		{name: "records, lists", send: readEach(
			"/records/Opportunity?NextStep.contains=zzz&Amount.gt=1&"+
				"sort=NextStep.desc,CloseDate.asc,Amount.desc&page_size=100",
			"/records/Opportunity?sort=Amount.desc&page=100&page_size=100",
			"/records/Opportunity?Name.in="+strings.TrimSuffix(strings.Repeat("common,", 100), ",")+
				"&sort=CloseDate.desc",
			"/records/Opportunity?"+manyFilters()+"&sort=CloseDate.desc",
		)},
		{name: "records, lists of a user", send: readAs(
			"/records/Opportunity?NextStep.contains=zzz&sort=NextStep.desc,CloseDate.asc,Amount.desc&page_size=100",
			"/records/Opportunity?page=150&page_size=100",
			"/reports/pipeline?groupBy=owner,stage", "/search?q=common+deal+number&limit=100",
		)},
		{name: "search", send: readEach(
			"/search?limit=100&q="+url.QueryEscape("common deal number call again word1"), "/search?limit=100&q="+
				url.QueryEscape(`"common deal number" "call"`),
			"/search?limit=100&q=com+dea+num+cal+aga+wor", "/search?limit=100&q="+
				url.QueryEscape(strings.Repeat("京", 190)),
			"/search?limit=100&field=NextStep&q=common", "/search?q="+strings.Repeat("a-", 99),
		)},
		{name: "search, rebuild", send: func(ctx context.Context, h *hostile, _ int) {
			h.shoot(ctx, http.MethodPost, "/search/rebuild", []byte("{}"))
		}},
		{name: "reports", send: readEach(
			"/reports/pipeline?groupBy=owner,stage", "/reports/forecast?groupBy=owner,month,category",
			"/reports/won-lost?groupBy=owner,month",
			"/reports/lead-conversion?groupBy=owner,month,source", "/reports/campaigns",
			"/reports/approvals?groupBy=submitter,month,object", "/reports/forecast?format=csv",
		)},
		{name: "reports, rebuild", send: func(ctx context.Context, h *hostile, _ int) {
			h.shoot(ctx, http.MethodPost, "/reports/rebuild", []byte("{}"))
		}},
		{name: "sharing, rebuild", open: openSharing, send: func(ctx context.Context, h *hostile, n int) {
			h.shoot(ctx, http.MethodPost, "/sharing/Opportunity/rebuild", []byte("{}"))
			h.shoot(
				ctx,
				http.MethodGet,
				"/sharing/Opportunity/"+h.ids[n%len(h.ids)]+"?userId="+hostileID(3, n%60),
				nil,
			)
		}, close: closeSharing},
		{name: "metadata", send: changeMetadata},
		{name: "metadata, 256 KiB", send: largeMetadata},
		{name: "cron", send: func(ctx context.Context, h *hostile, n int) {
			lines := []string{"59 23 29 2 *", "0-59/1 0-23/1 29 2 *", strings.TrimSuffix(strings.Repeat("59,", 60),
				",") + " 23 29 2 6"}
			h.shoot(ctx, http.MethodPut, "/metadata/scheduled-jobs/"+hostileID(6, n%300),
				object("name", fmt.Sprint("job ", n), "object", "Opportunity",
					"condition", "!record.IsClosed", "cron", lines[n%len(lines)], "timeZone", "Asia/Tokyo",
					"actions", []map[string]any{{"key": "ask", "type": "createTask", "message": "?"}}))
			h.shoot(ctx, http.MethodGet, "/automation/jobs?page_size=100", nil)
		}},
		{name: "jobs with costly conditions", open: openJobs, send: readEach("/automation/runs?page_size=100",
			"/automation/jobs?page_size=100"), close: closeJobs},
		{name: "jobs that notify", open: openNotes, send: readEach("/automation/runs?page_size=100",
			"/automation/jobs?page_size=100"), close: closeNotes},
		{name: "strategies", open: openStrategies, send: func(ctx context.Context, h *hostile, n int) {
			if n%4 == 0 {
				h.shoot(
					ctx,
					http.MethodPost,
					"/pdca/recheck_all",
					object("filter", map[string]any{}, "batch_size", 100,
						"window", map[string]any{"lookback_days": 7}, "reason", "all"),
				)
				return
			}
			h.shoot(ctx, http.MethodGet, "/gui/strategies?q="+strings.Repeat("a", 60)+
				"&tags_any=daily,weekly&sort=last_checked_at.desc&page_size=100", nil)
		}},
		{name: "workflow templates", send: templates},
		{
			name: "workflow events", open: func(h *hostile) { templates(context.Background(), h, 1) },
			send: func(ctx context.Context, h *hostile, n int) {
				h.shoot(ctx, http.MethodPost, "/api/workflow-events", object("template_id", "t1", "idempotency_key",
					fmt.Sprint("e", n),
					"year", 2000+n/12%100, "month", 1+n%12, "source", "bank", "notes", strings.Repeat("x", 8000)))
				h.shoot(ctx, http.MethodGet, "/api/workflow-events/summary?ym=2026-01&recent_limit=200", nil)
			},
		},
		{name: "events", send: readEach(
			"/events/outbox?page_size=100&key=nobody", "/events/outbox?page_size=100&eventType=LeadConverted",
			"/events/outbox?page_size=100&after=0",
			"/events/dlq?status=OPEN,APPLIED,SKIPPED&foresee=true&page_size=100", "/events/consumers",
			"/events/schemas",
		)},
		{name: "audit", send: readEach("/audit?page_size=100&page=400", "/audit?actor=nobody", "/audit/export",
			"/audit?subject=nobody&page_size=100")},
		{name: "streams", send: streamFor("/executions/%s/stream", "/events/stream?lastEventId=0")},
		{name: "many small requests", send: func(ctx context.Context, h *hostile, n int) {
			h.shoot(ctx, http.MethodPost, "/executions", []byte(`{"graphId":"one","start":true}`))
		}},
		{name: "events, replay", send: func(ctx context.Context, h *hostile, n int) {
			_, text := h.shoot(ctx, http.MethodPost, "/events/replays", object("consumer", services[n%len(services)],
				"from", "2020-01-01T00:00:00Z"))
			var made struct{ ReplayID string }
			if json.Unmarshal(text, &made) == nil && made.ReplayID != "" {
				h.shoot(ctx, http.MethodGet, "/events/replays/"+made.ReplayID, nil)
			}
		}},
	}
}

// readEach reads paths in turn.
func readEach(paths ...string) func(context.Context, *hostile, int) {
	return func(ctx context.Context, h *hostile, n int) { h.shoot(ctx, http.MethodGet, paths[n%len(paths)], nil) }
}

// readAs reads paths in turn, as users at the top of the hierarchy.
func readAs(paths ...string) func(context.Context, *hostile, int) {
	return func(ctx context.Context, h *hostile, n int) {
		h.shoot(ctx, http.MethodGet, paths[n%len(paths)], nil, "X-User-Id", hostileID(3, n%3))
	}
}

// putGraph registers graphs in turn, each time as a new version.
func putGraph(media string, bodies [][]byte) func(context.Context, *hostile, int) {
	return func(ctx context.Context, h *hostile, n int) {
		body := bodies[n%len(bodies)]
		if bytes.Contains(body[:min(len(body), 1<<20)], []byte(`"done"`)) {
			body = bytes.ReplaceAll(body, []byte(`"done"`), fmt.Appendf(nil, `"done%d"`, n))
		}
		h.shoot(ctx, http.MethodPut, fmt.Sprintf("/graphs/big%d", n%4), body, "Content-Type", media)
	}
}

func yamlOnes() []byte {
	return []byte("nodes: [" + strings.TrimSuffix(strings.Repeat("1,", 4<<20-10), ",") + "]\n")
}

func yamlAliases() []byte {
	return []byte(`a: &a "` + strings.Repeat("x", 50_000) + "\"\nb: [" + strings.TrimSuffix(strings.Repeat("*a, ",
		9_000), ", ") + "]\n")
}

func jsonOnes() []byte {
	return []byte(`{"nodes":[` + strings.TrimSuffix(strings.Repeat("1,", 4<<20-20), ",") + `]}`)
}

// jsonUnknown has as many nodes as fit, far more than there may be.
func jsonUnknown() []byte {
	node := `{"nodeId":"n","type":"Task"},`
	return []byte(`{"nodes":[` + strings.TrimSuffix(strings.Repeat(node, (8<<20-20)/len(node)), ",") + `]}`)
}

// wideExecutions creates the widest execution, and cancels it.
func wideExecutions(ctx context.Context, h *hostile, _ int) {
	_, text := h.shoot(ctx, http.MethodPost, "/executions", object("graphId", "wide", "start", true))
	var made struct{ ExecutionID string }
	if json.Unmarshal(text, &made) == nil && made.ExecutionID != "" {
		h.shoot(ctx, http.MethodPost, "/executions/"+made.ExecutionID+"/cancel", []byte("{}"))
	}
}

// wideBatch creates many of the widest executions in one request.
func wideBatch(ctx context.Context, h *hostile, n int) {
	h.shoot(ctx, http.MethodPost, "/commands", creations(500, "wide", "", n))
}

// conditions lets a Task end that has thousands of costly conditions.
func conditions(ctx context.Context, h *hostile, _ int) {
	_, text := h.shoot(ctx, http.MethodPost, "/executions", object("graphId", "conditions", "start", true, "input",
		map[string]any{"none": ""},
		"claim", map[string]any{"workerId": "w"}))
	var made struct{ ExecutionID string }
	if json.Unmarshal(text, &made) == nil && made.ExecutionID != "" {
		h.shoot(ctx, http.MethodPost, "/executions/"+made.ExecutionID+"/nodes/pick/success",
			object("attempt", 1, "workerId", "w"))
	}
}

// largeInput is an input of which 100 fit into a batch.
func largeInput() string {
	return `{"list":[` + strings.TrimSuffix(strings.Repeat("1,", 40_000), ",") + `]}`
}

// largestInput is one that a single command may have.
func largestInput() string {
	return `{"list":[` + strings.TrimSuffix(strings.Repeat(`{"a":1},`, 120_000), ",") + `]}`
}

// creations is a batch of commands.
func creations(count int, graph, input string, n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"commands":[`)
	for i := range count {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"command":"CreateExecution","idempotencyKey":"batch-%d-%d","graphId":%q,"start":true`, n, i,
			graph)
		if input != "" {
			b.WriteString(`,"input":` + input)
		}
		b.WriteByte('}')
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func queueNames() (names []string) {
	for i := range 99 {
		names = append(names, fmt.Sprint("q", i))
	}
	return append(names, "default")
}

// watchBodyOf watches a thousand tasks, for a second or not at all.
func watchBodyOf(execution string, wait int) []byte {
	var tasks []map[string]any
	for i := range 1000 {
		tasks = append(tasks, map[string]any{"executionId": execution, "nodeId": fmt.Sprint("b", i), "attempt": 1})
	}
	return object("tasks", tasks, "waitSeconds", wait)
}

// manyFilters are all that a list may have.
func manyFilters() string {
	all := url.Values{}
	for _, f := range []string{"Name.contains", "NextStep.contains", "Description.contains"} {
		all.Set(f, strings.Repeat("co", 50))
	}
	for _, f := range []string{
		"Amount.gt", "Amount.gte", "Amount.lt", "Amount.lte", "Amount.ne", "Probability.gt",
		"Probability.lt",
	} {
		all.Set(f, "1")
	}
	for _, f := range []string{"CloseDate.gt", "CloseDate.lt", "CloseDate.ne"} {
		all.Set(f, "2026-01-01")
	}
	return all.Encode()
}
