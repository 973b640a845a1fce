package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"renga.dev/renga/internal/platform/gate"
)

// TestPDC14TheCheckListOfTheDocument is section 14 of the document, item by item. Each runs
// its proof, and names the tests that prove the rest of it.
func TestPDC14TheCheckListOfTheDocument(t *testing.T) {
	for i, item := range []struct {
		name  string
		prove func(t *testing.T)
	}{
		{"the contract says the same", theContractSaysTheSame},
		{"202 always has a request_id", everyAcceptedHasARequestID},
		{"a key is looked at and only the same digest is used again", onlyTheSameDigestIsUsedAgain},
		{"429 has Retry-After", everyLimitedHasRetryAfter},
		{"the messages of 404, 409 and 5xx have one form", refusalsHaveOneForm},
		{"the log has x_request_id and request_id", theLogHasBothIDs},
		{"nothing secret is in logs and errors", nothingSecretIsTold},
		{"total of a page is right", totalIsRight},
		{"the examples of the contract are what the server answers", examplesAreAnswers},
	} {
		t.Run(fmt.Sprintf("%d %s", i+1, item.name), item.prove)
	}
}

// provedBy names the tests in a folder, as seen from here, that prove the rest. The check of
// the layout, which reads every file, demands that they exist.
func provedBy(string, ...string) {}

const (
	ulidPattern = `^[0-7][0-9A-HJKMNP-TV-Z]{25}$`
	orderOne    = `{"strategies":["strat.one"],"window":{"lookback_days":14},"reason":"manual"}`
)

// withStrategies is a server that has strategies.
func withStrategies(t *testing.T, o options, ids ...string) *server {
	t.Helper()
	s := newServerWith(t, o)
	for _, id := range ids {
		s.do("PUT", strategiesPath+id, `{"name":"`+id+`","tags":["daily"]}`).is(201)
	}
	return s
}

func theContractSaysTheSame(t *testing.T) {
	provedBy(".", "TestTheContractListsExactlyTheRoutesOfTheTable", "TestPDC3TheContractSaysWhatTheSurfaceAsksFor",
		"TestPDC2To9EveryRouteOfTheSurfaceIsAsTheDocumentSays", "TestEveryAnswerOfTheContractHasTheIDsOfItsRequest",
		"TestEveryRouteHasARateClassAndItsRefusalIsInTheContract")
	c := theContract()
	for pointer, want := range map[string]string{ // sections 7 and 12
		"/components/schemas/RecheckOrder/properties/strategies/minItems":              "1",
		"/components/schemas/RecheckOrder/properties/strategies/maxItems":              "50",
		"/components/schemas/StrategyId/pattern":                                       `"^[a-z0-9._-]+$"`,
		"/components/schemas/RecheckWindow/oneOf":                                      "2 ways",
		"/components/schemas/RecheckReason/minLength":                                  "1",
		"/components/schemas/RecheckReason/maxLength":                                  "64",
		"/components/schemas/RecheckTraceId/minLength":                                 "1",
		"/components/schemas/RecheckTraceId/maxLength":                                 "128",
		"/components/schemas/RecheckAllOrder/properties/filter/properties/q/maxLength": "64",
	} {
		found, _ := c.at(pointer)
		raw, _ := json.Marshal(found)
		if ways, are := found.([]any); are {
			raw = fmt.Appendf(nil, "%d ways", len(ways))
		}
		if string(raw) != want {
			t.Errorf("%s is %s, want %s", pointer, raw, want)
		}
	}
	found, _ := c.at("/components/schemas/RecheckError/properties/error/enum")
	var codes []string
	for _, code := range found.([]any) {
		codes = append(codes, code.(string))
	}
	catalogue := slices.Clone(gate.Recheck.Catalogue)
	slices.Sort(codes)
	slices.Sort(catalogue)
	if !slices.Equal(codes, catalogue) {
		t.Errorf("the contract has the codes %v, the surface %v", codes, catalogue)
	}
}

func everyAcceptedHasARequestID(t *testing.T) {
	s := withStrategies(t, options{}, "strat.one", "strat.two")
	var ids []string
	accept := func(path, body string) {
		key := uuid.NewString()
		for range 2 { // repeated too
			r := s.askOnce(key, path, body).is(202)
			id := r.text("request_id")
			if !regexp.MustCompile(ulidPattern).MatchString(id) || r.header.Get("Location") != "/pdca/recheck/"+id {
				t.Errorf("%s %s: got %s at %s", path, body, r.body, r.header.Get("Location"))
			}
			ids = append(ids, id)
		}
	}
	accept("/pdca/recheck", orderOne)
	accept(
		"/pdca/recheck",
		`{"strategies":["strat.one"],"window":{"lookback_days":14},"reason":"manual","dry_run":true}`,
	)
	accept("/pdca/recheck_all", `{"filter":{},"window":{"lookback_days":7},"reason":"daily","batch_size":1}`)
	accept(
		"/pdca/recheck_all",
		`{"filter":{"health":["degraded"]},"window":{"lookback_days":7},"reason":"none match"}`,
	)
	accept("/pdca/recheck/"+ids[0]+"/cancel", "")
	if len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 4 {
		t.Errorf("the ids are %v", ids)
	}
}

func onlyTheSameDigestIsUsedAgain(t *testing.T) {
	provedBy("../platform/canonical", "TestDigestEqualsTheDocumentsAlgorithm", "TestCanonicalNumber",
		"TestMembersAreLeftOutAtTheTopOnly")
	s := withStrategies(t, options{}, "strat.one", "strat.two")
	s.do("POST", "/pdca/recheck", orderOne).is(400).has("error", "BAD_REQUEST")
	s.askOnce("my-key", "/pdca/recheck", orderOne).flat(400, "BAD_REQUEST",
		"the header Idempotency-Key must be a ULID or a UUID")
	key := uuid.NewString()
	first := s.askOnce(key, "/pdca/recheck", orderOne).is(202).text("request_id")
	for _, same := range []string{
		` {"reason": "manual", "window": {"lookback_days": 14.0}, "strategies": ["strat.one"]} `,
		`{"strategies":["strat.one"],"window":{"lookback_days":14},"reason":"manual","trace_id":"desk-7"}`,
		`{"strategies":["strat\u002eone"],"window":{"lookback_days":1.4e1},"reason":"manual"}`,
	} {
		s.askOnce(key, "/pdca/recheck", same).is(202).has("request_id", first)
	}
	for member, other := range map[string]string{
		"strategies": `{"strategies":["strat.two"],"window":{"lookback_days":14},"reason":"manual"}`,
		"window":     `{"strategies":["strat.one"],"window":{"lookback_days":15},"reason":"manual"}`,
		"dry_run":    `{"strategies":["strat.one"],"window":{"lookback_days":14},"reason":"manual","dry_run":false}`,
	} {
		r := s.askOnce(key, "/pdca/recheck", other).is(409).has("error", "IDEMPOTENCY_CONFLICT")
		if !strings.Contains(r.text("message"), member) {
			t.Errorf("the message does not name %s: %s", member, r.body)
		}
	}
	s.get("/metrics").is(200).holds("pdca_api_idempotency_conflicts_total 3")
}

// holds demands a line of a page.
func (r reply) holds(line string) {
	r.t.Helper()
	if !strings.Contains(string(r.body), "\n"+line+"\n") {
		r.t.Errorf("%s does not have %s", r.asked, line)
	}
}

func everyLimitedHasRetryAfter(t *testing.T) {
	provedBy("../platform/gate", "TestRateClassesLimitEachClient", "TestThreeProcessesHoldOneLimitWithinATenth")
	provedBy(".", "TestPDC8TheRoutesOfTheSurfaceAreLimitedByTheirClasses")
	one := gate.Rate{Limit: 1, Per: time.Hour}
	s := newServerWith(
		t,
		options{rates: map[string]gate.Rate{"pdca.read": one, "pdca.recheck": one, "pdca.bulk": one}},
	)
	for _, call := range [][2]string{{"GET", listPath}, {"POST", "/pdca/recheck"}, {"POST", "/pdca/recheck_all"}} {
		s.do(call[0], call[1], "")
		r := s.do(call[0], call[1], "").is(429).has("error", "RATE_LIMITED")
		after, err := strconv.Atoi(r.header.Get("Retry-After"))
		if err != nil || after < 1 || after > 3600 || r.text("retry_after") != strconv.Itoa(after) ||
			r.header.Get("X-RateLimit-Limit") != "1" {
			t.Errorf("%s: got %v %s", r.asked, r.header, r.body)
		}
	}
}

func refusalsHaveOneForm(t *testing.T) {
	provedBy("../platform/gate", "TestRefusalsOfTheRecheckSurfaceKeepToItsCatalogue",
		"TestInternalFailuresAreLoggedWithTheirCause", "TestPanicsAreLoggedAndTheGateGoesOn")
	provedBy(".", "TestPDC6EveryRefusalHasACodeOfTheCatalogue")
	var down atomic.Bool
	s := withStrategies(t, options{down: down.Load}, "strat.one")
	key := uuid.NewString()
	s.askOnce(key, "/pdca/recheck", orderOne).is(202)
	refused := []reply{
		s.get("/pdca/nothing").is(404),
		s.get("/pdca/recheck/01J8TPZ7YJ1E1X4C5N9ZP3M3QJ").is(404),
		s.askOnce(uuid.NewString(), "/pdca/recheck/01J8TPZ7YJ1E1X4C5N9ZP3M3QJ/cancel", "").is(404),
		s.askOnce(uuid.NewString(), "/pdca/recheck",
			`{"strategies":["strat.unknown"],"window":{"lookback_days":1},"reason":"manual"}`).is(404),
		s.askOnce(key, "/pdca/recheck",
			`{"strategies":["strat.one"],"window":{"lookback_days":1},"reason":"other"}`).is(409),
	}
	down.Store(true)
	s.askOnce(key, "/pdca/recheck", orderOne).is(202) // what is remembered is answered
	refused = append(refused, s.askOnce(uuid.NewString(), "/pdca/recheck", orderOne).is(502).has("error",
		"AIRFLOW_DOWN"))
	for _, r := range refused {
		var body struct{ Error, Message string }
		decoder := json.NewDecoder(bytes.NewReader(r.body))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&body); err != nil || !slices.Contains(gate.Recheck.Catalogue, body.Error) ||
			body.Message == "" {
			t.Errorf("%s: got %s (%v)", r.asked, r.body, err)
		}
		for _, inside := range []string{"sqldb", "pdca.", "SQL", ".go", "0x", "panic", "\n"} {
			if strings.Contains(body.Message, inside) {
				t.Errorf("%s: the message speaks of what is inside: %s", r.asked, body.Message)
			}
		}
	}
}

// logbook is a log that can be read.
type logbook struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

// of waits for the line of a request.
func (l *logbook) of(t *testing.T, requestID string) map[string]any {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < patience; <-tick.C {
		l.mu.Lock()
		text := l.String()
		l.mu.Unlock()
		for line := range strings.Lines(text) {
			found := map[string]any{}
			if err := json.Unmarshal([]byte(line), &found); err == nil && found["msg"] == "request" &&
				found["x_request_id"] == requestID {
				return found
			}
		}
	}
	t.Fatalf("there is no line of %s", requestID)
	return nil
}

func theLogHasBothIDs(t *testing.T) {
	provedBy("../platform/gate", "TestEveryRequestToTheRecheckSurfaceHasALineWithTheKeysOfItsDocument")
	log := &logbook{}
	s := withStrategies(t, options{log: slog.New(slog.NewJSONHandler(log, nil))}, "strat.one")
	key := uuid.NewString()
	first := s.askOnce(key, "/pdca/recheck", orderOne, "X-User-Id", "desk-1").is(202)
	id := first.text("request_id")
	for _, r := range []reply{
		first,
		s.askOnce(key, "/pdca/recheck", orderOne, "X-User-Id", "desk-1").is(202),
		s.get("/pdca/recheck/"+id, "X-User-Id", "desk-1").is(200),
		s.askOnce(uuid.NewString(), "/pdca/recheck/"+id+"/cancel", "", "X-User-Id", "desk-1").is(202),
	} {
		line := log.of(t, r.header.Get("X-Request-Id"))
		if line["request_id"] != id || line["client_id"] != "desk-1" || line["http_status"] != float64(r.status) ||
			line["level"] != "INFO" {
			t.Errorf("%s: the line is %v", r.asked, line)
		}
	}
	r := s.get(listPath).is(200)
	if line := log.of(t, r.header.Get("X-Request-Id")); line["request_id"] != nil ||
		line["endpoint"] != "GET /gui/strategies" {
		t.Errorf("the line of a list is %v", line)
	}
}

func nothingSecretIsTold(t *testing.T) {
	provedBy("../../test", "TestNoSecretLeavesItsPlace", "TestASettingThatCannotBeUsedIsRefusedWithoutItsSecret",
		"TestATraceShowsTheTransactionsOfARequest")
	provedBy("../platform/gate", "TestHostileTokensAreRefusedAndLeaveNoTrace",
		"TestARefusedTokenIsInTheAuditLogWithoutTheToken", "TestAnEventTokenReachesNoLogNoSpanAndNoAnswer")
}

func totalIsRight(t *testing.T) {
	provedBy("../recheck", "TestListsAreWhatTheOracleSays", "TestAReadSeesWhatAnyProcessAnswered")
	var ids []string
	for i := range 23 {
		ids = append(ids, fmt.Sprintf("strat.%02d", i))
	}
	s := withStrategies(t, options{}, ids...)
	s.do("PUT", strategiesPath+"strat.00", `{"name":"zero","tags":["weekly"],"health":"degraded"}`).is(200)
	for query, want := range map[string][2]string{
		"page=1&page_size=10": {"23", "10"}, "page=3&page_size=10": {"23", "3"}, "page=4&page_size=10": {"23", "0"},
		"":               {"23", "23"},
		"tags_any=daily": {"22", "22"}, "health=degraded": {"1", "1"}, "q=strat.1&page_size=10": {"10", "10"},
		"q=nothing": {"0", "0"},
	} {
		r := s.get(listPath+"?"+query).is(200).has("total", want[0])
		var page struct{ Items []any }
		if err := json.Unmarshal(r.body, &page); err != nil || strconv.Itoa(len(page.Items)) != want[1] {
			t.Errorf("%s: got %d items, want %s (%v)", query, len(page.Items), want[1], err)
		}
	}
	id := s.askOnce(uuid.NewString(), "/pdca/recheck_all",
		`{"filter":{},"window":{"lookback_days":7},"reason":"daily","batch_size":5}`).is(202).has("total", "23").text(
		"request_id")
	s.get("/pdca/recheck/"+id+"?page=3&page_size=10").is(200).has("total", "23").has("items.2.strategy",
		"strat.22").has("items.3", "<none>")
}

func examplesAreAnswers(t *testing.T) {
	provedBy(".", "TestTheExamplesOfTheContractAreWhatTheServerDoes") // and each example is in its story
	c := theContract()
	for operation := range recheckSurface {
		method, path, _ := strings.Cut(operation, " ")
		pointer := "/paths/" + escape(path) + "/" + strings.ToLower(method) + "/responses"
		responses, _ := c.at(pointer)
		if responses == nil {
			continue // TestTheContractListsExactlyTheRoutesOfTheTable sees to that
		}
		examples := 0
		for status := range responses.(map[string]any) {
			_, at := c.at(pointer + "/" + status)
			if found, _ := c.at(at + "/content/application~1json/examples"); found != nil && status < "300" {
				examples += len(found.(map[string]any))
			}
		}
		if examples == 0 && !strings.HasSuffix(path, "/content") {
			t.Errorf("%s has no example of a success", operation)
		}
	}
}
