// Package auto makes a bilevel.Problem of two losses, f(x, y; ξ) and g(x, y; φ), which the caller
// writes for one sample, as Go functions over recorded numbers. It computes values, gradients,
// g_xy, g_yy, their products with vectors, and means over batches.
//
//	problem, err := auto.New(auto.Losses{
//		Dx: d, Dy: d, Upper: uint64(len(test)), Lower: uint64(len(train)),
//		F: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
//			return y.Dot(auto.Data(test[i])).Shift(-want[i]).Square().Scale(0.5)
//		},
//		G: func(x, y auto.Vec, i bilevel.Sample) auto.Num {
//			fit := y.Dot(auto.Data(train[i])).Shift(-label[i]).Square()
//			return fit.Add(y.WeightedSquares(x.Exp())).Scale(0.5)
//		},
//	})
//
// A loss gets x and y as Vecs; every method returns a new value, a number Num, a vector Vec, or
// Mat, a vector seen as a matrix. Const, Data and Matrix make constants, which may stand wherever a
// recorded value may. The zero Num is 0, to start sums from.
//
//	numbers    Add Sub Mul Div Neg Scale Shift Inv Square Pow Sqrt Exp Log Tanh Sigmoid Softplus
//	           Sin Cos, and Apply for a function of the caller's
//	vectors    the same entry by entry; ScaleBy, Slice, Stack
//	reductions At Sum Dot DotSparse SquaredNorm WeightedSquares LogSumExp
//	matrices   MulVec MulVecTrans, of constant and of recorded matrices and vectors
//
// Loops and comparisons may depend on data, on Value, and on the sample: each evaluation is
// recorded anew, and the derivative is that of the branch taken. Constants stay in the caller's
// memory and must not change until the next call: a loss may fill a buffer anew for each sample,
// but not twice in one. A type that embeds *Problem replaces oracles by methods of their names.
//
// # Errors
//
// An evaluation ends at a function outside of its domain, an overflow, lengths that do not match,
// or a value of another evaluation or problem. The oracle then returns an Error that names the
// loss, the sample, the operation and the line of the call; the first two kinds wrap
// bilevel.ErrDomain. An empty batch asks for the exact value: MeanF or MeanG if given, else the
// mean of a finite sum, else bilevel.ErrNoExact. Destinations of wrong shapes panic.
//
// # Cost
//
// A gradient, one sweep back over the record (reverse mode: Griewank, Walther, Evaluating
// Derivatives, 2008, chapter 3), and a product with a second derivative, a sweep forward and two
// back (section 5.1), cost a small constant times the loss, exact to rounding.
//
// For g_yy and g_xy, a function of a sum of entries of y, such as a linear predictor aᵀy, is cut
// there: the sum becomes a variable with a known gradient. What is left has a diagonal Hessian in
// the entries, which one sweep finds (Curtis, Powell, Reid, 1974); m + 1 find all for m variables,
// or one for each entry of y where that is less: O(d²) for a logistic loss with weights on squares.
//
// After the first evaluation of a size nothing is allocated, but by the losses, and by operations
// on constant vectors alone. A Problem serves one goroutine at a time; Clone makes more. The same
// binary, problem and arguments give the same bits.
package auto

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"stable/bilevel"
	"stable/bilevel/option"
	"stable/mat"
)

// Losses is a problem as two losses, each for one sample.
type Losses struct {
	// Dx and Dy are the lengths of x and y, ≥ 1.
	Dx, Dy int

	// Upper and Lower are the numbers of samples ξ and φ, 0 … n−1. 0, the default: an unbounded
	// simulator, whose samples are seeds of 64 bits, not indices.
	Upper, Lower uint64

	// F and G return f(x, y; ξ) and g(x, y; φ). Required. They depend on their arguments alone,
	// keep nothing recorded, and start no goroutines.
	F, G func(x, y Vec, s bilevel.Sample) Num

	// MeanF and MeanG, optional, return the expectations of f and g. Without them a finite sum
	// evaluates all its terms, and a simulator has no exact value.
	MeanF, MeanG func(x, y Vec) Num

	// Modulus, optional, promises an s with g_yy(x, y; φ) ⪰ s·I for every y and sample, as a
	// penalty ½s‖y‖² does (see bilevel.StronglyConvex). check.Problem tests it.
	Modulus func(x []float64) float64
}

// Problem is the bilevel.Problem of two losses.
type Problem struct {
	losses Losses
	f, g   loss
	tape   tape
}

// New returns the problem of l. Errors (a length below 1, a missing loss) wrap bilevel.ErrOption and name the field.
func New(l Losses) (*Problem, error) {
	err := cmp.Or(option.AtLeast("auto: Losses.Dx", l.Dx, 1), option.AtLeast("auto: Losses.Dy", l.Dy, 1))
	switch {
	case err != nil:
		return nil, err
	case l.F == nil:
		return nil, option.Bad("auto: Losses.F is nil")
	case l.G == nil:
		return nil, option.Bad("auto: Losses.G is nil")
	}
	return &Problem{losses: l, f: loss{"f", l.F, l.MeanF, l.Upper}, g: loss{"g", l.G, l.MeanG, l.Lower}}, nil
}

// Clone returns a problem for another goroutine. The losses are shared: they must be safe for that.
func (p *Problem) Clone() *Problem { return &Problem{losses: p.losses, f: p.f, g: p.g} }

func (p *Problem) Dims() (dx, dy int)             { return p.losses.Dx, p.losses.Dy }
func (p *Problem) Streams() (upper, lower uint64) { return p.losses.Upper, p.losses.Lower }

// ConvexityAt returns Losses.Modulus at x, −Inf where that is nil.
func (p *Problem) ConvexityAt(x []float64) float64 {
	if p.losses.Modulus == nil {
		return math.Inf(-1)
	}
	return p.losses.Modulus(x)
}

func (p *Problem) ValueF(x, y []float64, xi []bilevel.Sample) (float64, error) {
	return p.value("ValueF", &p.f, x, y, xi)
}

func (p *Problem) ValueG(x, y []float64, phi []bilevel.Sample) (float64, error) {
	return p.value("ValueG", &p.g, x, y, phi)
}

func (p *Problem) value(name string, l *loss, x, y []float64, batch []bilevel.Sample) (sum float64, err error) {
	err = p.each(name, l, values, x, y, batch, func(_ int32, w float64) { sum += w * p.tape.value })
	return sum, err
}

func (p *Problem) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	p.length("GradF", fx, p.losses.Dx)
	p.length("GradF", fy, p.losses.Dy)
	return p.gradient("GradF", &p.f, gradXY, fx, fy, x, y, nil, xi)
}

func (p *Problem) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	p.length("GradG", gy, p.losses.Dy)
	return p.gradient("GradG", &p.g, gradY, nil, gy, x, y, nil, phi)
}

func (p *Problem) GradXG(gx, x, y []float64, phi []bilevel.Sample) error {
	p.length("GradXG", gx, p.losses.Dx)
	return p.gradient("GradXG", &p.g, gradX, gx, nil, x, y, nil, phi)
}

func (p *Problem) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	p.length("HessVecG", dst, p.losses.Dy)
	p.length("HessVecG", v, p.losses.Dy)
	return p.gradient("HessVecG", &p.g, hessVec, nil, dst, x, y, v, phi)
}

// CrossVecG writes g_xy·v, at the cost of HessVecG.
func (p *Problem) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	p.length("CrossVecG", dst, p.losses.Dx)
	p.length("CrossVecG", v, p.losses.Dy)
	return p.gradient("CrossVecG", &p.g, crossVec, dst, nil, x, y, v, phi)
}

// gradient writes the gradient in x and in y, or its derivative along v in y; nil is left out.
func (p *Problem) gradient(name string, l *loss, m *mode, gx, gy, x, y, v []float64, batch []bilevel.Sample) error {
	t, s := &p.tape, &p.tape.adj
	if v != nil {
		s = &t.adjt
	}
	err := p.each(name, l, m, x, y, batch, func(id int32, w float64) {
		if !t.start(t.leaves, id, w) {
			return
		}
		t.back(&t.adj, id)
		if v != nil {
			copy(t.tan.v[p.losses.Dx:], v)
			t.tangents()
			t.adjt.fit(t.leaves, t.size)
			t.back(s, id)
		}
	})
	if err == nil {
		copy(gx, s.v[:p.losses.Dx])
		copy(gy, s.v[p.losses.Dx:])
		err = l.finite(name, mat.Norm(s.v[:t.leaves]))
	}
	return err
}

// finite fails unless norm is finite, that of the derivatives of a mean.
func (l *loss) finite(name string, norm float64) error {
	if mat.IsFinite(norm) {
		return nil
	}
	return &Error{Loss: l.name, Mean: true, Op: name, Reason: fmt.Sprintf("has the norm %v", norm), domain: true}
}

func (p *Problem) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	if gyy.N != p.losses.Dy {
		panic("auto: HessG: dimension mismatch")
	}
	gyy.Zero()
	err := p.each("HessG", &p.g, hess, x, y, phi, func(id int32, w float64) { p.tape.addSecond(gyy, nil, id, w) })
	return cmp.Or(err, p.g.finite("HessG", mat.NormFrobSym(gyy)))
}

func (p *Problem) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	if gxy.Rows != p.losses.Dx || gxy.Cols != p.losses.Dy {
		panic("auto: CrossG: dimension mismatch")
	}
	gxy.Zero()
	err := p.each("CrossG", &p.g, cross, x, y, phi, func(id int32, w float64) { p.tape.addSecond(nil, gxy, id, w) })
	return cmp.Or(err, p.g.finite("CrossG", mat.NormFrob(gxy)))
}

// each records a loss at all samples of a batch, and calls use with the node of each value and its
// weight in the mean; where derivatives are wanted, not for a constant.
func (p *Problem) each(name string, l *loss, m *mode, x, y []float64, batch []bilevel.Sample,
	use func(id int32, w float64)) error {
	p.length(name, x, p.losses.Dx)
	p.length(name, y, p.losses.Dy)
	t := &p.tape
	if t.running {
		return errNested
	}
	n, mean := int(l.size), len(batch) == 0 && l.mean != nil
	if mean {
		n = 1
	}
	if len(batch) == 0 && n == 0 {
		return bilevel.ErrNoExact
	}
	for _, s := range batch {
		if l.size > 0 && uint64(s) >= l.size {
			return fmt.Errorf("auto: %s: sample %d, but there are %d", l.name, s, l.size)
		}
	}
	t.aim(m, len(x), len(y))
	for s, w := range bilevel.Each(batch, n) {
		id, err := t.record(l, x, y, s, mean)
		if err != nil {
			return err
		}
		if id != 0 || m.order == 0 {
			use(id, w)
		}
	}
	return nil
}

func (p *Problem) length(name string, v []float64, n int) {
	if len(v) != n {
		panic("auto: " + name + ": dimension mismatch")
	}
}

var errNested = errors.New("auto: an oracle was called while another one runs: by a loss of this problem, or by a second " +
	"goroutine, which needs a Clone")
