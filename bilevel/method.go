package bilevel

// Method is a rule that computes the next iterate from the present one. Any package can implement it; the
// Solver counts, catches panics, looks for values that are not finite, writes checkpoints, and keeps the last
// good iterate. The Method holds the parameters, the Stepper that Start returns is the running method. The
// example is a complete one, to copy; check.Method says which of the rules below a method breaks.
type Method interface {
	// Name is the method's name in the literature, for error messages and checkpoints.
	Name() string

	// Start returns the running method, with all the memory that its steps need. It fills in
	// defaults, and refuses invalid parameters with an error that wraps ErrOption and names the
	// field. It may read Dims, Set, Batches, X, Y and Oracle().Streams of it, draws no sample and
	// calls no oracle. Load calls Start once more.
	Start(it *Iteration) (Stepper, error)
}

// Stepper is a running Method. In every iteration the Solver calls Step, and then Vectors.
type Stepper interface {
	// Step reads it.X() and it.Y(), which it must not change, and writes it.NextX() and it.NextY(), which hold
	// the same at the start. It keeps x in the feasible set, and reports its step sizes by it.UseSteps. On an
	// error the run ends and the next iterate is dropped. Step should allocate nothing.
	Step(it *Iteration) error

	// Vectors calls visit with each vector that the last step computed, in that order and under its
	// name in the paper. The Solver names the first entry that is not finite.
	Vectors(visit func(name string, v []float64))

	// State visits all numbers that later steps depend on, except x, y and k, for a checkpoint: in
	// the same order, and as many, from Start on.
	State(st *State)
}
