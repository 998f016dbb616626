package kernel

import "fmt"

// Tier names what the kernels in this build run on: "portable", "v3" (the same source, with
// multiply and add fused by the compiler, on amd64 or elsewhere), or "simd" with the length of the
// vectors.
func Tier() string {
	switch {
	case Lanes() > 0:
		return fmt.Sprintf("simd, %d bits", 64*Lanes())
	case Rows == 3:
		return "v3"
	}
	return "portable"
}
