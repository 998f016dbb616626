// Command sum has the checksum of this tree. In the top folder of the module:
//
//	go run .ci/sum.go                   prints "VERSION sha256:…"
//	go run .ci/sum.go verify            compares that with the line that CHANGELOG.md has for this version
//	go run .ci/sum.go version VERSION   makes it that version: in doc.go and README.md
//	go run .ci/sum.go release VERSION   the same, and writes the checksum into CHANGELOG.md, under the
//	                                    heading "## [VERSION] - DATE", which has to be there
//
// The checksum is the SHA-256 of the lines "SHA-256 of the file, two spaces, path", sorted by path
// in bytes, over all files but CHANGELOG.md, which holds the result, and what version control and
// runs leave behind (.git, out, *.test, *.prof). It needs no version control: a copy of the folder
// has the checksum of the release that it was copied from, and any edit changes it.
package main

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

const changelog = "CHANGELOG.md"

// versions are the places of the version.
var versions = map[string]*regexp.Regexp{
	"doc.go":    regexp.MustCompile(`(\nconst Version = ")([^"]+)(")`),
	"README.md": regexp.MustCompile("(`require\\s+stable v)([^`]+)(`)"),
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("sum: ")
	switch args := append(os.Args[1:], "", ""); {
	case len(os.Args) == 1:
		fmt.Println(sum())
	case args[0] == "verify" && args[1] == "":
		verify()
	case (args[0] == "version" || args[0] == "release") && regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(args[1]):
		if released(args[1]) != "" {
			log.Fatalf("%s has a checksum of version %s: take it out, or choose another version", changelog, args[1])
		}
		for file, place := range versions {
			replace(file, place, "${1}"+args[1]+"${3}")
		}
		if args[0] == "release" {
			heading := regexp.MustCompile(`(\n## \[` + regexp.QuoteMeta(args[1]) + `\] - \d{4}-\d\d-\d\d\n)`)
			replace(changelog, heading, "${1}\n"+sum()+"\n")
			verify()
		}
	default:
		log.Fatal("usage: go run .ci/sum.go [verify | version VERSION | release VERSION]")
	}
}

func verify() {
	now := sum()
	version, _, _ := strings.Cut(now, " ")
	switch want := released(version); want {
	case "":
		log.Fatalf("version %s is not released yet: %s has no checksum to compare this tree with (%s)", version, changelog, now)
	case now:
		fmt.Println("this tree is release", version)
	default:
		log.Fatalf("this tree is not release %s: it has %s, %s says %s", version, now, changelog, want)
	}
}

// released returns the line of CHANGELOG.md with the checksum of a version; empty if there is none.
func released(version string) string {
	return regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(version) + ` sha256:[0-9a-f]{64}$`).FindString(read(changelog))
}

func read(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	return string(text)
}

func replace(file string, place *regexp.Regexp, by string) {
	text := read(file)
	if len(place.FindAllString(text, -1)) != 1 {
		log.Fatalf("%s has not one place for this: %v", file, place)
	}
	if err := os.WriteFile(file, []byte(place.ReplaceAllString(text, by)), 0o644); err != nil {
		log.Fatal(err)
	}
}

func sum() string {
	version := versions["doc.go"].FindStringSubmatch(read("doc.go"))
	if version == nil {
		log.Fatal("doc.go has no version")
	}
	var files []string
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (file == ".git" || file == "out"):
			return fs.SkipDir
		case !entry.IsDir() && file != changelog && file != ".git" && !slices.Contains([]string{".test", ".prof"}, path.Ext(file)):
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	slices.Sort(files)
	all := sha256.New()
	for _, file := range files {
		fmt.Fprintf(all, "%x  %s\n", sha256.Sum256([]byte(read(file))), file)
	}
	return fmt.Sprintf("%s sha256:%x", version[2], all.Sum(nil))
}
