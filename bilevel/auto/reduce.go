package auto

import "stable/mat/kernel"

// At returns entry i. It fails if there is none.
func (u Vec) At(i int) Num {
	t := u.t
	if uint(i) >= uint(len(u.v)) {
		t.fail(nameAt, "of entry %d of %d", i, len(u.v))
	}
	if t == nil {
		return Num{v: u.v[i]}
	}
	t.own(nameAt, u.gen)
	v := &t.vecs[u.id]
	o := t.emit(opAt, nameAt, u.id, int32(i), v.dep, t.straight(v.flags, v.dep))
	if t.mode.structure {
		o.class = v.class.moved(i)
	}
	return t.num(o)
}

// Sum returns Σ u_i.
func (u Vec) Sum() Num {
	t := u.t
	if t == nil {
		s := 0.0
		for _, v := range u.v {
			s += v
		}
		return Num{v: s}
	}
	t.own(nameSum, u.gen)
	v := &t.vecs[u.id]
	o := t.emit(opSum, nameSum, u.id, 0, v.dep, t.straight(v.flags, v.dep))
	if t.mode.structure {
		o.class = v.class.summed()
	}
	return t.num(o)
}

// Dot returns Σ u_i·v_i.
func (u Vec) Dot(v Vec) Num {
	t := shared(nameDot, u.t, u.gen, v.t, v.gen)
	sameLength(nameDot, t, len(u.v), len(v.v))
	if t == nil {
		return Num{v: kernel.Dot(u.v, v.v)}
	}
	a, b := t.operand(u.t, u.id, u.v), t.operand(v.t, v.id, v.v)
	return t.num(t.reduced(opDot, nameDot, a, b))
}

func (t *tape) reduced(code opcode, name name, a, b int32) *node {
	var c class
	if t.mode.structure {
		a, b, c = t.paired(a, b)
	}
	m, n := &t.vecs[a], &t.vecs[b]
	dep, f := m.dep|n.dep, m.flags|n.flags
	if m.dep != 0 && n.dep != 0 || code == opWeight && n.dep != 0 {
		f = t.bent(f, dep)
	} else {
		f = t.straight(f, dep)
	}
	o := t.emit(code, name, a, b, dep, f)
	if t.mode.structure {
		o.class = c.summed()
	}
	return o
}

// DotSparse returns Σ val_k·u_i with i = col_k, columns ascending. Both slices must stay until the
// loss is called again. It fails if they differ in length, or do not ascend within u.
func (u Vec) DotSparse(col []int32, val []float64) Num {
	t := u.t
	sameLength(nameDotSparse, t, len(col), len(val))
	last := int32(-1)
	for _, c := range col {
		if c <= last || int(c) >= len(u.v) {
			t.fail(nameDotSparse, "has column %d behind %d, for %d entries", c, last, len(u.v))
		}
		last = c
	}
	if t == nil {
		s := 0.0
		for k, c := range col {
			s += val[k] * u.v[c]
		}
		return Num{v: s}
	}
	t.own(nameDotSparse, u.gen)
	v := &t.vecs[u.id]
	t.sparses = append(t.sparses, sparse{col, val})
	o := t.emit(opSparse, nameDotSparse, u.id, int32(len(t.sparses)-1), v.dep, t.straight(v.flags, v.dep))
	if t.mode.structure {
		o.class = v.class.summed()
	}
	return t.num(o)
}

// SquaredNorm returns Σ u_i².
func (u Vec) SquaredNorm() Num {
	t := u.t
	if t == nil {
		return Num{v: kernel.Dot(u.v, u.v)}
	}
	t.own(nameSquaredNorm, u.gen)
	v := &t.vecs[u.id]
	o := t.emit(opSquare, nameSquaredNorm, u.id, 0, v.dep, t.bent(v.flags, v.dep))
	if t.mode.structure {
		o.class = v.class.summed()
	}
	return t.num(o)
}

// WeightedSquares returns Σ w_i·u_i².
func (u Vec) WeightedSquares(w Vec) Num {
	t := shared(nameWeightedSquares, u.t, u.gen, w.t, w.gen)
	sameLength(nameWeightedSquares, t, len(u.v), len(w.v))
	if t == nil {
		return Num{v: weighted(w.v, u.v)}
	}
	a, b := t.operand(w.t, w.id, w.v), t.operand(u.t, u.id, u.v)
	return t.num(t.reduced(opWeight, nameWeightedSquares, a, b))
}

// LogSumExp returns log Σ exp(u_i), for any u without overflow. It fails for an empty vector.
func (u Vec) LogSumExp() Num {
	if len(u.v) == 0 {
		u.t.fail(nameLogSumExp, "of an empty vector")
	}
	val := u.Value()
	top := val[0]
	for _, v := range val {
		top = max(top, v)
	}
	return u.Shift(-top).Exp().Sum().Log().Shift(top)
}
