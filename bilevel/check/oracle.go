package check

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"stable/bilevel"
	"stable/mat"
)

const (
	upper = iota // the stream of ξ
	lower        // the stream of φ
)

var samples = [2]string{upper: "ξ", lower: "φ"}

type oracle struct {
	name    string
	stream  int
	blocks  []*block
	call    func() error // with the checker's arguments
	fill    float64      // in destinations before a call: NaN, or 0 where the oracle is known to add
	noExact bool
	bad     string // why no check can use it
	want    string // said of a value that is not finite
}

// block is one destination of an oracle, with sentinels at the end of each row.
type block struct {
	quantity   string
	indices    int // of an entry
	symmetric  bool
	rows, cols int
	mem        []float64
	dense      mat.Dense // over mem, as sym, for oracles of matrices
	sym        mat.Sym
}

const pad = 2

// sentinel is a NaN that no arithmetic produces.
var sentinel = math.Float64frombits(0x7ff8_c4ec_0000_0001)

func newBlock(quantity string, indices, rows, cols int) *block {
	return &block{quantity: quantity, indices: indices, rows: rows, cols: cols, mem: make([]float64, rows*(cols+pad))}
}

func newVec(quantity string, n int) *block { return newBlock(quantity, 1, 1, n) }

func newScalar(quantity string) *block { return newBlock(quantity, 0, 1, 1) }

func (b *block) size() int { return b.rows * b.cols }

func (b *block) row(i int) []float64 { return b.mem[i*(b.cols+pad):][:b.cols:b.cols] }

// place returns where entry k stands: of a symmetric matrix, in the lower triangle.
func (b *block) place(k int) (i, j int) {
	i, j = k/b.cols, k%b.cols
	if b.symmetric {
		return max(i, j), min(i, j)
	}
	return i, j
}

func (b *block) at(k int) *float64 {
	i, j := b.place(k)
	return &b.row(i)[j]
}

func (b *block) set(v float64, err error) error {
	*b.at(0) = v
	return err
}

func (b *block) prefill(v float64) {
	b.dense = mat.Dense{Rows: b.rows, Cols: b.cols, Stride: b.cols + pad, Data: b.mem}
	b.sym = mat.Sym{N: b.rows, Stride: b.cols + pad, Data: b.mem}
	for i := range b.mem {
		b.mem[i] = sentinel
	}
	for k := range b.size() {
		*b.at(k) = v
	}
}

func (b *block) replaced() bool {
	other := func(rows, stride int, data []float64) bool {
		return rows != b.rows || stride != b.cols+pad || len(data) != len(b.mem) || &data[0] != &b.mem[0]
	}
	d, s := b.dense, b.sym
	return d.Cols != b.cols || other(d.Rows, d.Stride, d.Data) || other(s.N, s.Stride, s.Data)
}

func (b *block) strayed() bool {
	for k, v := range b.mem {
		if k%(b.cols+pad) >= b.cols && math.Float64bits(v) != math.Float64bits(sentinel) {
			return true
		}
	}
	return false
}

func (o *oracle) size() int {
	n := 0
	for _, b := range o.blocks {
		n += b.size()
	}
	return n
}

// rounding is 1e-9 of the largest entry of each derivative.
func (o *oracle) rounding(values ...[]float64) (tol []float64) {
	for _, b := range o.blocks {
		top, at := 0.0, len(tol)
		for _, v := range values {
			top = max(top, maxAbs(v[at:at+b.size()]))
		}
		tol = append(tol, level(b.size(), 1e-9*top)...)
	}
	return tol
}

func (o *oracle) finding(check string, pt point, k int, message string) Finding {
	for _, b := range o.blocks {
		if k >= b.size() {
			k -= b.size()
			continue
		}
		f := o.whole(check, b.quantity, pt, message)
		switch i, j := b.place(k); b.indices {
		case 1:
			f.I = j
		case 2:
			f.I, f.J = i, j
		}
		return f
	}
	panic("check: no such entry")
}

func (o *oracle) whole(check, quantity string, pt point, message string) Finding {
	return Finding{Check: check, Oracle: o.name, Quantity: quantity, I: -1, J: -1, Point: pt.index, Batch: pt.batch,
		Message: message}
}

// shown is o with a matrix in place of its blocks, for findings.
func shown(o *oracle, quantity string, rows, cols int) *oracle {
	return &oracle{name: o.name, blocks: []*block{newBlock(quantity, 2, rows, cols)}}
}

// list returns the problem's oracles, first those that others are compared with.
func (c *checker) list() (all []*oracle) {
	add := func(name string, stream int, call func() error, blocks ...*block) {
		all = append(all, &oracle{name: name, stream: stream, call: call, blocks: blocks, fill: math.NaN()})
	}
	if p, ok := c.p.(bilevel.Values); ok {
		f, g := newScalar("f"), newScalar("g")
		add("ValueF", upper, func() error { return f.set(p.ValueF(c.x, c.y, c.batch)) }, f)
		add("ValueG", lower, func() error { return g.set(p.ValueG(c.x, c.y, c.batch)) }, g)
	}
	fx, fy, gy, gx := newVec("f_x", c.dx), newVec("f_y", c.dy), newVec("g_y", c.dy), newVec("g_x", c.dx)
	gxy, gyy := newBlock("g_xy", 2, c.dx, c.dy), newBlock("g_yy", 2, c.dy, c.dy)
	gyy.symmetric = true
	hv, cv := newVec("g_yy·v", c.dy), newVec("g_xy·v", c.dx)
	add("GradF", upper, func() error { return c.p.GradF(fx.row(0), fy.row(0), c.x, c.y, c.batch) }, fx, fy)
	add("GradG", lower, func() error { return c.p.GradG(gy.row(0), c.x, c.y, c.batch) }, gy)
	add("CrossG", lower, func() error { return c.p.CrossG(&gxy.dense, c.x, c.y, c.batch) }, gxy)
	add("HessG", lower, func() error { return c.p.HessG(&gyy.sym, c.x, c.y, c.batch) }, gyy)
	if p, ok := c.p.(bilevel.UpperGradient); ok {
		add("GradXG", lower, func() error { return p.GradXG(gx.row(0), c.x, c.y, c.batch) }, gx)
	}
	if p, ok := c.p.(bilevel.Products); ok {
		add("HessVecG", lower, func() error { return p.HessVecG(hv.row(0), c.x, c.y, c.v, c.batch) }, hv)
		add("CrossVecG", lower, func() error { return p.CrossVecG(cv.row(0), c.x, c.y, c.v, c.batch) }, cv)
	}
	if p, ok := c.p.(bilevel.Joint); ok && p.Joint() == c.p {
		g, h, x := newVec("g_y", c.dy), newVec("g_yy·v", c.dy), newVec("g_xy·v", c.dx)
		add("JointG", lower, func() error {
			return p.JointG(g.row(0), h.row(0), x.row(0), c.x, c.y, c.v, c.batch)
		}, g, h, x)
	}
	return all
}

func (c *checker) oracle(name string) *oracle {
	i := slices.IndexFunc(c.oracles, func(o *oracle) bool { return o.name == name })
	if i < 0 {
		return nil
	}
	return c.oracles[i]
}

// eval returns the values of o at a point, after all checks of one call; nil where there are none.
func (c *checker) eval(o *oracle, pt point) []float64 {
	exact := len(pt.batch) == 0
	if o.bad != "" || exact && o.noExact {
		return nil
	}
	out, err := c.attempt(o, pt, o.fill)
	switch {
	case exact && errors.Is(err, bilevel.ErrNoExact):
		o.noExact = true
	case err == nil && mat.NotFinite(out) < 0:
		return out
	case c.outside:
	case err != nil:
		message := err.Error()
		if pt = c.culprit(o, pt); exact && len(pt.batch) > 0 && !strings.Contains(message, "sample") {
			message += fmt.Sprintf(", at sample %d alone, too", pt.batch[0])
		}
		if errors.Is(err, bilevel.ErrDomain) {
			message += "; where that is meant, Options.Center, CenterY and the scales keep points away"
		}
		c.log.find(o.whole(Call, o.blocks[0].quantity, pt, message), 0, 0, 0)
		o.bad = "it fails"
	default:
		return c.notFinite(o, pt, out)
	}
	return nil
}

// culprit is, for the exact value, pt with the first term of a sum at which o alone fails, if any.
func (c *checker) culprit(o *oracle, pt point) point {
	if len(pt.batch) > 0 || !c.enumerable(o) {
		return pt
	}
	for i := range c.sizes[o.stream] {
		single := pt.of(bilevel.Sample(i))
		if out, err := c.attempt(o, single, o.fill); err != nil || mat.NotFinite(out) >= 0 {
			return single
		}
	}
	return pt
}

// attempt makes one call with destinations full of fill, and checks that it writes nothing else.
func (c *checker) attempt(o *oracle, pt point, fill float64) (out []float64, err error) {
	copy(c.x, pt.x)
	copy(c.y, pt.y)
	copy(c.v, c.vec)
	c.names = append(c.names[:0], pt.batch...)
	c.batch = slices.Clip(c.names)
	for _, b := range o.blocks {
		b.prefill(fill)
	}
	if err := guard(o.call); err != nil {
		var p *bilevel.PanicError
		if errors.As(err, &p) && len(pt.batch) > 0 && c.sizes[o.stream] == 0 {
			p.Endless = samples[o.stream]
		}
		return nil, err
	}
	for _, b := range o.blocks {
		if b.replaced() {
			c.log.find(o.whole(Inputs, b.quantity, pt, "the header of the destination is changed: write into its Data"), 0, 0, 0)
		}
		if b.strayed() {
			c.log.find(o.whole(Overwrite, b.quantity, pt, "writes beside the matrix: mind Stride"), 0, 0, 0)
		}
		for k := range b.size() {
			out = append(out, *b.at(k))
		}
	}
	c.unmodified(o, pt, "x", c.x, pt.x)
	c.unmodified(o, pt, "y", c.y, pt.y)
	c.unmodified(o, pt, "v", c.v, c.vec)
	if !slices.Equal(c.batch, pt.batch) {
		c.log.find(o.whole(Inputs, "samples", pt, "the samples are modified"), 0, 0, 0)
	}
	return out, nil
}

func (c *checker) unmodified(o *oracle, pt point, quantity string, got, want []float64) {
	if i := firstDifference(got, want); i >= 0 {
		f := o.whole(Inputs, quantity, pt, "the input is modified")
		f.I = i
		c.log.find(f, got[i], want[i], 0)
	}
}

// notFinite tells whether the oracle computes that, or reads its destination or leaves entries;
// destinations then hold 0 from here on.
func (c *checker) notFinite(o *oracle, pt point, out []float64) []float64 {
	zero, err0 := c.attempt(o, pt, 0)
	one, err1 := c.attempt(o, pt, 1)
	destination := math.IsNaN(o.fill) && err0 == nil && err1 == nil && mat.NotFinite(zero) < 0
	message := "not finite"
	if single := c.culprit(o, pt); !destination && len(single.batch) == 1 {
		pt, message = single, fmt.Sprintf("not finite at sample %d", single.batch[0])
	}
	for k, v := range out {
		if mat.IsFinite(v) {
			continue
		}
		f, want := o.finding(Finite, pt, k, cmp.Or(o.want, message)), 0.0
		if destination {
			want, f.Check, f.Message = zero[k], Overwrite, "the destination is read: overwrite it"
			if zero[k] == 0 && one[k] == 1 {
				f.Message = "the entry is not written"
			} else if math.Abs(one[k]-zero[k]-1) < 1e-9*(1+math.Abs(zero[k])) {
				f.Message = "the destination is added to: overwrite it"
			}
		}
		c.log.find(f, v, want, 0)
	}
	if destination {
		o.fill = 0
		return zero
	}
	o.bad = "its values are not finite"
	return nil
}

func guard(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &bilevel.PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
