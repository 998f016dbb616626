package bilevel

import (
	"math"
	"slices"

	"stable/mat"
)

// lengths updates a_i, and what the shares θ and 1/(3κ) of a_i are made of.
func (r *moverX) lengths(it *Iteration, m *untuned) error {
	if err := r.newest(it, m); err != nil {
		return err
	}
	r.blind = r.curved == nil || slices.Contains(r.known, false)
	x, k := it.X(), it.K()
	for i, v := range r.m {
		weight := newest(k)
		if extent(it.Set(), i) > 0 {
			weight = 8 / float64(k+8)
		}
		r.meanSq[i] += weight * (v*v - r.meanSq[i])
		r.far[i] = max(r.far[i], math.Abs(x[i]-r.start[i]))
	}
	if k < 20 {
		if err := r.guess(it, m); err != nil {
			return err
		}
	}
	for i, v := range r.meanSq {
		length := extent(it.Set(), i) / math.Sqrt2
		if length == 0 {
			length = max(r.first[i]/5, r.far[i])
		}
		r.aNext[i] = r.a[i]
		if v > 0 {
			r.aNext[i] = length / math.Sqrt(float64(k+1)*v)
		}
	}
	if k > 0 {
		r.brake(x, m, k)
	}
	copy(r.a, r.aNext)
	return nil
}

// guess estimates how far each entry has to go: as far as moves y* by the longest y so far. Where g
// does not know the entry, it is as far as changes f by as much as such a y does. Where neither has
// a scale, it is |x_i⁰|, or 1 if that is 0. An estimate replaces the one before, in the first 20
// steps.
func (r *moverX) guess(it *Iteration, m *untuned) error {
	for i := range r.first {
		if err := m.solve(m.w, m.xy.Row(i)); err != nil {
			return err
		}
		length := quotientOr0(m.longestY, mat.Norm(m.w))
		if length == 0 {
			length = quotientOr0(m.longestY*mat.Norm(m.fy), math.Abs(m.h[i]))
		}
		if length == 0 && r.first[i] == 0 {
			if length = math.Abs(r.start[i]); length == 0 {
				length = 1
			}
		}
		if length > 0 {
			r.first[i] = length
		}
	}
	return nil
}

// knows reports whether g knows entry i. Without curvature it cannot be told, and g is taken to.
func (r *moverX) knows(i int) bool { return r.curved == nil || r.known[i] }

// brake learns θ and κ from the last move. Of the entries that g knows, only moves by the gradient
// count: steps by curvature lie in soft directions, and do not show the stiff ones.
//
// The square of q_i is weighed by the a_i to come where that is less. An entry that has had no
// gradient so far, as of a feature not seen yet, has an a_i without measure, and its first q_i
// would end all steps. On streams θ forgets after some 50 steps, since rare samples that throw it
// come for ever. On sums, which are read again and again, all of a run counts.
//
// A move in which entries took part that g does not know is not learned from: its q is theirs, too,
// and over the size of the others, which may hardly have moved, it would end all steps, the more so
// once g knows all entries.
func (r *moverX) brake(x []float64, m *untuned, k int) {
	var size, change, bend, push float64
	stray := false
	for i, a := range r.a {
		if a == 0 {
			continue
		}
		s := x[i] - m.x[i]
		if !r.knows(i) {
			stray = stray || s != 0
			r.turn[i] += newest(k-1) * (math.Abs(s*r.q[i]) - r.turn[i])
			r.span[i] += newest(k-1) * (s*s/a - r.span[i])
			continue
		}
		size += s * s / a
		change += s * (m.h[i] - r.hOld[i])
		bend += s * r.q[i]
		push += min(a, r.aNext[i]) * r.q[i] * r.q[i]
	}
	if size > 0 && !r.second {
		r.kappaA += newest(k-1) * (change/size - r.kappaA)
		if stray {
			return
		}
		weight := newest(k - 1)
		if m.upper == nil && m.lower == nil {
			weight = windowed(k-1, 50)
		}
		r.bend += weight * (bend/size - r.bend)
		r.push += weight * (push/size - r.push)
	}
}

// alpha is α_i: a_i, times θ or 1/(3κ) where that is below 1. An entry that g does not know has a κ
// of its own. Where there is such an entry, or no q, the others have the κ of the change of h.
func (r *moverX) alpha(i int) float64 {
	kappa := r.kappaA
	switch {
	case !r.knows(i):
		kappa = quotientOr0(r.turn[i], r.span[i])
	case r.blind:
	case r.bend > 0 && r.push > r.bend:
		return r.a[i] * (r.bend / r.push)
	default:
		return r.a[i]
	}
	if kappa > 1./3 {
		return r.a[i] / (3 * kappa)
	}
	return r.a[i]
}
