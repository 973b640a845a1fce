package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Bulks: one command on a frozen set of executions.

// bulkOf is a bulk on a server.
type bulkOf struct {
	*server
	id string
}

// freeze makes a bulk that cancels what a filter selects.
func (s *server) freeze(filter string) bulkOf {
	s.t.Helper()
	return bulkOf{s, s.post("/bulks", `{"command":"cancel","filter":`+filter+`}`).is(202).text("bulkId")}
}

func (b bulkOf) view() reply { b.t.Helper(); return b.get("/bulks/" + b.id).is(200) }

// send sends a command to the bulk.
func (b bulkOf) send(action string) reply {
	b.t.Helper()
	return b.post("/bulks/"+b.id+"/"+action, "")
}

// until waits for a status.
func (b bulkOf) until(status string) reply {
	b.t.Helper()
	for began := time.Now(); ; {
		if r := b.view(); r.text("status") == status {
			return r
		} else if time.Since(began) > patience {
			b.t.Fatalf("the bulk is still %s", r.body)
		}
	}
}

// counts demands the counts of a bulk.
func (r reply) counts(pending, applied, already, refused, failed int) reply {
	r.t.Helper()
	return r.has("counts", fmt.Sprintf(`{"already":%d,"applied":%d,"failed":%d,"pending":%d,"refused":%d}`, already,
		applied, failed, pending, refused))
}

// many makes executions by POST /commands.
func (s *server) many(n int, graph string) {
	s.t.Helper()
	for n > 0 {
		part := min(n, 500)
		commands := make([]string, part)
		for i := range commands {
			commands[i] = fmt.Sprintf(
				`{"command":"CreateExecution","idempotencyKey":%q,"graphId":%q}`,
				s.key(),
				graph,
			)
		}
		s.do("POST", "/commands", `{"commands":[`+strings.Join(commands, ",")+`]}`).is(200)
		n -= part
	}
}

func TestABulkCancelsWhatMatchedWhenItWasAskedFor(t *testing.T) {
	s := newServerWith(t, options{idle: true})
	free, ended, canceled := s.started(linear("q", "a")), s.started(linear("q", "a")), s.started(linear("q", "a"))
	before := s.started(linear("q", "a"))
	before.send("a/start", `{"attempt":1}`).is(202)
	before.send("a/success", "").is(202)
	s.register("other", linear("q", "a"))
	other := execution{s, s.post("/executions", `{"graphId":"other"}`).is(202).text("executionId")}
	r := s.post("/bulks", `{"command":"cancel","filter":{"graphId":"g","status":["ACTIVE","FAILED"]},`+
		`"reason":"enough"}`,
		"X-User-Id", "ann", "X-Correlation-Id", "cleaning").
		is(202).
		has("status", "PREVIEW").
		has("total", "3").
		has("accepted", "true").
		has("correlationId", "cleaning")
	b := bulkOf{s, r.text("bulkId")}
	after := s.started(linear("q", "a"))
	b.view().counts(3, 0, 0, 0, 0).has("createdBy.id", "ann").has("startedBy", "<none>").has("startedAt", "<none>").
		has("filter", `{"graphId":"g","status":["ACTIVE","FAILED"]}`).has("reason", "enough").has("command", "cancel")
	s.get("/bulks/"+b.id+"/items").is(200).has("total", "3").has("items.0.executionId", free.id).has("items.0.status",
		"PENDING").
		has("items.0.result", "<none>").has("items.1.executionId", ended.id).has("items.2.executionId", canceled.id)
	free.view().has("status", "ACTIVE")
	ended.send("a/start", `{"attempt":1}`).is(202)
	ended.send("a/success", "").is(202)
	first := canceled.send("cancel", "").is(202)

	s.post("/bulks/"+b.id+"/start", "", "X-User-Id", "bob", "X-Correlation-Id", "another").is(202).has("status",
		"RUNNING").has("correlationId", "another")
	s.work()
	b.until("DONE").counts(0, 1, 1, 1, 0).has("startedBy.id", "bob").has("correlationId", "cleaning")
	view := free.view().has("status", "CANCELED").has("cancel.reason", "enough").has("cancel.requestedBy.id", "bob")
	s.get("/bulks/"+b.id+"/items").is(200).
		has("items.0.status", "APPLIED").has("items.0.result", `{"cancelSeq":`+view.text("cancel.seq")+`}`).
		has("items.1.status", "REFUSED").has("items.1.result",
		`{"guard":"execution_active","state":{"execution":"COMPLETED"}}`).
		has("items.2.status", "ALREADY").has("items.2.result", `{"cancelSeq":`+first.text("cancelSeq")+`}`)
	for _, ev := range free.events() {
		if ev.Type == "EXECUTION_CANCEL_REQUESTED" && ev.CorrelationID != "cleaning" {
			t.Errorf("the cancel has the correlation id %q", ev.CorrelationID)
		}
	}
	free.get("/executions/"+free.id+"/commands?page_size=10").is(200).has("items.2.idempotencyKey", "bulk:"+b.id)
	for _, untouched := range []execution{after, other} {
		untouched.view().has("status", "ACTIVE")
	}
	before.view().has("status", "COMPLETED")
}

func TestABulkSelectsAsAListDoes(t *testing.T) {
	s := newServer(t)
	s.register("g", `{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"approve","type":"Wait"},
		{"nodeId":"ok","type":"Success"}],"edges":[{"from":"start","to":"approve"},{"from":"approve","to":"ok"}]}`)
	make := func(members, correlation string) execution {
		r := s.post("/executions", `{"graphId":"g"`+members+`}`, "X-Correlation-Id", correlation).is(202)
		return execution{s, r.text("executionId")}
	}
	eu := make(`,"labels":{"region":"eu","tier":"gold"},"businessKey":"A-17","start":true`, "c-1")
	make(`,"labels":{"region":"eu"}`, "c-1")
	make(`,"start":true`, "c-2")
	for filter, total := range map[string]string{
		`{"labels":{"region":"eu"}}`:                 "2",
		`{"labels":{"region":"eu","tier":"gold"}}`:   "1",
		`{"labels":{}}`:                              "3",
		`{"businessKey":"A-17"}`:                     "1",
		`{"correlationId":"c-1"}`:                    "2",
		`{"waiting":true}`:                           "2",
		`{"correlationId":"c-2","nodeId":"approve"}`: "1",
		`{"nodeId":"ok"}`:                            "0",
	} {
		s.freeze(filter).view().has("total", total).has("filter", strings.Replace(filter, `{"labels":{}}`, "{}", 1))
	}
	for filter, message := range map[string]string{
		`{"labels":{"a b":"1"}}`: "the name of a label must be 1 to 128 letters, digits, dots, dashes or " +
			`underscores, not "a b"`,
		`{"labels":{"a":1}}`:    "filter.labels.a must be a string",
		`{"businessKey":""}`:    "filter.businessKey must be 1 to 256 characters without control characters",
		`{"correlationId":"ä"}`: "filter.correlationId must be 1 to 128 printable ASCII characters",
		`{"nodeId":"a/b"}`:      "filter.nodeId must be 1 to 128 letters, digits, dots, dashes or underscores",
		`{"waiting":false}`:     "filter.waiting must be true, or be left out",
	} {
		s.post("/bulks", `{"command":"cancel","filter":`+filter+`}`).is(422).has("error.message", message)
	}
	b := s.freeze(`{"labels":{"tier":"gold"},"waiting":true}`)
	b.send("start").is(202)
	b.until("DONE").counts(0, 1, 0, 0, 0)
	eu.view().has("status", "CANCELED")
	s.get("/executions?status=ACTIVE").is(200).has("total", "2")
}

func TestItemsOfABulkAreFilteredByTheirStatus(t *testing.T) {
	s := newServer(t)
	s.register("g", linear("q", "a"))
	s.many(23, "g")
	b := s.freeze(`{}`)
	path := "/bulks/" + b.id + "/items?page_size=10"
	s.get(path+"&page=3").is(200).has("total", "23").has("items.2.status", "PENDING").has("items.3", "<none>")
	s.get(path+"&status=PENDING&page=3").is(200).has("total", "23").has("items.2.status", "PENDING").has("items.3",
		"<none>")
	b.send("start").is(202)
	b.until("DONE")
	s.get(path+"&status=APPLIED&page=3").is(200).has("total", "23").has("items.2.status", "APPLIED").has("items.3",
		"<none>")
	s.get(path+"&status=PENDING").is(200).has("total", "0").has("items", "[]")
	s.get(path+"&status=CANCELED").invalid("status", "PENDING, APPLIED, ALREADY, REFUSED, FAILED")
	s.get(path + "&sort=n").invalid("sort")
}

func TestALargeBulkIsFrozenInTheBackground(t *testing.T) {
	s := newServerWith(t, options{idle: true})
	s.register("g", linear("q", "a"))
	s.many(700, "g")
	r := s.post("/bulks", `{"command":"cancel","filter":{}}`).is(202).has("status", "FREEZING")
	b := bulkOf{s, r.text("bulkId")}
	s.many(10, "g") // too late
	b.send("start").refusedBy("bulk_frozen").has("error.details.state.bulk", "FREEZING").has(
		"error.details.retryAdvice", "retry_with_backoff").
		has("error.message", "StartBulk rejected because the bulk is FREEZING")
	b.send("stop").refusedBy("bulk_started").has("error.details.retryAdvice", "do_not_retry")
	s.work()
	b.until("PREVIEW").has("total", "700")
	b.send("start").is(202)
	b.until("DONE").counts(0, 700, 0, 0, 0)
	s.get("/executions?status=ACTIVE").is(200).has("total", "10")
}

func TestABulkThatWasStoppedIsStartedAgain(t *testing.T) {
	s := newServerWith(t, options{idle: true})
	e := s.started(linear("q", "a"))
	b := s.freeze(`{}`)
	b.send("stop").refusedBy("bulk_started").has("error.details.state.bulk", "PREVIEW")
	b.send("start").is(202).has("status", "RUNNING")
	b.send("start").is(202).has("status", "RUNNING")
	b.send("stop").is(202).has("status", "STOPPED")
	b.send("stop").is(202).has("status", "STOPPED")
	b.view().has("status", "STOPPED").counts(1, 0, 0, 0, 0)
	s.work()
	e.view().has("status", "ACTIVE")
	b.send("start").is(202)
	b.until("DONE").counts(0, 1, 0, 0, 0)
	b.send("start").refusedBy("bulk_not_ended").has("error.details.state.bulk", "DONE")
}

func TestCommandsOnBulksCanBeRepeated(t *testing.T) {
	s := newServerWith(t, options{idle: true})
	s.create(linear("q", "a"))
	const body = `{"command":"cancel","filter":{},"reason":"r"}`
	first := s.postOnce("k", "/bulks", body).is(202)
	path := "/bulks/" + first.text("bulkId")
	early := s.postOnce("k0", path+"/stop", "").refusedBy("bulk_started")
	start := s.postOnce("k", path+"/start", "{}").is(202)
	s.postOnce("k", path+"/stop", "").is(202)
	for _, again := range []struct {
		first      reply
		path, body string
		key        string
		status     int
	}{
		{first, "/bulks", ` {"reason":"r", "filter":{}, "command":"cancel"}`, "k", 200},
		{start, path + "/start", "", "k", 200},
		{start, "/bulks/" + strings.ToUpper(path[7:]) + "/start", "", "k", 200},
		{early, path + "/stop", "", "k0", 409},
	} {
		r := s.postOnce(again.key, again.path, again.body, "X-Correlation-Id", "again").is(again.status)
		if string(r.body) != string(again.first.body) {
			t.Errorf("%s was answered %s, and then %s", again.path, again.first.body, r.body)
		}
	}
	s.get(path).is(200).has("status", "STOPPED") // a late repetition of the start does not start it
	s.postOnce("k", "/bulks", `{"command":"cancel","filter":{"graphId":"g"},"reason":"r"}`).is(409).
		has("error.code", "IDEMPOTENCY_CONFLICT").has("error.details.differs", `["filter"]`)
	s.get("/bulks").is(200).has("total", "1")
}

func TestBulksAreListedNewestFirst(t *testing.T) {
	s := newServer(t)
	var ids []string
	for range 12 {
		ids = append(ids, s.freeze(`{}`).id)
	}
	s.get("/bulks?page=2&page_size=10").is(200).has("total", "12").has("items.0.bulkId", ids[1]).has("items.1.bulkId",
		ids[0]).has("items.2", "<none>")
	s.get("/bulks?status=DONE").invalid("status")
	other := []string{"X-Tenant-Id", "11111111-1111-1111-1111-111111111111"}
	s.get("/bulks", other...).is(200).has("total", "0")
	for _, path := range []string{"/bulks/" + ids[0], "/bulks/" + ids[0] + "/items", "/bulks/x", "/bulks/x/items"} {
		s.get(path, other...).is(404).has("error.code", "BULK_NOT_FOUND")
	}
	s.post("/bulks/"+ids[0]+"/start", "", other...).is(404).has("error.code", "BULK_NOT_FOUND")
	s.post("/bulks/x/stop", "").is(404).has("error.code", "BULK_NOT_FOUND")
	s.get("/bulks/" + ids[0] + "?at=1").invalid("at")
}

func TestATenantMayNotHaveTooManyBulks(t *testing.T) {
	s := newServerWith(t, options{idle: true})
	for range 100 {
		s.freeze(`{}`)
	}
	s.post("/bulks", `{"command":"cancel","filter":{}}`).is(413).has("error.code", "TOO_MANY_BULKS").has(
		"error.details.maxOpen", "100")
}

func TestTheBodyOfABulkIsChecked(t *testing.T) {
	s := newServer(t)
	for body, words := range map[string][]string{
		``:                                   {"command must be cancel"},
		`{"command":"redrive"}`:              {"command must be cancel"},
		`{"command":"cancel"}`:               {"filter is required"},
		`{"command":"cancel","filter":null}`: {"filter must be an object"},
		`{"command":"cancel","filter":[]}`:   {"filter must be an object"},
		`{"command":"cancel","filter":{"graph":"g"}}`: {
			"filter.graph is not a known field",
		},
		`{"command":"cancel","filter":{"graphId":"a b"}}`: {"filter.graphId must be"},
		`{"command":"cancel","filter":{"graphId":""}}`:    {"filter.graphId must be"},
		`{"command":"cancel","filter":{"status":[]}}`: {
			"filter.status must have ACTIVE",
		},
		`{"command":"cancel","filter":{"status":["FAILED"]}}`: {
			"filter.status must have ACTIVE",
		},
		`{"command":"cancel","filter":{"status":["ACTIVE","ACTIVE"]}}`: {
			"filter.status holds ACTIVE twice",
		},
		`{"command":"cancel","filter":{"status":["active"]}}`: {"filter.status must hold"},
		`{"command":"cancel","filter":{"createdFrom":"yesterday"}}`: {
			"filter.createdFrom must be an RFC 3339 time",
		},
		`{"command":"cancel","filter":{"createdTo":""}}`: {
			"filter.createdTo must be an RFC 3339 time",
		},
		`{"command":"cancel","filter":{},"reason":"` + strings.Repeat("x", 1025) +
			`"}`: {"reason must have at most 1024"},
		`{"command":"cancel","filter":{},"filter":{}}`: {"filter"},
	} {
		s.post("/bulks", body).invalid(words...)
	}
	s.do("POST", "/bulks", `{"command":"cancel","filter":{}}`).is(422).has("error.code", "IDEMPOTENCY_KEY_REQUIRED")
	s.post("/bulks?dry=1", `{"command":"cancel","filter":{}}`).invalid("dry")
	b := s.freeze(`{}`)
	s.post("/bulks/"+b.id+"/start", `{"now":true}`).invalid("now is not a known field")
	s.get("/bulks").is(200).has("total", "1")
}

func TestABulkKeepsToItsRangeOfTime(t *testing.T) {
	s := newServerWith(t, options{idle: true})
	s.clock.ahead.Add(int64(-time.Minute)) // with PostgreSQL a bulk goes by its clock, and what it takes is older
	var all []execution
	var created []string
	for range 3 {
		e := s.create(linear("q", "a"))
		all, created = append(all, e), append(created, e.view().text("createdAt"))
		s.advance(time.Second)
	}
	for filter, want := range map[string]string{
		fmt.Sprintf(`{"createdFrom":%q}`, created[1]):                            "2",
		fmt.Sprintf(`{"createdTo":%q}`, created[1]):                              "1",
		fmt.Sprintf(`{"createdFrom":%q,"createdTo":%q}`, created[1], created[2]): "1",
		`{"createdTo":"1960-01-01T00:00:00Z"}`:                                   "0",
		`{"createdTo":"2999-01-01T00:00:00+09:00"}`:                              "3",
	} {
		s.freeze(filter).view().has("total", want)
	}
	b := s.freeze(fmt.Sprintf(`{"createdFrom":%q,"createdTo":%q}`, created[1], created[2]))
	s.get("/bulks/"+b.id+"/items").is(200).has("items.0.executionId", all[1].id)
}

func TestABulkArchivesWhatHasEnded(t *testing.T) {
	s := newServerWith(t, options{idle: true})
	active, canceled, archived := s.started(linear("q", "a")), s.started(linear("q", "a")), s.started(linear("q", "a"))
	canceled.send("cancel", "").is(202)
	archived.send("cancel", "").is(202)
	archived.send("archive", "").is(202)
	late := s.started(linear("q", "a"))
	late.send("cancel", "").is(202)
	freeze := func(filter string) reply {
		return s.post("/bulks", `{"command":"archive","filter":`+filter+`,"reason":"old"}`).is(202)
	}
	for filter, total := range map[string]string{
		`{}`:                                   "2",
		`{"status":["CANCELED","ACTIVE"]}`:     "2",
		`{"status":["COMPLETED"]}`:             "0",
		`{"graphId":"g"}`:                      "2",
		`{"endedFrom":"2000-01-01T00:00:00Z"}`: "2",
		`{"endedTo":"2000-01-01T00:00:00Z"}`:   "0",
		`{"outcome":"paid"}`:                   "0",
		`{"errorCode":"DAMAGED","labels":{}}`:  "0",
	} {
		freeze(filter).has("total", total)
	}
	b := bulkOf{s, freeze(`{}`).text("bulkId")}
	late.send("archive", "").is(202)
	b.send("start").is(202)
	s.work()
	b.until("DONE").counts(0, 1, 1, 0, 0).has("command", "archive").has("named", "<none>")
	s.get("/bulks/"+b.id+"/items").is(200).has("items.0.executionId", canceled.id).has("items.0.status", "APPLIED").
		has("items.0.result", "{}").has("items.1.executionId", late.id).has("items.1.status", "ALREADY")
	if canceled.view().text("archivedAt") == "<none>" {
		t.Error("it was not archived")
	}
	active.view().has("archivedAt", "<none>")
	for filter, message := range map[string]string{
		`{"status":["ACTIVE"]}`: "filter.status must have COMPLETED, FAILED or CANCELED: what has not ended cannot " +
			"be archived",
		`{"waiting":true}`: "filter.waiting goes with the command cancel alone",
		`{"nodeId":"a"}`:   "filter.nodeId goes with the command cancel alone",
		`{"outcome":""}`:   "filter.outcome must be 1 to 64 letters, digits, dots, dashes or underscores",
		`{"endedTo":"x"}`:  "filter.endedTo must be an RFC 3339 time",
		`{"errorCode":""}`: "filter.errorCode must be 1 to 128 characters on one line",
	} {
		s.post("/bulks", `{"command":"archive","filter":`+filter+`}`).is(422).has("error.message", message)
	}
	s.post("/bulks", `{"command":"cancel","filter":{"outcome":"paid"}}`).is(422).
		has("error.message", "filter.outcome goes with the command archive alone")
}

func TestABulkMayNameItsExecutions(t *testing.T) {
	s := newServerWith(t, options{idle: true})
	first, second, third := s.started(linear("q", "a")), s.started(linear("q", "a")), s.started(linear("q", "a"))
	second.send("cancel", "").is(202)
	s.do("PUT", "/graphs/g", linear("q", "a"), "X-Tenant-Id", other).is(201)
	theirs := s.post("/executions", `{"graphId":"g"}`, "X-Tenant-Id", other).is(202).text("executionId")
	ids := func(ids ...string) string { return `["` + strings.Join(ids, `","`) + `"]` }
	r := s.post("/bulks", `{"command":"cancel","ids":`+ids(third.id, theirs, second.id)+`}`).is(202).
		has("status", "PREVIEW").has("total", "3")
	b := bulkOf{s, r.text("bulkId")}
	b.view().has("named", "true").has("filter", "{}")
	b.send("start").is(202)
	s.work()
	b.until("DONE").counts(0, 1, 1, 0, 1)
	s.get("/bulks/"+b.id+"/items").is(200).has("items.0.executionId", third.id).has("items.0.status", "APPLIED").
		has("items.1.executionId", theirs).has("items.1.status", "FAILED").
		has("items.1.result.code", "EXECUTION_NOT_FOUND").
		has("items.2.executionId", second.id).has("items.2.status", "ALREADY")
	first.view().has("status", "ACTIVE")
	s.get("/executions/"+theirs, "X-Tenant-Id", other).is(200).has("status", "ACTIVE")

	many := make([]string, 501)
	for i := range many {
		many[i] = fmt.Sprintf("0199c1a2-0000-7000-8000-%012x", i)
	}
	s.post("/bulks", `{"command":"archive","ids":`+ids(many[:500]...)+`}`).is(202).has("total", "500")
	for body, message := range map[string]string{
		`{"command":"cancel","ids":` + ids(many...) + `}`:             "ids must have 1 to 500 members",
		`{"command":"cancel","ids":[]}`:                               "ids must have 1 to 500 members",
		`{"command":"cancel","ids":["x"]}`:                            "ids[0] must be the UUID of an execution",
		`{"command":"cancel","ids":` + ids(many[1], many[1]) + `}`:    "ids holds " + many[1] + " twice",
		`{"command":"cancel","filter":{},"ids":` + ids(many[1]) + `}`: "ids and filter do not go together",
		`{"command":"start","ids":` + ids(many[1]) + `}`:              "command must be cancel or archive",
	} {
		s.post("/bulks", body).is(422).has("error.message", message)
	}
}
