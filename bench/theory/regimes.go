package theory

import (
	"math"
	"slices"
	"sort"

	"stable/bench/kit"
	"stable/bilevel"
	"stable/bilevel/method"
	"stable/bilevel/quadratic"
)

type regime struct {
	key, title string
	measure    string // what ε bounds
	problem    *quadratic.Problem
	rho        float64
	radius     float64 // ‖x⁰ − x*‖
	rows       []*row
	variants   []*variant // of the theorem
}

type row struct {
	*regime
	name    string
	horizon bool       // its step sizes are for a run of K steps
	claims  [2]float64 // of 1/ε for ξ and φ; 0: the table has none
	orders  string
	alpha   []float64 // to choose from; nil: no choice
	beta    []float64
	steps   [3]int          // shortest, longest, and longest with -quick
	batch   func(k int) int // nil: 1
	method  func(a, b float64, k int) bilevel.Method
	samples func(k int) float64

	tried     []*series // of each choice
	constants [2]float64
	failed    int // choices of which a run failed
	marks     []int
	trials    []*series
}

func (r *row) choices() [][2]float64 {
	if r.alpha == nil {
		return [][2]float64{{}}
	}
	var list [][2]float64
	for _, a := range r.alpha {
		for _, b := range r.beta {
			list = append(list, [2]float64{a, b})
		}
	}
	return list
}

func (r *row) edge(c [2]float64) (s string) {
	for i, list := range [][]float64{r.alpha, r.beta} {
		if j := slices.Index(list, c[i]); j == 0 || j == len(list)-1 {
			s += []string{"a", "b"}[i]
		}
	}
	return s
}

func (r *row) within(n float64) int {
	return 2 + sort.Search(1<<30, func(k int) bool { return r.samples(k+3) > n })
}

// The lower curvature is from 1 to 2, that of single samples below neumannL.
const (
	lowerMu  = 1.0
	lowerL   = 2.0
	neumannL = 2.5
)

// terms is N of the Neumann series.
func terms(k int) float64 { return 1 + math.Ceil(neumannL/lowerMu*math.Log1p(float64(k))) }

var series0 = method.Neumann{MuG: lowerMu, LG: neumannL}

func regimes(seed uint64) []*regime {
	convex := quadratic.Options{Dx: 2, Dy: 2, Seed: seed, MuG: lowerMu, LG: lowerL, CrossNorm: 1.5,
		SigmaFx: 1, SigmaFy: 1, SigmaGy: 1, SigmaGxy: 0.3, SigmaGyy: 0.3}
	nonconvex := convex
	convex.MuP, convex.LP, nonconvex.Nonconvex = 1, 2, 1
	p, q := kit.Must(quadratic.New(convex)), kit.Must(quadratic.New(nonconvex))
	list := []*regime{
		{key: "convex", title: "strongly convex", measure: "E‖x^{k} − x*‖²", problem: p, radius: 0.5, rows: convexRows(p)},
		{key: "nonconvex", title: "nonconvex", measure: "mean ρ²‖x̂ − x‖²", problem: q, rho: 1, radius: 2,
			rows: nonconvexRows(q)},
	}
	for _, g := range list {
		for _, r := range g.rows {
			r.regime = g
		}
	}
	return list
}

// Samples of a run of k steps, about.
func two(k int) float64     { return 2 * float64(k) }
func neumann(k int) float64 { return float64(k) * (3 + terms(k)/2) }

// convexRows have falling steps: one long run shows all ε.
func convexRows(p *quadratic.Problem) []*row {
	const shift = 10
	fall := func(c, p float64) bilevel.Schedule { return bilevel.Power{C: c, K0: shift, P: p} }
	a, b := []float64{0.5, 1, 2, 4}, []float64{1, 2, 4, 8}
	return []*row{
		{name: "STABLE-paper", claims: [2]float64{1, 1}, orders: "α = a/(k+10), β = τ = b/(k+10)",
			alpha: a, beta: b, steps: [3]int{10, 100000, 16000}, samples: two,
			method: func(a, b float64, _ int) bilevel.Method { return plainSTABLE(p, fall(a, 1), fall(b, 1), fall(b, 1)) }},
		{name: "STABLE", orders: "its defaults, of order k^(−1/2)", steps: [3]int{10, 400000, 16000},
			samples: two, method: defaultSTABLE(p)},
		{name: "BSA", claims: [2]float64{1, 2}, orders: "α = a/(k+10), t_k = k+1 inner steps b/(t+10)",
			alpha: a, beta: b, steps: [3]int{10, 4000, 1000},
			method: func(a, b float64, _ int) bilevel.Method {
				return method.BSA{Alpha: fall(a, 1), Beta: fall(b, 1), Inner: bilevel.Power{C: 1, P: -1}, Neumann: series0}
			},
			samples: func(k int) float64 { return float64(k)*float64(k)/2 + float64(k)*(2+terms(k)/2) }},
		{name: "TTSA", claims: [2]float64{1.5, 1.5}, orders: "α = a/(k+10), β = b/(k+10)^(2/3)",
			alpha: a, beta: a, steps: [3]int{10, 100000, 16000}, samples: neumann,
			method: func(a, b float64, _ int) bilevel.Method {
				return method.TTSA{Alpha: fall(a, 1), Beta: fall(b, 2./3), Neumann: series0}
			}},
	}
}

func nonconvexRows(p *quadratic.Problem) []*row {
	power := func(c float64, k int, p float64) bilevel.Schedule {
		return bilevel.Constant(c / math.Pow(float64(k), p))
	}
	a, b, small := []float64{0.5, 1, 2, 4}, []float64{0.25, 0.5, 1, 2}, []float64{0.1, 0.2, 0.4, 0.8}
	return []*row{
		{name: "STABLE-paper", horizon: true, claims: [2]float64{2, 2},
			orders: "α = a·K^(−1/2), β = b·K^(−1/2), τ = K^(−1/2)",
			alpha:  a, beta: b, steps: [3]int{16, 1000000, 16384}, samples: two,
			method: func(a, b float64, k int) bilevel.Method {
				return plainSTABLE(p, power(a, k, 0.5), power(b, k, 0.5), power(1, k, 0.5))
			}},
		{name: "STABLE", claims: [2]float64{2, 2}, orders: "its defaults, of order k^(−1/2)",
			steps: [3]int{16, 1000000, 16384}, samples: two, method: defaultSTABLE(p)},
		{name: "BSA", horizon: true, claims: [2]float64{2, 3}, orders: "α = a·K^(−1/2), t_k = √(k+1) inner steps b/(t+2)",
			alpha: a, beta: a, steps: [3]int{6, 400000, 8192},
			method: func(a, b float64, k int) bilevel.Method {
				return method.BSA{Alpha: power(a, k, 0.5), Beta: bilevel.Power{C: b, K0: 2, P: 1}, Neumann: series0}
			},
			samples: func(k int) float64 { return 2./3*math.Pow(float64(k), 1.5) + float64(k)*(2+terms(k)/2) }},
		{name: "TTSA", horizon: true, claims: [2]float64{2.5, 2.5}, orders: "α = a·K^(−3/5), β = b·K^(−2/5)",
			alpha: a, beta: b, steps: [3]int{16, 2000000, 16384}, samples: neumann,
			method: func(a, b float64, k int) bilevel.Method {
				return method.TTSA{Alpha: power(a, k, 0.6), Beta: power(b, k, 0.4), Neumann: series0}
			}},
		{name: "stocBiO", horizon: true, claims: [2]float64{2, 2}, orders: "α = a, β = b, batches of K/4, 5 inner steps",
			alpha: small, beta: small, steps: [3]int{4, 3200, 256}, batch: func(k int) int { return (k + 3) / 4 },
			method: func(a, b float64, k int) bilevel.Method {
				series := series0
				series.Terms = int(terms(k))
				return method.StocBiO{Alpha: bilevel.Constant(a), Beta: bilevel.Constant(b), Inner: stocInner, Neumann: series}
			},
			samples: func(k int) float64 {
				n, q := float64(k), terms(k)-1
				return n * float64((k+3)/4) * (2 + stocInner + q*neumannL/lowerMu) // Σ_j Q(1 − μ/L)^j ≤ Q·L/μ
			}},
	}
}

// stocInner is D of stocBiO, whose theory needs (1 − βμ)^D below a constant.
const stocInner = 5

func plainSTABLE(p *quadratic.Problem, alpha, beta, tau bilevel.Schedule) bilevel.Method {
	c := p.Constants(1)
	return bilevel.STABLE{Alpha: alpha, Beta: beta, Tau: tau, MuG: c.MuG, CGxy: c.Cgxy, InitBatch: 1, Plain: true}
}

func defaultSTABLE(p *quadratic.Problem) func(a, b float64, k int) bilevel.Method {
	return func(_, _ float64, _ int) bilevel.Method { return bilevel.STABLE{MuG: p.Options().MuG} }
}
