package sqldb

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// lockFile locks a database for this process until the file is closed or the process ends.
//
// The file holds the id of the last process with the lock, and inUse from its first commit until it has closed the
// database.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		return nil, fmt.Errorf("another process%s uses this database (%s is locked); stop it, or give this one "+
			"another data folder", holder(f), path)
	}
	return f, nil
}

// inUse says that a write-ahead log belongs to the database.
const inUse = "inUse"

// note records the process in the lock file, as a help for people and the next start. A failure does not matter.
func note(lock *os.File, words ...string) {
	if err := lock.Truncate(0); err == nil {
		_, _ = lock.WriteAt([]byte(strings.Join(append([]string{fmt.Sprint(os.Getpid())}, words...), " ")+"\n"), 0)
	}
}

func noted(lock *os.File) []string {
	buf := make([]byte, 64)
	n, _ := lock.ReadAt(buf, 0)
	return strings.Fields(string(buf[:n]))
}

func holder(f *os.File) string {
	if words := noted(f); len(words) > 0 {
		return " (" + words[0] + ")"
	}
	return ""
}

// lostWAL refuses a database that was not closed and whose write-ahead log is missing: the commits since the last
// checkpoint are lost, and for good once something is written.
func lostWAL(path string, lock *os.File) error {
	if !slices.Contains(noted(lock), inUse) {
		return nil
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return nil
	}
	return fmt.Errorf("the write-ahead log %[1]s-wal is missing, and the process that wrote it%[2]s did not close "+
		"the database: what it acknowledged last is lost without it. Put the file back beside the database. "+
		"To go on without it, or when another program (sqlite3) has opened the database since and thereby taken it "+
		"in, delete %[3]s and start again",
		path, holder(lock), lock.Name())
}
