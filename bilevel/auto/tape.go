package auto

import (
	"slices"

	"stable/bilevel"
)

// What a value depends on, as bits: the leaves, and cut values, see structure.go.
const (
	onX uint8 = 1 << iota
	onY
	onCut
)

// opcode is the kind of an operation. A number is a vector of length 1.
type opcode uint8

const (
	opLeaf     opcode = iota // x, y or a constant
	opSlice                  // u[b:b+n], in u's memory: the sweeps have nothing to do
	opLinear                 // p·u + q
	opMap                    // φ(u), entry by entry
	opAdd                    // u + p·v
	opMul                    // u ∘ v
	opCut                    // u, where structure is cut
	opStack                  // (numbers)
	opMatVec                 // W·v for W = u
	opMatTrans               // Wᵀ·v
	opSum                    // Σ u_i
	opDot                    // Σ u_i v_i
	opSparse                 // Σ val_k u_col(k)
	opWeight                 // Σ u_i v_i²
)

type node struct {
	code  opcode
	dep   uint8 // what it depends on
	leaf  bool  // entries of one leaf, as they stand
	a, b  int32 // the operands u and v
	c     int32 // the index of a constant, or of the first cut variable
	at    int32 // where its derivatives are in a side
	cut   int32 // its cut copy, 0 for none
	p     float64
	val   []float64
	slope []float64 // of opMap: φ′, then φ″
	class
}

// sparse is a constant sparse vector, matrix the shape of a W.
type sparse struct {
	col []int32
	val []float64
}

type matrix struct{ rows, cols, stride int }

// side has one derivative of each value that has it.
type side struct {
	v  []float64
	on uint8 // a bit for each set of what a value may depend on
}

func (s *side) fit(first, size int) {
	if n := size - len(s.v); n > 0 {
		s.v = append(s.v, make([]float64, n)...)
	}
	clear(s.v[first:size])
}

type mode struct {
	order          int   // 0 the value, 1 the gradient, 2 second derivatives
	seed           uint8 // the leaves with tangents
	structured     bool  // look for structure
	adj, tan, adjt uint8 // where the sides are on
}

var (
	values   = newMode(0, 0, 0, false)
	gradX    = newMode(1, 0, onX, false)
	gradY    = newMode(1, 0, onY, false)
	gradXY   = newMode(1, 0, onX|onY, false)
	hessVec  = newMode(2, onY, onY, false)
	crossVec = newMode(2, onY, onX, false)
	hess     = newMode(2, onY, onY, true)
	cross    = newMode(2, onX|onY, onX|onY, true)
)

// newMode is for the leaves with tangents, seed, and those with adjoints, want.
func newMode(order int, seed, want uint8, structured bool) *mode {
	m := &mode{order: order, seed: seed, structured: structured}
	for dep := range uint8(8) {
		bends := dep&seed != 0 && dep&want != 0
		if dep&want != 0 && (order == 1 || structured || bends) {
			m.adj |= 1 << dep // in products, of what can have second derivatives below it
		}
		if dep&seed != 0 {
			m.tan |= 1 << dep
		}
		if order == 2 && dep&want != 0 {
			m.adjt |= 1 << dep
		}
	}
	return m
}

// tape is the record of one evaluation; the next one uses its memory.
type tape struct {
	*mode
	gen     uint32 // of the record; a handle carries it
	running bool
	err     *Error
	value   float64 // of the loss

	nodes    []node
	sparses  []sparse
	matrices []matrix
	ids      []int32 // the numbers of opStack
	mem      arena

	leaves, size int  // entries of the leaves, and of all, in a side
	adj          side // ∂loss/∂value, times the weight of the sample
	tan          side // the derivative of the value in the direction of the sweep
	adjt         side // that of adj

	structure
}

type loss struct {
	name   string
	sample func(x, y Vec, s bilevel.Sample) Num
	mean   func(x, y Vec) Num
	size   uint64 // of the stream
}

// Node 0 means none. The leaves have the first derivatives of a side, summed up over a batch.
const (
	leafX int32 = 1
	leafY int32 = 2
)

func (t *tape) aim(m *mode, dx, dy int) {
	t.mode, t.leaves = m, dx+dy
	t.adj.on, t.tan.on, t.adjt.on = m.adj, m.tan, m.adjt
	if m.order > 0 {
		t.adj.fit(0, t.leaves)
	}
	if m.order > 1 {
		t.tan.fit(0, t.leaves)
		t.adjt.fit(0, t.leaves)
	}
}

func (t *tape) begin(x, y []float64) {
	t.err = nil
	t.nodes, t.size = append(t.nodes[:0], node{}), 0
	t.sparses, t.matrices, t.ids = t.sparses[:0], t.matrices[:0], t.ids[:0]
	t.mem.k, t.mem.used = 0, 0
	for id, v := range [2][]float64{x, y} {
		o := t.emit(opLeaf, v, 0, 0, class{})
		o.leaf, o.dep = true, onX<<id
	}
	t.cuts, t.variables, t.pairs, t.cutting = t.cuts[:0], 0, false, false
	if t.structured && t.seed&onX != 0 {
		t.nodes[leafX].class = class{isEntry, 0, -1}
	}
	if t.structured {
		t.nodes[leafY].class = class{isEntry, -1, 0}
	}
}

// record evaluates the loss at a sample, or its mean, and returns its node, 0 for a constant.
func (t *tape) record(l *loss, x, y []float64, s bilevel.Sample, mean bool) (id int32, err error) {
	t.begin(x, y)
	t.running = true
	defer t.end(&err, l, s, mean)
	vx, vy := Vec{handle{t, leafX, t.gen}, x}, Vec{handle{t, leafY, t.gen}, y}
	var r Num
	if mean {
		r = l.mean(vx, vy)
	} else {
		r = l.sample(vx, vy, s)
	}
	switch {
	case r.t == nil && r.v-r.v != 0:
		t.outside("the result", "is %v", r.v)
	case r.t != nil && r.t != t:
		t.fail("the result", "is a value of another problem")
	case r.t != nil && r.gen != t.gen:
		t.fail("the result", "is a value kept from an earlier evaluation")
	}
	t.running = false
	t.value = r.v
	return r.id, nil
}

// end makes the handles of an evaluation bad; if it still runs, it ends by a panic: that of fail,
// or another, which goes on, as Goexit does.
func (t *tape) end(err *error, l *loss, s bilevel.Sample, mean bool) {
	t.gen++
	if t.running {
		t.running = false
		v, ok := recover(), false
		if t.err, ok = v.(*Error); !ok && v != nil {
			panic(v)
		}
	}
	if e := t.err; e != nil {
		e.Loss, e.Sample, e.Mean = l.name, s, mean
		*err = e
	}
}

// node adds a node. A composite literal would be copied.
func (t *tape) node(code opcode, val []float64, dep uint8, a, b int32) *node {
	k := len(t.nodes)
	if k == cap(t.nodes) {
		t.nodes = slices.Grow(t.nodes, 1)
	}
	t.nodes = t.nodes[:k+1]
	o := &t.nodes[k]
	o.code, o.dep, o.leaf, o.a, o.b, o.c, o.cut, o.p = code, dep, false, a, b, 0, 0, 0
	o.val, o.slope, o.class = val, nil, class{}
	return o
}

func (t *tape) emit(code opcode, val []float64, a, b int32, c class) *node {
	o := t.node(code, val, t.nodes[a].dep|t.nodes[b].dep, a, b)
	o.at, o.class = int32(t.size), c
	t.size += len(val)
	return o
}

func (t *tape) last() handle { return handle{t, int32(len(t.nodes) - 1), t.gen} }

func (t *tape) num(o *node) Num { return Num{t.last(), o.val[0]} }

func (t *tape) vec(o *node) Vec { return Vec{t.last(), o.val} }

func (t *tape) operand(u Vec) int32 {
	if u.t != nil {
		return u.id
	}
	t.node(opLeaf, u.v, 0, 0, 0)
	return t.last().id
}

// arena hands out memory; k, used = 0, 0 takes it back. Blocks never move, so slices stay good.
type arena struct {
	blocks  [][]float64
	k, used int
}

const blockSize = 4096

func (a *arena) take(n int) []float64 {
	for {
		if a.k == len(a.blocks) {
			a.blocks = append(a.blocks, make([]float64, max(n, blockSize)))
		}
		if b := a.blocks[a.k]; n <= len(b)-a.used {
			s := b[a.used : a.used+n : a.used+n]
			a.used += n
			return s
		}
		a.k++
		a.used = 0
	}
}

func (a *arena) zeros(n int) []float64 {
	s := a.take(n)
	clear(s)
	return s
}

func (t *tape) slice(u int32, i, j int) *node {
	s := t.nodes[u]
	o := t.node(opSlice, s.val[i:j:j], s.dep, u, 0)
	o.at, o.leaf, o.class = s.at+int32(i), s.leaf, s.class
	if o.x >= 0 {
		o.x += int32(i)
	}
	if o.y >= 0 {
		o.y += int32(i)
	}
	return o
}

func (t *tape) linear(u int32, p, q float64) *node {
	v := t.nodes[u].val
	o := t.emit(opLinear, t.mem.take(len(v)), u, 0, t.nodes[u].class)
	o.p = p
	affine(o.val, p, v, q)
	return o
}

func (t *tape) add(u, v int32, s float64) *node {
	var c class
	if t.structured {
		u, v, c = t.summands(u, v)
	}
	o := t.emit(opAdd, t.mem.take(len(t.nodes[u].val)), u, v, c)
	o.p = s
	added(o.val, t.nodes[u].val, s, t.nodes[v].val)
	return o
}

func (t *tape) mul(u, v int32) *node {
	var c class
	if t.structured {
		u, v, c = t.factors(u, v)
	}
	o := t.emit(opMul, t.mem.take(len(t.nodes[u].val)), u, v, c)
	multiplied(o.val, t.nodes[u].val, t.nodes[v].val)
	return o
}

// mapped is φ(u), entry by entry, with the derivatives that the mode needs.
func (t *tape) mapped(name string, u int32, f function, r float64, vector bool) *node {
	if t.structured {
		u = t.curved(u)
	}
	in, dep := t.nodes[u].val, t.nodes[u].dep
	first := (t.adj.on|t.tan.on|t.adjt.on)>>dep&1 != 0
	second := t.adj.on&t.adjt.on>>dep&1 != 0 && dep&t.seed == t.seed
	n := len(in)
	mem := t.mem.take(3 * n)
	val, slope := mem[:n:n], mem[n:]
	for i, a := range in {
		v, p, q := f(a, r)
		if !second {
			q = 0
		}
		if !first {
			p = 0
		}
		val[i], slope[i], slope[n+i] = v, p, q
		if s := v + p + q; s-s != 0 {
			if !vector {
				i = -1
			}
			t.badMap(name, i, a, v, p, q)
		}
	}
	o := t.emit(opMap, val, u, 0, t.nodes[u].class)
	o.slope = slope
	return o
}

// reduced is a sum over the entries of u, and of v if that is not 0; the caller has computed it.
func (t *tape) reduced(code opcode, u, v int32, sum float64) Num {
	c := t.nodes[u].class
	if t.structured && v != 0 {
		if code == opWeight {
			v = t.curved(v)
		}
		u, v, c = t.factors(u, v)
	}
	if c.kind == isEntry {
		c.kind = isSum
	}
	o := t.emit(code, t.mem.take(1), u, v, c)
	o.val[0] = sum
	return t.num(o)
}
