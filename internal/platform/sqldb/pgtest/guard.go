package pgtest

import (
	"os"
	"os/exec"
	"syscall"
)

// guard is a process that outlives the test binary for a moment: it ends the server
// and removes its folder, also when the binary was killed.
type guard struct {
	pipe *os.File // whose other end the guard reads until we are gone
	cmd  *exec.Cmd
}

// script is what the guard does. The postmaster's file names its process.
const script = `
trap '' HUP INT TERM
read -r _
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
	kill -QUIT "$pid"
	for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" && sleep 0.2; done
	kill -KILL "$pid"
fi
rm -rf "$1"
`

// watch starts the guard of a folder.
func watch(dir string) (*guard, error) {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command("/bin/sh", "-c", script, "renga-pg-guard", dir)
	cmd.Stdin, cmd.SysProcAttr = theirs, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_ = ours.Close()
		return nil, err
	}
	return &guard{ours, cmd}, nil
}

// end lets the guard do its work.
func (g *guard) end() {
	_ = g.pipe.Close()
	_ = g.cmd.Wait()
}
