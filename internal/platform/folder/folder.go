// Package folder is about folders with files that one process writes: it locks them, and replaces files
// durably. It does not know what the files hold.
//
// The invariant: a file that is replaced is the old one or the new one, whole, whenever the machine stops.
package folder

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Lock makes a folder and keeps other processes out of it until what it returns is closed or this one ends.
func Lock(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = d.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another process writes to %s; give this one another data folder", dir)
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return d, nil
}

// Replace writes a file anew, as a whole.
func Replace(name string, write func(*bufio.Writer) error) error {
	f, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	if err = write(out); err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	return Sync(filepath.Dir(name))
}

// Sync makes the names in a folder durable.
func Sync(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
