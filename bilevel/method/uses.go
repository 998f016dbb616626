package method

import (
	"math"

	"stable/bilevel"
)

// usesStable counts STABLE, with GradF at the given number of points from step 1 on.
func usesStable(points uint64) func(c Case) (least, most bilevel.Counts) {
	return func(c Case) (least, most bilevel.Counts) {
		u, l := uint64(c.Upper), uint64(c.Lower)
		n := bilevel.Counts{Xi: u, Phi: l, GradF: points * u, GradG: l, CrossG: 2 * l, HessG: 2 * l}
		if c.K == 0 {
			l = uint64(max(c.Lower, c.Dy))
			n = bilevel.Counts{Xi: u, Phi: l, GradF: u, GradG: l, CrossG: l, HessG: l}
		}
		return n, n
	}
}

// usesRSVRB counts RSVRB.
func usesRSVRB(c Case) (least, most bilevel.Counts) {
	least, _ = usesStable(2)(c)
	if c.K > 0 {
		least.GradG *= 2
	}
	return least, least
}

// usesSOBA counts SOBA.
func usesSOBA(c Case) (least, most bilevel.Counts) {
	u, l := uint64(c.Upper), uint64(c.Lower)
	n := bilevel.Counts{Xi: u, Phi: l, GradF: u, GradG: l, HessVecG: l, CrossVecG: l}
	return n, n
}

// usesSABA counts SABA, which fills its tables in step 0.
func usesSABA(c Case) (least, most bilevel.Counts) {
	if c.K == 0 {
		c.Upper, c.Lower = int(c.UpperStream), int(c.LowerStream)
	}
	return usesSOBA(c)
}

// usesComposition counts SCGD and SCSC, with GradG at so many points from step 1 on.
func usesComposition(points uint64) func(c Case) (least, most bilevel.Counts) {
	return func(c Case) (least, most bilevel.Counts) {
		u, l := uint64(c.Upper), uint64(c.Lower)
		n := bilevel.Counts{Xi: u, Phi: l, GradF: u, GradG: points * l, CrossVecG: l}
		if c.K == 0 {
			n.GradG = l
		}
		return n, n
	}
}

func (c Case) terms() int { return c.neumann().terms(c.K) }

// series adds a hypergradient by (A) if random, else (B), with one draw at so many points.
func (c Case) series(n bilevel.Counts, random bool, points uint64) (least, most bilevel.Counts) {
	with := func(products int) bilevel.Counts {
		n, u, l, p := n, uint64(c.Upper), uint64(c.Lower), uint64(products)
		n.Xi += u
		n.Phi += (1 + p) * l
		n.GradF += points * u
		n.HessVecG += points * p * l
		n.CrossVecG += points * l
		return n
	}
	most = with(c.terms() - 1)
	if !random {
		return most, most
	}
	return with(0), most
}

func usesAlternating(inner func(k int) float64) func(c Case) (least, most bilevel.Counts) {
	return func(c Case) (least, most bilevel.Counts) {
		t := uint64(math.Ceil(inner(c.K))) * uint64(c.Lower)
		return c.series(bilevel.Counts{Phi: t, GradG: t}, true, 1)
	}
}

// usesStocBiO counts stocBiO, ten inner steps; the batches of its products differ in size.
func usesStocBiO(c Case) (least, most bilevel.Counts) {
	h := hypergradient{series: c.neumann(), shrink: true, n: c.terms()}
	u, l, products := uint64(c.Upper), uint64(c.Lower), uint64(0)
	for j := range h.n - 1 {
		products += uint64(h.size(j, c.Lower))
	}
	n := bilevel.Counts{Xi: u, Phi: 11*l + products, GradF: u, GradG: 10 * l, HessVecG: products, CrossVecG: l}
	return n, n
}

// momentumUse says how a method with one movement of x and of y a step estimates its directions.
type momentumUse struct {
	random       bool // by (A)
	upper, lower bool // by a recursion with two points
}

func usesMomentum(m momentumUse) func(c Case) (least, most bilevel.Counts) {
	return func(c Case) (least, most bilevel.Counts) {
		l, points := uint64(c.Lower), uint64(1)
		n := bilevel.Counts{Phi: l, GradG: l}
		if c.K > 0 && m.lower {
			n.GradG *= 2
		}
		if c.K > 0 && m.upper {
			points = 2
		}
		return c.series(n, m.random, points)
	}
}

// usesVRBO counts VRBO with ten inner steps and large batches every ten steps.
func usesVRBO(c Case) (least, most bilevel.Counts) {
	changes, n := 11, bilevel.Counts{}
	if (c.K+1)%10 == 0 {
		changes = 10
	}
	for range changes {
		n.Phi += uint64(c.Lower)
		n.GradG += 2 * uint64(c.Lower)
		n, _ = c.series(n, false, 2)
	}
	if c.K%10 == 0 {
		c.Upper *= 10
		c.Lower *= 10
		n.Phi += uint64(c.Lower)
		n.GradG += uint64(c.Lower)
		n, _ = c.series(n, false, 1)
	}
	return n, n
}

// usesRecursive counts SRBA, or with a coin SPABA, on a finite sum: both sums in full, or one batch
// at two points.
func usesRecursive(coin bool) func(c Case) (least, most bilevel.Counts) {
	return func(c Case) (least, most bilevel.Counts) {
		u, l := uint64(c.Upper), uint64(c.Lower)
		small := bilevel.Counts{Xi: u, Phi: l, GradF: 2 * u, GradG: 2 * l, HessVecG: 2 * l, CrossVecG: 2 * l}
		c.Upper, c.Lower = int(c.UpperStream), int(c.LowerStream)
		full, _ := usesSOBA(c)
		period := max(1, (c.UpperStream+c.LowerStream)/(2*min(u, l)))
		switch {
		case c.K == 0 || !coin && uint64(c.K)%period == 0:
			return full, full
		case !coin:
			return small, small
		}
		return between(small, full)
	}
}

// between returns bounds on a count that is a or b.
func between(a, b bilevel.Counts) (least, most bilevel.Counts) {
	least = bilevel.Counts{Xi: min(a.Xi, b.Xi), Phi: min(a.Phi, b.Phi), GradF: min(a.GradF, b.GradF),
		GradG:    min(a.GradG, b.GradG),
		HessVecG: min(a.HessVecG, b.HessVecG), CrossVecG: min(a.CrossVecG, b.CrossVecG)}
	most = bilevel.Counts{Xi: max(a.Xi, b.Xi), Phi: max(a.Phi, b.Phi), GradF: max(a.GradF, b.GradF),
		GradG:    max(a.GradG, b.GradG),
		HessVecG: max(a.HessVecG, b.HessVecG), CrossVecG: max(a.CrossVecG, b.CrossVecG)}
	return least, most
}

// usesFSLA counts FSLA, which has no point before step 0.
func usesFSLA(c Case) (least, most bilevel.Counts) {
	u, l := uint64(c.Upper), uint64(c.Lower)
	n := bilevel.Counts{Xi: 2 * u, Phi: 3 * l, GradF: 3 * u, GradG: l, HessVecG: l, CrossVecG: 2 * l}
	if c.K == 0 {
		n.GradF, n.CrossVecG = 2*u, l
	}
	return n, n
}

func usesAmIGO(c Case) (least, most bilevel.Counts) {
	u, l := uint64(c.Upper), uint64(c.Lower)
	n := bilevel.Counts{Xi: u, Phi: 21 * l, GradF: u, GradG: 10 * l, HessVecG: 10 * l, CrossVecG: l}
	return n, n
}

// usesF2SA counts F2SA, or with order 2 F2SA-p, whose two sides share their samples.
func usesF2SA(order uint64) func(c Case) (least, most bilevel.Counts) {
	return func(c Case) (least, most bilevel.Counts) {
		u, l := uint64(c.Upper), uint64(c.Lower)
		n := bilevel.Counts{Xi: 2 * u, Phi: 4 * l / order, GradF: 2 * order * u, GradG: 2 * l, GradXG: 2 * l}
		return n, n
	}
}

func usesBOME(c Case) (least, most bilevel.Counts) {
	u, l := uint64(c.Upper), uint64(c.Lower)
	n := bilevel.Counts{Xi: u, Phi: 11 * l, GradF: u, GradG: 11 * l, GradXG: 2 * l}
	return n, n
}

// usesStableCG counts STABLE-CG: for each of two systems a product, and at most ten iterations.
func usesStableCG(c Case) (least, most bilevel.Counts) {
	window, products := uint64(max(32, c.Lower)), 2*uint64(1+min(10, c.Dy))
	u, l := uint64(c.Upper), uint64(c.Lower)
	n := bilevel.Counts{Xi: u, Phi: l, GradF: u, GradG: l, CrossG: 2 * l, HessVecG: products * window}
	if c.K == 0 {
		n.Phi, n.GradG, n.CrossG = window, window, window
	}
	return n, n
}

// usesAny bounds nothing.
func usesAny(Case) (least, most bilevel.Counts) {
	const all = math.MaxUint64
	return least, bilevel.Counts{Xi: all, Phi: all, GradF: all, GradG: all, CrossG: all, HessG: all, HessVecG: all,
		CrossVecG: all, GradXG: all}
}

// usesHOAG counts HOAG, which takes Newton steps on y until they are small.
func usesHOAG(c Case) (least, most bilevel.Counts) {
	u, l := c.UpperStream, c.LowerStream
	least = bilevel.Counts{Xi: u, Phi: l, GradF: u, GradG: l, HessG: l, CrossVecG: l}
	most = least
	most.GradG, most.HessG = math.MaxUint64, math.MaxUint64
	return least, most
}
