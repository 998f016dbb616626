package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// results returns what this ledger and those of the other parts hold.
func (x *experiment) results(l *ledger) (func(key string) (trial, bool), error) {
	if x.of == 1 {
		return l.get, nil
	}
	all := map[string]trial{}
	for part := 1; part <= x.of; part++ {
		name := x.ledger(part, x.of)
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_, err = readLedger(f, name, x.identity(), all)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return func(key string) (trial, bool) { t, ok := all[key]; return t, ok }, nil
}

// parsePart reads "i/n".
func parsePart(s string) (part, of int, err error) {
	if s == "" {
		return 1, 1, nil
	}
	a, b, ok := strings.Cut(s, "/")
	part, err1 := strconv.Atoi(a)
	of, err2 := strconv.Atoi(b)
	if !ok || err1 != nil || err2 != nil || part < 1 || of < part {
		return 0, 0, fmt.Errorf("%w: -part %q, want i/n with 1 ≤ i ≤ n", errUsage, s)
	}
	return part, of, nil
}
