//go:build !(amd64.v3 || arm64 || loong64 || ppc64 || ppc64le || riscv64 || s390x)

package kernel

// Rows is the height of the register tile: six sums and their operands fit 15 registers.
const Rows = 2
