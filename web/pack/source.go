package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// sources are what a build is made from, as patterns of names in the repository. A folder stands for all in it.
var sources = []string{
	"web/src", "web/public", "web/index.html", "web/package.json", "web/package-lock.json", "web/tsconfig*.json",
	"web/vite.config.*", "api/openapi.yaml",
}

// digestOf is the digest of the sources of a repository: of their names and contents, in the order of the names.
func digestOf(repository fs.FS) (string, error) {
	var names []string
	for _, pattern := range sources {
		found, err := fs.Glob(repository, pattern)
		if err != nil {
			return "", err
		}
		for _, name := range found {
			err := fs.WalkDir(repository, name, func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && counts(name) {
					names = append(names, name)
				}
				return err
			})
			if err != nil {
				return "", err
			}
		}
	}
	slices.Sort(names)
	whole := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(repository, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(whole, "%x %s\n", sha256.Sum256(text), name)
	}
	return "sha256:" + hex.EncodeToString(whole.Sum(nil)), nil
}

// counts reports whether a file below the sources is one of them: neither a test, nor made from the contract, nor
// hidden.
func counts(name string) bool {
	base := path.Base(name)
	return !strings.HasPrefix(base, ".") && !strings.Contains(base, ".test.") && name != "web/src/api/schema.d.ts"
}
