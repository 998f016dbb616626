// Command rename gives this copy of the module another path, so that go get can fetch it from a
// host of your own. In the top folder of a copy:
//
//	go run .ci/rename.go example.org/you/stable
//
// It rewrites go.mod, and the packages' paths in Go files, Markdown and scripts.
package main

import (
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		log.Fatal("rename: run it in the top folder of the module: ", err)
	}
	host := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+(/[A-Za-z0-9._~-]+)*$`)
	if len(os.Args) != 2 || !host.MatchString(os.Args[1]) {
		log.Fatal("usage: go run .ci/rename.go HOST/PATH, where HOST has a dot")
	}
	from, to := regexp.QuoteMeta(strings.Fields(string(mod))[1]), os.Args[1]
	rules := []*regexp.Regexp{
		regexp.MustCompile(`(^|[^\w./-])` + from + `(/(?:mat|chol|eig|bilevel|bench|\.\.\.|"))`),
		regexp.MustCompile(`(")` + from + `("| ` + regexp.QuoteMeta(to) + `/)`),           // the root itself
		regexp.MustCompile(`("` + regexp.QuoteMeta(to) + `/[\w/]+ )` + from + `(")`),      // the second of two
		regexp.MustCompile(`((?:^|\n)(?:module|require|replace) )` + from + `((?: |\n))`), // go.mod
	}
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch ext := filepath.Ext(path); {
		case err != nil:
			return err
		case entry.IsDir() && path == ".git":
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains([]string{".go", ".md", ".mod", ".py"}, ext) && filepath.Dir(path) != ".ci":
			return nil
		}
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(old)
		for _, rule := range rules {
			text = rule.ReplaceAllString(text, "${1}"+to+"${2}")
		}
		if text == string(old) {
			return nil
		}
		return os.WriteFile(path, []byte(text), 0o644)
	})
	if err != nil {
		log.Fatal("rename: ", err)
	}
	fmt.Println("this copy is now", to)
}
