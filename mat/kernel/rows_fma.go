//go:build amd64.v3 || loong64 || ppc64 || ppc64le || riscv64 || s390x

package kernel

// Rows and Cols are the size of the register tile, where the compiler fuses multiply and add.
const (
	Rows = 3
	Cols = 3
)
