package kernel

// Rows and Cols are the size of the register tile: sixteen sums fill four pipes of latency four.
const (
	Rows = 4
	Cols = 4
)
