package bilevel_test

import (
	"context"
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

	resume := func() error {
		s, err := bilevel.New(shrink{}, bilevel.STABLE{MuG: 1}, bilevel.Options{Set: bilevel.NonNegative{}})
		if err != nil {
			return err
		}
		if err := s.LoadFile(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		fmt.Print("from step ", s.K())
		if _, err := s.Run(context.Background(), bilevel.Run{Steps: 1000}); err != nil {
			return err
		}
		fmt.Println(" to", s.K())
		return s.SaveFile(path)
	}
	for range 3 { // as three processes would
		if err := resume(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// from step 0 to 1000
	// from step 1000 to 2000
	// from step 2000 to 3000
}
