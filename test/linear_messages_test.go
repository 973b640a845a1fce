package test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/go-json-experiment/json"

	"renga.dev/renga/test/tier"
)

const (
	hotBoxes  = 5  // that all clients work on at a time
	opsPerBox = 60 // then another takes its place
)

// TestTheHistoryOfMessagesIsLinearizable lets clients send messages, each several times, to executions that wait for
// them or to a graph that subscribes, resume and cancel these executions, and read what became of all that, through
// all processes, while processes are killed and connections to the database are cut. The messages of each name must
// look as if everything had happened one after the other, with nothing between but the delivery of what is kept, the
// oldest first. In the end none is kept for whom somebody waits.
func TestTheHistoryOfMessagesIsLinearizable(t *testing.T) {
	tier.System(t)
	messages := int64(300)
	if long() {
		messages = 10_000
	}
	l := &linearMessages{storm: newStorm(t, 9, 25)}
	for i := range l.hot {
		l.renew(l.hands[0].client, i)
	}
	l.rage(messages/boxMessages*opsPerBox, l.operate)
	for _, x := range l.boxes {
		l.settle(x)
		l.resolve(x)
	}
	model := func(history []porcupine.Operation) porcupine.Model { return boxModel(orderOf(history)) }
	l.judge(model, func(output any) bool { return output.(boxAnswer).unknown })
	t.Logf("%d messages were accepted, %d of them kept at first; %d were sent again", l.sent.Load(), l.kept.Load(),
		l.again.Load())
	l.atLeast("messages that were accepted", int(l.sent.Load()), int(messages)/2)
	l.atLeast("messages that were kept at first", int(l.kept.Load()), int(messages)/10)
	l.atLeast("messages that were sent again", int(l.again.Load()), int(messages)/5)
	l.end()
}

// linearMessages is one run of the test.
type linearMessages struct {
	*storm
	hot   [hotBoxes]atomic.Pointer[hotBox]
	boxes []*hotBox
	sent  atomic.Int64
	kept  atomic.Int64
	again atomic.Int64
}

// hotBox is a box that clients work on.
type hotBox struct {
	name       string // of its messages, and of its graph
	subscribed bool
	ops        atomic.Int64
	next       atomic.Int64 // message
	made       atomic.Int64 // executions, or on their way
	runs       [boxRuns]atomic.Pointer[string]
}

// renew puts another box in a place: every fourth is of a graph that subscribes.
func (l *linearMessages) renew(c *client, place int) {
	l.mu.Lock()
	x := &hotBox{name: fmt.Sprint("box-", len(l.boxes)), subscribed: len(l.boxes)%4 == 3}
	l.boxes = append(l.boxes, x)
	l.mu.Unlock()
	called, graph, last := l.now(), `{"nodeId":"start","type":"Start"}`, "start"
	edges := ""
	if x.subscribed {
		graph = `{"nodeId":"start","type":"Start","message":{"name":"` + x.name + `"}}`
	}
	for i := 0; i < boxWaits && !x.subscribed; i++ {
		graph += fmt.Sprintf(`,{"nodeId":"w%d","type":"Wait","message":{"name":%q,"key":"input.key"}}`, i, x.name)
		edges += fmt.Sprintf(`{"from":%q,"to":"w%d"},`, last, i)
		last = fmt.Sprint("w", i)
	}
	graph = `{"nodes":[` + graph + `,{"nodeId":"end","type":"Success"}],"edges":[` + edges + `{"from":"` + last +
		`","to":"end"}]}`
	for known := false; !known && !l.t.Failed(); { // to store it twice changes nothing
		_, known = l.say(c, http.MethodPut, "/graphs/"+x.name, "", graph)
	}
	if x.subscribed {
		l.note(x.name, boxAsked{do: boxOpen}, boxAnswer{}, called)
	}
	l.hot[place].Store(x)
}

// operate does one operation on one of the boxes.
func (l *linearMessages) operate(c *client) {
	place := c.roams.IntN(hotBoxes)
	x := l.hot[place].Load()
	if x.ops.Add(1) == opsPerBox {
		l.renew(c, place)
	}
	q := l.choose(c, x)
	called := l.now()
	a, ok := l.ask(c, x, q)
	if !ok {
		return
	}
	l.note(x.name, q, a, called)
	if q.do != boxSend || a.unknown {
		return
	}
	switch {
	case a.again || a.status >= 300:
		l.again.Add(1)
	case a.state == boxIsKept:
		l.kept.Add(1)
		l.note(x.name, boxAsked{do: boxIdle, message: q.message}, boxAnswer{}, called)
		fallthrough
	default:
		l.sent.Add(1)
	}
}

// choose draws an operation.
func (l *linearMessages) choose(c *client, x *hotBox) boxAsked {
	random := c.roams
	known := int(min(x.next.Load(), boxMessages))
	q := boxAsked{do: boxGet, message: random.IntN(min(known+1, boxMessages))}
	n := random.IntN(100)
	switch {
	case n < 24:
		q.do = boxSend
		if n < 15 && known < boxMessages {
			q.message = int(min(x.next.Add(1), boxMessages)) - 1
		} else if n == 23 {
			q.body = 1
		}
		return q
	case n < 34:
		q.do = boxKept
		return q
	case n < 48:
		return q
	case x.subscribed:
		q.do = boxCount
		return q
	case n < 58:
		q.do = boxListed
		return q
	case n < 63 && x.made.Load() < boxRuns:
		if made := x.made.Add(1); made <= boxRuns {
			return boxAsked{do: boxCreate, run: int(made) - 1}
		}
	}
	q.run = random.IntN(boxRuns)
	if x.runs[q.run].Load() == nil {
		return q // it cannot be named yet
	}
	q.do = boxLook
	switch {
	case n < 70:
		q.do, q.wait = boxResume, random.IntN(boxWaits)
	case n == 70:
		q.do = boxCancel
	}
	return q
}

// ask does an operation. A read without an answer is none.
func (l *linearMessages) ask(c *client, x *hotBox, q boxAsked) (a boxAnswer, ok bool) {
	c.keys++
	key, id := fmt.Sprint(c.name, "-", c.keys), fmt.Sprint(x.name, "-", q.message)
	run := ""
	if at := x.runs[q.run].Load(); at != nil {
		run = "/executions/" + *at
	}
	switch q.do {
	case boxSend:
		return l.send(c, key, fmt.Sprintf(`{"name":%q,"key":"k","messageId":%q,"payload":{"n":%d,"body":%d}}`, x.name,
			id, q.message, q.body))
	case boxCreate:
		return l.create(c, x, q.run)
	case boxResume:
		return l.command(c, fmt.Sprint(run, "/nodes/w", q.wait, "/resume"), key, `{"output":{"n":-2}}`)
	case boxCancel:
		return l.command(c, run+"/cancel", key, `{}`)
	case boxGet:
		var m boxSeen
		status := c.get("/messages/"+id, &m)
		a.state, a.places = l.state(m.State), m.Deliveries
		return a, status == http.StatusOK || status == http.StatusNotFound
	case boxLook:
		a.run, ok = l.look(c, run)
		return a, ok
	}
	return l.list(c, x, q)
}

// boxSeen is what is read of a message.
type boxSeen struct {
	MessageID  string     `json:"messageId"`
	State      string     `json:"state"`
	Duplicate  bool       `json:"duplicate"`
	Deliveries []boxPlace `json:"deliveries"`
}

// send sends a message.
func (l *linearMessages) send(c *client, key, body string) (a boxAnswer, ok bool) {
	got, known := l.say(c, http.MethodPost, "/messages", key, body)
	if !known {
		return boxAnswer{unknown: true}, true
	}
	var m boxSeen
	if got.status < 300 {
		if err := json.Unmarshal([]byte(got.body), &m); err != nil {
			l.t.Error(err)
		}
	} else if got.status != http.StatusConflict || !strings.Contains(got.body, "MESSAGE_EXISTS") {
		l.t.Errorf("%s: %d %s", body, got.status, got.body)
	}
	return boxAnswer{status: got.status, again: m.Duplicate, state: l.state(m.State), places: m.Deliveries}, true
}

// state is one that the model knows.
func (l *linearMessages) state(word string) boxState {
	state, known := boxStates[word]
	if !known {
		l.t.Errorf("%s is nothing that can come", word)
	}
	return state
}

// create creates an execution, however long that takes.
func (l *linearMessages) create(c *client, x *hotBox, run int) (a boxAnswer, ok bool) {
	r := c.request("CreateExecution", "", "", `"graphId":"`+x.name+`","start":true,"input":{"key":"k"}`)
	if err := c.do(l.t.Context(), r); err != nil || !r.accepted() {
		l.t.Errorf("%d %s %v", r.status, r.answer, err)
		return a, false
	}
	id := r.reply().ExecutionID
	x.runs[run].Store(&id)
	return boxAnswer{status: http.StatusAccepted}, true
}

func (l *linearMessages) command(c *client, path, key, body string) (a boxAnswer, ok bool) {
	got, known := l.say(c, http.MethodPost, path, key, body)
	if known && got.status >= 300 && got.status != http.StatusConflict {
		l.t.Errorf("%s: %d %s", path, got.status, got.body)
	}
	return boxAnswer{unknown: !known, status: got.status}, true
}

// look reads an execution.
func (l *linearMessages) look(c *client, path string) (r boxRun, ok bool) {
	var v struct {
		Status string `json:"status"`
		Nodes  []struct {
			NodeID string `json:"nodeId"`
			Output struct {
				N int8 `json:"n"`
			} `json:"output"`
			Status string `json:"status"`
		} `json:"nodes"`
	}
	if c.get(path, &v) != http.StatusOK {
		return r, false
	}
	r.status = l.state(v.Status)
	for _, n := range v.Nodes {
		if i, err := strconv.Atoi(strings.TrimPrefix(n.NodeID, "w")); err == nil && n.Status == "SUCCEEDED" {
			r.by[i] = n.Output.N + 1
		}
	}
	return r, true
}

// list reads a list about a box.
func (l *linearMessages) list(c *client, x *hotBox, q boxAsked) (a boxAnswer, ok bool) {
	var page struct {
		Items []struct {
			boxSeen
			boxPlace
		} `json:"items"`
		Total int `json:"total"`
	}
	path := map[string]string{
		boxKept: "/messages?state=KEPT&name=", boxListed: "/waits?page_size=50&graphId=",
		boxCount: "/executions?graphId=",
	}[q.do]
	if c.get(path+x.name, &page) != http.StatusOK {
		return a, false
	}
	a.total = page.Total
	for _, item := range page.Items {
		if q.do == boxKept {
			i, _ := strconv.Atoi(strings.TrimPrefix(item.MessageID, x.name+"-"))
			a.kept[i] = true
		} else {
			a.places = append(a.places, item.boxPlace)
		}
	}
	return a, true
}

// settle waits until no message of a box is kept that somebody waits for.
func (l *linearMessages) settle(x *hotBox) {
	l.t.Helper()
	c := l.hands[0].client
	eventually(l.t, "what is kept to be delivered to whom it is awaited by", 3*time.Minute, func() bool {
		kept, ok := l.list(c, x, boxAsked{do: boxKept})
		waits, also := l.list(c, x, boxAsked{do: boxListed})
		return ok && also && (kept.total == 0 || waits.total == 0)
	})
}

// resolve says which executions the answers about a box name, now that all are known.
func (l *linearMessages) resolve(x *hotBox) {
	number := map[string]int{}
	for i := range x.runs {
		if id := x.runs[i].Load(); id != nil {
			number[*id] = i
		}
	}
	history := l.history[x.name]
	for i := range history {
		a := history[i].Output.(boxAnswer)
		a.waits = [boxRuns]int{-1, -1}
		for _, place := range a.places {
			run, known := number[place.ExecutionID]
			wait, err := strconv.Atoi(strings.TrimPrefix(place.NodeID, "w"))
			if known && err == nil {
				a.taken[run][wait], a.waits[run] = true, wait
			} else if !x.subscribed {
				l.t.Errorf("%+v: there is no %+v", history[i].Input, place)
			}
		}
		history[i].Output = a
	}
}
