package method_test

import (
	"context"
	"encoding/json"
	"fmt"

	"stable/bilevel"
	"stable/bilevel/method"
	"stable/bilevel/quadratic"
)

// A configuration file names the method and its parameters.
func ExampleSpec() {
	const file = `{
		"seed": 3,
		"solver": {"method": "TTSA", "Alpha": {"C": 1, "K0": 10, "P": 0.6}, "Beta": 0.05, "Neumann": {"MuG": 1, "LG": 10}}
	}`
	var config struct {
		Seed   uint64
		Solver method.Spec
	}
	if err := json.Unmarshal([]byte(file), &config); err != nil {
		fmt.Println(err)
		return
	}
	p, err := quadratic.New(quadratic.Options{Seed: config.Seed})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := bilevel.New(p, config.Solver.Method, bilevel.Options{Seed: config.Seed})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := s.Run(context.Background(), bilevel.Run{Steps: 10}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(config.Solver)
	err = json.Unmarshal([]byte(`{"method": "TTSA", "Aplha": 1}`), &config.Solver)
	fmt.Println(err)
	// Output:
	// {"method":"TTSA","Alpha":{"C":1,"K0":10,"P":0.6},"Beta":0.05,"Neumann":{"LG":10,"MuG":1}}
	// bilevel: bad option: TTSA: no parameter is called "Aplha"; there are Alpha, Beta, Neumann
}

// The registry is a list of all methods, for a comparison of one's own: here, of those that have no
// step sizes to choose.
func ExampleRegistry() {
	for _, e := range method.Registry() {
		if e.Untuned {
			fmt.Println(method.Spec{Method: e.New(method.Tuning{MuG: 1})})
		}
	}
	// Output:
	// {"method":"STABLE-untuned","MuG":1}
	// {"method":"S-TFBO"}
	// {"method":"HOAG"}
}
