package export

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"renga.dev/renga/internal/platform/audit"
)

// maxUnsure is how many bytes are written before they are made durable.
const maxUnsure = 4 << 20

// file is the open file of a folder that this process alone writes to.
type file struct {
	dir  string
	max  int64
	log  *slog.Logger
	lock *os.File
	out  *os.File
	at   place // of what was written
	sure int64 // bytes of out that are durable
	buf  []byte
}

// openFile takes a folder over, makes it what its place says, and opens the file for
// the lines behind that.
func openFile(dir string, limit int64, log *slog.Logger) (*file, error) {
	f := &file{dir: dir, max: limit, log: log}
	if err := f.open(); err != nil {
		_ = f.close()
		return nil, err
	}
	return f, nil
}

func (f *file) open() (err error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	if f.lock, err = lockDir(f.dir); err != nil {
		return err
	}
	p, known, err := readPlace(f.dir)
	if err != nil {
		return err
	}
	f.at = p
	if !known {
		if err := f.setAside("it has no place"); err != nil {
			return err
		}
	}
	return f.resume()
}

// lockDir keeps other processes out of a folder until the file is closed, also by the
// end of the process.
func lockDir(dir string) (*os.File, error) {
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

// path is that of the file.
func (f *file) path() string { return filepath.Join(f.dir, fileName) }

// resume makes the file what the place says.
func (f *file) resume() error {
	if f.at.Rotating != 0 {
		if _, err := os.Lstat(filepath.Join(f.dir, fmt.Sprintf(awayPattern, f.at.Rotating))); err == nil {
			f.at.Size, f.at.From = 0, f.at.Position // it was put away
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f.at.Rotating = 0
	}
	size, err := f.found()
	if err != nil {
		return err
	}
	if err := f.at.save(f.dir); err != nil { // before there is a file: one without a place is not ours
		return err
	}
	if f.out, err = os.OpenFile(f.path(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return err
	}
	if size > f.at.Size {
		if err := f.out.Truncate(f.at.Size); err != nil {
			return err
		}
	}
	f.sure = f.at.Size
	return syncDir(f.dir)
}

// found is how long the file is, and corrects the place when that is less than it says:
// a file that was taken away is written again, and one that was cut off stays so.
func (f *file) found() (int64, error) {
	info, err := os.Stat(f.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if f.at.Position != f.at.From {
			f.log.Warn("the exported audit log was taken away and is written again", "path", f.path())
			f.at = place{Position: f.at.From, From: f.at.From}
		}
		f.at.Size = 0
		return 0, nil
	case err != nil:
		return 0, err
	case info.Size() >= f.at.Size:
		return info.Size(), nil
	}
	raw, err := os.ReadFile(f.path())
	if err != nil {
		return 0, err
	}
	f.at.Size = int64(bytes.LastIndexByte(raw, '\n') + 1)
	f.log.Warn("the exported audit log was cut off; what is missing is not written again", "path", f.path())
	return int64(len(raw)), nil
}

// setAside moves all files away that belong to no place, or to that of another
// database, and begins from the first entry.
func (f *file) setAside(why string) error {
	if err := os.Remove(filepath.Join(f.dir, placeName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := syncDir(f.dir); err != nil { // or a file that is left would seem to belong to it
		return err
	}
	f.at = place{}
	names, err := filepath.Glob(filepath.Join(f.dir, allPattern))
	if err != nil || len(names) == 0 {
		return err
	}
	aside, err := f.free(asideFormat)
	if err != nil {
		return err
	}
	to := filepath.Join(f.dir, fmt.Sprintf(asideFormat, aside))
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	f.log.Warn("an exported audit log was set aside and is written anew: "+why, "path", to)
	for _, name := range names {
		if err := os.Rename(name, filepath.Join(to, filepath.Base(name))); err != nil {
			return err
		}
	}
	return syncDir(f.dir)
}

// free is the number after the last that is used in names of a form.
func (f *file) free(format string) (int, error) {
	entries, err := os.ReadDir(f.dir)
	last := 0
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), format, &n); err == nil && fmt.Sprintf(format, n) == e.Name() {
			last = max(last, n)
		}
	}
	return last + 1, err
}

// add writes entries at the end. They are sure after confirm.
func (f *file) add(entries []audit.Entry) error {
	for i := range entries {
		e := &entries[i]
		before := len(f.buf)
		f.buf = appendLine(f.buf, e)
		if whole := f.at.Size + int64(before); whole > 0 && whole+int64(len(f.buf)-before) > f.max {
			line := bytes.Clone(f.buf[before:])
			f.buf = f.buf[:before]
			if err := f.rotate(); err != nil {
				return err
			}
			f.buf = append(f.buf, line...)
		}
		f.at.Position, f.at.AuditID = e.Num, e.ID
	}
	return f.flush()
}

// flush writes what was put together.
func (f *file) flush() error {
	if len(f.buf) == 0 {
		return nil
	}
	if err := f.intact(); err != nil {
		return err
	}
	n, err := f.out.Write(f.buf)
	f.at.Size += int64(n)
	f.buf = f.buf[:0]
	if err != nil {
		return err
	}
	if f.at.Size-f.sure >= maxUnsure {
		return f.confirm()
	}
	return nil
}

// intact fails when somebody else has moved or changed the file. Whoever opens it anew
// finds out what is to be done.
func (f *file) intact() error {
	named, err := os.Stat(f.path())
	if err != nil {
		return err
	}
	open, err := f.out.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(named, open) || open.Size() != f.at.Size {
		return errors.New("the exported audit log was changed by somebody else")
	}
	return nil
}

// confirm makes what was written durable, and then its place.
func (f *file) confirm() error {
	if f.sure == f.at.Size {
		return nil
	}
	if err := f.out.Sync(); err != nil {
		return err
	}
	if err := f.at.save(f.dir); err != nil {
		return err
	}
	f.sure = f.at.Size
	return nil
}

// rotate puts the file away and begins a new one. The place says before it where the
// file goes, so that whoever comes after a crash knows whether it went.
func (f *file) rotate() (err error) {
	if err := f.flush(); err != nil {
		return err
	}
	if f.at.Rotating, err = f.free(awayPattern); err != nil {
		return err
	}
	if err := f.out.Sync(); err != nil {
		return err
	}
	if err := f.at.save(f.dir); err != nil {
		return err
	}
	if err := os.Rename(f.path(), filepath.Join(f.dir, fmt.Sprintf(awayPattern, f.at.Rotating))); err != nil {
		return err
	}
	if err := errors.Join(f.out.Close(), syncDir(f.dir)); err != nil {
		return err
	}
	return f.resume()
}

// close gives the folder back. What was not confirmed is written again later.
func (f *file) close() error {
	var errs []error
	for _, open := range []*os.File{f.out, f.lock} {
		if open != nil {
			errs = append(errs, open.Close())
		}
	}
	return errors.Join(errs...)
}
