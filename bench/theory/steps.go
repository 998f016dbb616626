package theory

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"

	"stable/bilevel"
	"stable/bilevel/quadratic"
	"stable/bilevel/theorem"
	"stable/eig"
	"stable/mat"
)

func flowOptions(seed uint64) quadratic.Options {
	return quadratic.Options{Dx: 5, Dy: 5, Seed: seed, MuG: 1, LG: 4, MuP: 0.2, LP: 1, CrossNorm: 3}
}

// vary fills variants in, by constants that hold around the solution, up to the start.
func (g *regime) vary() (err error) {
	c, err := g.constants()
	if err == nil && g.rho > 0 {
		g.variants, err = theorem2Variants(c, g.rho)
	} else if err == nil {
		g.variants, err = theorem3Variants(c)
	}
	return err
}

func (g *regime) constants() (theorem.Constants, error) {
	o := g.problem.Options()
	x, _ := g.problem.Optimum()
	y := make([]float64, o.Dy)
	err := g.problem.Solution(y, x)
	return g.problem.Constants(max(g.radius, mat.Norm(y)/max(1, o.CrossNorm/o.MuG))), err
}

func theorem2Variants(c theorem.Constants, rho float64) ([]*variant, error) {
	if _, err := c.Theorem2(1, rho); err != nil {
		return nil, err
	}
	return []*variant{
		{key: "practical", horizon: true, name: "practical", steps: func(k int) theorem.Steps {
			r := bilevel.Constant(1 / math.Sqrt(float64(k)))
			return theorem.Steps{Alpha: 2 * r, Beta: 2 * r, Tau: r}
		}},
		{key: "theorem", horizon: true, name: "the theorem’s steps", steps: func(k int) theorem.Steps {
			s, err := c.Theorem2(k, rho)
			if err != nil {
				panic(err) // it was valid for k = 1
			}
			return s
		}},
	}, nil
}

const ratio3 = 0.15

// theorem3Variants returns β = 2/(c̃₅(k+20)) as in the proof, c̃₅ its constant for α = a·β; β =
// 1/(k+20) as in the statement; and the theorem's steps.
func theorem3Variants(c theorem.Constants) ([]*variant, error) {
	own, err := c.Theorem3()
	if err != nil {
		return nil, err
	}
	kappa := c.MuG * c.Lg / (c.MuG + c.Lg)
	c5 := min(c.Mu*ratio3, kappa/4, 0.25)
	fixed := func(s theorem.Steps) func(int) theorem.Steps { return func(int) theorem.Steps { return s } }
	falling := func(b float64) theorem.Steps {
		const k0 = 20
		beta := bilevel.Power{C: b, K0: k0, P: 1}
		return theorem.Steps{Alpha: bilevel.Power{C: ratio3 * b, K0: k0, P: 1}, Beta: beta, Tau: beta}
	}
	return []*variant{
		{key: "proof", name: "practical", steps: fixed(falling(2 / c5))},
		{key: "printed", name: "practical, β as printed", steps: fixed(falling(1))},
		{key: "theorem", name: "the theorem’s steps",
			far: 32, settled: 4 * int(own.Beta.(bilevel.Power).K0), steps: fixed(own)},
	}, nil
}

// explain says how small the theorem's steps are, and why.
func (g *regime) explain(w io.Writer) error {
	k, err := g.constants()
	if err != nil {
		return err
	}
	if g.rho > 0 {
		const long = 1 << 17
		alpha := func(c theorem.Constants) float64 { return theorem2Alpha(c, long) }
		far := 1
		for float64(far)*theorem2Alpha(k, far) < 1 && far <= math.MaxInt/8 {
			far *= 2
		}
		_, err := fmt.Fprintf(w, "(eq.stepsize): at K = %d, α = %.2g, which grows as %s; Kα comes to 1 at K ≈ %.1g\n",
			long, alpha(k), drivers(alpha, k), float64(far))
		return err
	}
	start := func(k theorem.Constants) float64 {
		s, err := k.Theorem3()
		if err != nil {
			return math.NaN()
		}
		return s.Beta.(bilevel.Power).K0
	}
	s, _ := k.Theorem3()
	fmt.Fprintf(w, "(eq.stepsize2): K₀ = %.2g, α/β = %.2g: the start is forgotten around k = K₀, which grows as %s\n",
		start(k), s.Alpha.At(0)/s.Beta.At(0), drivers(start, k))
	h, err := hessian(g.problem)
	if err != nil {
		return err
	}
	var j eig.Jacobi
	if err := j.FactorValues(h); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "practical: α/β = %g, least eigenvalue of ∇²F %.3g; β as printed makes α = %g/(k+20), "+
		"with which the slowest part of E‖x − x*‖² falls as k^(−%.2f)\n", ratio3, j.Values()[0], ratio3, 2*ratio3*j.Values()[0])
	return err
}

func theorem2Alpha(c theorem.Constants, k int) float64 {
	s, err := c.Theorem2(k, 1)
	if err != nil {
		return math.NaN()
	}
	return s.Alpha.At(0)
}

// drivers writes f as a local power law, the strongest first: f ~ Π C_i^{p_i}, p_i = d ln f/d ln
// C_i.
func drivers(f func(theorem.Constants) float64, c theorem.Constants) string {
	type power struct {
		name string
		p    float64
	}
	var list []power
	for i := range reflect.TypeOf(c).NumField() {
		const step = 1.01
		moved := c
		v := reflect.ValueOf(&moved).Elem().Field(i)
		v.SetFloat(v.Float() * step)
		if p := math.Log(f(moved)/f(c)) / math.Log(step); math.Abs(p) > 0.05 {
			list = append(list, power{reflect.TypeOf(c).Field(i).Name, p})
		}
	}
	slices.SortStableFunc(list, func(a, b power) int { return cmp.Compare(math.Abs(b.p), math.Abs(a.p)) })
	var words []string
	for _, x := range list {
		words = append(words, fmt.Sprintf("%s^%.1f", x.name, x.p))
	}
	return strings.Join(words, " ")
}
