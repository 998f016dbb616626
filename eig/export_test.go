package eig

// The kernels, for tests and benchmarks: as dispatched, and in plain Go.
var (
	Pass2      = pass2
	Pass2Go    = pass2Go
	Reflect4   = reflect4
	Reflect4Go = reflect4Go
)
