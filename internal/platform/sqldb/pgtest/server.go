package pgtest

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startWithin is how long a server may take to accept connections, recovery included.
const startWithin = time.Minute

// superuser is the role that owns everything on a throw-away server.
const superuser = "renga"

// settings are those of a small server that loses nothing.
var settings = []string{
	"listen_addresses=127.0.0.1", "unix_socket_directories=", "shared_buffers=128MB", "max_connections=200",
	"fsync=on", "synchronous_commit=on", "timezone=Asia/Kathmandu", "log_line_prefix=%m [%p] ",
}

// Server is a PostgreSQL of a test. Its methods are for one goroutine. Its data
// survives until the test ends.
type Server struct {
	bin      string // the folder of PostgreSQL's programs
	dir      string
	port     int
	password string
	run      *syscall.SysProcAttr // how its programs are started
	log      *os.File
	main     *exec.Cmd // the postmaster; nil when none runs
	guard    *guard
}

// Launch starts a server that belongs to the test alone.
func Launch(t testing.TB) *Server {
	t.Helper()
	return LaunchOn(t, "")
}

// LaunchOn starts a server that keeps its tables in a folder, which may be a disk of its
// own, and its log elsewhere.
func LaunchOn(t testing.TB, disk string) *Server {
	t.Helper()
	s, err := launch(programs(t), "", disk, withPassword)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.remove)
	return s
}

// inMemory is a folder in memory with room for the databases of some tests; "": there is none,
// or full sizes are measured, which are about disks. The shared server is never killed, so
// nothing of it has to outlive anything; its settings are those of all others.
func inMemory() string {
	const folder, room = "/dev/shm", 4 << 30
	var fs syscall.Statfs_t
	if os.Getenv("RENGA_LONG") != "" || syscall.Statfs(folder, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	return folder
}

// How a server lets clients in: with a password, which costs both sides some milliseconds of
// computing, or at their word.
const (
	withPassword = "scram-sha-256"
	atTheirWord  = "trust"
)

// launch makes a data folder, in a folder or where temporary files are, and starts a server
// on it. Its tables may be on a disk of their own.
func launch(bin, in, disk, auth string) (*Server, error) {
	dir, err := os.MkdirTemp(in, "renga-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{bin: bin, dir: dir, password: rand.Text(), run: &syscall.SysProcAttr{Setsid: true}}
	if s.guard, err = watch(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.prepare(disk, auth); err != nil {
		s.remove()
		return nil, err
	}
	if err := s.start(); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// prepare makes the data folder. It is the user's who runs the server, who must not be root.
func (s *Server) prepare(disk, auth string) (err error) {
	if os.Getuid() == 0 {
		owner, err := servant()
		if err != nil {
			return err
		}
		s.run.Credential = owner
		for _, dir := range []string{s.dir, disk} {
			if dir == "" {
				continue
			}
			if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
				return err
			}
		}
	}
	if disk != "" {
		if err := os.Symlink(disk, s.data()); err != nil {
			return err
		}
	}
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		return err
	}
	if s.port, err = freePort(); err != nil {
		return err
	}
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(s.password), 0o644); err != nil { // the folder is closed to others
		return err
	}
	initdb := s.program("initdb", "--pgdata="+s.data(), "--waldir="+filepath.Join(s.dir, "wal"), "--username="+
		superuser, "--pwfile="+secret, "--auth="+auth,
		"--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync",
		"--no-instructions")
	if err := initdb.Run(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, s.Log())
	}
	return nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// program is one of PostgreSQL's programs, to be run as the owner of the data.
// What it prints goes to the server's log.
func (s *Server) program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(program(s.bin, name), args...)
	cmd.Dir, cmd.SysProcAttr, cmd.Stdout, cmd.Stderr = s.dir, s.run, s.log, s.log
	return cmd
}

// Start starts a server that was stopped or killed, and returns when it accepts
// connections.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// start tries until it works: the processes of a postmaster that was killed hold its
// memory until they have noticed.
func (s *Server) start() error {
	for began := time.Now(); ; {
		args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port)}
		for _, setting := range settings {
			args = append(args, "-c", setting)
		}
		s.main = s.program("postgres", args...)
		if err := s.main.Start(); err != nil {
			return err
		}
		if s.accepts() {
			return nil
		}
		if time.Since(began) > startWithin {
			s.signal(syscall.SIGQUIT)
			return fmt.Errorf("PostgreSQL does not accept connections after %v:\n%s", startWithin, s.Log())
		}
	}
}

// accepts waits until the server accepts connections, and reports false when it ended
// before.
func (s *Server) accepts() bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ready(s.addr()) {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(s.main.Process.Pid, &status, syscall.WNOHANG, nil)
		if pid != 0 || err != nil {
			s.main = nil
			return false
		}
		<-tick.C
	}
	return true
}

// Stop ends the server in order, without waiting for its clients ("fast").
func (s *Server) Stop() { s.signal(syscall.SIGINT) }

// Restart stops and starts the server.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Stop()
	s.Start(t)
}

// KillPostmaster kills the server's main process. The others notice and end in their
// own time; Start waits for them.
func (s *Server) KillPostmaster() { s.signal(syscall.SIGKILL) }

// KillBackend kills a process of the server that is busy for a client. The server ends
// all others, and recovers.
func (s *Server) KillBackend(t testing.TB) {
	t.Helper()
	sleeper := exec.Command(program(s.bin, "psql"), "--no-psqlrc", "-Atqc", "SELECT pg_backend_pid()", "-c",
		"SELECT pg_sleep(60)", s.URL())
	out, err := sleeper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = sleeper.Wait() // it has lost its connection
}

// signal sends the server's main process a signal that ends it, and waits for the end.
func (s *Server) signal(sig syscall.Signal) {
	if s.main == nil {
		return
	}
	_ = s.main.Process.Signal(sig)
	_ = s.main.Wait()
	s.main = nil
}

// remove ends the server and leaves nothing of it behind.
func (s *Server) remove() {
	s.signal(syscall.SIGQUIT)
	if s.log != nil {
		_ = s.log.Close()
	}
	s.guard.end()
}

// URL is the address of the server, with the database that every server has.
func (s *Server) URL() string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, s.password), Host: s.addr(), Path: "/postgres",
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Password is the password in the URL.
func (s *Server) Password() string { return s.password }

// Database creates a database and gives its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	at, _, err := create(program(s.bin, "psql"), s.URL(), "")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Log is what the server has logged.
func (s *Server) Log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *Server) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// freePort finds a port below those that the system gives to outgoing connections,
// which could take it while the server is down.
func freePort() (int, error) {
	const first, last = 20_000, 32_000
	var err error
	for range 100 {
		port := first + mrand.IntN(last-first)
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// ready reports whether a server lets a client begin: it asks for a password then, or takes its word. While it starts,
// recovers or stops it says so, or nothing answers.
func ready(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write(startup("user", superuser, "database", "postgres")); err != nil {
		return false
	}
	var first [1]byte
	_, err = io.ReadFull(conn, first[:])
	return err == nil && first[0] == 'R'
}

// startup is the first message of a client.
func startup(parameters ...string) []byte {
	const version = 3 << 16
	var body bytes.Buffer
	for _, p := range parameters {
		body.WriteString(p + "\x00")
	}
	body.WriteByte(0)
	head := []byte{0, 0, 0, byte(8 + body.Len()), 0, version >> 16, 0, 0}
	return append(head, body.Bytes()...)
}
