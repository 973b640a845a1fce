package cli

import (
	"bytes"
	"context"
	"embed"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"renga.dev/renga/internal/platform/bus"
	"renga.dev/renga/internal/platform/events"
	"renga.dev/renga/internal/platform/sqldb"
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

//go:embed testdata/*.txt
var transcripts embed.FS

// TestTranscripts runs the commands of each file in testdata against a server of
// its own and compares what they print, to the letter.
//
//	## …               a comment
//	$ renga …          a command; what it prints follows, its errors behind "! ", and its exit code unless it is 0
//	$ id=$(renga …)    keeps what it prints, for $id
//	$ file NAME <<     writes a file, up to a line ">>"
//	$ clock +5m        puts the clock forward
//	$ mail VERB x      does something with events of a record (mail)
//	$ automate         lets automation take the events that were published
//
// Ids, keys and tokens differ from run to run: they are masked, as wide as they are.
func TestTranscripts(t *testing.T) {
	files, err := fs.Glob(transcripts, "testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	home, err := os.Getwd() // each of them works in a folder of its own
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := transcripts.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &session{rig: newRig(t, options{events: true}), vars: map[string]string{}}
			got := s.play(string(want))
			if *update {
				if err := os.WriteFile(filepath.Join(home, file), []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
			}
		})
	}
}

// session is one file under way.
type session struct {
	*rig
	vars map[string]string
	out  strings.Builder
}

// play runs the commands of a transcript and writes it again as it should read.
func (s *session) play(text string) string {
	s.t.Setenv("RENGA_SERVER", s.url)
	s.t.Chdir(s.dir)
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "$ file "):
			end := i + 1
			for end < len(lines) && lines[end] != ">>" {
				end++
			}
			s.write(strings.TrimSuffix(strings.TrimPrefix(line, "$ file "), " <<"), lines[i+1:end])
			fmt.Fprintln(&s.out, strings.Join(lines[i:end+1], "\n"))
			i = end
		case strings.HasPrefix(line, "$ "):
			fmt.Fprintln(&s.out, line)
			s.do(strings.TrimPrefix(line, "$ "))
		case strings.HasPrefix(line, "## "):
			fmt.Fprintf(&s.out, "\n%s\n", line)
		}
	}
	return strings.TrimPrefix(s.out.String(), "\n")
}

func (s *session) write(name string, lines []string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// do runs one line.
func (s *session) do(line string) {
	s.t.Helper()
	if forward, ok := strings.CutPrefix(line, "clock +"); ok {
		d, err := time.ParseDuration(forward)
		if err != nil {
			s.t.Fatal(err)
		}
		s.clock.advance(d)
		return
	}
	if verb, ok := strings.CutPrefix(line, "mail "); ok {
		s.post(strings.Fields(verb))
		return
	}
	if line == "automate" {
		s.automate()
		return
	}
	name, inner, keeps := strings.Cut(line, "=$(")
	if keeps {
		line = strings.TrimSuffix(inner, ")")
	}
	out, errs, code := s.run(s.words(line)...)
	if keeps {
		s.vars[name] = strings.TrimSpace(out)
		var made struct {
			ID string `json:"id"`
		}
		if json.Unmarshal([]byte(out), &made) == nil && made.ID != "" {
			s.vars[name] = made.ID
		}
		out = ""
	}
	if strings.HasPrefix(line, "renga events ") {
		out = aRelay.ReplaceAllString(out, ".00-Z")
	}
	s.out.WriteString(s.mask(out))
	for text := range strings.Lines(s.mask(errs)) {
		s.out.WriteString("! " + text)
	}
	if code != 0 {
		fmt.Fprintf(&s.out, "(exit code %d)\n", code)
	}
}

// tenant is the one of commands that name none.
const tenant = "00000000-0000-0000-0000-000000000000"

// post does something with events of a record, for the consumer search or, with
// "owner" at the end, mailer.
//
//	bury      an event that fails for good becomes a dead letter
//	park      another one waits behind it
//	fail      its events fail from now on; heal lets them succeed
//	publish   an event is published and taken
func (s *session) post(words []string) {
	s.t.Helper()
	verb, record := words[0], words[1]
	event, consumer := s.mail.Deleted, "search"
	if len(words) > 2 {
		event, consumer = s.mail.OwnerChanged, "mailer"
	}
	e := event(tenant, record)
	switch verb {
	case "bury":
		s.mail.Kill(consumer, e)
	case "park":
		s.park(e)
	case "fail":
		s.mail.Fail(e.Key)
	case "heal":
		s.mail.Recover(e.Key)
	case "publish":
		before := s.taken(consumer)
		s.mail.Publish(e)
		for began := time.Now(); s.taken(consumer) == before; {
			if time.Since(began) > time.Minute {
				s.t.Fatal("it was not taken")
			}
		}
		s.mail.Published()
	default:
		s.t.Fatalf("mail %s", verb)
	}
}

// taken is how many events a consumer has taken.
func (s *session) taken(consumer string) (n int64) {
	s.t.Helper()
	all, err := s.bus.Consumers(s.t.Context(), tenant)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range all {
		for i := range c.Parts {
			if c.Name == consumer {
				n += c.Parts[i].Applied
			}
		}
	}
	return n
}

// park publishes an event of a key that is blocked, and returns when it waits.
func (s *session) park(e events.Event) {
	s.t.Helper()
	page, _, err := s.bus.DeadLetters(s.t.Context(), tenant, bus.DeadFilter{Key: e.Key}, 0, 1)
	if err != nil || len(page) == 0 {
		s.t.Fatalf("nothing is dead: %v", err)
	}
	s.mail.Publish(e)
	for began := time.Now(); ; {
		seen, err := s.bus.InspectDead(s.t.Context(), tenant, page[0].ID)
		if err != nil || time.Since(began) > time.Minute {
			s.t.Fatalf("it does not wait: %v", err)
		}
		if n := len(seen.First); n > 0 && seen.First[n-1].EventID == e.ID {
			return
		}
	}
}

// run runs a command as the program does.
func (r *rig) run(args ...string) (out, errs string, code int) {
	r.t.Helper()
	return r.runWith(Program{}, "", args...)
}

// runWith runs a command in another program, with something on its standard input.
func (r *rig) runWith(p Program, in string, args ...string) (out, errs string, code int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	root := &root{}
	p.Root, p.Flags, p.Version, p.now = root, &root.Flags, "renga test", r.clock.Now
	p.In, p.Out, p.Err = strings.NewReader(in), &stdout, &stderr
	code = Run(ctx, p, args)
	return stdout.String(), stderr.String(), code
}

// words splits a line as a shell does, as far as the transcripts need it, and puts
// variables in.
func (s *session) words(line string) []string {
	s.t.Helper()
	var words []string
	var word strings.Builder
	quote, begun := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ':
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] != "renga" {
		s.t.Fatalf("%q is no command of a transcript", line)
	}
	for i := range words {
		words[i] = os.Expand(words[i], func(name string) string { return s.vars[name] })
	}
	return words[1:]
}

var masks = []struct {
	what *regexp.Regexp
	mask string
}{
	{
		regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
		"----------------uuid----------------",
	},
	{
		regexp.MustCompile(`\b(whsec|whpk)_[0-9A-Za-z+/]{43}=`),
		"---------------key of a webhook-------------------",
	},
	{regexp.MustCompile(`\b[A-Z2-7]{26}\b`), "-----------key------------"},
	{regexp.MustCompile(`\b0[0-9A-HJKMNP-TV-Z]{25}\b`), "-----------ulid-----------"},
	{regexp.MustCompile(`eyJ[A-Za-z0-9_.-]+`), "----token----"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
}

// aRelay is the end of an instant at which something was published: where the clock
// stands still relays count it up.
var aRelay = regexp.MustCompile(`\.00\dZ`)

// mask puts names in the place of what differs from run to run.
func (s *session) mask(text string) string {
	for name, value := range s.vars {
		if len(value) == 36 {
			text = strings.ReplaceAll(text, value, name+strings.Repeat("-", 36-len(name)))
		}
	}
	for _, m := range masks {
		text = m.what.ReplaceAllString(text, m.mask)
	}
	return text
}

// automate lets automation take everything that was published, in its order.
func (s *session) automate() {
	s.t.Helper()
	err := s.mail.DB.Write(s.t.Context(), sqldb.Other, func(ctx context.Context, tx *sqldb.Tx) error {
		var batch []events.Event
		for row, err := range tx.Query(ctx, "SELECT body FROM outbox_events ORDER BY id") {
			var body []byte
			if err == nil {
				err = row.Scan(&body)
			}
			if err != nil {
				return err
			}
			e, err := events.ParseEvent(body)
			if err != nil {
				return err
			}
			if slices.Contains(s.automation.Consumer().Types, e.Type) {
				batch = append(batch, e)
			}
		}
		for i := range batch {
			if err := s.automation.Consumer().Handle(ctx, tx, &batch[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}
