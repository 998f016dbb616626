package bilevel

import "fmt"

// String says which method runs and how far it has come, for logs.
func (s *Solver) String() string {
	c := s.Counts()
	return fmt.Sprintf("%s at step %d, after %d samples of ξ and %d of φ", s.it.method.Name(), s.it.k, c.Xi, c.Phi)
}
