package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"

	"renga.dev/renga/docs"
	"renga.dev/renga/internal/platform/gate"
)

// TestEveryCommandHasHelpWithExamples walks all commands.
func TestEveryCommandHasHelpWithExamples(t *testing.T) {
	parser, err := kong.New(&root{}, texts("", ""))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, node := range parser.Model.Leaves(true) {
		seen++
		if node.Help == "" || !strings.HasSuffix(node.Help, ".") {
			t.Errorf("%s: its help is no sentence: %q", node.FullPath(), node.Help)
		}
		if !strings.Contains(node.Detail, "Examples:\n") {
			t.Errorf("%s: no examples", node.FullPath())
		}
		for _, flag := range node.Flags {
			if flag.Help == "" {
				t.Errorf("%s --%s: no help", node.FullPath(), flag.Name)
			}
			if strings.Contains(flag.Help, "${default}") && flag.Default == "" {
				t.Errorf("%s --%s: no default to tell of", node.FullPath(), flag.Name)
			}
		}
	}
	if seen < 30 {
		t.Errorf("found only %d commands", seen)
	}
}

// TestTheExamplesAreCommandsThatExist parses every line of every help that calls
// this program.
func TestTheExamplesAreCommandsThatExist(t *testing.T) {
	parser, err := kong.New(&root{}, texts("", ""), kong.Exit(func(int) { panic("exit") }))
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(
		`renga (?:graph|execution|bulk|events|dlq|demo|audit|tasks|worker|token|completion)\b[^;|&<>)\n]*`)
	found := 0
	for _, node := range parser.Model.Leaves(true) {
		_, examples, _ := strings.Cut(node.Detail, "Examples:\n")
		for _, line := range call.FindAllString(examples, -1) {
			found++
			s := &session{rig: &rig{t: t}}
			words := s.words(strings.TrimSpace(strings.Split(line, " #")[0]))
			fresh, err := kong.New(&root{}, texts("", ""))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fresh.Parse(words); err != nil {
				t.Errorf("%s: %q: %v", node.FullPath(), line, err)
			}
		}
	}
	if found < 40 {
		t.Errorf("found only %d examples", found)
	}
}

func TestHelpListsTheExitCodes(t *testing.T) {
	r := &rig{t: t, clock: &clock{}}
	out, _, code := r.run("--help")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, want := range []string{
		"  0  ", "  2  ", "  4   refused", "  5   no server",
		"  11  the execution was CANCELED", "  130 interrupted", "RENGA_SERVER",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the help lacks %q:\n%s", want, out)
		}
	}
	if out, _, code := r.run("--version"); code != 0 || out != "renga test\n" {
		t.Errorf("--version: %d %q", code, out)
	}
}

func TestWithoutAServerItSaysHowToStartOne(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	r := &rig{t: t, clock: &clock{}}
	for _, args := range [][]string{{"bulk", "list"}, {"worker", "demo"}} {
		_, errs, code := r.run(append(args, "--server", "http://"+address)...)
		if code != exitUnavailable || !strings.Contains(errs, "connection refused") ||
			!strings.Contains(errs, "start one with: renga serve") {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
	_, errs, code := r.run("execution", "list", "--server", "http://ada:secret@"+address, "-o", "json")
	if code != exitUnavailable || !strings.Contains(errs, `"code": "UNAVAILABLE"`) || strings.Contains(errs, "secret") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	for _, server := range []string{"nowhere", "ftp://x", "http://", ":"} {
		if _, errs, code := r.run("execution", "list", "--server", server); code != exitUsage ||
			!strings.Contains(errs, "--server") {
			t.Errorf("--server %s: exit code %d: %s", server, code, errs)
		}
	}
}

func TestAnAddressThatIsNoServerIsReported(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	r := &rig{t: t, clock: &clock{}}
	for _, args := range [][]string{{"execution", "list"}, {"bulk", "list"}} {
		_, errs, code := r.run(append(args, "--server", strings.Replace(web.URL, "://", "://ada:secret@", 1))...)
		if code != exitNotFound || !strings.Contains(errs, "not as a Renga server does") ||
			strings.Contains(errs, "secret") {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}

// TestWhatNoHeaderHoldsIsRefused gives flags and a token that cannot be sent.
func TestWhatNoHeaderHoldsIsRefused(t *testing.T) {
	r := &rig{t: t, clock: &clock{}}
	for _, args := range [][]string{
		{"execution", "create", "order", "--idempotency-key", "bad\nkey"},
		{"execution", "cancel", "x", "--correlation-id", "bad\nid"},
		{"tasks", "complete", "x", "a", "--idempotency-key", strings.Repeat("k", 256)},
		{"bulk", "cancel", "--idempotency-key", "\x7f"},
		{"execution", "list", "--tenant", "a\nb"},
		{"execution", "list", "--token", "a\r\nb"},
	} {
		if _, errs, code := r.run(args...); code != exitUsage || strings.Contains(errs, "no server answers") {
			t.Errorf("%q: exit code %d: %s", args, code, errs)
		}
	}
}

// TestAnErrorThatMayPassSaysHowToRetry asks a server that cannot do it now.
func TestAnErrorThatMayPassSaysHowToRetry(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60") // longer than the program waits
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"error":{"code":"UNAVAILABLE","message":"not now"}}`)
	}))
	defer web.Close()
	r := &rig{t: t, clock: &clock{}}
	for command, keyed := range map[string]bool{
		"execution list": false, "graph apply --id order -": false, "execution create order": true, "tasks claim": true,
	} {
		_, errs, code := r.runWith(Program{}, oneTask, append(strings.Fields(command), "--server", web.URL)...)
		if code != exitUnavailable || !strings.Contains(errs, "try again") ||
			strings.Contains(errs, "--idempotency-key") != keyed {
			t.Errorf("%s: exit code %d: %s", command, code, errs)
		}
	}
}

// TestAnEventWithoutAnAnswerSaysItsKey asks a server that cannot do it now; an event without a key has none to say.
func TestAnEventWithoutAnAnswerSaysItsKey(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if keyed := q.Header.Get("X-Idempotency-Key")+q.Header.Get("Idempotency-Key") != ""; keyed ==
			strings.HasPrefix(q.URL.Path, "/triggers/keyless/") {
			t.Errorf("%s has a key: %v", q.URL.Path, keyed)
		}
		w.Header().Set("Retry-After", "60") // longer than the program waits
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer web.Close()
	r := &rig{t: t, clock: &clock{}}
	for flags, safe := range map[string]string{
		"keyed": "again with --key ", "named --key k-1": "again with --key k-1", "keyless --no-key": "",
	} {
		_, errs, code := r.runWith(Program{}, "{}", append([]string{"trigger", "send", "-f", "-", "--server", web.URL},
			strings.Fields(flags)...)...)
		if code != exitUnavailable || !strings.Contains(errs, safe) || strings.Contains(errs, "--key") != (safe != "") {
			t.Errorf("%s: exit code %d: %s", flags, code, errs)
		}
	}
}

// TestAMintedTokenIsAcceptedByItsKeys uses new-key and mint on servers that have the
// public half as PEM, as a JWKS file and as a JWKS behind a URL.
func TestAMintedTokenIsAcceptedByItsKeys(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "dev")
	plain := &rig{t: t, clock: &clock{}}
	plain.clock.at.Store(time.Now().UnixMilli())
	var made newKeys
	if err := json.Unmarshal([]byte(plain.must("", "token", "new-key", "--out", prefix, "-o", "json")),
		&made); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(made.PrivateKey); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the private key: %v %v", info, err)
	}
	web := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(prefix))))
	defer web.Close()
	mint := func(args ...string) string {
		return strings.TrimSpace(plain.must("", append([]string{"token", "mint", "--key", made.PrivateKey},
			args...)...))
	}
	for _, keys := range []string{made.PublicKey, made.JWKS, web.URL + "/dev.jwks.json"} {
		r := newRig(t, options{auth: gate.AuthConfig{Mode: gate.ModeJWT, Keys: keys}})
		t.Setenv("RENGA_SERVER", r.url)
		r.must("", "execution", "list", "--token", mint("--sub", "mika", "--scope", "executions:read", "--ttl", "5m"))
		r.must("", "execution", "list", "--token", mint("--aud", "pdca", "--aud", "renga"))
		for name, token := range map[string]string{
			"another audience":  mint("--aud", "pdca"),
			"another issuer":    mint("--issuer", "mika"),
			"another scope":     mint("--scope", "pdca:read"),
			"another key's":     strings.TrimSpace(plain.must("", "token", "mint", "--key", otherKey(t, plain))),
			"an unknown key id": mint("--key-id", "nobody"),
		} {
			if name == "an unknown key id" && keys == made.PublicKey {
				continue // PEM has no key ids
			}
			if _, errs, code := r.run("execution", "list", "--token", token); code != exitDenied {
				t.Errorf("%s on %s: %d %s", name, keys, code, errs)
			}
		}
	}
}

// TestAMintedTokenNamesRolesAndGroups lets the bearers of roles and groups resume a Wait that is for them.
func TestAMintedTokenNamesRolesAndGroups(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "dev")
	plain := &rig{t: t, clock: &clock{}}
	plain.clock.at.Store(time.Now().UnixMilli())
	plain.must("", "token", "new-key", "--out", prefix)
	mint := func(args ...string) string {
		return strings.TrimSpace(plain.must("", append([]string{"token", "mint", "--key", prefix + ".private.pem"},
			args...)...))
	}
	r := newRig(t, options{auth: gate.AuthConfig{Mode: gate.ModeJWT, Keys: prefix + ".public.pem"}})
	t.Setenv("RENGA_SERVER", r.url)
	r.must(`{"nodes":[{"nodeId":"start","type":"Start"},{"nodeId":"done","type":"Success"},
		{"nodeId":"approve","type":"Wait","assignees":{"roles":["Controller"],"groups":["Finance"]}}],
		"edges":[{"from":"start","to":"approve"},{"from":"approve","to":"done"}]}`,
		"graph", "apply", "-", "--id", "claim", "--token", mint())
	for _, of := range []string{"--role", "--group"} {
		id := strings.TrimSpace(r.must("", "execution", "create", "claim", "--start", "-q", "--token", mint()))
		_, errs, code := r.run("execution", "resume", id, "approve", "--token", mint(of, "Clerk"))
		if code != exitRefused {
			t.Errorf("%s Clerk: %d %s", of, code, errs)
		}
		name := map[string]string{"--role": "Controller", "--group": "Finance"}[of]
		r.must("", "execution", "resume", id, "approve", "--token", mint(of, "Clerk", of, name))
	}
}

// otherKey is a private key that no server knows.
func otherKey(t *testing.T, r *rig) string {
	prefix := filepath.Join(t.TempDir(), "other")
	r.must("", "token", "new-key", "--out", prefix)
	return prefix + ".private.pem"
}

// TestATokenOpensTheDoor makes keys and tokens and uses them on a server with --auth jwt.
func TestATokenOpensTheDoor(t *testing.T) {
	dir := t.TempDir()
	prefix := filepath.Join(dir, "dev")
	plain := &rig{t: t, clock: &clock{}}
	plain.clock.at.Store(time.Now().UnixMilli())
	out := plain.must("", "token", "new-key", "--out", prefix)
	if !strings.HasPrefix(out, "private key  "+prefix+".private.pem\npublic key   "+prefix+".public.pem\nJWKS         "+
		prefix+".jwks.json\nkey id       ") {
		t.Errorf("new-key: %s", out)
	}
	if info, err := os.Stat(prefix + ".private.pem"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the private key: %v %v", info, err)
	}
	if _, errs, code := plain.run("token", "keygen", "--out", prefix); code != exitUsage ||
		!strings.Contains(errs, "--force") {
		t.Errorf("keygen again: %d %s", code, errs)
	}
	plain.must("", "token", "keygen", "--out", prefix, "--force", "-o", "json")

	r := newRig(t, options{auth: gate.AuthConfig{Mode: gate.ModeJWT, Keys: prefix + ".public.pem"}})
	r.clock.at.Store(time.Now().UnixMilli())
	t.Setenv("RENGA_SERVER", r.url)
	if _, errs, code := r.run("execution", "list"); code != exitDenied || !strings.Contains(errs, "RENGA_TOKEN") {
		t.Errorf("without a token: %d %s", code, errs)
	}
	all := strings.TrimSpace(r.must("", "token", "--key", prefix+".private.pem", "--sub", "mika"))
	reads := strings.TrimSpace(r.must("", "token", "--key", prefix+".private.pem", "--scope", "executions:read"))
	r.must(oneTask, "graph", "apply", "-", "--id", "order", "--token", all)
	id := strings.TrimSpace(r.must("", "execution", "create", "order", "--start", "-q", "--token", all))
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(reads+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := r.must("", "execution", "why", id, "--token-file", file); !strings.Contains(out, "user mika") {
		t.Errorf("why does not name who sent it: %s", out)
	}
	for _, args := range [][]string{{"execution", "cancel", id}, {"bulk", "cancel", "--all", "--yes"}} {
		if _, errs, code := r.run(append(args, "--token-file", file)...); code != exitDenied ||
			!strings.Contains(errs, "executions:write") {
			t.Errorf("%v without the scope: %d %s", args, code, errs)
		}
	}
	if out := r.must("", "bulk", "list", "--token", reads); !strings.HasPrefix(out, "BULK") {
		t.Errorf("bulk list: %s", out)
	}
	const tenant = "11111111-1111-1111-1111-111111111111"
	other := strings.TrimSpace(r.must("", "token", "--key", prefix+".private.pem", "--tenant", tenant))
	if _, _, code := r.run("execution", "show", id, "--token", other); code != exitNotFound {
		t.Errorf("another tenant sees it: exit code %d", code)
	}
	r.clock.advance(-time.Hour)
	expired := strings.TrimSpace(r.must("", "token", "--key", prefix+".private.pem", "--expires", "1m"))
	if _, errs, code := r.run("execution", "list", "--token", expired); code != exitDenied ||
		!strings.Contains(errs, "renga token makes one") {
		t.Errorf("an expired token: %d %s", code, errs)
	}
	if out := r.must("", "token", "--key", prefix+".private.pem", "--tenant", tenant, "-o", "json"); !strings.Contains(
		out, `"tenant": "`+tenant+`"`) ||
		!strings.Contains(out, `"scope": "executions:read executions:write graphs:write tasks:work schedules:read `+
			`schedules:write messages:read messages:write webhooks:read webhooks:write workflow:read `+
			`workflow:write events:read events:write audit:read metadata:read metadata:write sharing:read `+
			`sharing:write records:read records:write `+
			`approvals:read approvals:write search:read search:write reports:read reports:write automation:read `+
			`automation:write pdca:read pdca:recheck pdca:recheck_all pdca:download pdca:admin"`) {
		t.Errorf("token as JSON: %s", out)
	}
	if _, errs, code := r.run("token", "--key", prefix+".public.pem"); code != exitUsage ||
		!strings.Contains(errs, "holds a public key") || strings.Contains(errs, "asn1") {
		t.Errorf("a public key: %d %s", code, errs)
	}
	for _, args := range [][]string{
		{"token", "--key", prefix + ".private.pem", "--scope", "executions:read", "--scope", "foo"},
		{"token", "--key", "nothing"},
		{"token"},
		{"token", "--key", prefix + ".private.pem", "--tenant", "7"},
		{"token", "--key", prefix + ".private.pem", "--expires", "0s"},
		{"token", "mint", "--key", prefix + ".private.pem", "--ttl", "-1s"},
		{"token", "keygen", "--out", filepath.Join(dir, "nowhere", "x")},
	} {
		if _, _, code := r.run(args...); code != exitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

// TestADemoWorkerWorks lets it work two executions to their ends.
func TestADemoWorkerWorks(t *testing.T) {
	r := newRig(t, options{})
	ids := r.orders(2)
	out, errs, code := r.run("worker", "demo", "--duration", "1ms", "--count", "2", "--concurrency", "1", "--worker",
		"w1")
	line := regexp.MustCompile(`(?m)^succeeded    [0-9a-f-]{36}  a                 attempt 1  \d+m?s$`)
	if code != 0 || len(line.FindAllString(out, -1)) != 2 ||
		!strings.HasSuffix(errs, "2 succeeded, 0 failed, 0 interrupted\n") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	for _, id := range ids {
		if out := r.must("", "execution", "show", id); !strings.Contains(out, "COMPLETED") {
			t.Errorf("not completed: %s", out)
		}
	}
	id := strings.TrimSpace(r.must("", "execution", "create", "order", "--start", "-q"))
	out = r.must("", "worker", "demo", "--duration", "0s", "--count", "1", "--fail-rate", "1", "-o", "json")
	if !strings.Contains(out, `"executionId":"`+id+`"`) || !strings.Contains(out, `"outcome":"failed"`) {
		t.Errorf("as JSON: %s", out)
	}
	if out := r.must("", "execution", "show", id); !strings.Contains(out, "DEMO: This worker fails 1 of its tasks.") {
		t.Errorf("not failed: %s", out)
	}
	for _, args := range [][]string{
		{"--fail-rate", "2"},
		{"--duration", "-1s"},
		{"--concurrency", "x"},
		{"--concurrency", "0"},
		{"--concurrency", "1001"},
		{"--lease", "0s"},
	} {
		if _, _, code := r.run(append([]string{"worker", "demo"}, args...)...); code != exitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

// TestBashCompletes asks a real bash.
func TestBashCompletes(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIP: there is no bash")
	}
	path := wrapper(t) + ":" + os.Getenv("PATH")
	for line, want := range map[string]string{
		"renga ex": "execution", "renga execution ca": "cancel", "renga execution list --st": "--status",
		"renga execution list --status=CO": "COMPLETED", "renga graph simulate --out": "--outcome",
		"renga execution list -o j": "json",
		"renga graph apply ord":     "",
	} {
		script := `source <(renga completion bash); COMP_LINE='` + line +
			`'; COMP_POINT=${#COMP_LINE}; _renga; echo "${COMPREPLY[*]}"`
		cmd := exec.Command(bash, "--norc", "-c", script)
		cmd.Env = append(os.Environ(), "PATH="+path)
		out, err := cmd.Output()
		if err != nil || strings.TrimSpace(string(out)) != want {
			t.Errorf("%q: %v, got %q, want %q", line, err, out, want)
		}
	}
	for _, shell := range []string{"zsh", "fish"} {
		r := &rig{t: t, clock: &clock{}}
		if out := r.must("", "completion", shell); !strings.Contains(out, "renga __complete "+shell) {
			t.Errorf("%s: %s", shell, out)
		}
		if _, err := exec.LookPath(shell); err == nil {
			cmd := exec.Command(shell, "-n")
			cmd.Stdin = strings.NewReader(completions[shell])
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s does not read its script: %v: %s", shell, err, out)
			}
		}
	}
}

func TestAFileThatIsTooLargeIsRefused(t *testing.T) {
	r := &rig{t: t, clock: &clock{}}
	out, _, code := r.runWith(Program{}, strings.Repeat("x", maxFile+1), "graph", "validate", "--id", "x", "-")
	if code != exitUsage || !strings.Contains(out, "larger than 8 MiB") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// TestThePageListsEveryCommandAndExitCode holds docs/cli.md against the commands.
func TestThePageListsEveryCommandAndExitCode(t *testing.T) {
	page, err := docs.Pages.ReadFile("cli.md")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := kong.New(&root{}, texts("", ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range parser.Model.Children {
		for _, command := range group.Leaves(true) {
			if command.Parent.DefaultCmd == command {
				continue // its name need not be typed
			}
			row := regexp.MustCompile("(?m)^\\| .*`" + group.Name + " .*\\b" + command.Name + "`.*\\|")
			if command != group && !row.Match(page) {
				t.Errorf("docs/cli.md does not list %s", command.FullPath())
			}
		}
	}
	codes := regexp.MustCompile(`(?m)^  (\d+) `).FindAllStringSubmatch(description, -1)
	if len(codes) < 10 {
		t.Fatalf("found only %d exit codes", len(codes))
	}
	for _, code := range codes {
		if !regexp.MustCompile(`(?m)^\| (\d+, )*` + code[1] + `(, \d+)* \| `).Match(page) {
			t.Errorf("docs/cli.md does not list exit code %s", code[1])
		}
	}
}
