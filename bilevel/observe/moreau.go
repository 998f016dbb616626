package observe

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// Errors wrap ErrNoEnvelope if the minimiser is not found within MaxIter.
var ErrNoEnvelope = errors.New("observe: no minimiser of the Moreau envelope")

// Moreau evaluates the Moreau envelope of F over X and its proximal map (section 3 of the paper),
//
//	Φ_{1/ρ}(x) = min over z in X  F(z) + (ρ/2)‖z − x‖²,    x̂(x) its minimiser,
//
// unique where ρ > |μ_F|, by the spectral projected gradient method (Birgin, Martínez, Raydan, SIAM J. Optim.
// 10, 2000) with exact values and gradients. ∇Φ_{1/ρ}(x) = ρ(x − x̂), so ρ²‖x̂ − x‖² ≤ ε is ε-near-stationarity
// (Davis, Drusvyatskiy, 2019; where the paper prints ‖x̂ − x‖² ≤ ρ²ε, ε/ρ² is meant).
type Moreau struct {
	F   bilevel.Truth
	Set bilevel.Set // X. Default bilevel.Space
	Rho float64     // ρ, finite and > |μ_F|. Required

	// Tol > 0 bounds the gradient mapping G(z) = ρ(z − P_X(z − ∇φ(z)/ρ)) of φ(z) = F(z) + (ρ/2)‖z −
	// x‖²: the end is where ‖G(z)‖ is at most Tol times the larger of 1 and its value at P_X(x).
	// Then ‖z − x̂‖ ≤ (1 + L/ρ)‖G(z)‖/m, where φ is m-strongly convex with an L-Lipschitz gradient
	// (Pang, Mathematics of Operations Research 12, 1987). Default 1e-9.
	Tol float64

	MaxIter int // caps the iterations, ≥ 1. Default 10000
}

// Envelope is a value of Moreau.
type Envelope struct {
	Value      float64 // Φ_{1/ρ}(x)
	Near       float64 // ρ²‖x̂ − x‖²
	Residual   float64 // ‖G(x̂)‖
	Iterations int
}

// At writes x̂(x), of length dx, into xhat and returns the value of the envelope. x is only read
// and need not lie in X; xhat must not be x.
//
// Errors: invalid fields and an x that is not finite, which wrap bilevel.ErrOption; those of F;
// ErrNoEnvelope, wrapped, and then xhat and the value are the last ones. It allocates. Cost: one
// Objective with gradient, rarely more, and two projections an iteration.
func (m Moreau) At(xhat, x []float64) (Envelope, error) {
	option.Default[bilevel.Set](&m.Set, bilevel.Space{})
	option.Default(&m.Tol, 1e-9)
	option.Default(&m.MaxIter, 10000)
	if m.F == nil {
		return Envelope{}, option.Bad("observe: Moreau.F is nil")
	}
	if err := cmp.Or(
		option.Finite("observe: Moreau.Rho", m.Rho),
		option.Finite("observe: Moreau.Tol", m.Tol),
		option.AtLeast("observe: Moreau.MaxIter", m.MaxIter, 1),
		option.Vector("observe: Moreau.At: x", x, len(x)),
		m.Set.Validate(len(x))); err != nil {
		return Envelope{}, err
	}
	vec := func() []float64 { return make([]float64, len(x)) }
	p := &prox{Moreau: &m, x: x, z: xhat, g: vec(), next: vec(), gn: vec(), d: vec()}
	m.Set.Project(p.z, x)
	if err := p.evaluate(p.z, p.g); err != nil {
		return Envelope{}, err
	}
	for i := range p.last {
		p.last[i] = p.phi
	}
	var e Envelope
	tol, step := 0.0, 1/m.Rho
	for ; ; e.Iterations++ {
		p.toward(1 / m.Rho)
		e.Residual = m.Rho * mat.Norm(p.d)
		if e.Iterations == 0 {
			tol = m.Tol * max(1, e.Residual)
		}
		if e.Residual <= tol || e.Iterations == m.MaxIter {
			break
		}
		p.toward(step)
		if err := p.search(); err != nil {
			return Envelope{}, err
		}
		step = p.spectral(step)
	}
	var far float64
	for i, z := range p.z {
		far += (z - x[i]) * (z - x[i])
	}
	e.Value, e.Near = p.phi, m.Rho*m.Rho*far
	if !(e.Residual <= tol) {
		return e, fmt.Errorf("%w in %d iterations: the gradient mapping is %.3g, want %.3g", ErrNoEnvelope, m.MaxIter, e.Residual, tol)
	}
	return e, nil
}

type prox struct {
	*Moreau
	x         []float64
	z, g      []float64   // the point, and ∇φ there
	next, gn  []float64   // the next point, and ∇φ there
	d         []float64   // direction
	f, phi    float64     // F and φ at the point last evaluated
	last      [10]float64 // φ at the last points
	dz2, dzdg float64     // of the last move
}

func (p *prox) evaluate(z, g []float64) (err error) {
	if p.f, err = p.F.Objective(g, z); err != nil {
		return err
	}
	p.phi = p.f
	for i := range g {
		far := z[i] - p.x[i]
		g[i] += p.Rho * far
		p.phi += p.Rho / 2 * far * far
	}
	return nil
}

// toward writes d = P_X(z − s·∇φ(z)) − z.
func (p *prox) toward(s float64) {
	copy(p.d, p.z)
	mat.Axpy(p.d, -s, p.g)
	p.Set.Project(p.d, p.d)
	mat.Axpy(p.d, -1, p.z)
}

// search moves z along d, halving the way until φ is below its largest value of the last ten points
// by a little (Grippo, Lampariello, Lucidi, SIAM J. Numer. Anal. 23, 1986). A rise that rounding
// can make is accepted: the gradient mapping decides where to end.
func (p *prox) search() error {
	const maxHalvings = 30
	slope, top := mat.Dot(p.g, p.d), slices.Max(p.last[:])
	t := 1.0
	for range maxHalvings {
		copy(p.next, p.z)
		mat.Axpy(p.next, t, p.d)
		if err := p.evaluate(p.next, p.gn); err != nil {
			return err
		}
		if p.phi <= top+1e-4*t*slope+1e-13*(math.Abs(top)+math.Abs(p.f)) {
			break
		}
		t /= 2
	}
	copy(p.last[1:], p.last[:])
	p.last[0] = p.phi
	p.dz2, p.dzdg = 0, 0
	for i := range p.z {
		dz := p.next[i] - p.z[i]
		p.dz2 += dz * dz
		p.dzdg += dz * (p.gn[i] - p.g[i])
	}
	copy(p.z, p.next)
	copy(p.g, p.gn)
	return nil
}

// spectral is Barzilai and Borwein's step ‖Δz‖²/⟨Δz, Δ∇φ⟩, within nine orders of magnitude of 1/ρ,
// or last where that is not a positive number.
func (p *prox) spectral(last float64) float64 {
	if s := p.dz2 / p.dzdg; s > 0 {
		return min(max(s, 1e-9/p.Rho), 1e9/p.Rho)
	}
	return last
}
