package kit

import "cmp"

// FirstOf returns the first error that is not nil.
func FirstOf(errs ...error) error { return cmp.Or(errs...) }
