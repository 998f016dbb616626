package auto

import "stable/mat/kernel"

// At returns entry i. It fails if there is none.
func (u Vec) At(i int) Num {
	if uint(i) >= uint(len(u.v)) {
		u.t.fail("At", "of entry %d of %d", i, len(u.v))
	}
	if u.t == nil {
		return Num{v: u.v[i]}
	}
	u.own("At")
	if v := u.v[i]; v-v != 0 {
		u.t.badSum("At", v, u.v)
	}
	return u.t.num(u.t.slice(u.id, i, i+1))
}

// Sum returns Σ u_i.
func (u Vec) Sum() Num {
	s := 0.0
	for _, v := range u.v {
		s += v
	}
	return u.reduced("Sum", opSum, s)
}

// reduced returns the sum s of u's entries.
func (u Vec) reduced(name string, code opcode, s float64) Num {
	if u.t == nil {
		return Num{v: s}
	}
	u.own(name)
	if s-s != 0 {
		u.t.badSum(name, s, u.v)
	}
	return u.t.reduced(code, u.id, 0, s)
}

// Dot returns Σ u_i·v_i.
func (u Vec) Dot(v Vec) Num { return u.paired("Dot", opDot, u, v) }

// SquaredNorm returns Σ u_i².
func (u Vec) SquaredNorm() Num { return u.paired("SquaredNorm", opDot, u, u) }

// WeightedSquares returns Σ w_i·u_i².
func (u Vec) WeightedSquares(w Vec) Num { return u.paired("WeightedSquares", opWeight, w, u) }

// paired returns a sum over the entries of a and b, of which u is one.
func (u Vec) paired(name string, code opcode, a, b Vec) Num {
	other := a
	if code == opDot {
		other = b
	}
	t := sharedVecs(name, u, other)
	s := 0.0
	if code == opDot {
		s = kernel.Dot(a.v, b.v)
	} else {
		s = weighted(a.v, b.v)
	}
	if t == nil {
		return Num{v: s}
	}
	if s-s != 0 {
		t.badSum(name, s, u.v, other.v)
	}
	return t.reduced(code, t.operand(a), t.operand(b), s)
}

// DotSparse returns Σ val_k·u_i with i = col_k, columns ascending. Both slices must stay until the
// loss is called again. It fails if they differ in length, or do not ascend within u.
func (u Vec) DotSparse(col []int32, val []float64) Num {
	u.t.sameLength("DotSparse", len(col), len(val))
	last, s := int32(-1), 0.0
	for k, c := range col {
		if c <= last || int(c) >= len(u.v) {
			u.t.fail("DotSparse", "has column %d behind %d, for %d entries", c, last, len(u.v))
		}
		s += val[k] * u.v[c]
		last = c
	}
	if u.t == nil {
		return Num{v: s}
	}
	u.own("DotSparse")
	if s-s != 0 {
		u.t.badSum("DotSparse", s, u.v, val)
	}
	n := u.t.reduced(opSparse, u.id, 0, s)
	u.t.nodes[n.id].c = int32(len(u.t.sparses))
	u.t.sparses = append(u.t.sparses, sparse{col, val})
	return n
}

// LogSumExp returns log Σ exp(u_i), for any u without overflow. It fails for an empty vector.
func (u Vec) LogSumExp() Num {
	if len(u.v) == 0 {
		u.t.fail("LogSumExp", "of an empty vector")
	}
	val := u.Value()
	top := val[0]
	for _, v := range val {
		top = max(top, v)
	}
	return u.Shift(-top).Exp().Sum().Log().Shift(top)
}
