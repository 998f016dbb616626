package chol

import (
	"math"
	"slices"

	"stable/mat"
	"stable/mat/kernel"
)

const condExact = 16 // up to this order both matrices are formed

// Cond returns κ₁ = ‖A‖₁·‖A⁻¹‖₁ ≥ 1, 1 for order 0; beyond order 16, an estimate from below (see the package
// comment). It panics without a factor. About n³ flops up to order 16, at most 20n² above. (Higham, Accuracy
// and Stability, section 15.3, with the two best vertices of each gradient; LAPACK dpocon.)
func (c *Cholesky) Cond() float64 {
	c.need("chol: Cond: no factor")
	if c.f.Rows <= condExact {
		c.needUpper()
		return max(1, c.exact())
	}
	return max(1, c.estimate())
}

func (c *Cholesky) exact() float64 {
	var memory [condExact * condExact]float64
	s := mat.Sym{N: c.f.Rows, Stride: condExact, Data: memory[:]}
	for k := range s.N { // A = Σ u_k·u_kᵀ, with u_k row k of U
		u := c.f.Row(k)
		for i := k; i < s.N; i++ {
			mat.Axpy(s.Row(i)[k:], u[i], u[k:i+1])
		}
	}
	norm := c.norm1(&s)
	c.Inverse(&s)
	return norm * c.norm1(&s)
}

func (c *Cholesky) norm1(s *mat.Sym) float64 {
	sums, norm := c.work[:s.N], 0.0
	clear(sums)
	for i := range sums {
		for j, v := range s.Row(i)[:i] {
			v = math.Abs(v)
			sums[i] += v
			sums[j] += v
		}
		sums[i] += math.Abs(s.At(i, i))
	}
	for _, v := range sums {
		norm = max(norm, v)
	}
	return norm
}

// estimate returns the product of lower bounds of both norms. For B = A or A⁻¹, a sum of w·wᵀ over the
// rows of U or the columns of U⁻¹, ‖Bx‖₁ is convex: from the longest w, or the column at U's least
// pivot, it climbs to the two columns of B that the gradient B·sign(w) names, of which the first has
// ‖·‖₁ ≥ ‖w‖₁²/n. A⁻¹ hides more: there a random sum of w climbs, too.
func (c *Cholesky) estimate() float64 {
	c.trim()
	return c.normA() * c.normInverse()
}

// condStrip rows of the triangle are multiplied at once.
const condStrip = 16

// trim sets the other triangle to 0 beside the diagonal, as far as strips reach, and goes on beyond
// the order, where all is 0, as a unit matrix to a multiple of 4.
func (c *Cholesky) trim() {
	f, ld, n := c.f.Data, c.f.Stride, c.f.Rows
	for i := range n {
		r := f[i*ld:][:n]
		switch {
		case !c.lower && i >= condStrip:
			*(*[condStrip]float64)(r[i-condStrip:]) = [condStrip]float64{}
		case !c.lower:
			clear(r[:i])
		case i+condStrip < n:
			*(*[condStrip]float64)(r[i+1:]) = [condStrip]float64{}
		default:
			clear(r[i+1:])
		}
	}
	for i := n; i%4 > 0; i++ {
		f[i*ld+i] = 1
	}
	c.upper = !c.lower
}

func (c *Cholesky) normA() (norm float64) {
	f, ld, n := c.f.Data, c.f.Stride, c.f.Rows
	along, across := 1, ld // U's steps
	if c.lower {
		along, across = ld, 1
	}
	x, y := c.work[:n], c.work[n:2*n]
	i := c.longest()
	clear(x[:i])
	pull(x[i:], f[i*(ld+1):], along)
	signs(x, n, 1)
	if c.lower {
		c.timesTrans(y, x)
		c.times(x, y)
	} else {
		c.times(y, x)
		c.timesTrans(x, y)
	}
	j, k := top(x, n, 1)
	for _, j := range [2]int{j, k} {
		y = c.work[n:][:j+1]
		pull(y, f[j*along:], across)
		if c.lower {
			c.times(x, y)
		} else {
			c.timesTrans(x, y)
		}
		norm = max(norm, sum(x))
	}
	return norm
}

func pull(x, from []float64, step int) {
	for i := range x {
		x[i] = from[i*step]
	}
}

// longest returns the index of U's row of largest norm.
func (c *Cholesky) longest() (most int) {
	f, ld, n := c.f.Data, c.f.Stride, (c.f.Rows+3)/4*4
	norms := c.work[:n]
	for i := 0; i < n; i += 4 {
		var s0, s1, s2, s3 float64
		at := i * (ld + 1)
		if c.lower {
			for range n - i {
				r := (*[4]float64)(f[at:])
				s0 += r[0] * r[0]
				s1 += r[1] * r[1]
				s2 += r[2] * r[2]
				s3 += r[3] * r[3]
				at += ld
			}
		} else {
			r0, r1, r2, r3 := f[at:][:n-i], f[at+ld:][:n-i], f[at+2*ld:][:n-i], f[at+3*ld:][:n-i]
			for j, v := range r0 {
				s0 += v * v
				s1 += r1[j] * r1[j]
				s2 += r2[j] * r2[j]
				s3 += r3[j] * r3[j]
			}
		}
		norms[i], norms[i+1], norms[i+2], norms[i+3] = s0, s1, s2, s3
	}
	most, _ = top(norms, c.f.Rows, 1)
	return most
}

// times sets y to the triangle times x, which is 0 beyond its length.
func (c *Cholesky) times(y, x []float64) {
	f, ld, n := c.f.Data, c.f.Stride, c.f.Rows
	for i := 0; i < n; i += condStrip {
		from, to := i, len(x)
		if c.lower {
			from, to = 0, min(i+condStrip, to)
		}
		kernel.MulVec(y[i:min(i+condStrip, n)], f[i*ld+from:], ld, x[from:to])
	}
}

// timesTrans is times for minus the transposed triangle.
func (c *Cholesky) timesTrans(y, x []float64) {
	f, ld, n := c.f.Data, c.f.Stride, c.f.Rows
	clear(y)
	for i := 0; i < len(x); i += condStrip {
		from, to := i, n
		if c.lower {
			from, to = 0, min(i+condStrip, n)
		}
		kernel.SubRows(y[from:to], x[i:min(i+condStrip, len(x))], f[i*ld+from:], ld)
	}
}

func (c *Cholesky) normInverse() float64 {
	b := c.block()
	clear(b.x)
	m, least, random := 0, math.Inf(1), uint64(1)
	for i := range b.n {
		if v := c.f.Data[i*(c.f.Stride+1)]; v < least {
			m, least = i, v
		}
		random = random*6364136223846793005 + 1442695040888963407 // Knuth, TAOCP 3.3.4
		b.x[b.next+i*b.step] = float64(int64(random))
	}
	b.x[m*b.step] = 1
	c.backs(&b, m+1, b.n)
	signs(b.x, b.n, b.step)
	signs(b.x[b.next:], b.n, b.step)
	c.forwards(&b, 0, 0)
	c.backs(&b, b.n, b.n)
	var columns, ends [4]int
	count := 0
	for r := range 2 {
		j, k := top(b.x[r*b.next:], b.n, b.step)
		for _, j := range [2]int{j, k} {
			if !slices.Contains(columns[:count], j) {
				columns[count], ends[count] = j, b.n
				count++
			}
		}
	}
	clear(b.x)
	for r, j := range columns[:count] {
		b.x[r*b.next+j*b.step] = 1
	}
	c.forwards(&b, columns[:count]...)
	c.backs(&b, ends[:count]...)
	return b.norm()
}

// A block has four vectors of n entries: vector r has entry i at x[r·next+i·step].
type block struct {
	x             []float64
	n, next, step int
}

func (c *Cholesky) block() block {
	n := c.f.Rows
	if c.lower || kernel.Lanes() < 4 {
		return block{c.work[:4*n], n, n, 1}
	}
	return block{c.work[:(n+3)/4*16], n, 1, 4}
}

// forwards multiplies vectors by U⁻ᵀ; vector r is 0 before from[r].
func (c *Cholesky) forwards(b *block, from ...int) {
	f, ld := c.f.Data, c.f.Stride
	if b.step == 4 {
		kernel.Forward4(b.x, f, ld, slices.Min(from))
		return
	}
	for r, i := range from {
		x := b.x[r*b.n:][:b.n]
		if c.lower {
			kernel.SolveLower(x[i:], f[i*ld+i:], ld)
		} else {
			kernel.SolveUpperTrans(x[i:], f[i*ld+i:], ld)
		}
	}
}

// backs multiplies vectors by U⁻¹; vector r is 0 from to[r] on.
func (c *Cholesky) backs(b *block, to ...int) {
	f, ld := c.f.Data, c.f.Stride
	if b.step == 4 {
		kernel.Back4(b.x, f, ld)
		return
	}
	for r, i := range to {
		x := b.x[r*b.n:][:i]
		if c.lower {
			kernel.SolveLowerTrans(x, f, ld)
		} else {
			kernel.SolveUpper(x, f, ld)
		}
	}
}

// norm returns the largest ‖·‖₁.
func (b *block) norm() float64 {
	if n := b.n; b.step == 1 {
		return max(sum(b.x[:n]), sum(b.x[n:2*n]), sum(b.x[2*n:3*n]), sum(b.x[3*n:]))
	}
	var s0, s1, s2, s3 float64
	for x := b.x; len(x) >= 4; x = x[4:] {
		s0 += math.Abs(x[0])
		s1 += math.Abs(x[1])
		s2 += math.Abs(x[2])
		s3 += math.Abs(x[3])
	}
	return max(s0, s1, s2, s3)
}

func signs(x []float64, n, step int) {
	for at := range n {
		at *= step
		x[at] = math.Copysign(1, x[at])
	}
}

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += math.Abs(v)
	}
	return s
}

// top returns the indices of the two largest of n entries.
func top(x []float64, n, step int) (j, k int) {
	most, next := -1.0, -1.0
	for i := range n {
		switch v := math.Abs(x[i*step]); {
		case v > most:
			k, next = j, most
			j, most = i, v
		case v > next:
			k, next = i, v
		}
	}
	return j, k
}
