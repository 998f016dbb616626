package method_test

import (
	"fmt"

	"stable/bilevel/method"
)

// The methods without step sizes to choose.
func ExampleRegistry() {
	for _, e := range method.Registry() {
		if e.Untuned {
			fmt.Println(e.Name)
		}
	}
	// Output:
	// SAA-Newton
	// S-TFBO
	// HOAG
}
