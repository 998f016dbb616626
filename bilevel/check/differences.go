package check

import (
	"math"
	"slices"

	"stable/mat"
)

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

// jacobian differentiates o in x, in y or in both; nil where that fails.
func (c *checker) jacobian(o *oracle, pt point, inX, inY bool) *jacobian {
	j, ok := new(jacobian), true
	if inX {
		steps := longSteps(pt.x, c.o.ScaleX)
		c.outside = !c.shorten(steps, pt.x)
		for k := range pt.x {
			ok = ok && c.ladder(j, o, pt, &pt.x[k], steps[k])
		}
		c.outside = false
	}
	if inY {
		steps := longSteps(pt.y, c.o.ScaleY)
		for k := range pt.y {
			ok = ok && c.ladder(j, o, pt, &pt.y[k], steps[k])
		}
	}
	if !ok {
		return nil
	}
	return j
}

// ladder adds to j the derivatives in *z, an entry of pt that it changes and restores, from the
// steps h, h/4, h/16, … It is false if an evaluation fails.
//
// D(h) = (f(z+h) − f(z−h))/2h has the error c·h² + …, which R(h) = (16 D(h/4) − D(h))/15 removes
// (Richardson; Ridders, Adv. Eng. Softw. 4, 1982). ladder takes the R with the least estimated
// error: the difference from its neighbour, plus rounding, some eps of the largest entry or what
// the shortest steps show.
func (c *checker) ladder(j *jacobian, o *oracle, pt point, z *float64, h float64) bool {
	var central [levels][]float64
	var step [levels]float64
	old, scale := *z, 0.0
	defer func() { *z = old }()
	for l := range levels {
		*z = old + h
		above, width := c.eval(o, pt), *z
		*z = old - h
		below := c.eval(o, pt)
		width -= *z
		if above == nil || below == nil {
			return false
		}
		scale = max(scale, maxAbs(above), maxAbs(below))
		central[l], step[l] = make([]float64, len(above)), h
		for e := range above {
			central[l][e] = (above[e] - below[e]) / width
		}
		h /= shrink
	}
	j.m, j.scale = len(central[0]), max(j.scale, scale/step[0])
	for e := range j.m {
		noise := 8 * eps * scale
		for l := levels - 3; l < levels; l++ {
			noise = max(noise, math.Abs(central[l][e]-central[l-1][e])*step[l])
		}
		best, least, before := 0.0, math.Inf(1), central[1][e]
		for l := range levels - 1 {
			r := (shrink*shrink*central[l+1][e] - central[l][e]) / (shrink*shrink - 1)
			if err := math.Abs(r-before) + noise/step[l+1]; err < least {
				least, best = err, r
			}
			before = r
		}
		j.d, j.tol = append(j.d, best), append(j.tol, c.o.Tol*(safety*least+floor*math.Abs(best)))
	}
	return true
}

// leaveOut sets the tolerance of entries that say nothing beside entries as large as top to +Inf,
// and returns their number.
func (j *jacobian) leaveOut(top float64) int {
	n, most := 0, 1e-3*max(top, maxAbs(j.d), 1e-6*j.scale)
	for k, t := range j.tol {
		if !math.IsInf(t, 1) && t > most {
			j.tol[k] = math.Inf(1)
			n++
		}
	}
	return n
}

// rows is a comparison of the Jacobian with a row for each of its m entries, ∂out_i/∂z_j.
func (j *jacobian) rows(o *oracle, pt point, quantity string) comparison {
	n := len(j.d) / j.m
	shown := &oracle{name: o.name, blocks: []*block{newBlock(quantity, dense, j.m, n)}}
	m := comparison{check: Symmetry, o: shown, pt: pt}
	for k := range j.d {
		t := k%n*j.m + k/n
		m.got, m.tol = append(m.got, j.d[t]), append(m.tol, j.tol[t])
	}
	return m
}

// oneTriangle leaves out the upper triangle, and what says nothing since g_y itself is not
// symmetric.
func (j *jacobian) oneTriangle() {
	for k, d := range j.d {
		row, col := k/j.m, k%j.m
		if t := col*j.m + row; col > row || !(math.Abs(d-j.d[t]) <= j.tol[k]+j.tol[t]) {
			j.tol[k] = math.Inf(1)
		}
	}
}

func longSteps(z []float64, scale float64) []float64 {
	steps := make([]float64, len(z))
	for i, v := range z {
		steps[i] = longest * max(math.Abs(v), scale)
	}
	return steps
}

// shorten shortens steps from x until they stay in X, but leaves those that hardly any would; it is
// false if there are such.
func (c *checker) shorten(steps, x []float64) (inside bool) {
	p := make([]float64, len(x))
	leaves := func(i int, h float64) bool {
		z := slices.Clone(x)
		z[i] += h
		c.o.Set.Project(p, z)
		mat.Axpy(p, -1, z)
		return maxAbs(p) > 1e-6*math.Abs(h)
	}
	inside = true
	for i, h := range steps {
		tries := 0
		for ; tries < 10 && (leaves(i, steps[i]) || leaves(i, -steps[i])); tries++ {
			steps[i] /= shrink
		}
		if tries == 10 {
			steps[i], inside = h, false
		}
	}
	return inside
}
