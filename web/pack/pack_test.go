package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"renga.dev/renga/web"
)

// TestTheArchiveIsThatOfTheSources needs no Node: the archive says which sources it was made from.
func TestTheArchiveIsThatOfTheSources(t *testing.T) {
	_ = os.Getenv("PWD") // the go command must not take the result of another clone
	root := filepath.Join("..", "..")
	raw, err := os.ReadFile(filepath.Join(root, "web", web.Archive))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(root, "web", "package.json")); err != nil {
			return // there is nothing yet to make one from
		}
		t.Fatal("web/console.zip is missing: run make web and commit it")
	}
	if err != nil {
		t.Fatal(err)
	}
	want, err := digestOf(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	c, err := web.Read(raw)
	if err != nil {
		t.Fatalf("%v: run make web and commit it", err)
	}
	if c.Digest != want {
		t.Errorf("web/console.zip was made from other sources than web/ and api/openapi.yaml now hold: run make web "+
			"and commit it\nit has %s\nwant   %s", c.Digest, want)
	}
	files, err := unpacked(raw)
	if err != nil {
		t.Fatalf("a member does not unpack: %v", err)
	}
	if len(files) < 4 || len(files[web.Index]) == 0 {
		t.Errorf("the archive has %d files and a document of %d bytes", len(files), len(files[web.Index]))
	}
}

// build is what Vite leaves.
func build() fstest.MapFS {
	return fstest.MapFS{
		"index.html":          {Data: []byte(strings.Repeat("<base href=__RENGA_BASE__>", 9))},
		"assets/a-1.js":       {Data: bytes.Repeat([]byte("let a = 1;"), 100)},
		"icon.png":            {Data: []byte{1, 2, 3}},
		"empty.txt":           {},
		".vite/manifest.json": {Data: []byte("{}")},
	}
}

func TestTheSameFilesMakeTheSameArchive(t *testing.T) {
	first, done, err := pack(build(), "sha256:1")
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := pack(build(), "sha256:1")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) || done.files != 5 {
		t.Errorf("two archives of the same files differ, or have %d files", done.files)
	}
	c, err := web.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	script, icon := c.File("assets/a-1.js"), c.File("icon.png")
	if c.Digest != "sha256:1" || script == nil || icon == nil || c.File(".vite/manifest.json") != nil {
		t.Fatalf("got %+v, script %v, icon %v", c, script, icon)
	}
	plain, err := script.Plain()
	if want := build()["assets/a-1.js"].Data; err != nil || !bytes.Equal(plain, want) || script.Packed == nil ||
		!script.Immutable {
		t.Errorf("the script is %q, %v, packed %t", plain, err, script.Packed != nil)
	}
	if plain, err := icon.Plain(); err != nil || len(plain) != 3 || icon.Packed != nil || icon.Immutable {
		t.Errorf("the icon is %v, %v, packed %t", plain, err, icon.Packed != nil)
	}
}

func TestAnArchiveIsComparedFileByFile(t *testing.T) {
	raw, _, err := pack(build(), "sha256:1")
	if err != nil {
		t.Fatal(err)
	}
	if err := compare(raw, build(), "sha256:1"); err != nil {
		t.Errorf("an archive differs from its own build: %v", err)
	}
	other := build()
	other["icon.png"].Data = []byte{4}
	other["new.js"] = &fstest.MapFile{Data: []byte("x")}
	delete(other, "empty.txt")
	err = compare(raw, other, "sha256:2")
	want := "SOURCE differs\nicon.png differs\nnew.js is in the build and not in the archive\n" +
		"empty.txt is in the archive and not in the build\nthe archive is not what the sources give: run make web"
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestTheDigestIsThatOfWhatIsBuilt(t *testing.T) {
	tree := fstest.MapFS{
		"web/src/main.tsx": {Data: []byte("1")}, "web/src/flow/a.ts": {Data: []byte("2")},
		"web/package-lock.json": {Data: []byte("{}")}, "web/tsconfig.app.json": {Data: []byte("{}")},
		"api/openapi.yaml": {Data: []byte("openapi: 3.1.0")},
	}
	digest := func() string {
		d, err := digestOf(tree)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := digest()
	for _, name := range []string{
		"web/src/flow/a.test.ts", "web/src/api/schema.d.ts", "web/src/.swp", "web/README.md", "web/test/shell.spec.ts",
		"web/node_modules/x/index.js",
	} {
		tree[name] = &fstest.MapFile{Data: []byte("x")}
		if digest() != before {
			t.Errorf("%s changes the digest, and not what is built", name)
		}
	}
	for _, name := range []string{
		"web/src/main.tsx", "web/src/flow/b.ts", "web/package-lock.json", "web/tsconfig.json", "web/vite.config.ts",
		"web/public/icon.svg", "web/index.html", "api/openapi.yaml",
	} {
		tree[name] = &fstest.MapFile{Data: []byte("changed")}
		if now := digest(); now == before {
			t.Errorf("%s does not change the digest", name)
		} else {
			before = now
		}
	}
}

func TestNothingIsPackedWithoutABuild(t *testing.T) {
	root := t.TempDir()
	if err := run(root, false); err == nil || !strings.Contains(err.Error(), "run make web") {
		t.Errorf("got %v", err)
	}
	if err := os.CopyFS(filepath.Join(root, "web", "dist"), build()); err != nil {
		t.Fatal(err)
	}
	if err := run(root, false); err != nil {
		t.Fatal(err)
	}
	if err := run(root, true); err != nil {
		t.Errorf("what was packed is not what was built: %v", err)
	}
}
