package check

import "math"

const (
	levels  = 6       // rungs of the ladder of steps
	shrink  = 4       // of one step to the next
	longest = 1e-2    // the longest step, in units of max(|z_k|, scale)
	safety  = 10      // tolerance in units of the estimated error
	floor   = 1e-8    // least tolerance relative to the entry itself
	eps     = 0x1p-52 // spacing of float64 at 1
)

// jacobian holds derivatives of m entries in n variables: d[k*m+e] = ∂out_e/∂z_k, with tolerances.
type jacobian struct {
	m      int
	d, tol []float64
	scale  float64 // of the function, by which zero derivatives are judged
}

// differentiate adds to j the derivatives of eval in z, which it changes and restores, with longest
// steps for each coordinate. It is false if an evaluation fails.
func (c *checker) differentiate(j *jacobian, eval func() ([]float64, bool), z, steps []float64) bool {
	for k := range z {
		d, tol, scale, ok := c.ladder(eval, z, k, steps[k])
		if !ok {
			return false
		}
		j.m = len(d)
		j.d, j.tol = append(j.d, d...), append(j.tol, tol...)
		j.scale = max(j.scale, scale)
	}
	return true
}

// ladder returns derivatives in coordinate k of z, from the steps h, h/4, h/16, …
//
// D(h) = (f(z+h) − f(z−h))/2h has the error c·h² + …, which R(h) = (16 D(h/4) − D(h))/15 removes
// (Richardson; Ridders, Adv. Eng. Softw. 4, 1982). ladder takes the R with the least estimated
// error: the difference from its neighbour, plus rounding, some eps of the largest entry or what
// the shortest steps show.
func (c *checker) ladder(eval func() ([]float64, bool), z []float64, k int,
	h float64) (d, tol []float64, scale float64, ok bool) {
	var central [levels][]float64
	var step [levels]float64
	old := z[k]
	defer func() { z[k] = old }()
	for l := range levels {
		z[k] = old + h
		above, ok1 := eval()
		width := z[k]
		z[k] = old - h
		below, ok2 := eval()
		width -= z[k]
		if !ok1 || !ok2 {
			return nil, nil, 0, false
		}
		scale = max(scale, maxAbs(above), maxAbs(below))
		central[l], step[l] = make([]float64, len(above)), h
		for e := range above {
			central[l][e] = (above[e] - below[e]) / width
		}
		h /= shrink
	}
	d, tol = make([]float64, len(central[0])), make([]float64, len(central[0]))
	for e := range d {
		noise := 8 * eps * scale
		for l := levels - 3; l < levels; l++ {
			noise = max(noise, math.Abs(central[l][e]-central[l-1][e])*step[l])
		}
		least, before := math.Inf(1), central[1][e]
		for l := range levels - 1 {
			r := (shrink*shrink*central[l+1][e] - central[l][e]) / (shrink*shrink - 1)
			if err := math.Abs(r-before) + noise/step[l+1]; err < least {
				least, d[e] = err, r
			}
			before = r
		}
		tol[e] = c.o.Tol * (safety*least + floor*math.Abs(d[e]))
	}
	return d, tol, scale / step[0], true
}

// rough sets the tolerance of entries that say nothing beside entries as large as top to +Inf, and
// returns their number.
func (j *jacobian) rough(top float64) int {
	n, most := 0, 1e-3*max(top, maxAbs(j.d), 1e-6*j.scale)
	for k, t := range j.tol {
		if !math.IsInf(t, 1) && t > most {
			j.tol[k] = math.Inf(1)
			n++
		}
	}
	return n
}

// stepsX returns the longest step for each coordinate of x, and whether all stay in X.
func (c *checker) stepsX(x []float64) (steps []float64, inside bool) {
	steps, inside = make([]float64, len(x)), true
	z, p := append([]float64(nil), x...), make([]float64, len(x))
	moved := func(i int, h float64) bool {
		z[i] = x[i] + h
		c.o.Set.Project(p, z)
		z[i] = x[i]
		worst := 0.0
		for k := range p {
			want := x[k]
			if k == i {
				want += h
			}
			worst = max(worst, math.Abs(p[k]-want))
		}
		return worst > 1e-6*math.Abs(h)
	}
	for i := range x {
		h := longest * max(math.Abs(x[i]), c.o.ScaleX)
		steps[i] = h
		tries := 0
		for ; tries < 10 && (moved(i, steps[i]) || moved(i, -steps[i])); tries++ {
			steps[i] /= shrink
		}
		if tries == 10 {
			steps[i], inside = h, false
		}
	}
	return steps, inside
}

func (c *checker) stepsY(y []float64) []float64 {
	steps := make([]float64, len(y))
	for j := range y {
		steps[j] = longest * max(math.Abs(y[j]), c.o.ScaleY)
	}
	return steps
}
