package test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// realAirflow names the folder of a Python environment that Airflow is installed in.
// make test-airflow makes one.
const realAirflow = "RENGA_TEST_AIRFLOW"

// recheckDAG fails and takes its time as the names of strategies say.
const recheckDAG = `
import time
from datetime import datetime, timedelta
from airflow.exceptions import AirflowFailException
try:
    from airflow.sdk import dag, task
except ImportError:
    from airflow.decorators import dag, task

@dag(dag_id="recheck", schedule=None, start_date=datetime(2024, 1, 1), catchup=False, is_paused_upon_creation=False,
max_active_runs=16)
def recheck():
    @task(retries=20, retry_delay=timedelta(seconds=1))
    def report(dag_run=None):
        conf = dag_run.conf
        if "fail" in conf["strategy"]:
            raise AirflowFailException("told to fail")
        if "slow" in conf["strategy"]:
            time.sleep(600)
        if "while" in conf["strategy"]:
            time.sleep(20)
        return {"health": "healthy", "metrics": {"lookback": conf["window"]["lookback_days"]}, "note": conf["strategy"]}
    report()

recheck()
`

// installed is a real Airflow on loopback, with SQLite.
type installed struct {
	t       testing.TB
	bin     string
	home    string
	port    int
	old     bool // 2.x
	env     []string
	parts   []*exec.Cmd
	started int
}

const airflowPassword = "pass-of-the-real-airflow"

// newInstalled prepares the Airflow of an environment and starts it.
func newInstalled(t testing.TB, venv string) *installed {
	t.Helper()
	a := &installed{t: t, bin: filepath.Join(venv, "bin", "airflow"), home: t.TempDir()}
	a.port = freePort(t)
	at := "http://127.0.0.1:" + strconv.Itoa(a.port)
	set := func(name, value string) { a.env = append(a.env, "AIRFLOW__"+name+"="+value) }
	a.env = append(os.Environ(), "AIRFLOW_HOME="+a.home, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1", "PATH="+
		filepath.Join(venv, "bin")+":"+os.Getenv("PATH"))
	set("CORE__LOAD_EXAMPLES", "False")
	set("CORE__DAGS_FOLDER", filepath.Join(a.home, "dags"))
	set("CORE__PARALLELISM", "4")
	set("CORE__FERNET_KEY", "")
	set("DATABASE__SQL_ALCHEMY_CONN", "sqlite:///"+filepath.Join(a.home, "airflow.db"))
	// what a dead scheduler had in its queue, which is looked for every five minutes
	set("SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL", "5")
	set("SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD", "15")
	version := a.run("version")
	a.old = strings.HasPrefix(version[strings.LastIndexByte(version, '\n')+1:], "2.")
	t.Logf("Airflow %s", version[strings.LastIndexByte(version, '\n')+1:])
	if a.old {
		set("CORE__EXECUTOR", "SequentialExecutor")
		set("API__AUTH_BACKENDS", "airflow.api.auth.backend.basic_auth")
		set("WEBSERVER__SECRET_KEY", "0123456789abcdef")
		set("WEBSERVER__WORKERS", "1")
		set("WEBSERVER__WEB_SERVER_MASTER_TIMEOUT", "900")
		set("WEBSERVER__WEB_SERVER_WORKER_TIMEOUT", "900")
		set("SCHEDULER__MIN_FILE_PROCESS_INTERVAL", "5")
		set("SCHEDULER__SCHEDULER_ZOMBIE_TASK_THRESHOLD", "20")
		set("SCHEDULER__ZOMBIE_DETECTION_INTERVAL", "5")
	} else {
		set("CORE__EXECUTOR", "LocalExecutor")
		set("CORE__SIMPLE_AUTH_MANAGER_USERS", "renga:admin")
		set("CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE", filepath.Join(a.home, "passwords.json"))
		set("CORE__EXECUTION_API_SERVER_URL", at+"/execution/")
		set("API_AUTH__JWT_SECRET", strings.Repeat("0123456789abcdef", 4))
		set("API__SECRET_KEY", "0123456789abcdef")
		set("DAG_PROCESSOR__REFRESH_INTERVAL", "5")
		set("SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT", "20")
		set("SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL", "5")
		a.write("passwords.json", `{"renga":"`+airflowPassword+`"}`)
	}
	a.write(filepath.Join("dags", "recheck.py"), recheckDAG)
	a.run("db", "migrate")
	if a.old {
		a.run(
			"users",
			"create",
			"--username",
			"renga",
			"--password",
			airflowPassword,
			"--firstname",
			"r",
			"--lastname",
			"r",
			"--role",
			"Admin",
			"--email",
			"r@example.com",
		)
		a.run("sync-perm")
		set("FAB__UPDATE_FAB_PERMS", "False") // they are there now, and it takes long
	}
	t.Cleanup(a.kill)
	a.start()
	return a
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (a *installed) url() string { return "http://127.0.0.1:" + strconv.Itoa(a.port) }

func (a *installed) write(name, text string) {
	a.t.Helper()
	path := filepath.Join(a.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		a.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// run runs a command of Airflow to its end.
func (a *installed) run(args ...string) string {
	a.t.Helper()
	cmd := exec.Command(a.bin, args...)
	cmd.Env = a.env
	out, err := cmd.Output()
	if err != nil {
		why := ""
		if e, is := err.(*exec.ExitError); is {
			why = string(e.Stderr)
		}
		a.t.Fatalf("airflow %s: %v\n%s\n%s", strings.Join(args, " "), err, out, why)
	}
	return strings.TrimSpace(string(out))
}

// start starts all parts and waits until the API answers. The DAG may not be read yet.
func (a *installed) start() {
	a.t.Helper()
	a.started++
	port := strconv.Itoa(a.port)
	parts := [][]string{
		{"api-server", "--host", "127.0.0.1", "--port", port, "--workers", "1"},
		{"scheduler"},
		{"dag-processor"},
	}
	version := "/api/v2/version"
	if a.old {
		parts = [][]string{{"webserver", "--hostname", "127.0.0.1", "--port", port, "--workers", "1"}, {"scheduler"}}
		version = "/api/v1/version"
	}
	for _, args := range parts {
		log, err := os.Create(filepath.Join(a.home, fmt.Sprintf("%s-%d.log", args[0], a.started)))
		if err != nil {
			a.t.Fatal(err)
		}
		cmd := exec.Command(a.bin, args...)
		cmd.Env, cmd.Stdout, cmd.Stderr = a.env, log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			a.t.Fatal(err)
		}
		_ = log.Close() // the child has it
		a.parts = append(a.parts, cmd)
	}
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(a.t.Context(), 5*time.Second)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url()+version, nil)
		if err != nil {
			a.t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		cancel()
		if err == nil && resp.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			a.t.Fatalf("Airflow does not answer: %v\n%s", err, a.logs())
		}
	}
}

// kill ends all parts with all that they started, as a power switch would. A process that has
// left its parents is told by the folder in its environment, and one that wrote its title
// over its environment, as a web server does, by its parents.
func (a *installed) kill() {
	family := map[int]bool{}
	for _, cmd := range a.parts {
		family[cmd.Process.Pid] = true
	}
	for grown := true; grown; {
		grown = false
		for pid, parent := range parents() {
			if !family[pid] && (family[parent] || a.owns(pid)) {
				family[pid], grown = true, true
			}
		}
	}
	for pid := range family {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for _, cmd := range a.parts {
		_ = cmd.Wait()
	}
	a.parts = nil
}

// owns reports whether a process has this Airflow's folder in its environment.
func (a *installed) owns(pid int) bool {
	env, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return pid != os.Getpid() && strings.Contains("\x00"+string(env), "\x00AIRFLOW_HOME="+a.home+"\x00")
}

// parents are the parents of all processes.
func parents() map[int]int {
	all := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range files {
		text, _ := os.ReadFile(name)
		_, rest, _ := strings.Cut(string(text), ") ") // its name may have anything in it
		fields := strings.Fields(rest)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(fields) > 1 {
			all[pid], _ = strconv.Atoi(fields[1])
		}
	}
	return all
}

// logs are the ends of what the parts have said.
func (a *installed) logs() string {
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(a.home, "*.log"))
	for _, name := range files {
		text, _ := os.ReadFile(name)
		fmt.Fprintf(&all, "--- %s\n%s\n", filepath.Base(name), text[max(0, len(text)-3000):])
	}
	return all.String()
}

// TestARealAirflowChecksStrategies goes the whole way with a real Airflow: success,
// failure, cancel, a cancel that nobody could pass on, and Airflow killed and started again
// while a run is under way.
func TestARealAirflowChecksStrategies(t *testing.T) {
	venv := os.Getenv(realAirflow)
	if venv == "" {
		t.Skip("SKIP: no Airflow is installed for this test: make test-airflow does that")
	}
	const within = 5 * time.Minute
	a := newInstalled(t, venv)
	at := newSite(t)
	at.whole = true
	at.env = []string{
		"RENGA_AIRFLOW_URL=" + a.url(), "RENGA_AIRFLOW_DAG=recheck", "RENGA_AIRFLOW_RESULT_TASK=report",
		"RENGA_AIRFLOW_USER=renga",
		"RENGA_AIRFLOW_PASSWORD=" + airflowPassword, "RENGA_AIRFLOW_FAILURES=3", "RENGA_AIRFLOW_PROBE=1s",
		"RENGA_AIRFLOW_LEASE=5s", "RENGA_LOG_LEVEL=debug",
	}
	k := checker{t, serve(t, at)}
	defer func() {
		if t.Failed() {
			t.Logf("%s\n%s", a.logs(), k.s.log)
		}
		if strings.Contains(k.s.log.String(), airflowPassword) {
			t.Error("the password is in the log")
		}
	}()
	k.register("a.good", "b.fail", "c.slow", "d.while", "e.good")
	eventually(t, "the DAG to be read", within, func() bool { return a.read("/dags/recheck") != "" })

	began := time.Now()
	v := k.comes(k.accepted("a.good", "b.fail", "e.good"),
		"partial, a.good succeeded, b.fail failed AIRFLOW_RUN_FAILED, e.good succeeded", within)
	if r := v.Items[0].Result; r["note"] != "a.good" || r["health"] != "healthy" ||
		fmt.Sprint(r["metrics"]) != "map[lookback:14]" {
		t.Errorf("got %+v", v.Items[0])
	}
	t.Logf("success and failure took %v", time.Since(began).Round(time.Second))

	id := k.accepted("c.slow")
	a.runs(id, "c.slow", "running", within)
	k.cancel(id)
	k.comes(id, "canceled, c.slow canceled", within)
	a.runs(id, "c.slow", "failed", within)
	t.Log("cancelled")

	// A server without Airflow cancels the next one; the run is found by the one after.
	id = k.accepted("c.slow")
	a.runs(id, "c.slow", "running", within)
	k.s.stop()
	with := at.env
	at.env = nil
	k.s = serve(t, at)
	k.cancel(id)
	k.s.stop()
	a.runs(id, "c.slow", "running", within)
	at.env = with
	k.s = serve(t, at)
	a.runs(id, "c.slow", "failed", within)
	t.Log("a run that nobody waited for was found and ended")

	id = k.accepted("d.while")
	a.runs(id, "d.while", "running", within)
	a.kill()
	eventually(t, "the circuit to open", within, k.down)
	if status, answer := k.recheck("a.good"); status != http.StatusBadGateway {
		t.Errorf("a request while Airflow is dead: %d %s", status, answer)
	}
	a.start()
	eventually(t, "the circuit to close", within, func() bool { return !k.down() })
	// The task died with Airflow, which finds that out and tries it again: the run goes on,
	// and so does the check, in its first attempt.
	k.comes(id, "succeeded, d.while succeeded", within)
	t.Log("the run that Airflow was killed in has succeeded")
	k.comes(k.accepted("e.good"), "succeeded, e.good succeeded", within)
}

// read asks Airflow's API, by a way of its own; "" when it does not answer well.
func (a *installed) read(path string) string {
	a.t.Helper()
	header := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("renga:"+airflowPassword))
	root := "/api/v1"
	if !a.old {
		_, _, answer := ask(a.t, a.url(), "POST", "/auth/token", `{"username":"renga","password":"`+airflowPassword+
			`"}`)
		var got struct {
			Token string `json:"access_token"`
		}
		if json.Unmarshal([]byte(answer), &got) != nil {
			return ""
		}
		header, root = "Authorization: Bearer "+got.Token, "/api/v2"
	}
	if status, _, answer := ask(a.t, a.url(), "GET", root+path, "", header); status == http.StatusOK {
		return answer
	}
	return ""
}

// runs waits until a run is in a state.
func (a *installed) runs(id, strategy, state string, within time.Duration) {
	a.t.Helper()
	name := "renga__" + id + "__" + strategy
	eventually(a.t, name+" to be "+state, within, func() bool {
		var got struct{ State string }
		return json.Unmarshal([]byte(a.read("/dags/recheck/dagRuns/"+name)), &got) == nil && got.State == state
	})
}
