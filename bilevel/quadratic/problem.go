// Package quadratic holds synthetic bilevel problems whose solution is known in closed form, with noise of
// chosen size on every derivative. Lower level, A symmetric positive definite of known spectrum:
//
//	g(x, y; φ) = ½ yᵀA y − (Bᵀx + c)ᵀy + σ_gy eᵀδ + σ_gxy ηᵀN δ + ½ σ_gyy δᵀS δ,    δ = y − y*(x*),  η = x − x*,
//
// so y*(x) = A⁻¹(Bᵀx + c), and ∇y*(x)ᵀ = J = B A⁻¹. Upper level, strongly convex (P of known
// spectrum) or nonconvex:
//
//	f(x, y; ξ) = ½ (x−a)ᵀP(x−a) ± ½‖y−b‖² + noise,    ∇²F = P ± J Jᵀ,
//	f(x, y; ξ) = w Σ u_i²/(1+u_i²) + ½‖y−b‖² + noise,  u = x − a,  b = y*(a),  so that x* = a and F(x*) = 0,
//
// with noise σ_fx eᵀη + σ_fy e′ᵀδ. e, e′, N and the symmetric S (of the Gaussian orthogonal
// ensemble, so A + σ_gyy S can be indefinite) are Gaussian, of zero mean and unit mean square
// Frobenius norm, drawn from the problem's seed and the sample's name alone.
//
// A Problem is for one goroutine at a time (see Clone). Oracles, Solution and Objective do not allocate.
// An oracle costs O(Dx·Dy + Dy² + Dx²) a sample. A wrong length panics; a name outside of a finite
// sum is an error.
package quadratic

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"stable/bilevel/option"
	"stable/chol"
	"stable/mat"
)

// Options describes a Problem. The zero value is strongly convex, 10 × 10, and without noise.
type Options struct {
	Dx, Dy int    // lengths of x and y, ≥ 1; 0 means 10
	Seed   uint64 // of the matrices, the vectors and the noise

	// The eigenvalues of A run from MuG > 0 to LG in equal ratios; 0 means MuG = 1, LG = 10·MuG.
	MuG, LG float64

	// The eigenvalues of P, in the same way. Refused with Nonconvex.
	MuP, LP float64

	CrossNorm float64 // the Frobenius norm of B, > 0; 0 means 1. y* is Lipschitz with CrossNorm/MuG

	// The weight w ≥ 0 of the nonconvex upper level, ∇²F ⪰ −w/2·I; 0 means the strongly convex one.
	Nonconvex float64

	// Saddle makes f concave in y, with −½‖y−b‖²; ∇²F = P − J Jᵀ must be positive definite. Refused
	// with Nonconvex.
	Saddle bool

	Blind int // the number of last entries of x whose rows of B and N are 0; 0 ≤ Blind < Dx

	// Root mean squares of the Frobenius norm of the noise in f_x, f_y, g_y, g_xy, g_yy at (x*,
	// y*(x*)); ≥ 0. That of g_y grows with the distance from there (see Constants).
	SigmaFx, SigmaFy, SigmaGy, SigmaGxy, SigmaGyy float64

	// RankOneF adds ½ δᵀ(n nᵀ − I)δ to f, n Gaussian of covariance I: f_yy(ξ) = n nᵀ. RankOneG makes
	// g_yy(φ) = a aᵀ, a Gaussian of covariance A; SigmaGyy must be 0. Both are refused with Terms
	// and with Tail, RankOneF with Saddle.
	RankOneF, RankOneG bool

	// Tail is the index ν > 1 of heavy tails: noise is multiplied by U^(−1/ν), U uniform on (0, 1),
	// a factor that the sizes above leave out. The variance is infinite for ν ≤ 2. 0 means none.
	Tail float64

	// The number of terms of both finite sums, even; 0 means an unbounded simulator. Terms 2i and
	// 2i+1 have opposite noise: the mean over all is the noiseless value. The sizes of the noise are
	// averages over draws of the terms.
	Terms uint64
}

// Problem implements bilevel.Problem, Products, UpperGradient, Truth and Values.
type Problem struct {
	o      Options
	a      *mat.Sym       // g_yy
	factor *chol.Cholesky // of a
	b      *mat.Dense     // −g_xy
	p      *mat.Sym       // upper Hessian in x; nil in the nonconvex case
	c      []float64      // linear term of the lower level
	xc, yc []float64      // centres a and b of the upper level
	xs, ys []float64      // x* and y*(x*)
	fs     float64        // F(x*)
	root   *mat.Dense     // L of A = LLᵀ; nil without RankOneG
	pcg    *rand.PCG
	rng    *rand.Rand // draws from pcg

	// Scratch: of length Dx, of length Dy, of the larger one.
	eta, u          []float64
	delta, v, dir   []float64
	normal, perturb []float64
}

// New returns the problem that o describes. An error wraps bilevel.ErrOption and names the invalid
// field. Cost: about 2(Dx³ + Dy³) + 2Dx·Dy² + Dx²·Dy flops.
func New(o Options) (*Problem, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	p := &Problem{o: o, factor: new(chol.Cholesky)}
	p.scratch()
	p.seed(kindProblem, 0)
	p.a = spectrum(p.rng, o.Dy, o.MuG, o.LG)
	if err := p.factor.Factor(p.a); err != nil {
		return nil, option.Bad("quadratic: MuG is too small, or LG/MuG too large: %w", err)
	}
	p.b = mat.NewDense(o.Dx, o.Dy)
	gaussian(p.rng, p.b.Data)
	clear(p.b.Data[(o.Dx-o.Blind)*o.Dy:])
	mat.Scale(p.b, o.CrossNorm/mat.NormFrob(p.b), p.b)
	p.c, p.xc, p.yc = make([]float64, o.Dy), make([]float64, o.Dx), make([]float64, o.Dy)
	gaussian(p.rng, p.c)
	gaussian(p.rng, p.xc)
	gaussian(p.rng, p.yc)
	if o.RankOneG {
		p.root = mat.NewDense(o.Dy, o.Dy)
		p.factor.LTo(p.root)
	}
	if o.Nonconvex == 0 {
		p.p = spectrum(p.rng, o.Dx, o.MuP, o.LP)
	}
	if err := p.solve(); err != nil {
		return nil, err
	}
	return p, nil
}

// Clone returns a Problem with the same bits in every answer, for another goroutine. Dy³/3 flops.
func (p *Problem) Clone() *Problem {
	q := *p
	q.scratch()
	q.factor = new(chol.Cholesky)
	_ = q.factor.Factor(q.a) // which New has factored
	return &q
}

// Options returns the options with the defaults filled in.
func (p *Problem) Options() Options { return p.o }

func (p *Problem) scratch() {
	dx, dy := p.o.Dx, p.o.Dy
	p.pcg = new(rand.PCG)
	p.rng = rand.New(p.pcg)
	p.eta, p.u = make([]float64, dx), make([]float64, dx)
	p.delta, p.v, p.dir = make([]float64, dy), make([]float64, dy), make([]float64, dy)
	p.normal, p.perturb = make([]float64, max(dx, dy)), make([]float64, max(dx, dy))
}

func (o *Options) complete() error {
	option.Default(&o.Dx, 10)
	option.Default(&o.Dy, 10)
	option.Default(&o.CrossNorm, 1)
	switch {
	case o.Nonconvex == 0:
		if err := completeSpectrum("MuP", &o.MuP, "LP", &o.LP); err != nil {
			return err
		}
	case o.MuP != 0 || o.LP != 0:
		return option.Bad("quadratic: MuP and LP have no meaning where Nonconvex is %v", o.Nonconvex)
	}
	for _, s := range []struct {
		name string
		v    float64
	}{{"Nonconvex", o.Nonconvex}, {"CrossNorm", o.CrossNorm}, {"SigmaFx", o.SigmaFx}, {"SigmaFy", o.SigmaFy},
		{"SigmaGy", o.SigmaGy}, {"SigmaGxy", o.SigmaGxy}, {"SigmaGyy", o.SigmaGyy}} {
		if !valid(s.v) {
			return option.Bad("quadratic: %s is %v, want a finite size ≥ 0", s.name, s.v)
		}
	}
	return cmp.Or(
		option.AtLeast("quadratic: Dx", o.Dx, 1),
		option.AtLeast("quadratic: Dy", o.Dy, 1),
		completeSpectrum("MuG", &o.MuG, "LG", &o.LG),
		o.checkKinds())
}

func (o *Options) checkKinds() error {
	switch {
	case o.Saddle && o.Nonconvex > 0:
		return option.Bad("quadratic: Saddle has no meaning where Nonconvex is %v", o.Nonconvex)
	case o.Saddle && o.RankOneF:
		return option.Bad("quadratic: RankOneF has no meaning with Saddle")
	case o.Blind < 0 || o.Blind >= o.Dx:
		return option.Bad("quadratic: Blind is %d, want 0 ≤ Blind < Dx = %d", o.Blind, o.Dx)
	case o.Tail != 0 && !(o.Tail > 1) || math.IsInf(o.Tail, 1):
		return option.Bad("quadratic: Tail is %v, want a finite index > 1 (or 0, none)", o.Tail)
	case o.RankOneG && o.SigmaGyy > 0:
		return option.Bad("quadratic: SigmaGyy has no meaning with RankOneG")
	case o.Tail > 0 && (o.RankOneF || o.RankOneG):
		return option.Bad("quadratic: Tail is %v, want 0 with RankOneF or RankOneG", o.Tail)
	case o.Terms > 0 && (o.RankOneF || o.RankOneG):
		return option.Bad("quadratic: Terms is %d, want 0 with RankOneF or RankOneG", o.Terms)
	case o.Terms%2 != 0:
		return option.Bad("quadratic: Terms is %d, want an even number (or 0, unbounded)", o.Terms)
	}
	return nil
}

func completeSpectrum(muName string, mu *float64, lName string, l *float64) error {
	option.Default(mu, 1)
	option.Default(l, 10**mu)
	switch {
	case !valid(*mu):
		return option.Bad("quadratic: %s is %v, want a finite eigenvalue > 0", muName, *mu)
	case !valid(*l) || *l < *mu:
		return option.Bad("quadratic: %s is %v, want a finite eigenvalue ≥ %s = %v", lName, *l, muName, *mu)
	}
	return nil
}

func valid(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// spectrum returns Q·diag(λ)·Qᵀ, λ from mu to l in equal ratios, Q a random orthogonal product of
// Householder reflections of growing order (Stewart, SINUM 17, 1980; LAPACK dlagsy). 4n³/3 flops.
func spectrum(rng *rand.Rand, n int, mu, l float64) *mat.Sym {
	s := mat.NewSym(n)
	for i := range n {
		s.Set(i, i, mu*math.Pow(l/mu, float64(i)/float64(max(n-1, 1))))
	}
	u, w := make([]float64, n), make([]float64, n)
	for k := n - 2; k >= 0; k-- {
		t := s.View(k, n-k)
		reflect(rng, &t, u[k:], w[k:])
	}
	return s
}

// reflect sets s = H·s·H for a random reflection H = I − τ·u·uᵀ, τ = 2/uᵀu: with w = τ·s·u −
// ½τ²·(uᵀs u)·u that is s − u·wᵀ − w·uᵀ.
func reflect(rng *rand.Rand, s *mat.Sym, u, w []float64) {
	gaussian(rng, u)
	tau := 2 / mat.Dot(u, u)
	mat.MulVecSym(w, s, u)
	half := tau * tau / 2 * mat.Dot(u, w)
	for i := range w {
		w[i] = tau*w[i] - half*u[i]
	}
	for i := range s.N {
		row := s.Row(i)
		for j := range row {
			row[j] -= u[i]*w[j] + w[i]*u[j]
		}
	}
}

func gaussian(rng *rand.Rand, x []float64) {
	for i := range x {
		x[i] = rng.NormFloat64()
	}
}

// Solution writes y*(x) = A⁻¹(Bᵀx + c); y is not read. 2Dx·Dy + 2Dy² flops.
func (p *Problem) Solution(y, x []float64) error {
	p.fits("quadratic: Solution: dimension mismatch", x, y, true)
	p.slope(y, x)
	p.factor.SolveVec(y, y)
	return nil // there always is one
}

// Objective returns F(x) = f(x, y*(x)) without noise and, unless grad is nil, writes ∇F(x) = f_x + B A⁻¹ f_y.
func (p *Problem) Objective(grad, x []float64) (float64, error) {
	y := p.delta
	p.fits("quadratic: Objective: dimension mismatch", x, y, grad == nil || len(grad) == p.o.Dx)
	_ = p.Solution(y, x)
	f := p.meanF(x, y)
	if grad != nil {
		p.meanGradF(grad, p.v, x, y)
		p.factor.SolveVec(p.v, p.v)
		mat.MulVec(p.eta, p.b, p.v)
		mat.Axpy(grad, 1, p.eta)
	}
	return f, nil
}

// Optimum returns a copy of x*, the global minimiser of F over all of R^Dx, and F(x*).
func (p *Problem) Optimum() (x []float64, f float64) { return slices.Clone(p.xs), p.fs }

// solve finds x*, y*(x*) and F(x*); in the nonconvex case it sets b = y*(a), which makes x* = a.
func (p *Problem) solve() (err error) {
	p.xs, p.ys = slices.Clone(p.xc), make([]float64, p.o.Dy)
	if p.p == nil {
		_ = p.Solution(p.yc, p.xc)
	} else if err = p.newton(); err != nil {
		return err
	}
	_ = p.Solution(p.ys, p.xs)
	p.fs, err = p.Objective(nil, p.xs)
	return err
}

// newton moves xs from a to x*, the zero of ∇F, by two steps of Newton's method with the Hessian P ±
// J Jᵀ; the second takes back the rounding of the first.
func (p *Problem) newton() error {
	jt := mat.NewDense(p.o.Dy, p.o.Dx) // Jᵀ = A⁻¹ Bᵀ
	mat.CopyTrans(jt, p.b)
	p.factor.Solve(jt, jt)
	h := mat.NewSym(p.o.Dx)
	mat.CopySym(h, p.p)
	mat.RankKTrans(h, p.bowl(), jt)
	var c chol.Cholesky
	if err := c.Factor(h); err != nil {
		return option.Bad("quadratic: LP/MuP or CrossNorm/MuG is too large: %w", err)
	}
	grad := make([]float64, p.o.Dx)
	for range 2 {
		_, _ = p.Objective(grad, p.xs)
		c.SolveVec(grad, grad)
		mat.Axpy(p.xs, -1, grad)
	}
	return nil
}
