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

// guardEvery is how often the files are looked at. A process whose files are gone must notice
// within 5 s.
const guardEvery = time.Second

// guard knows the files that a database has open, and notices when their paths lead to others:
// whatever is written then goes to files that nobody will find again, and the lock of the
// database keeps nobody out.
type guard struct {
	every time.Duration
	files []guarded
}

// guarded is a file that is open.
type guarded struct {
	path string
	open os.FileInfo // nil: it has not been there yet
}

// newGuard takes note of the files of an open database.
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
		wal = nil // SQLite makes it when it is first needed
	}
	return &guard{every: guardEvery, files: []guarded{{path, file}, {lock.Name(), held}, {path + "-wal", wal}}}, nil
}

// check is why the database is lost, nil while all is well. A path that cannot be looked at,
// for want of a right or for an error of the disk, proves nothing.
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

// run looks at the files until ctx ends or they are lost.
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
