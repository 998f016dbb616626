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
	opUnary opcode = iota // number = φ(number), with p = φ′ and q = φ″
	opAdd                 // number = number + p·number
	opMul                 // number = number · number
	opCut                 // number = number, where structure is cut; see structure.go

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
	opVecScale // vector = p·u, plus a constant
	opNumScale // vector = number · u
	opStack    // vector = (numbers)
	opMatVec   // vector = W·u
	opMatTrans // vector = Wᵀ·u
	opVecCut   // vector = u, where structure is cut
)

// operation is one operation of the record: out, a and b are indices of numbers or of vectors.
type operation struct {
	code         opcode
	out, a, b, c int32
	p, q         float64
}

// num is a number of the record.
type num struct {
	val  float64
	adj  float64 // ∂loss/∂val, times the weight of the sample
	tan  float64 // derivative of val in the direction of the sweep
	adjt float64 // derivative of adj in that direction
	class
	by  int32 // the operation that made it
	cut int32 // its cut copy, 0 for none
	dep uint8 // the leaves that it depends on
}

// vec is a vector of the record. A slice is nil where nothing reads it: tan also where it is zero.
type vec struct {
	val, adj, tan, adjt []float64
	buf                 []float64 // memory of tan
	p, q                []float64 // of opMap: φ′ and φ″
	class
	by     int32
	cut    int32
	dep    uint8
	affine bool // in the leaves
	leaf   bool // entries of one leaf, as they stand
}

// sparse is a constant sparse vector, matrix the shape of the W of a product with it.
type sparse struct {
	col []int32
	val []float64
}

type matrix struct{ rows, cols, stride int }

// mode says what is to be computed of a record.
type mode struct {
	order      int   // 0 the value, 1 the gradient, 2 second derivatives
	seed, want uint8 // the leaves that have tangents, and those whose adjoints are wanted
	structure  bool  // look for structure while recording
}

// tape holds the record of one evaluation. All of it is used again by the next one.
type tape struct {
	mode
	gen     uint32 // of the record; a handle carries it
	running bool
	err     *Error

	ops      []operation
	nums     []num
	vecs     []vec
	sparses  []sparse
	matrices []matrix
	ids      []int32 // the numbers of opStack
	mem      arena

	structure
}

// arena hands out memory that lives until reset. Blocks never move, so slices of them stay good.
type arena struct {
	blocks  [][]float64
	k, used int
}

const blockSize = 4096

func (a *arena) reset() { a.k, a.used = 0, 0 }

// take returns n numbers, of any value.
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

// zeros returns n zeros.
func (a *arena) zeros(n int) []float64 {
	s := a.take(n)
	clear(s)
	return s
}

// loss is f or g, as the caller wrote it.
type loss struct {
	name   string
	sample func(x, y Vec, s bilevel.Sample) Num
	mean   func(x, y Vec) Num
}

// Number 0 is not used, so that 0 can say "none"; vectors 0 and 1 are x and y.
const (
	leafX = 0
	leafY = 1
)

// begin starts a record at (x, y).
func (t *tape) begin(x, y []float64, m mode) {
	t.mode = m
	t.gen++
	t.err = nil
	t.ops, t.nums, t.vecs = t.ops[:0], t.nums[:0], t.vecs[:0]
	t.sparses, t.matrices, t.ids = t.sparses[:0], t.matrices[:0], t.ids[:0]
	t.mem.reset()
	t.number(0, 0, class{})
	v := t.newVec()
	v.val, v.dep, v.affine, v.leaf = x, onX, true, true
	v = t.newVec()
	v.val, v.dep, v.affine, v.leaf = y, onY, true, true
	if m.structure {
		t.structure.begin(t)
	}
}

// record evaluates the loss at one sample, or its mean, and returns the value and the number that
// holds it, 0 for a constant.
func (t *tape) record(l *loss, s bilevel.Sample, mean bool) (value float64, id int32, err error) {
	t.running = true
	done := false
	defer func() {
		t.running = false
		if !done {
			t.err = caught(recover()) // the panic of fail, which has unwound the caller's function
		}
		if t.err != nil {
			t.err.Loss, t.err.Sample, t.err.Mean = l.name, s, mean
			err = t.err
		}
	}()
	x := Vec{t: t, id: leafX, gen: t.gen, v: t.vecs[leafX].val}
	y := Vec{t: t, id: leafY, gen: t.gen, v: t.vecs[leafY].val}
	var r Num
	if mean {
		r = l.mean(x, y)
	} else {
		r = l.sample(x, y, s)
	}
	if r.t == nil {
		if r.v-r.v != 0 {
			t.fail("the result", "is %v", r.v)
		}
		done = true
		return r.v, 0, nil
	}
	switch {
	case r.t != t:
		t.fail("the result", "is a value of another problem")
	case r.gen != t.gen:
		t.fail("the result", "is a value kept from an earlier evaluation")
	}
	done = true
	return r.v, r.id, nil
}

// The three below extend a slice by an element and set its fields in place: a composite literal
// would be built aside and copied, which costs more than the rest of the operation.

// number adds a number that the operation added next makes.
func (t *tape) number(v float64, dep uint8, c class) int32 {
	if len(t.nums) == cap(t.nums) {
		t.nums = slices.Grow(t.nums, 1)
	}
	t.nums = t.nums[:len(t.nums)+1]
	n := &t.nums[len(t.nums)-1]
	n.val, n.adj, n.tan, n.adjt = v, 0, 0, 0
	n.class, n.by, n.cut, n.dep = c, int32(len(t.ops)), 0, dep
	return int32(len(t.nums) - 1)
}

// emit adds an operation and returns it; c, p and q are 0.
func (t *tape) emit(code opcode, out, a, b int32) *operation {
	if len(t.ops) == cap(t.ops) {
		t.ops = slices.Grow(t.ops, 1)
	}
	t.ops = t.ops[:len(t.ops)+1]
	o := &t.ops[len(t.ops)-1]
	o.code, o.out, o.a, o.b, o.c, o.p, o.q = code, out, a, b, 0, 0, 0
	return o
}

// newVec adds a vector without memory.
func (t *tape) newVec() *vec {
	if len(t.vecs) == cap(t.vecs) {
		t.vecs = slices.Grow(t.vecs, 1)
	}
	t.vecs = t.vecs[:len(t.vecs)+1]
	v := &t.vecs[len(t.vecs)-1]
	*v = vec{}
	return v
}

func (t *tape) lastVec() int32 { return int32(len(t.vecs) - 1) }

// vector adds a vector that the operation added next makes, with the memory that the mode needs.
func (t *tape) vector(n int, dep uint8, affine bool, c class) int32 {
	v := t.newVec()
	v.val, v.dep, v.affine, v.class, v.by = t.mem.take(n), dep, affine, c, int32(len(t.ops))
	wanted, moves := dep&t.want != 0, dep&t.seed != 0
	switch t.order {
	case 1:
		if wanted {
			v.adj = t.mem.zeros(n)
		}
	case 2:
		if moves {
			v.buf = t.mem.take(n)
		}
		if wanted {
			v.adjt = t.mem.zeros(n)
			// The second derivatives below an affine vector are zero.
			if moves && (!affine || t.mode.structure) {
				v.adj = t.mem.zeros(n)
			}
		}
	}
	return t.lastVec()
}

// operand returns the index of u, which it adds to the record if it is a constant.
func (t *tape) operand(u Vec) int32 {
	if u.t != nil {
		return u.id
	}
	v := t.newVec()
	v.val, v.affine, v.by = u.v, true, -1
	return t.lastVec()
}
