package kit

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"stable/mat/kernel"
)

// Machine names the tier of the kernels, Go, the system, and on Linux the processor.
func Machine() string {
	return fmt.Sprintf("%s; %s %s/%s; %s", kernel.Tier(), runtime.Version(), runtime.GOOS, runtime.GOARCH, processor())
}

// Warning returns a line if the build asks for vector kernels in vain, else nothing.
func Warning() string {
	if !kernel.Dropped {
		return ""
	}
	return fmt.Sprintf("WARNING: GOEXPERIMENT=simd is set, but the vector kernels were not tried with %s: "+
		"portable code runs\n",
		runtime.Version())
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for _, line := range strings.Split(string(text), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return "processor not known"
}
