// Package web holds the console: the archive that `make web` packs from the sources in this folder, and the plain
// page that stands in for it when there is none. It reads the archive; internal/console serves it.
//
// The archive is committed, so that whoever has Go builds the console without Node. The invariant: what Open gives
// is what is in the archive, whole, or nothing of it and the reason.
package web

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"path"
	"strings"
)

// embedded are console.html and, when it is there, console.zip.
//
//go:embed console.*
var embedded embed.FS

// The names inside of the archive, and the ends of names.
const (
	Archive = "console.zip"
	Source  = "SOURCE"     // holds the digest of what the archive was made from
	Index   = "index.html" // the document
	Packed  = ".gz"        // the end of the name of a member that is compressed
	assets  = "assets/"    // where names change with the content
)

// What stands in documents for what is known only when they are served.
const (
	basePlace    = "__RENGA_BASE__"
	noncePlace   = "__RENGA_NONCE__"
	versionPlace = "__RENGA_VERSION__"
)

// MaxFile is the largest file of the console, in bytes.
const MaxFile = 16 << 20

// File is one file of the console.
type File struct {
	Type      string // its media type
	Immutable bool   // its name changes with its content
	Packed    []byte // compressed by gzip; nil: it is larger so
	plain     []byte // nil: it is only there compressed
}

// Plain is the file as it was built.
func (f *File) Plain() ([]byte, error) {
	if f.plain != nil {
		return f.plain, nil
	}
	return unpack(f.Packed)
}

// Console is what an archive holds.
type Console struct {
	Digest   string // of the sources that it was made from, "none" without an archive
	files    map[string]*File
	document string
}

// none is the Digest of no archive.
const none = "none"

// Open reads the archive of this build. When there is none that can be read, err says so, and the console has one
// page, which says what to do.
func Open(version string) (c *Console, err error) {
	raw, err := embedded.ReadFile(Archive)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("this build has no console: run make web and build again")
	}
	if err == nil {
		c, err = Read(raw)
	}
	if err != nil {
		return Plain(version), err
	}
	return c, nil
}

// Plain is the console of a build that has none: a page without a script, of a version.
func Plain(version string) *Console {
	page, _ := embedded.ReadFile("console.html") // or this would not have compiled
	text := strings.ReplaceAll(string(page), versionPlace, html.EscapeString(version))
	return &Console{Digest: none, document: text}
}

// Read reads an archive.
func Read(raw []byte) (*Console, error) {
	archive, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", Archive, err)
	}
	c := &Console{files: map[string]*File{}}
	for _, member := range archive.File {
		if err := c.add(member); err != nil {
			return nil, fmt.Errorf("%s: %s cannot be read: %w", Archive, member.Name, err)
		}
	}
	if c.document == "" || c.Digest == "" {
		return nil, fmt.Errorf("%s has no %s or no %s", Archive, Index, Source)
	}
	return c, nil
}

// add takes a member of the archive.
func (c *Console) add(member *zip.File) error {
	r, err := member.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	raw, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return err
	}
	if len(raw) > MaxFile {
		return fmt.Errorf("it has more than %d bytes", MaxFile)
	}
	f := &File{plain: raw}
	name, packed := strings.CutSuffix(member.Name, Packed)
	if packed {
		f.Packed, f.plain = raw, nil
	}
	plain, err := f.Plain()
	if err != nil {
		return err
	}
	switch name {
	case Source:
		c.Digest = strings.TrimSpace(string(plain))
	case Index:
		c.document = string(plain)
	default:
		f.Type, f.Immutable = mediaType(name), strings.HasPrefix(name, assets)
		c.files[name] = f
	}
	return nil
}

// File is the file of a name such as assets/index-4f1c.js, nil when there is none.
func (c *Console) File(name string) *File { return c.files[name] }

// Document is the page that every address of the console answers. base is the path below which the server is
// reached, with a slash at its end; nonce is what its styles are known by.
func (c *Console) Document(base, nonce string) []byte {
	return []byte(strings.NewReplacer(basePlace, html.EscapeString(base), noncePlace, nonce).Replace(c.document))
}

// IsAsset reports whether a name is one of those that change with their content: what is not there under it is
// nowhere.
func IsAsset(name string) bool { return strings.HasPrefix(name, assets) }

// types are the media types of files by how their names end. The machine's own table would make them differ.
var types = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".ico": "image/x-icon",
	".js": "text/javascript; charset=utf-8", ".json": "application/json", ".map": "application/json",
	".png": "image/png", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8", ".woff2": "font/woff2",
	".webmanifest": "application/manifest+json",
}

func mediaType(name string) string {
	if known := types[path.Ext(name)]; known != "" {
		return known
	}
	return "application/octet-stream"
}

// unpack is what gzip has compressed.
func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err == nil && len(plain) > MaxFile {
		err = fmt.Errorf("it has more than %d bytes", MaxFile)
	}
	return plain, err
}
