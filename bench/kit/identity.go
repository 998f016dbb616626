package kit

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

// Identity says what results on disk were made from; only equal ones are reused.
type Identity struct {
	Options string   // the command and each of its options that a result depends on
	Data    []Source // the data files
	Build   string   // the program: see [Build]
}

// Source is a data file, of which the content alone counts.
type Source struct{ Name, SHA256 string }

func (s Source) String() string { return fmt.Sprintf("%s (SHA-256 %.12s)", s.Name, s.SHA256) }

// check says where results in a file differ from id.
func (id Identity) check(file string, found Identity) error {
	why := ""
	switch {
	case found.Options != id.Options:
		why = fmt.Sprintf("with other options (%s); this one is %s", found.Options, id.Options)
	case !slices.EqualFunc(found.Data, id.Data, func(a, b Source) bool { return a.SHA256 == b.SHA256 }):
		why = fmt.Sprintf("on other data, %s; this one is on %s", sources(found.Data), sources(id.Data))
	case found.Build != id.Build:
		why = "by another build of this program, whose results may differ"
	default:
		return nil
	}
	return fmt.Errorf("%s belongs to another run, %s", file, why)
}

func sources(list []Source) string {
	if len(list) == 0 {
		return "none"
	}
	var words []string
	for _, s := range list {
		words = append(words, s.String())
	}
	return strings.Join(words, ", ")
}

func Digest(path string) (string, error) {
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

// Build is the SHA-256 of this program's file; random where the system does not name it.
var Build = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err == nil {
		var sum string
		if sum, err = Digest(path); err == nil {
			return sum
		}
	}
	return "unknown " + rand.Text()
})
