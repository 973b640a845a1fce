// Command pack puts what Vite has built (web/dist) into the archive that the binary embeds (web/console.zip), or
// compares the two with -check. `make web` runs it.
//
// The invariant: the same files make the same archive, whoever packs it and when.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"renga.dev/renga/web"
)

func main() {
	root := flag.String("root", ".", "folder of the repository")
	check := flag.Bool("check", false, "compare the archive with the build, and write nothing")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// run packs or checks the console of a repository.
func run(root string, check bool) error {
	built := os.DirFS(filepath.Join(root, "web", "dist"))
	if _, err := fs.Stat(built, web.Index); err != nil {
		return fmt.Errorf("there is no build to pack: run make web (%w)", err)
	}
	digest, err := digestOf(os.DirFS(root))
	if err != nil {
		return err
	}
	target := filepath.Join(root, "web", web.Archive)
	if check {
		raw, err := os.ReadFile(target)
		if err != nil {
			return err
		}
		return compare(raw, built, digest)
	}
	raw, sizes, err := pack(built, digest)
	if err != nil {
		return err
	}
	if _, err := web.Read(raw); err != nil { // nobody commits what the server could not serve
		return err
	}
	if err := os.WriteFile(target, raw, 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d files, %d bytes, %d before; sources %s\n", target, sizes.files, len(raw), sizes.plain, digest)
	return nil
}
