package kit

// FirstOf returns the first error that is not nil.
func FirstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
