package inbound

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// folder is where a process writes its file. No other process does meanwhile: two that
// write one file would tear it.
type folder struct {
	name string
	held *os.File // nil: not held
}

// hold makes the folder and keeps other processes out of it until leave, or until this
// one ends. A folder that was taken away is made and held again.
func (f *folder) hold() error {
	if err := os.MkdirAll(f.name, 0o700); err != nil {
		return err
	}
	if f.holds() {
		return nil
	}
	f.leave()
	dir, err := os.Open(f.name)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = dir.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return fmt.Errorf("another process writes to %s; give this one another data folder", f.name)
		}
		return fmt.Errorf("lock %s: %w", f.name, err)
	}
	f.held = dir
	return nil
}

// holds reports whether what is held is what has the name now.
func (f *folder) holds() bool {
	if f.held == nil {
		return false
	}
	held, err := f.held.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.name)
	return err == nil && os.SameFile(held, named)
}

// leave lets others in.
func (f *folder) leave() {
	if f.held != nil {
		_ = f.held.Close()
		f.held = nil
	}
}

// sync makes the names in it durable.
func (f *folder) sync() error {
	dir, err := os.Open(f.name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
