package main

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// identity says what results on disk were made from. Results serve again only where all of it is
// the same.
type identity struct {
	Options string   // the command and each of its options that a result depends on
	Data    []source // the data files
	Build   string   // the program: see buildSum
}

// source is a data file: the name by which a user knows it, and the SHA-256 of its content.
type source struct{ Name, SHA256 string }

func (s source) String() string { return fmt.Sprintf("%s (SHA-256 %.12s)", s.Name, s.SHA256) }

// check returns an error that says in what the identity of a file's results differs from id.
func (id identity) check(file string, found identity) error {
	why := ""
	switch {
	case found.Options != id.Options:
		why = fmt.Sprintf("with other options (%s); this one is %s", found.Options, id.Options)
	case !slices.Equal(found.Data, id.Data):
		why = fmt.Sprintf("on other data, %s; this one is on %s", sources(found.Data), sources(id.Data))
	case found.Build != id.Build:
		why = "by another build of this program, whose results may differ"
	default:
		return nil
	}
	return fmt.Errorf("%s is of another run, %s", file, why)
}

func sources(list []source) string {
	if len(list) == 0 {
		return "none"
	}
	var words []string
	for _, s := range list {
		words = append(words, s.String())
	}
	return strings.Join(words, ", ")
}

// newSource reads the file at path for its checksum.
func newSource(name, path string) (source, error) {
	sum, err := digest(path)
	return source{name, sum}, err
}

// digest returns the SHA-256 of a file.
func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// buildSum is the SHA-256 of the running program's file: it stands for the source code, the
// compiler and its flags. Where the system does not name that file, it is drawn at random at the
// start, so that no other process takes the results for its own.
var buildSum = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err == nil {
		var sum string
		if sum, err = digest(path); err == nil {
			return sum
		}
	}
	return "unknown " + rand.Text()
})
