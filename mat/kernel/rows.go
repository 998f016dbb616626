//go:build !(amd64.v3 || arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x)

package kernel

// Rows and Cols are the size of the register tile: six sums and their operands fit 15 registers.
const (
	Rows = 2
	Cols = 3
)
