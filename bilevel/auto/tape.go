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

// opcode is what an operation is to the sweeps: every function of one number is opUnary.
type opcode uint8

const (
	opConst    opcode = iota // number
	opLinear                 // number = p·number + q; for Div, number/q, with p = 1/q
	opUnary                  // number = φ(number), with p = φ′ and q = φ″ once it is evaluated
	opAdd                    // number = number + p·number
	opMul                    // number = number · number
	opQuotient               // number = number · number, with number a/c for value
	opCut                    // number = number, where structure is cut; see structure.go

	opAt     // number = entry b of a vector
	opSum    // number = Σ u_i
	opDot    // number = Σ u_i v_i
	opSparse // number = Σ val_k u_col(k)
	opSquare // number = Σ u_i²
	opWeight // number = Σ w_i u_i²

	opSlice    // vector = u[b:b+n]
	opMap      // vector = φ(u), entry by entry
	opVecAdd   // vector = u + p·v
	opVecMul   // vector = u ∘ v
	opVecScale // vector = p·u + q
	opNumScale // vector = number · u
	opStack    // vector = (numbers)
	opMatVec   // vector = W·u
	opMatTrans // vector = Wᵀ·u
	opVecCut   // vector = u, where structure is cut
)

// flags say what sweeps do with a value; see demand.go.
type flags uint8

const (
	valued  flags = 1 << iota // its value is read
	moving                    // its tangent is read
	turning                   // its adjt may be other than zero, and is wanted
	live                      // its adjoint is wanted
	carries                   // that of an operand is wanted; live, one bit on
	bends                     // its own second derivative is wanted
	linear                    // its derivative does not depend on operands
)

// node is one operation of the record. One whose result is a number is that number.
type node struct {
	code         opcode
	name         name
	flags        flags
	dep          uint8 // the leaves that it depends on
	a, b, c, out int32 // indices of operands, and of the result if that is a vector
	p, q         float64

	val  float64
	adj  float64 // ∂loss/∂val, times the weight of the sample
	tan  float64 // derivative of val in the direction of the sweep
	adjt float64 // derivative of adj in that direction
	class
	cut int32 // its cut copy, 0 for none
}

// vec is a vector of the record. A slice is nil where nothing reads it; tan also where it is zero.
type vec struct {
	val, adj, tan, adjt []float64
	buf                 []float64 // memory of tan
	p, q                []float64 // of opMap: φ′ and φ″
	class
	by    int32 // the node that made it, 0 for none
	cut   int32
	flags flags
	dep   uint8
	leaf  bool // entries of one leaf, as they stand
}

// sparse is a constant sparse vector, matrix the shape of the W of a product with it.
type sparse struct {
	col []int32
	val []float64
}

type matrix struct{ rows, cols, stride int }

type mode struct {
	order      uint8 // 0 the value, 1 the gradient, 2 second derivatives
	seed, want uint8 // the leaves that have tangents, and those whose adjoints are wanted
	structure  bool  // look for structure while recording
	eager      bool  // evaluate every operation when it is recorded
}

// The modes there are.
var (
	values   = mode{eager: true}
	gradX    = mode{order: 1, want: onX, eager: true}
	gradY    = mode{order: 1, want: onY, eager: true}
	gradXY   = mode{order: 1, want: onX | onY, eager: true}
	hessVec  = mode{order: 2, seed: onY, want: onY}
	crossVec = mode{order: 2, seed: onY, want: onX}
	hess     = mode{order: 2, seed: onY, want: onY, structure: true}
	cross    = mode{order: 2, seed: onX | onY, want: onX | onY, structure: true}
)

// tape holds the record of one evaluation. All of it is used again by the next one.
type tape struct {
	mode
	set     *mode    // what mode is a copy of
	both    uint8    // an operation that is not linear bends if it depends on these
	always  [8]flags // what is read of a value for sure, by what it depends on
	gen     uint32   // of the record; a handle carries it
	running bool
	done    int   // nodes before this one are evaluated
	low     int32 // the first node that is live; of those that a product reads, the first
	needs   flags
	weight  float64 // of the sample, in a product
	swept   bool    // demand has made the sweep back
	err     *Error
	x, y    Vec // what the loss is called with

	nodes    []node
	vecs     []vec
	sparses  []sparse
	matrices []matrix
	ids      []int32 // the numbers of opStack
	mem      arena

	structure
}

type loss struct {
	name   string
	sample func(x, y Vec, s bilevel.Sample) Num
	mean   func(x, y Vec) Num
}

// Node 0 is not used, so that 0 can say "none"; vectors 0 and 1 are x and y.
const (
	leafX = 0
	leafY = 1
)

// begin starts a record at (x, y). It writes only what changes: a read of a Vec waits for a write
// just before it.
func (t *tape) begin(x, y []float64, m *mode) {
	if m != t.set || m.structure {
		t.aim(m)
	}
	t.err = nil
	t.nodes, t.vecs = t.nodes[:1], t.vecs[:2]
	t.done, t.low = 1, 0
	t.sparses, t.matrices, t.ids = t.sparses[:0], t.matrices[:0], t.ids[:0]
	t.mem.reset()
	if &x[0] != &t.x.v[0] || &y[0] != &t.y.v[0] {
		t.move(x, y)
	}
	if t.mode.structure {
		t.structure.begin(t)
	}
}

// aim sets the mode.
func (t *tape) aim(m *mode) {
	t.set, t.mode = m, *m
	t.read(m)
	if t.nodes == nil {
		t.nodes = make([]node, 1, 16)
		t.x, t.y = Vec{t: t, id: leafX}, Vec{t: t, id: leafY}
		t.next()
	}
	t.vecs = t.vecs[:0]
	for id := range int32(2) {
		dep, f := onX<<id, flags(0)
		if t.both == never && dep&t.want != 0 {
			f = live
		}
		t.newVec(nil, dep, f).leaf = true
	}
	t.move(nothing, nothing)
}

var nothing = make([]float64, 1)

func (t *tape) move(x, y []float64) {
	t.vecs[leafX].val, t.vecs[leafY].val = x, y
	t.x.v, t.y.v = x, y
}

// next makes the handles of this evaluation bad, and those of the leaves good for the next.
func (t *tape) next() {
	t.gen++
	t.x.gen, t.y.gen = t.gen, t.gen
}

// record evaluates the loss at one sample, or its mean, and returns the node of the value, 0 for a
// constant. explain completes the error.
func (t *tape) record(l *loss, s bilevel.Sample, mean bool) (id int32, err error) {
	t.running = true
	defer t.end(&err)
	var r Num
	if mean {
		r = l.mean(t.x, t.y)
	} else {
		r = l.sample(t.x, t.y, s)
	}
	switch {
	case r.t == nil:
		if r.v-r.v != 0 {
			t.fail(nameResult, "is %v", r.v)
		}
		t.nodes[0].val = r.v
		r.id = 0
	case r.t != t:
		t.fail(nameResult, "is a value of another problem")
	case r.gen != t.gen:
		t.fail(nameResult, "is a value kept from an earlier evaluation")
	}
	switch {
	case t.eager || r.id == 0:
	case t.both != never:
		t.demand(r.id)
	default:
		t.catchUp()
	}
	t.running = false
	return r.id, nil
}

// end ends an evaluation; where it still runs, by a panic: that of fail, or the caller's.
func (t *tape) end(err *error) {
	t.next()
	if t.running {
		t.running = false
		t.err = caught(recover())
	}
	if t.err != nil {
		*err = t.err
	}
}

// explain completes the error of record: a mode that is not eager records once more in one that is,
// for the line of the operation.
func (t *tape) explain(err error, l *loss, s bilevel.Sample, mean bool) error {
	if !t.eager {
		if again := t.recordEager(l, s, mean); again != nil {
			return again
		}
	}
	if e, ok := err.(*Error); ok {
		e.Loss, e.Sample, e.Mean = l.name, s, mean
	}
	return err
}

func (t *tape) recordEager(l *loss, s bilevel.Sample, mean bool) error {
	m := t.mode
	m.eager = true
	t.begin(t.x.v, t.y.v, &m)
	_, err := t.record(l, s, mean)
	if err != nil {
		err = t.explain(err, l, s, mean)
	}
	t.set = nil
	return err
}

// emit adds a node. It sets fields in place, cheaper than a composite literal, which is copied.
func (t *tape) emit(code opcode, name name, a, b int32, dep uint8, f flags) *node {
	k := len(t.nodes)
	if k == cap(t.nodes) {
		t.nodes = slices.Grow(t.nodes, 1)
	}
	t.nodes = t.nodes[:k+1]
	n := &t.nodes[k]
	n.code, n.name, n.flags, n.dep = code, name, f, dep
	n.a, n.b = a, b
	n.adj, n.tan, n.adjt = 0, 0, 0
	n.cut = 0
	return n
}

func (t *tape) num(n *node) Num {
	if t.eager {
		t.evaluate(n)
	}
	return Num{t: t, id: int32(len(t.nodes) - 1), gen: t.gen}
}

func (t *tape) constant(v float64) int32 {
	n := t.emit(opConst, nameResult, 0, 0, 0, linear)
	n.val, n.class = v, class{}
	return int32(len(t.nodes) - 1)
}

// newVec adds a vector without memory for derivatives: buf, p and q are left from an earlier
// record.
func (t *tape) newVec(val []float64, dep uint8, f flags) *vec {
	if len(t.vecs) == cap(t.vecs) {
		t.vecs = slices.Grow(t.vecs, 1)
	}
	t.vecs = t.vecs[:len(t.vecs)+1]
	v := &t.vecs[len(t.vecs)-1]
	v.val, v.adj, v.tan, v.adjt = val, nil, nil, nil
	v.class, v.by, v.cut, v.dep, v.flags, v.leaf = class{}, 0, 0, dep, f, false
	return v
}

func (t *tape) lastVec() int32 { return int32(len(t.vecs) - 1) }

// vector adds the vector that the next node makes, with the memory that the mode needs.
func (t *tape) vector(n int, dep uint8, f flags, c class) int32 {
	v := t.newVec(t.mem.take(n), dep, f)
	v.class, v.by = c, int32(len(t.nodes))
	if f&live != 0 {
		v.adj = t.mem.zeros(n)
	}
	if t.order == 2 {
		if dep&t.seed != 0 {
			v.buf = t.mem.take(n)
		}
		if dep&t.want != 0 {
			v.adjt = t.mem.zeros(n)
		}
	}
	return t.lastVec()
}

// emitVec adds a node whose result is vector out, and returns its handle; p and q are parameters.
func (t *tape) emitVec(code opcode, name name, out, a, b, c int32, p, q float64) Vec {
	u := &t.vecs[out]
	n := t.emit(code, name, a, b, u.dep, u.flags)
	n.c, n.out, n.p, n.q = c, out, p, q
	if t.eager {
		t.evaluateVec(n)
	}
	return Vec{t: t, v: u.val, id: out, gen: t.gen}
}

// operand returns the index of a vector, which it adds to the record if it is a constant, s nil.
func (t *tape) operand(s *tape, id int32, val []float64) int32 {
	if s != nil {
		return id
	}
	t.newVec(val, 0, 0)
	return t.lastVec()
}
