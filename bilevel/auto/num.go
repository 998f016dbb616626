package auto

import (
	"math"

	"stable/mat/kernel"
)

// Num is a number that a loss computes: recorded if it depends on x or y, else a constant. The zero
// Num is 0. A recorded Num is good until the loss returns.
type Num struct {
	handle
	v float64
}

// Const returns the constant c.
func Const(c float64) Num { return Num{v: c} }

// Value returns the number, for comparisons and loops; what is computed of it has no derivative.
func (a Num) Value() float64 {
	a.own("Value")
	return a.v
}

// Add and Sub return a + b and a − b.
func (a Num) Add(b Num) Num { return a.plus("Add", b, 1) }
func (a Num) Sub(b Num) Num { return a.plus("Sub", b, -1) }

func (a Num) plus(name string, b Num, s float64) Num {
	var r Num
	switch {
	case b.t == nil:
		r = a.linear(name, 1, s*b.v)
	case a.t == nil:
		r = b.linear(name, s, a.v)
	default:
		t := shared(name, a.handle, b.handle)
		r = t.num(t.add(a.id, b.id, s))
	}
	return r.checked(name, a.v, b.v)
}

// Mul returns a·b.
func (a Num) Mul(b Num) Num { return a.times("Mul", b).checked("Mul", a.v, b.v) }

func (a Num) times(name string, b Num) Num {
	switch {
	case b.t == nil:
		return a.linear(name, b.v, 0)
	case a.t == nil:
		return b.linear(name, a.v, 0)
	}
	t := shared(name, a.handle, b.handle)
	return t.num(t.mul(a.id, b.id))
}

// Div returns a/b. It fails where b is 0.
func (a Num) Div(b Num) Num {
	shared("Div", a.handle, b.handle)
	inverse := Num{v: 1 / b.v}
	if b.t != nil {
		inverse = b.unary("Div", inv, 0)
	} else if math.IsInf(inverse.v, 0) {
		a.t.outside("Div", "by %v", b.v)
	}
	r := a.times("Div", inverse)
	if r.v = a.v / b.v; r.t != nil { // with one rounding
		r.t.nodes[r.id].val[0] = r.v
	}
	return r.checked("Div", a.v, b.v)
}

// Scale, Shift and Neg return c·a, a + c and −a.
func (a Num) Scale(c float64) Num { return a.linear("Scale", c, 0).checked("Scale", a.v, c) }
func (a Num) Shift(c float64) Num { return a.linear("Shift", 1, c).checked("Shift", a.v, c) }
func (a Num) Neg() Num            { return a.linear("Neg", -1, 0) }

func (a Num) linear(name string, p, q float64) Num {
	if a.t == nil {
		return Num{v: p*a.v + q}
	}
	a.own(name)
	return a.t.num(a.t.linear(a.id, p, q))
}

// Functions of a. They fail where the value, or a derivative that is asked for, is not finite: Log
// unless a > 0, Sqrt for a < 0, Inv at 0, Pow (a^r) for a < 0 unless r is an integer. Sigmoid is
// 1/(1 + exp(−a)), Softplus log(1 + exp(a)), the logistic loss of margin −a: both without overflow.
func (a Num) Exp() Num          { return a.unary("Exp", exp, 0) }
func (a Num) Log() Num          { return a.unary("Log", log, 0) }
func (a Num) Sqrt() Num         { return a.unary("Sqrt", sqrt, 0) }
func (a Num) Square() Num       { return a.unary("Square", square, 0) }
func (a Num) Inv() Num          { return a.unary("Inv", inv, 0) }
func (a Num) Tanh() Num         { return a.unary("Tanh", tanh, 0) }
func (a Num) Sigmoid() Num      { return a.unary("Sigmoid", sigmoid, 0) }
func (a Num) Softplus() Num     { return a.unary("Softplus", softplus, 0) }
func (a Num) Sin() Num          { return a.unary("Sin", sin, 0) }
func (a Num) Cos() Num          { return a.unary("Cos", cos, 0) }
func (a Num) Pow(r float64) Num { return a.unary("Pow", pow, r) }

// Apply returns φ(a), given the value and the first two derivatives of φ at a.Value(), and fails as they do.
func (a Num) Apply(value, first, second float64) Num {
	return a.unary("Apply", func(float64, float64) (v, p, q float64) { return value, first, second }, 0)
}

func (a Num) unary(name string, f function, r float64) Num {
	if a.t == nil {
		return Num{v: constant(name, -1, f, a.v, r)}
	}
	a.own(name)
	return a.t.num(a.t.mapped(name, a.id, f, r, false))
}

// function returns φ(a), φ′(a) and φ″(a); r is the exponent of pow.
type function func(a, r float64) (v, p, q float64)

// constant is φ(a) for a number, or entry i of a vector, that is constant and must have a value.
func constant(name string, i int, f function, a, r float64) float64 {
	v, _, _ := f(a, r)
	if v-v != 0 {
		(*tape)(nil).badMap(name, i, a, v, 0, 0)
	}
	return v
}

func exp(a, _ float64) (v, p, q float64) {
	v = math.Exp(a)
	return v, v, v
}

func log(a, _ float64) (v, p, q float64) {
	p = 1 / a
	return math.Log(a), p, -p * p
}

func sqrt(a, _ float64) (v, p, q float64) {
	v = math.Sqrt(a)
	p = 0.5 / v
	return v, p, -0.5 * p / a
}

func inv(a, _ float64) (v, p, q float64) {
	v = 1 / a
	p = -v * v
	return v, p, -2 * p * v
}

func square(a, _ float64) (v, p, q float64) { return a * a, 2 * a, 2 }

// tanh has φ′ = 1 − v² from e = exp(−2|a|), without the cancellation, where v is close to ±1.
func tanh(a, _ float64) (v, p, q float64) {
	if math.Abs(a) < 0.625 {
		v = math.Tanh(a)
		p = 1 - v*v
		return v, p, -2 * v * p
	}
	e := math.Exp(-2 * math.Abs(a))
	v = math.Copysign((1-e)/(1+e), a)
	p = 4 * e / ((1 + e) * (1 + e))
	return v, p, -2 * v * p
}

// sigmoid is 1/(1 + exp(−a)), with φ′ = e/(1+e)² and φ″ = φ′·(1 − 2φ), by e = exp(−|a|).
func sigmoid(a, _ float64) (v, p, q float64) {
	e := math.Exp(-math.Abs(a))
	d := 1 / (1 + e)
	v, p = d, e*d*d
	if a < 0 {
		v = e * d
	}
	return v, p, -math.Copysign(p*(1-e)*d, a)
}

func softplus(a, _ float64) (v, p, q float64) {
	e := math.Exp(-math.Abs(a))
	d := 1 / (1 + e)
	v, p = log1p(e), e*d
	if a > 0 {
		v, p = v+a, d
	}
	return v, p, e * d * d
}

// log1p is log(1 + e) for 0 ≤ e ≤ 1, in a third of the time of math.Log1p: the error of u = 1 + e
// cancels in log(u)/(u − 1) (Goldberg, ACM Computing Surveys 23, 1991, theorem 4).
func log1p(e float64) float64 {
	u := 1 + e
	if u == 1 {
		return e
	}
	return math.Log(u) * (e / (u - 1))
}

func sin(a, _ float64) (v, p, q float64) {
	s, c := math.Sincos(a)
	return s, c, -s
}

func cos(a, _ float64) (v, p, q float64) {
	s, c := math.Sincos(a)
	return c, -s, -c
}

// pow is a^r. A factor 0 of a derivative stays 0 where the power beside it is infinite.
func pow(a, r float64) (v, p, q float64) {
	v = math.Pow(a, r)
	if r != 0 {
		p = r * math.Pow(a, r-1)
		if r != 1 {
			q = r * (r - 1) * math.Pow(a, r-2)
		}
	}
	return v, p, q
}

// A nil destination is one that nobody wants, a nil operand a zero.

func axpy(y []float64, s float64, x []float64) {
	if s != 0 && y != nil && x != nil {
		kernel.Axpy(y, s, x)
	}
}

func axpyProduct(y []float64, s float64, u, v []float64) {
	if y == nil || s == 0 || u == nil || v == nil {
		return
	}
	u, v = u[:len(y)], v[:len(y)]
	for i := range y {
		y[i] += s * u[i] * v[i]
	}
}

func axpySparse(y []float64, s float64, a sparse) {
	if y == nil || s == 0 {
		return
	}
	val := a.val[:len(a.col)]
	for k, c := range a.col {
		y[c] += s * val[k]
	}
}

func affine(y []float64, s float64, x []float64, c float64) {
	x = x[:len(y)]
	for i := range y {
		y[i] = s*x[i] + c
	}
}

func added(r, u []float64, s float64, v []float64) {
	u, v = u[:len(r)], v[:len(r)]
	for i := range r {
		r[i] = u[i] + s*v[i]
	}
}

func multiplied(r, u, v []float64) {
	u, v = u[:len(r)], v[:len(r)]
	for i := range r {
		r[i] = u[i] * v[i]
	}
}
