package sqldb

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// lockFile takes the lock of a database for this process. It holds until the file
// is closed, also by the end of the process, however that comes.
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
		return nil, fmt.Errorf("another process%s uses this database (%s is locked); stop it, or give this one another data folder", holder(f), path)
	}
	// Who holds it is a help for people; that it could not be noted is no reason to stop.
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	return f, nil
}

// holder names the process that holds the lock, as far as it can be known.
func holder(f *os.File) string {
	buf := make([]byte, 20)
	n, _ := f.ReadAt(buf, 0)
	if pid := strings.TrimSpace(string(buf[:n])); pid != "" {
		return " (" + pid + ")"
	}
	return ""
}
