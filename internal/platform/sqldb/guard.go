package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// guardEvery is how often the files are checked. Their loss must be noticed within 5 s.
const guardEvery = time.Second

// guard notices when the paths of the open files lead elsewhere: writes would go to files that nobody finds again,
// and the lock would protect nothing.
type guard struct {
	every time.Duration
	files []guarded
}

type guarded struct {
	path string
	open os.FileInfo // nil: not created yet
}

func newGuard(path string, lock *os.File) (*guard, error) {
	held, err := lock.Stat()
	if err != nil {
		return nil, err
	}
	file, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	wal, err := os.Stat(path + "-wal")
	if err != nil {
		wal = nil // created on demand
	}
	return &guard{every: guardEvery, files: []guarded{{path, file}, {lock.Name(), held}, {path + "-wal", wal}}}, nil
}

// check is why the database is lost; nil: it is not. A path that cannot be read proves nothing.
func (g *guard) check() error {
	for i := range g.files {
		f := &g.files[i]
		now, err := os.Stat(f.path)
		switch {
		case f.open == nil && err == nil:
			f.open = now
		case f.open == nil:
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ESTALE):
			return fmt.Errorf("%s was deleted or moved while this process had it open; stopping: "+
				"put the data folder back, or restore a backup, and start again", f.path)
		case err == nil && !os.SameFile(f.open, now):
			return fmt.Errorf("%s was replaced while this process had the one before open; stopping: "+
				"what was acknowledged until now is in that one", f.path)
		}
	}
	return nil
}

// run checks until ctx ends or the files are lost.
func (g *guard) run(ctx context.Context) error {
	tick := time.NewTicker(g.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := g.check(); err != nil {
			return err
		}
	}
}
