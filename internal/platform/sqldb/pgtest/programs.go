package pgtest

import (
	"errors"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
)

// programs finds the folder of PostgreSQL's programs, or skips the test.
func programs(t testing.TB) string {
	t.Helper()
	if dir := find(); dir != "" {
		return dir
	}
	t.Skipf("SKIP: PostgreSQL is not installed (Debian package postgresql) and %s is not set", databaseURL)
	return ""
}

// find looks where Debian puts the programs, the newest version first, and then in
// the search path. It gives "" when there are none.
func find() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) > 0 {
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) }))
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path)
		}
	}
	return ""
}

// version is the version in the path of one of Debian's programs.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

func program(dir, name string) string { return filepath.Join(dir, name) }

// servant is the user that runs the server when we are root, which it refuses to be.
func servant() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, err
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody to run it")
}
