package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// cursorText is what may differ in the answers to GET /search: what is in a cursor.
var cursorText = regexp.MustCompile(`"next":"[A-Za-z0-9_-]+"`)

// resultID is the id of a record in the answer to a bulk.
var resultID = regexp.MustCompile(`"id":"([0-9a-f-]{36})"`)

// searched is the answer to a search without what is in its cursor, of which the length
// stays.
func (s *server) searched(path string, as ...string) (answer, next string) {
	s.t.Helper()
	r := s.get(path, as...).is(200)
	masked := cursorText.ReplaceAllStringFunc(string(r.body), func(m string) string {
		return fmt.Sprintf(`"next":%d`,
			len(m))
	})
	if !strings.Contains(masked, `"next"`) {
		return masked, ""
	}
	return masked, r.text("next")
}

// bulkRecords sends operations on records, as many as a bulk may have at a time.
func (s *server) bulkRecords(object string, operations []string) (ids []string) {
	s.t.Helper()
	for len(operations) > 0 {
		n := min(len(operations), 200)
		r := s.want(http.StatusOK, "POST", "/records/"+object+"/bulk",
			`{"allOrNone":true,"operations":[`+strings.Join(operations[:n], ",")+`]}`)
		for _, found := range resultID.FindAllStringSubmatch(string(r.body), -1) {
			ids = append(ids, found[1])
		}
		operations = operations[n:]
	}
	return ids
}

// TestWhatIsHiddenDoesNotMoveASearch asks, byte for byte, for the same answers whether or not
// 600 records that the caller does not see, and some of which it may not read the field,
// have the word that it looks for.
func TestWhatIsHiddenDoesNotMoveASearch(t *testing.T) {
	s := newServer(t)
	const anna, reads, few = "0199c1a4-0000-7000-8000-000000000021", "0199c1a4-0000-7000-8000-000000000011",
		"0199c1a4-0000-7000-8000-000000000012"
	s.want(http.StatusCreated, "PUT", "/metadata/permission-sets/"+reads,
		`{"name":"read","objects":{"Account":{"read":true},"Contact":{"read":true}}}`)
	s.want(http.StatusCreated, "PUT", "/metadata/permission-sets/"+few,
		`{"name":"few","fields":{"Account.Phone":{"read":true}}}`)
	s.want(http.StatusCreated, "PUT", "/metadata/users/"+anna,
		`{"name":"Anna","permissionSetIds":["`+reads+`"],"isActive":true}`)
	var hidden []string
	hide := func(n int) {
		var all []string
		for i := range n {
			word := []string{
				`"Name":"Secret","Phone":"word"`, `"Name":"Word","Website":"https://word.example"`,
				`"Name":"Words","Description":"of a word"`,
			}[i%3]
			all = append(all, `{"op":"create","fields":{`+word+`}}`)
			if i%20 == 0 { // seen, but not by what is found
				all = append(all, `{"op":"create","ownerId":"`+anna+`","fields":{"Name":"Hers","Phone":"word"}}`)
			}
		}
		hidden = append(hidden, s.bulkRecords("Account", all)...)
	}
	for i := range 6 {
		hide(100)
		s.want(http.StatusCreated, "POST", "/records/Account",
			fmt.Sprintf(`{"ownerId":%q,"fields":{"Name":"Mine %d","Website":"https://word.example"}}`, anna, i))
	}
	s.index()
	var asks []string
	for _, what := range []string{
		"q=word", `q="word"`, "q=wor", "q=word+mine", "q=word&field=Website",
		`q="word"&field=Website`, "q=word&field=Name", "q=mine&field=Name", "q=word&field=Phone",
		`q="word"&field=Phone`, "q=word&object=Contact",
	} {
		for _, limit := range []string{"&limit=2", ""} {
			asks = append(asks, "/search?"+strings.ReplaceAll(what, `"`, "%22")+limit)
		}
	}
	s.get("/search?q=word&field=Phone&object=Account", "X-User-Id", anna).is(422).has("error.code", "FIELD_UNKNOWN")
	pages := func(path string) (all []string) {
		for from := ""; ; {
			answer, next := s.searched(path+from, "X-User-Id", anna)
			if all = append(all, answer); next == "" {
				return all
			}
			from = "&cursor=" + next
		}
	}
	got := map[string][]string{}
	for _, path := range asks {
		got[path] = pages(path)
	}
	if n := len(got["/search?q=word&limit=2"]); n != 3 {
		t.Fatalf("six records are on %d pages of two", n)
	}
	drop := make([]string, len(hidden))
	for i, id := range hidden {
		drop[i] = `{"op":"delete","id":"` + id + `"}`
	}
	s.bulkRecords("Account", drop)
	s.index()
	for _, path := range asks {
		if with, without := strings.Join(got[path], "\n"), strings.Join(pages(path), "\n"); with != without {
			t.Errorf("%s: with hidden records\n%s\nand without\n%s", path, with, without)
		}
	}
}

// TestACursorIsOfItsSearch uses cursors for what they were not given out for, and changes
// them.
func TestACursorIsOfItsSearch(t *testing.T) {
	s := newServer(t)
	for i := range 3 {
		s.want(http.StatusCreated, "POST", "/records/Account", fmt.Sprintf(`{"fields":{"Name":"Acme %d"}}`, i))
	}
	s.index()
	next := s.get("/search?q=acme&limit=1").is(200).text("next")
	s.get("/search?q=acme&limit=2&cursor="+next).is(200).has("items.0.name", "Acme 1").has("items.1.name",
		"Acme 0").has("next", "<none>")
	if len(next) != len(s.get("/search?q=acme&limit=2").is(200).text("next")) {
		t.Error("cursors have different lengths")
	}
	refused := func(r reply) {
		t.Helper()
		r.is(422).has("error.code", "INVALID_INPUT").has("error.details.field", "cursor")
	}
	for _, path := range []string{
		"q=other", "q=acme&object=Account", "q=acme&field=Name",
		"q=acme&since=2026-01-01T00:00:00Z",
	} {
		refused(s.get("/search?limit=1&cursor=" + next + "&" + path))
	}
	refused(s.get("/search?q=acme&cursor="+next, "X-Tenant-Id", other))
	refused(s.get("/search?q=acme&cursor="+next, "X-User-Id", "somebody-else"))
	for i := range next {
		changed := next[:i] + string('A'+(next[i]+1)%26) + next[i+1:]
		if changed != next {
			refused(s.get("/search?q=acme&cursor=" + changed))
		}
	}
	for _, wrong := range []string{"x", next + "A", next[1:], url.QueryEscape(next + "="), "%00"} {
		refused(s.get("/search?q=acme&cursor=" + wrong))
	}
}

// TestPositionsRevealNothing looks at where events are in the outbox, as two tenants do who
// must not learn from it how much the other announced.
func TestPositionsRevealNothing(t *testing.T) {
	s := withConsumers(t)
	as := []string{"X-Tenant-Id", other}
	for i := range 4 {
		s.mail.Publish(s.mail.Deleted(own, fmt.Sprint(i)))
	}
	mine := s.mail.Deleted(other, "mine")
	s.mail.Publish(mine)
	s.mail.Publish(s.mail.Deleted(own, "last"))
	at := s.get("/events/outbox", as...).is(200).has("items.0.eventId", mine.ID).text("items.0.position")
	if len(at) < 9 || at != s.get("/events/outbox", as...).text("items.0.position") {
		t.Errorf("the event is at %s", at)
	}
	s.get("/events/outbox?after="+at, as...).is(200).has("items", "[]")
	frames := string(s.frames(2, "/events/stream?lastEventId=0", as...).is(200).body)
	if !strings.Contains(frames, "id: "+at+"\n") || strings.Count(frames, "data: ") != 1 {
		t.Errorf("the stream shows %s", frames)
	}
	beats := regexp.MustCompile(`still here\nid: (\d+)`).FindAllStringSubmatch(string(s.frames(4, "/events/stream",
		as...).is(200).body), -1)
	if len(beats) != 3 || beats[0][1] == beats[1][1] && beats[1][1] == beats[2][1] {
		t.Errorf("a silent stream tells whether others announced something: %v", beats)
	}
	if r := string(s.frames(2, "/events/stream", append([]string{"Last-Event-ID", beats[2][1]},
		as...)...).is(200).body); strings.Contains(r, "data: ") {
		t.Errorf("behind a sign of life: %s", r)
	}
	for _, wrong := range []string{"1", "2", "7", "4503599627370496", s.position(own, 1)} {
		s.get("/events/outbox?after="+wrong, as...).invalid("position")
		s.get("/events/stream?lastEventId="+wrong, as...).invalid("position")
		s.get("/events/stream", append([]string{"Last-Event-ID", wrong}, as...)...).invalid("position")
	}
}
