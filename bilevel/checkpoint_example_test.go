package bilevel_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"stable/bilevel"
)

// A run that takes itself up where it was stopped.
func ExampleSolver_SaveFile() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.checkpoint")

	for range 3 { // as three processes would
		s, err := bilevel.New(shrink{}, bilevel.STABLE{MuG: 1}, bilevel.Options{Set: bilevel.NonNegative{}})
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := s.LoadFile(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			fmt.Println(err)
			return
		}
		fmt.Print("from step ", s.K())
		for range 1000 {
			if err := s.Step(); err != nil {
				fmt.Println(err)
				return
			}
		}
		if err := s.SaveFile(path); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(" to", s.K())
	}
	// Output:
	// from step 0 to 1000
	// from step 1000 to 2000
	// from step 2000 to 3000
}
