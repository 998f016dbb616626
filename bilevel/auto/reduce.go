package auto

import "stable/mat/kernel"

// At returns entry i. It fails if there is none.
func (u Vec) At(i int) Num {
	if u.t == nil {
		return Num{v: u.v[i]}
	}
	u.t.ownVec("At", u)
	if uint(i) >= uint(len(u.v)) {
		u.t.fail("At", "of entry %d of %d", i, len(u.v))
	}
	out := u.t.reduced("At", u.v[i], u.t.vecs[u.id].dep, u.t.entryClass(u.id, i), u, Vec{})
	u.t.emit(opAt, out.id, u.id, int32(i))
	return out
}

// Sum returns Σ u_i.
func (u Vec) Sum() Num {
	s := 0.0
	for _, v := range u.v {
		s += v
	}
	if u.t == nil {
		return Num{v: s}
	}
	u.t.ownVec("Sum", u)
	v := &u.t.vecs[u.id]
	out := u.t.reduced("Sum", s, v.dep, v.class.summed(), u, Vec{})
	u.t.emit(opSum, out.id, u.id, 0)
	return out
}

// Dot returns Σ u_i·v_i. It fails if the lengths differ.
func (u Vec) Dot(v Vec) Num {
	t := sharedVec("Dot", u, v)
	sameLength("Dot", t, len(u.v), len(v.v))
	s := kernel.Dot(u.v, v.v)
	if t == nil {
		return Num{v: s}
	}
	a, b := t.operand(u), t.operand(v)
	var c class
	if t.mode.structure {
		a, b, c = t.paired(a, b)
	}
	out := t.reduced("Dot", s, t.vecs[a].dep|t.vecs[b].dep, c.summed(), u, v)
	t.emit(opDot, out.id, a, b)
	return out
}

// DotSparse returns Σ val_k·u_i with i = col_k: the product with a constant sparse vector, whose
// columns ascend. It keeps both slices until the loss returns. It fails if they differ in length,
// or do not ascend within u.
func (u Vec) DotSparse(col []int32, val []float64) Num {
	sameLength("DotSparse", u.t, len(col), len(val))
	s, last := 0.0, int32(-1)
	for k, c := range col {
		if c <= last || int(c) >= len(u.v) {
			if u.t == nil {
				panic("auto: DotSparse: columns must ascend within the vector")
			}
			u.t.fail("DotSparse", "has column %d behind %d, for %d entries", c, last, len(u.v))
		}
		s += val[k] * u.v[c]
		last = c
	}
	if u.t == nil {
		return Num{v: s}
	}
	t := u.t
	t.ownVec("DotSparse", u)
	v := &t.vecs[u.id]
	out := t.reduced("DotSparse", s, v.dep, v.class.summed(), u, Vec{v: val})
	t.sparses = append(t.sparses, sparse{col, val})
	t.emit(opSparse, out.id, u.id, int32(len(t.sparses)-1))
	return out
}

// SquaredNorm returns Σ u_i².
func (u Vec) SquaredNorm() Num {
	s := kernel.Dot(u.v, u.v)
	if u.t == nil {
		return Num{v: s}
	}
	u.t.ownVec("SquaredNorm", u)
	v := &u.t.vecs[u.id]
	out := u.t.reduced("SquaredNorm", s, v.dep, v.class.summed(), u, Vec{})
	u.t.emit(opSquare, out.id, u.id, 0)
	return out
}

// WeightedSquares returns Σ w_i·u_i². It fails if the lengths differ.
func (u Vec) WeightedSquares(w Vec) Num {
	t := sharedVec("WeightedSquares", u, w)
	sameLength("WeightedSquares", t, len(u.v), len(w.v))
	s := 0.0
	wv := w.v[:len(u.v)]
	for i, v := range u.v {
		s += wv[i] * v * v
	}
	if t == nil {
		return Num{v: s}
	}
	a, b := t.operand(w), t.operand(u)
	var c class
	if t.mode.structure {
		a, b, c = t.paired(a, b)
	}
	out := t.reduced("WeightedSquares", s, t.vecs[a].dep|t.vecs[b].dep, c.summed(), u, w)
	t.emit(opWeight, out.id, a, b)
	return out
}

// LogSumExp returns log Σ exp(u_i), for any u without overflow; its gradient is the softmax of u.
// It fails for an empty vector.
func (u Vec) LogSumExp() Num {
	if len(u.v) == 0 && u.t != nil {
		u.t.fail("LogSumExp", "of an empty vector")
	}
	top := u.v[0]
	for _, v := range u.v {
		top = max(top, v)
	}
	return u.Shift(-top).Exp().Sum().Log().Shift(top)
}

// reduced records a number made of vectors.
func (t *tape) reduced(op string, s float64, dep uint8, c class, u, v Vec) Num {
	if s-s != 0 {
		t.badResult(op, s, u.v, v.v)
	}
	return Num{t: t, v: s, id: t.number(s, dep, c), gen: t.gen}
}
