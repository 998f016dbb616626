package saa

import "stable/bilevel"

// ByProducts is Newton as it is where x is long, for every x.
type ByProducts struct{ Newton }

func (m ByProducts) Start(it *bilevel.Iteration) (bilevel.Stepper, error) { return m.start(it, true) }
