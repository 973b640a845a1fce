package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"renga.dev/renga/web"
)

// made is when every member was made, since when it really was says nothing.
var made = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// sizes are what was packed.
type sizes struct{ files, plain int }

// pack makes the archive of a build.
func pack(built fs.FS, digest string) (_ []byte, done sizes, err error) {
	files, err := filesOf(built)
	if err != nil {
		return nil, done, err
	}
	files[web.Source] = []byte(digest + "\n")
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		done.files, done.plain = done.files+1, done.plain+len(text)
		packed, err := compress(text)
		if err != nil {
			return nil, done, err
		}
		if len(packed) < len(text) && name != web.Source { // which people read with unzip
			name, text = name+web.Packed, packed
		}
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store, Modified: made})
		if err != nil {
			return nil, done, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, done, err
		}
	}
	err = archive.Close()
	return out.Bytes(), done, err
}

// filesOf reads the files of a build. What is hidden is for Vite itself.
func filesOf(built fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(built, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		text, err := fs.ReadFile(built, name)
		switch {
		case err != nil:
			return err
		case len(text) > web.MaxFile:
			return fmt.Errorf("%s has more than %d bytes", name, web.MaxFile)
		case strings.HasSuffix(name, web.Packed) || name == web.Source:
			return fmt.Errorf("%s: names that end with %s, and %s, are the archive's own", name, web.Packed, web.Source)
		}
		files[name] = text
		return nil
	})
	return files, err
}

// compress gives what gzip makes of a text; its header has no time and no system.
func compress(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// unpacked are the files of an archive as they were built, also its own.
func unpacked(raw []byte) (map[string][]byte, error) {
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, member := range archive.File {
		r, err := member.Open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", member.Name, err)
		}
		defer r.Close()
		text := io.Reader(r)
		name, packed := strings.CutSuffix(member.Name, web.Packed)
		if packed {
			if text, err = gzip.NewReader(r); err != nil {
				return nil, fmt.Errorf("%s: %w", member.Name, err)
			}
		}
		if files[name], err = io.ReadAll(text); err != nil {
			return nil, fmt.Errorf("%s: %w", member.Name, err)
		}
	}
	return files, nil
}

// compare says in which files an archive differs from a build.
func compare(raw []byte, built fs.FS, digest string) error {
	got, err := unpacked(raw)
	if err != nil {
		return err
	}
	want, err := filesOf(built)
	if err != nil {
		return err
	}
	want[web.Source] = []byte(digest + "\n")
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch text, found := got[name]; {
		case !found:
			problems = append(problems, fmt.Errorf("%s is in the build and not in the archive", name))
		case !bytes.Equal(text, want[name]):
			problems = append(problems, fmt.Errorf("%s differs", name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, found := want[name]; !found {
			problems = append(problems, fmt.Errorf("%s is in the archive and not in the build", name))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return errors.Join(append(problems, errors.New("the archive is not what the sources give: run make web"))...)
}
