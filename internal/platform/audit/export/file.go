package export

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"renga.dev/renga/internal/platform/audit"
	"renga.dev/renga/internal/platform/folder"
)

// maxUnsure is how many bytes are written between two syncs.
const maxUnsure = 4 << 20

// file is the file of a folder that is locked for this process.
type file struct {
	dir  string
	max  int64
	log  *slog.Logger
	lock *os.File
	out  *os.File
	at   place // after what was written
	sure int64 // durable bytes of out
	buf  []byte
}

// openFile locks a folder, truncates the file to its place and opens it for appending.
func openFile(dir string, limit int64, log *slog.Logger) (*file, error) {
	f := &file{dir: dir, max: limit, log: log}
	if err := f.open(); err != nil {
		_ = f.close()
		return nil, err
	}
	return f, nil
}

func (f *file) open() (err error) {
	if f.lock, err = folder.Lock(f.dir); err != nil {
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

func (f *file) path() string { return filepath.Join(f.dir, fileName) }

func (f *file) resume() error {
	if f.at.Rotating != 0 {
		if _, err := os.Lstat(filepath.Join(f.dir, fmt.Sprintf(awayPattern, f.at.Rotating))); err == nil {
			f.at.Size, f.at.From = 0, f.at.Position // the rename happened
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		f.at.Rotating = 0
	}
	size, err := f.found()
	if err != nil {
		return err
	}
	if err := f.at.save(f.dir); err != nil { // first: a file without a place is not ours
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
	return folder.Sync(f.dir)
}

// found returns the length of the file and corrects a place beyond it: a missing file is written again, a truncated
// one stays so.
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

// setAside moves away files that have no place or belong to another database, and starts from the first entry.
func (f *file) setAside(why string) error {
	if err := os.Remove(filepath.Join(f.dir, placeName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := folder.Sync(f.dir); err != nil { // else a remaining file would seem to belong to it
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
	return folder.Sync(f.dir)
}

// free is the number after the highest one used in file names of a format.
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

// add appends entries; they are durable after confirm.
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

// intact fails when somebody else has moved or changed the file; opening it anew repairs that.
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

// confirm makes what was written durable, then its place.
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

// rotate renames the file and starts a new one. The place names the target first, so that after a crash it is known
// whether the rename happened.
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
	if err := errors.Join(f.out.Close(), folder.Sync(f.dir)); err != nil {
		return err
	}
	return f.resume()
}

// close releases the folder. What was not confirmed is written again later.
func (f *file) close() error {
	var errs []error
	for _, open := range []*os.File{f.out, f.lock} {
		if open != nil {
			errs = append(errs, open.Close())
		}
	}
	return errors.Join(errs...)
}
