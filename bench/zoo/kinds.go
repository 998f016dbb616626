package zoo

import (
	"fmt"
	"math"
	"math/rand/v2"

	"stable/bilevel"
	"stable/mat"
)

// species is a problem and what the generator has to know of it.
type species struct {
	*sum
	twin  *sum // of a simulator: the same second moments, from normal numbers; nil: the sum itself
	about string
	law   string
	rate  float64     // of rare events; 0: none
	boxed bilevel.Set // the one set that it makes sense in; nil: any
	reach float64     // how far x⁰ and y⁰ may lie; 0: as far as the set
	noise *float64    // size of the noise of a simulator; nil: none to choose
}

// kind draws a species of n terms in f and g; 0 for a simulator, of which rows makes some.
type kind struct {
	name string
	draw func(r *rand.Rand, nf, ng uint64) species
}

var kinds = []kind{
	{"quadratic", drawQuadratic}, {"rare", drawRare}, {"toll", drawToll},
	{"ridge", weighted("ridge")}, {"logistic", weighted("logistic")}, {"poisson", weighted("poisson")},
	{"softmax", drawSoftmax}, {"cleaning", drawCleaning}, {"portfolio", drawPortfolio},
	{"newsvendor", drawNewsvendor}, {"factorisation", drawFactorisation}, {"features", drawFeatures},
}

// rows reads a simulator as the sum over a population.
func rows(r *rand.Rand, n uint64) uint64 {
	if n == 0 {
		return 500 + r.Uint64N(1500)
	}
	return n
}

// table is rows of features whose sizes follow a law; feature j counts scale[j].
func table(r *rand.Rand, n uint64, d int, size func() float64, scale []float64) [][]float64 {
	list := make([][]float64, n)
	for i := range list {
		s := size()
		list[i] = gaussians(r, d, s)
		for j := range scale {
			list[i][j] *= scale[j]
		}
	}
	return list
}

// rowSizes draws the law of the rows' sizes, of mean square about 1 but for heavy tails; one row of
// up to 1,000 may weigh most, for L_max/mean L to 1e3.
func rowSizes(r *rand.Rand) (name string, rate float64, size func() float64) {
	switch r.IntN(4) {
	case 0:
		nu := pick(r, 2.1, 3, 5)
		return fmt.Sprintf("student %g", nu), 0, func() float64 { return math.Sqrt((nu-2)/nu) * math.Abs(student(r, nu)) }
	case 1:
		s := pick(r, 0.5, 1)
		return fmt.Sprintf("lognormal %g", s), 0, func() float64 { return math.Exp(s*r.NormFloat64() - s*s) }
	case 2:
		p := between(r, 1e-3, 1e-1)
		return "rare", p, func() float64 {
			if r.Float64() < p {
				return math.Sqrt(0.5 / p)
			}
			return math.Sqrt(0.5)
		}
	}
	return "normal", 0, func() float64 { return 1 }
}

func scales(r *rand.Rand, d int, decades float64) []float64 {
	s := make([]float64, d)
	for i := range s {
		s[i] = math.Pow(10, decades*(r.Float64()-0.5))
	}
	return s
}

// drawDecay draws the weights in ½Σ w(x_i)y_i², with a box of four decades.
func drawDecay(r *rand.Rand, d int) (name string, w func(x float64) (w, dw float64), box bilevel.Set) {
	lo := between(r, 1e-4, 1e-2)
	if r.IntN(2) == 0 {
		return "raw", func(x float64) (float64, float64) { return 2 * x, 2 }, bilevel.UniformBox(d, lo, 1e4*lo)
	}
	return "exp", func(x float64) (float64, float64) { e := math.Exp(x); return e, e },
		bilevel.UniformBox(d, math.Log(2*lo), math.Log(2e4*lo))
}

func softplus(u float64) (v, d1, d2 float64) {
	s := 1 / (1 + math.Exp(-u))
	return max(u, 0) + math.Log1p(math.Exp(-math.Abs(u))), s, s * (1 - s)
}

func halfSquare(u float64) (v, d1, d2 float64) { return u * u / 2, u, 1 }

func exponential(u float64) (v, d1, d2 float64) { e := math.Exp(u); return e, e, e }

// first makes ψ(u) = φ(u_0) + u_1 + ….
func first(phi func(u float64) (v, d1, d2 float64)) func(t *term) {
	return func(t *term) {
		t.val, t.g[0], t.h[0] = phi(t.u[0])
		for k := 1; k < len(t.u); k++ {
			t.val += t.u[k]
			t.g[k] = 1
		}
	}
}

// weighted draws the paper's test problem with losses of several kinds: one output, a penalty
// weighed by x.
func weighted(name string) func(r *rand.Rand, nf, ng uint64) species {
	return func(r *rand.Rand, nf, ng uint64) species {
		d := dims(r, 1)
		law, rate, size := rowSizes(r)
		decades := 0.0
		if name != "poisson" {
			decades = 3 * r.Float64()
		}
		scale := scales(r, d, decades)
		truth := gaussians(r, d, between(r, 0.5, 3)/math.Sqrt(float64(d)))
		noise := drawLaw(r)
		side := func(n uint64) loss {
			a := table(r, rows(r, n), d, size, scale)
			c := make([]float64, len(a))
			plain := make([]float64, len(a)) // Poisson: −k, the factor of u in the loss
			for i, v := range a {
				u := 0.0
				for j := range v {
					u += v[j] / scale[j] * truth[j]
				}
				switch name {
				case "ridge":
					c[i] = -u - 0.5*noise.draw(r)
				case "logistic":
					label := math.Copysign(1, u+0.5*noise.draw(r))
					for j := range v {
						v[j] *= -label
					}
				case "poisson":
					if long := mat.Norm(v) / 2; long > 1 {
						for j := range v {
							v[j] /= long
						}
						u /= long
					}
					plain[i] = -float64(poisson(r, math.Exp(min(u, 3))))
				}
			}
			outputs := 1
			if name == "poisson" {
				outputs = 2
			}
			phi := map[string]func(float64) (float64, float64, float64){
				"ridge": halfSquare, "logistic": softplus, "poisson": exponential}[name]
			return loss{terms: uint64(len(a)), psi: first(phi), read: func(t *term, x []float64, i bilevel.Sample) {
				t.size(outputs)
				t.a[0].v, t.c[0] = a[i], c[i]
				if outputs == 2 {
					v := t.scratch(0, d)
					for j := range v {
						v[j] = plain[i] * a[i][j]
					}
					t.a[1].v = v
				}
			}}
		}
		s := &sum{dx: d, dy: d, f: side(nf), g: side(ng)}
		form, decay, box := drawDecay(r, d)
		s.g.decay = decay
		reach := 0.0
		if name == "poisson" {
			reach = 1
		}
		return species{sum: s, law: law, rate: rate, boxed: box, reach: reach,
			about: fmt.Sprintf("%s weights, features over %.1f decades", form, decades)}
	}
}

func poisson(r *rand.Rand, mean float64) (k int) {
	for p := r.Float64(); p > math.Exp(-mean); p *= r.Float64() {
		k++
	}
	return k
}

// drawSoftmax draws classes with a linear score each, and weights of all factors.
func drawSoftmax(r *rand.Rand, nf, ng uint64) species {
	classes := 2 + r.IntN(4)
	p := 1 + r.IntN(12)
	d := classes * p
	law, rate, size := rowSizes(r)
	truth := gaussians(r, d, between(r, 0.5, 3)/math.Sqrt(float64(p)))
	side := func(n uint64) loss {
		a := table(r, rows(r, n), p, size, nil)
		label := make([]int, len(a))
		for i, v := range a {
			best := math.Inf(-1)
			for k := range classes {
				if u := mat.Dot(v, truth[k*p:(k+1)*p]) - math.Log(-math.Log(r.Float64())); u > best {
					best, label[i] = u, k
				}
			}
		}
		return loss{terms: uint64(len(a)), psi: func(t *term) {
			top, total := math.Inf(-1), 0.0
			for _, u := range t.u {
				top = max(top, u)
			}
			for k, u := range t.u {
				t.g[k] = math.Exp(u - top)
				total += t.g[k]
			}
			for k := range t.g {
				t.g[k] /= total
			}
			for k := range t.g {
				for l := range t.g {
					t.h[k*classes+l] = -t.g[k] * t.g[l]
				}
				t.h[k*classes+k] += t.g[k]
			}
			t.val = top + math.Log(total) - t.u[t.label]
			t.g[t.label]--
		}, read: func(t *term, x []float64, i bilevel.Sample) {
			t.size(classes)
			for k := range classes {
				t.a[k] = row{k * p, a[i]}
			}
			t.label = label[i]
		}}
	}
	s := &sum{dx: d, dy: d, f: side(nf), g: side(ng)}
	form, decay, box := drawDecay(r, d)
	s.g.decay = decay
	return species{sum: s, law: law, rate: rate, boxed: box, about: fmt.Sprintf("%d classes, %s weights", classes, form)}
}

// drawCleaning draws groups of rows, some labels flipped, weighed by σ(x_group); the rarest group
// has one row in up to 1,000.
func drawCleaning(r *rand.Rand, nf, ng uint64) species {
	groups, d := dims(r, 2), dims(r, 1)
	law, rate, size := rowSizes(r)
	truth := gaussians(r, d, 2/math.Sqrt(float64(d)))
	share := make([]float64, groups) // cumulative
	total := 0.0
	for k := range share {
		total += between(r, 3e-3, 1)
		share[k] = total
	}
	bad := make([]bool, groups)
	for k := range bad {
		bad[k] = r.IntN(3) == 0
	}
	side := func(n uint64, upper bool) loss {
		a := table(r, rows(r, n), d, size, nil)
		group := make([]int, len(a))
		for i, v := range a {
			for q := r.Float64() * total; group[i] < groups-1 && share[group[i]] < q; group[i]++ {
			}
			label := math.Copysign(1, mat.Dot(v, truth)+0.3*r.NormFloat64())
			if bad[group[i]] && !upper && r.IntN(5) > 0 {
				label = -label
			}
			for j := range v {
				v[j] *= -label
			}
		}
		return loss{terms: uint64(len(a)), psi: first(softplus), read: func(t *term, x []float64, i bilevel.Sample) {
			t.size(1)
			t.a[0].v = a[i]
			if !upper {
				t.at = group[i]
				_, t.w, t.dw = softplus(x[t.at])
			}
		}}
	}
	s := &sum{dx: groups, dy: d, f: side(nf, true), g: side(ng, false)}
	s.f.quad, s.g.quad = newQuad(groups, d), newQuad(groups, d)
	ridge := between(r, 1e-2, 1)
	mat.AddIdentity(s.f.quad.xx, between(r, 1e-4, 1e-2))
	mat.AddIdentity(s.g.quad.yy, ridge)
	return species{sum: s, law: law, rate: rate, boxed: bilevel.UniformBox(groups, -4, 4),
		about: fmt.Sprintf("%d groups, ridge %.2g", groups, ridge)}
}

// drawPortfolio draws returns; g is risk less return and the distance from x, f the downside.
func drawPortfolio(r *rand.Rand, nf, ng uint64) species {
	d := dims(r, 1)
	law, rate, size := rowSizes(r)
	mean := gaussians(r, d, 0.3)
	vol := scales(r, d, 1)
	side := func(n uint64, phi func(float64) (float64, float64, float64), sign float64) loss {
		a := table(r, rows(r, n), d, size, vol)
		for _, v := range a {
			mat.Axpy(v, 1, mean)
		}
		return loss{terms: uint64(len(a)), psi: first(phi), read: func(t *term, x []float64, i bilevel.Sample) {
			t.size(1)
			t.a[0].v = a[i]
			if sign < 0 {
				v := t.scratch(0, d)
				for j := range v {
					v[j] = -a[i][j]
				}
				t.a[0].v = v
			}
		}}
	}
	s := &sum{dx: d, dy: d, f: side(nf, softplus, -1),
		g: side(ng, func(u float64) (float64, float64, float64) { return u*u/2 - u, u - 1, 1 }, 1)}
	s.f.quad, s.g.quad = newQuad(d, d), newQuad(d, d)
	near := between(r, 0.1, 3)
	mat.AddIdentity(s.f.quad.xx, between(r, 1e-2, 1))
	mat.AddIdentity(s.g.quad.yy, near)
	for i := range d {
		s.g.quad.xy.Data[i*s.g.quad.xy.Stride+i] = -near
	}
	return species{sum: s, law: law, rate: rate, about: fmt.Sprintf("tied to x by %.2g", near)}
}

// drawNewsvendor draws demands; y are orders of least expected cost, x prices, which lower demand,
// f the loss: sales are y − h softplus(u/h), u the excess of supply.
func drawNewsvendor(r *rand.Rand, nf, ng uint64) species {
	d := dims(r, 1)
	noise := drawLaw(r)
	base, slope := make([]float64, d), make([]float64, d)
	for j := range base {
		base[j], slope[j] = between(r, 2, 8), between(r, 0.3, 2)
	}
	h, over, under, spread := between(r, 0.2, 1), between(r, 0.3, 2), between(r, 0.5, 3), between(r, 0.1, 0.5)
	one := []float64{1}
	side := func(n uint64, k int, psi func(t *term)) loss {
		demand := make([][]float64, rows(r, n))
		for i := range demand {
			demand[i] = make([]float64, d)
			for j := range demand[i] {
				demand[i][j] = max(base[j]*(1+spread*noise.draw(r)), 0)
			}
		}
		return loss{terms: uint64(len(demand)), psi: psi, read: func(t *term, x []float64, i bilevel.Sample) {
			t.size(k * d)
			for j := range d {
				t.a[j], t.b[j], t.c[j] = row{j, one}, row{j, slope[j : j+1]}, -demand[i][j]
				if k == 3 {
					t.a[d+j], t.b[2*d+j] = row{j, one}, row{j, one}
				}
			}
		}}
	}
	lower := func(t *term) {
		t.val = 0
		for j := range d {
			v, d1, d2 := softplus(t.u[j] / h)
			t.val += (over+under)*h*v - under*t.u[j]
			t.g[j], t.h[j*d+j] = (over+under)*d1-under, (over+under)*d2/h
		}
	}
	upper := func(t *term) {
		t.val = 0
		for j := range d {
			v, d1, _ := softplus(t.u[j] / h)
			y, x := t.u[d+j], t.u[2*d+j]
			t.val -= x * (y - h*v)
			t.g[j], t.g[d+j], t.g[2*d+j] = x*d1, -x, h*v-y
		}
	}
	s := &sum{dx: d, dy: d, f: side(nf, 3, upper), g: side(ng, 1, lower)}
	s.f.quad, s.g.quad = newQuad(d, d), newQuad(d, d)
	mat.AddIdentity(s.f.quad.xx, between(r, 0.3, 1))
	mat.AddIdentity(s.g.quad.yy, between(r, 1e-2, 0.3))
	for j := range d {
		s.f.quad.y[j] = 0.2
	}
	return species{sum: s, law: noise.name, rate: noise.rate, reach: 10, about: fmt.Sprintf("smoothed by %.2g", h)}
}

// drawFactorisation draws noisy entries of W·Zᵀ, x = W, y = Z; ridges that differ by column fix the
// rotation.
func drawFactorisation(r *rand.Rand, nf, ng uint64) species {
	rank := 1 + r.IntN(4)
	m, n := 2+r.IntN(60/rank-1), 2+r.IntN(60/rank-1)
	noise := drawLaw(r)
	level := between(r, 1e-2, 1)
	w, z := gaussians(r, m*rank, 1), gaussians(r, n*rank, 1)
	side := func(count uint64) loss {
		type entry struct {
			i, j int
			v    float64
		}
		list := make([]entry, rows(r, count))
		for k := range list {
			i, j := r.IntN(m), r.IntN(n)
			list[k] = entry{i, j, mat.Dot(w[i*rank:(i+1)*rank], z[j*rank:(j+1)*rank]) + level*noise.draw(r)}
		}
		return loss{terms: uint64(len(list)), psi: first(halfSquare), read: func(t *term, x []float64, s bilevel.Sample) {
			e := list[s]
			t.size(1)
			t.a[0], t.c[0] = row{e.j * rank, x[e.i*rank : (e.i+1)*rank]}, -e.v
			for l := range rank {
				t.jac = append(t.jac, cell{e.i*rank + l, e.j*rank + l, 1})
			}
		}}
	}
	s := &sum{dx: m * rank, dy: n * rank, f: side(nf), g: side(ng)}
	s.f.quad, s.g.quad = newQuad(s.dx, s.dy), newQuad(s.dx, s.dy)
	ridge := between(r, 1e-2, 0.3)
	for l := range rank {
		for i := range m {
			s.f.quad.xx.Data[(i*rank+l)*(s.f.quad.xx.Stride+1)] = ridge / float64(m) * float64(1+l)
		}
		for j := range n {
			s.g.quad.yy.Data[(j*rank+l)*(s.g.quad.yy.Stride+1)] = ridge / float64(n) * (1 + 0.5*float64(l))
		}
	}
	return species{sum: s, law: noise.name, rate: noise.rate, reach: 3,
		about: fmt.Sprintf("%d × %d of rank %d, ridge %.2g", m, n, rank, ridge)}
}

// drawFeatures draws a regression on y_k cos(ω_kᵀ(eˣ∘z) + β_k), eˣ the inputs' scales.
func drawFeatures(r *rand.Rand, nf, ng uint64) species {
	p, d := 1+r.IntN(4), dims(r, 4)
	omega, beta := gaussians(r, d*p, 1), make([]float64, d)
	for k := range beta {
		beta[k] = 2 * math.Pi * r.Float64()
	}
	noise, level := drawLaw(r), between(r, 0.05, 1)
	scale := scales(r, p, 1)
	unit := math.Sqrt(2 / float64(d))
	side := func(n uint64) loss {
		in := table(r, rows(r, n), p, func() float64 { return 1 }, nil)
		out := make([]float64, len(in))
		for i, v := range in {
			out[i] = level * noise.draw(r)
			for l := range v {
				out[i] += math.Sin(2 * scale[l] * v[l])
			}
		}
		return loss{terms: uint64(len(in)), psi: first(halfSquare), read: func(t *term, x []float64, s bilevel.Sample) {
			t.size(1)
			a, e := t.scratch(0, d), t.scratch(1, p)
			for l := range e {
				e[l] = math.Exp(x[l]) * in[s][l]
			}
			for k := range a {
				sin, cos := math.Sincos(mat.Dot(omega[k*p:(k+1)*p], e) + beta[k])
				a[k] = unit * cos
				for l := range e {
					t.jac = append(t.jac, cell{l, k, -unit * sin * omega[k*p+l] * e[l]})
				}
			}
			t.a[0].v, t.c[0] = a, -out[s]
		}}
	}
	s := &sum{dx: p, dy: d, f: side(nf), g: side(ng)}
	s.f.quad, s.g.quad = newQuad(p, d), newQuad(p, d)
	ridge := between(r, 1e-3, 1e-1)
	mat.AddIdentity(s.f.quad.xx, 1e-3)
	mat.AddIdentity(s.g.quad.yy, ridge)
	return species{sum: s, law: noise.name, rate: noise.rate, boxed: bilevel.UniformBox(p, -2, 2),
		about: fmt.Sprintf("%d inputs, ridge %.2g", p, ridge)}
}
