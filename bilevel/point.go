package bilevel

// Point returns the point (x, y) of the last Init or Update, at which H_xy and H_yy estimate g_xy
// and g_yy, in the estimator's own memory, to be read only. In a running STABLE it is (x^{k−1},
// y^{k−1}) where the Solver's iterate is (x^k, y^k). Before Init it is 0.
func (e *Estimator) Point() (x, y []float64) { return e.x, e.y }
