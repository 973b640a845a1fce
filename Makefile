# Everything that is done to this repository is done through these targets; CI
# calls the same ones. A machine needs Go and make; test and check install the
# Debian packages they miss when they run as root, and say what they skip when
# they cannot.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
ARGS     ?=
SEED     ?= 1
FUZZTIME ?= 10s
SCHEMATHESIS_SECONDS ?= 240
tool     := $(GO) tool -modfile=tools/go.mod

# Without the paths of a folder in them, packages are compiled and tests run once for all
# clones of the repository on a machine, as long as nothing changed that they read.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

sources  := $(wildcard *.go api client cmd examples internal test web/*.go web/pack)

# The packages in which goroutines meet.
racing := $(patsubst %,./%/...,$(wildcard internal/workflow/expr internal/platform/sqldb internal/workflow/store internal/workflow/engine internal/platform/bulk))

# Those of which only some tests let things happen at the same time; RACE=. runs all of them (half an hour).
partly := ./client ./internal/platform/bus/... ./internal/platform/gate/... ./internal/httpapi
RACE ?= Stream|Watch|Race|Meets|Clients|AtOnce|Claim|Drains|Wins|Workers|Processes|Another|Share

# The services and what starts executions: the few tests of theirs in which goroutines meet.
services := ./internal/crm/... ./internal/inbound ./internal/recheck/... ./internal/schedules
SERVICES_RACE ?= AtOnce|SameTime|Beside|UnderWriters|InTurns|OneVersion|TwoProcesses|EachOtherUp|OwnDeliveries|OneMonth|AnyProcess|Renewed

# The packages whose tests run on SQLite, and once more on PostgreSQL with the system's. All others
# choose for themselves. With the quick ones the story of the contract is played on PostgreSQL.
twice := ./internal/httpapi ./test
story := -run TestTheExamplesOfTheContractAreWhatTheServerDoes ./internal/httpapi

# Tests with servers of their own wait for disks most of their time, so four of a package run
# at once, and several packages. What go vet finds, make check finds; no debugger needs the binaries.
beside := -parallel 4 -vet=off -ldflags=-w

# get PACKAGE: install a Debian package, which only root can.
get = { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	&& { export DEBIAN_FRONTEND=noninteractive; apt-get install -y -qq $(1) >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq $(1) >/dev/null; }; }; }

# need COMMAND,PACKAGE,CONSEQUENCE: get a Debian package, or say what is missing without it.
need = command -v $(1) >/dev/null || $(call get,$(2)) \
	|| echo "SKIP: $(1) is not installed (Debian package $(2)): $(3)"

# Where Debian keeps PostgreSQL's server.
postgres := $(or $(lastword $(wildcard /usr/lib/postgresql/*/bin/postgres)),postgres)
need-postgres = [ -n "$${RENGA_TEST_DATABASE_URL:-}" ] || $(call need,$(postgres),postgresql,the tests on PostgreSQL are skipped)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

.PHONY: build
build: ## build bin/renga
	CGO_ENABLED=0 $(GO) build -o bin/renga ./cmd/renga

.PHONY: run
run: build ## build and run the whole system on 127.0.0.1:8080 (ARGS="--addr …")
	exec ./bin/renga serve $(ARGS)

.PHONY: test
test: ## run the quick tests, on SQLite and on PostgreSQL
	@$(need-postgres)
	@$(MAKE) --no-print-directory -j 2 -Oline quick quick-postgres

.PHONY: quick quick-postgres
# The limit of a package ends what hangs; a busy machine stays far below it.
quick:
	$(GO) test -p 4 $(beside) -timeout 30m ./...
quick-postgres:
	RENGA_TEST_DB=postgres $(GO) test $(beside) -timeout 30m $(story) 2>&1 | sed -u 's/^/on PostgreSQL: /'

# System tests begin with tier.System(t): their names and packages are read off the files.
system-files = $$(grep -rl --include='*_test.go' 'tier\.System(t)' client internal test)
system-tests = ^($$(grep -h -B1 'tier\.System(t)' $(system-files) | sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' | sort -u | paste -sd'|'))$$

# Tests that measure have the machine to themselves; the others wait for disks and for each other.
measures := ^(TestOneTenantCannotHoldUpAnother|TestAFilterIsFastAmongAMillion)$$

.PHONY: test-system
test-system: ## kill, cut, fill and race the real program, on SQLite and on PostgreSQL
	@$(call need,strace,strace,the tests that make fsync fail are skipped)
	@$(need-postgres)
	RENGA_SYSTEM=1 $(GO) test -p 1 $(beside) -timeout 15m -run '$(measures)' ./test ./internal/workflow/store
	RENGA_SYSTEM=1 RENGA_TEST_DB=postgres $(GO) test $(beside) -timeout 15m -run '$(measures)' ./test
	@$(MAKE) --no-print-directory -j 2 -Oline system system-postgres

.PHONY: system system-postgres
system:
	RENGA_SYSTEM=1 $(GO) test -p 2 $(beside) -timeout 20m -skip '$(measures)' -run "$(system-tests)" $$(dirname $(system-files) | sort -u | sed 's|^|./|')
system-postgres:
	RENGA_SYSTEM=1 RENGA_TEST_DB=postgres $(GO) test -p 1 $(beside) -timeout 20m -skip '$(measures)' $(twice) 2>&1 | sed -u 's/^/on PostgreSQL: /'

.PHONY: test-long
test-long: ## run all tests with their full counts (hours)
	@$(call need,strace,strace,the tests that make fsync fail are skipped)
	@$(need-postgres)
	RENGA_LONG=1 $(GO) test -timeout 4h -count=1 ./...
	RENGA_LONG=1 RENGA_TEST_DB=postgres $(GO) test -timeout 4h -count=1 $(twice)

.PHONY: check
check: format tidy vet lint layout vuln race ## format, modules, vet, lint, import table, known vulnerabilities, race detector

.PHONY: format
format: ## fail on files that gofumpt would change
	@files=$$($(tool) gofumpt -l $(sources)); \
	if [ -n "$$files" ]; then echo "not in gofumpt's format (make fix):"; echo "$$files"; exit 1; fi

.PHONY: fix
fix: ## bring all files into gofumpt's format
	$(tool) gofumpt -l -w $(sources)

.PHONY: tidy
tidy: ## fail when go.mod or go.sum lack or list too much
	$(GO) mod tidy -diff
	cd tools && $(GO) mod tidy -diff

.PHONY: vet
vet: ## run go vet
	$(GO) vet ./...

.PHONY: lint
lint: ## run staticcheck
	$(tool) staticcheck ./...

.PHONY: layout
layout: ## hold the import table, the vocabulary, the dependencies and the sizes against the code
	$(GO) test ./internal/tidy

# govulncheck needs its database on the network. Only when that cannot be fetched
# is the check skipped; every other failure counts.
.PHONY: vuln
vuln: ## look for known vulnerabilities
	@if out=$$($(tool) govulncheck ./... 2>&1); then echo "$$out"; \
	elif grep -q 'fetching vulnerabilities' <<<"$$out"; then echo "SKIP: govulncheck cannot reach its database; known vulnerabilities were not checked"; \
	else echo "$$out"; exit 1; fi

.PHONY: race
race: ## run the packages in which goroutines meet under the race detector
	@$(call need,gcc,gcc libc6-dev,the race detector is not run)
	@$(need-postgres)
	@if command -v gcc >/dev/null; then set -x; export CGO_ENABLED=1 RENGA_SYSTEM=1; $(GO) test -race -short -timeout 15m $(racing); \
		$(GO) test -race -short -timeout 15m -parallel 4 -run '$(RACE)' $(partly); \
		$(GO) test -race -short -timeout 15m -parallel 4 -run '$(SERVICES_RACE)' $(services); fi

.PHONY: bench
bench: ## measure throughput and latency against bare commits and an echo server
	@$(need-postgres)
	$(GO) run ./cmd/renga bench $(ARGS)
	RENGA_BENCH=1 $(GO) test -count=1 -v -run TestBenchOnPostgreSQL ./test | grep -v '^=== \|^--- \|^ok\|^PASS'

.PHONY: sim
sim: ## run the simulation from one seed (SEED=1)
	RENGA_SIM_SEED=$(SEED) $(GO) test -count=1 -v -timeout 30m -run Seeds ./internal/workflow/sim

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' $(sources) | sort | while IFS=: read -r file func; do \
		echo "$$file $${func#func }"; \
		$(GO) test -run '^$$' -fuzz "^$${func#func }$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")" </dev/null; \
	done

# The test of its own needs nothing. Schemathesis comes from PyPI into a folder that is
# thrown away, and asks a server of its own, which limits nobody, or most answers would be
# 429; streams, which do not end, are left out.
# One worker: Python 3.11 fails inside Schemathesis with two.
.PHONY: fuzz-api
fuzz-api: build ## send requests made from the contract: 50,000 of the test's own, then Schemathesis' (RENGA_FUZZ_SEED=…)
	RENGA_LONG=1 $(GO) test -count=1 -v -timeout 15m -run '^TestEveryEndpointStands' ./internal/httpapi
	@dir=$$(mktemp -d); server=; trap '[ -z "$$server" ] || { kill "$$server"; wait "$$server"; }; rm -rf "$$dir"' EXIT; \
	if ! { python3 -m venv "$$dir/venv" && "$$dir/venv/bin/pip" install -q schemathesis; } >"$$dir/log" 2>&1; then \
		tail -n 2 "$$dir/log"; echo "SKIP: Schemathesis cannot be installed from PyPI; only the test of its own was run"; exit 0; \
	fi; \
	./bin/renga serve --addr 127.0.0.1:0 --data-dir "$$dir/data" --rate pdca.read=unlimited --rate pdca.recheck=unlimited \
		--rate pdca.bulk=unlimited 2>"$$dir/serve" & server=$$!; \
	for _ in {1..100}; do address=$$(sed -n 's/.*msg=serving address=\([^ ]*\).*/\1/p' "$$dir/serve"); [ -z "$$address" ] || break; sleep 0.1; done; \
	[ -n "$$address" ] || { cat "$$dir/serve"; exit 1; }; \
	cd "$$dir" && venv/bin/schemathesis run "http://$$address/openapi.yaml" --exclude-path-regex 'stream$$' --request-timeout 40 \
		--checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
		--phases examples,coverage,fuzzing --workers 1 --max-time $(SCHEMATHESIS_SECONDS) --warnings off

# Airflow comes from PyPI into folders that are thrown away, once for every version. It
# publishes the versions of its dependencies that fit together; where that list is out of
# reach, pip chooses. One Airflow takes about a gigabyte of memory and some minutes.
AIRFLOW ?= 3.3.2 2.10.5
.PHONY: test-airflow
test-airflow: ## run the whole path with real Airflows from PyPI (AIRFLOW="3.3.2 2.10.5")
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	python=$$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	failed=0; for version in $(AIRFLOW); do \
		venv="$$dir/$$version"; \
		curl -fsSL --max-time 20 -o "$$dir/rules" "https://raw.githubusercontent.com/apache/airflow/constraints-$$version/constraints-$$python.txt" 2>/dev/null || : >"$$dir/rules"; \
		if ! { python3 -m venv "$$venv" && "$$venv/bin/pip" install -q "apache-airflow==$$version" -c "$$dir/rules"; } >"$$dir/log" 2>&1; then \
			tail -n 2 "$$dir/log"; echo "SKIP: Airflow $$version cannot be installed from PyPI; nothing was tried with it"; continue; \
		fi; \
		RENGA_TEST_AIRFLOW="$$venv" $(GO) test -count=1 -v -timeout 30m -run '^TestARealAirflow' ./test || failed=1; \
	done; exit $$failed

# The console is TypeScript. Node builds it into web/console.zip, which is committed, so that only these targets
# need Node. npm runs no scripts of packages.
node-wanted := 20.19
node-found   = $(shell node --version 2>/dev/null | tr -d v)
node-old     = [ "$$(printf '%s\n' $(node-wanted) "$(or $(node-found),0)" | sort -V | head -n 1)" != $(node-wanted) ]
node-missing = Node $(node-wanted) or newer is needed, and this machine has $(or $(node-found),none)

web-packages := web/node_modules/.package-lock.json
$(web-packages): web/package.json web/package-lock.json
	cd web && npm ci --ignore-scripts
	@touch $@

.PHONY: node
node:
	@if $(node-old); then echo "$(node-missing); builds with the committed web/console.zip need none" >&2; exit 1; fi

.PHONY: web
web: node $(web-packages) ## check and build the console, and pack it into web/console.zip
	cd web && npm run check && npm run build
	$(GO) run ./web/pack

.PHONY: web-dev
web-dev: node $(web-packages) ## serve the console from its sources, with the API of a running server (RENGA_URL=…)
	cd web && exec npm run dev

.PHONY: test-web
test-web: ## rebuild the console, compare it with web/console.zip, and try it in a real browser
	@if $(node-old); then echo "SKIP: $(node-missing): the console is neither rebuilt nor tried in a browser"; \
	else $(MAKE) --no-print-directory browser WEB="$(WEB)"; fi

.PHONY: test-web-postgres
test-web-postgres: node $(web-packages) browser-ready ## try sessions and executions in a browser on PostgreSQL with two processes
	@$(need-postgres)
	RENGA_TEST_CONSOLE=$(CURDIR)/web $(GO) test -count=1 -v -timeout 30m -run '^TestTheConsoleOnPostgreSQL$$' ./test

# EXECUTIONS is how many the list has, EVENTS_FOR how many seconds 1,000 updates a second go on.
.PHONY: bench-web
bench-web: node $(web-packages) browser-ready ## measure the console in a real browser (EXECUTIONS=1000000 EVENTS_FOR=60)
	cd web && npx playwright test --project=bench $(WEB)

# WEB="-g palette" runs some of the tests.
WEB ?=
.PHONY: browser browser-ready
browser: $(web-packages) browser-ready
	cd web && npm run build
	$(GO) run ./web/pack -check
	@if command -v chromium >/dev/null; then set -x; cd web && npx playwright test --project=tests $(WEB); fi
browser-ready: build
	@$(call need,chromium,chromium,the console is not tried in a browser)
	@ls /usr/share/fonts/opentype/noto/*CJK* >/dev/null 2>&1 || $(call get,fonts-noto-cjk) \
		|| echo "SKIP: there are no Japanese letters (Debian package fonts-noto-cjk): pictures show boxes"

.PHONY: clean
clean: ## remove what was built; ./data stays
	rm -rf bin
