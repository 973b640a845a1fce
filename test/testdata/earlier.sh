#!/usr/bin/env bash
# Makes what earlier_test.go starts a server on: what a binary of an earlier version leaves.
#
#   earlier.sh RENGA OUT                      a data folder: OUT.tar.gz, OUT.jsonl
#   earlier.sh RENGA OUT postgres://…         a database: OUT.sql.gz, OUT.jsonl
#
# The files here were made with the binary of commit b536e91.
set -euo pipefail
renga=$1 out=$2 database=${3:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
args=(--data-dir "$dir/data")
[ -z "$database" ] || args+=(--database-url "$database")
"$renga" serve --addr 127.0.0.1:18099 "${args[@]}" 2>"$dir/log" & server=$!
at=http://127.0.0.1:18099
export RENGA_SERVER=$at
until curl -sf $at/readyz >/dev/null; do sleep 0.2; done
: >"$out.jsonl"

# post PATH HEADER KEY BODY: sends a request and notes it with its answer.
post() {
	local status
	status=$(curl -s -o "$dir/answer" -w '%{http_code}' "$at$1" -H "$2: $3" -H "X-Correlation-Id: earlier" --json "$4")
	jq -nc --arg path "$1" --arg header "$2" --arg key "$3" --arg body "$4" --argjson status "$status" --rawfile answer "$dir/answer" \
		'{path: $path, header: $header, key: $key, body: $body, status: $status, answer: $answer}' >>"$out.jsonl"
}
command() { post "$1" X-Idempotency-Key "$2" "$3"; }
done_() { command "/executions/$1/nodes/$2/success" "$2-$3" '{"workerId":"w1","output":{"receipt":"'"$2"'"}}'; }

"$renga" demo load --records 100 >/dev/null
curl -sf -X PUT $at/graphs/order -H 'Content-Type: application/yaml' --data-binary '
nodes:
  - {nodeId: start,  type: Start}
  - {nodeId: charge, type: Task, timeout: 5m, retry: {maxAttempts: 3}}
  - {nodeId: ship,   type: Task}
  - {nodeId: wait,   type: Wait, waitKey: parcel}
  - {nodeId: done,   type: Success}
edges:
  - {from: start,  to: charge}
  - {from: charge, to: ship}
  - {from: ship,   to: wait}
  - {from: wait,   to: done}' >/dev/null
id=()
for n in 1 2 3 4 5 6; do
	command /executions create-$n '{"graphId":"order","input":{"total":'$n'},"start":true}'
	id+=("$(jq -r .executionId "$dir/answer")")
done
command /tasks/claim claim-1 '{"workerId":"w1","queues":["default"],"max":6,"leaseSeconds":3600}'
done_ "${id[0]}" charge 1; done_ "${id[1]}" charge 2; done_ "${id[2]}" charge 3
command /tasks/claim claim-2 '{"workerId":"w1","queues":["default"],"max":6,"leaseSeconds":3600}'
done_ "${id[0]}" ship 1; done_ "${id[4]}" charge 5; done_ "${id[5]}" charge 6
command "/executions/${id[0]}/nodes/wait/resume" resume-1 '{"resumeKey":"parcel","output":{"signed":true}}'
command "/executions/${id[1]}/cancel" cancel-2 '{"reason":"the customer called"}'
command "/executions/${id[1]}/start" start-2 '{}'
command "/executions/${id[3]}/nodes/charge/fail" fail-4 '{"workerId":"w1","error":{"code":"DECLINED","message":"no"}}'
command "/executions/${id[0]}/archive" archive-1 '{}'
command /bulks bulk-1 '{"command":"cancel","filter":{"graphId":"order","status":["ACTIVE"]},"reason":"enough"}'
curl -sf -X PUT $at/api/workflow-templates/expense-close --json \
	'{"name":"Expense close","steps":[{"action":"preflight","trigger_kind":"external_event"},{"action":"month_close","trigger_kind":"after_previous"}]}' >/dev/null
post /api/workflow-events x-idempotency-key bank-2026-01 '{"template_id":"expense-close","event_name":"bank","source":"bank","year":2026,"month":1}'
curl -sf -X PUT $at/pdca/strategies/mean-revert --json '{"name":"Mean revert","tags":["fx"]}' >/dev/null
post /pdca/recheck Idempotency-Key 01JAAAAAAAAAAAAAAAAAAAAAAA \
	'{"strategies":["mean-revert"],"window":{"from":"2026-01-01T00:00:00Z","to":"2026-02-01T00:00:00Z"},"reason":"monthly"}'
post /records/Account Idempotency-Key account-1 '{"fields":{"Name":"株式会社レンガ"}}'
post /reports/rebuild Idempotency-Key reports-1 '{}'
post /search/rebuild Idempotency-Key search-1 '{}'
post /sharing/Account/rebuild Idempotency-Key sharing-1 '{}'
sleep 8
kill $server
wait $server || true
if [ -n "$database" ]; then
	# psql refuses what a newer pg_dump says to it alone
	pg_dump --no-owner --no-privileges "$database" | sed -e '/^\\\(un\)\?restrict /d' -e '/^SET transaction_timeout/d' | gzip -9n >"$out.sql.gz"
else
	rm -f "$dir"/data/*.lock
	tar -C "$dir" --sort=name --owner=0 --group=0 -cz data >"$out.tar.gz"
fi
