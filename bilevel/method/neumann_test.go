package method

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/mat"
)

// moments are E[a aᵀ], E[s aᵀ], E[s sᵀ] of a random a and of the sum s of it and its ancestors.
type moments struct{ aa, sa, ss [][]float64 }

// neumannTruth is what the first two moments follow from: the finite sum's Hessians and f_y.
type neumannTruth struct {
	m    [][][]float64 // I − η g_yy(·; φ), one a φ
	mean [][]float64   // their mean
	fy   []float64     // E f_y
	ff   [][]float64   // E f_y f_yᵀ
}

func newNeumannTruth(t *testing.T, w *wavy, x, y []float64, eta float64) neumannTruth {
	var n neumannTruth
	dy := w.Dy
	n.mean, n.ff, n.fy = square(dy), square(dy), make([]float64, dy)
	for i := range w.N {
		h := mat.NewSym(dy)
		require.NoError(t, w.HessG(h, x, y, []bilevel.Sample{bilevel.Sample(i)}))
		m := bileveltest.Full(h, dy, dy)
		for r := range dy {
			for c := range dy {
				m[r][c] *= -eta
			}
			m[r][r]++
		}
		n.m = append(n.m, m)
		addTo(n.mean, 1/float64(w.N), m)
		fx, fy := make([]float64, w.Dx), make([]float64, dy)
		require.NoError(t, w.GradF(fx, fy, x, y, []bilevel.Sample{bilevel.Sample(i)}))
		mat.Axpy(n.fy, 1/float64(w.N), fy)
		addTo(n.ff, 1/float64(w.N), outer(fy, fy))
	}
	return n
}

// step is E[M R Mᵀ], M the mean over a batch: M̄ R M̄ᵀ + (E₁[M R Mᵀ] − M̄ R M̄ᵀ)/batch.
func (n neumannTruth) step(r [][]float64, batch int) [][]float64 {
	out := square(len(r))
	for _, m := range n.m {
		addTo(out, 1/float64(len(n.m)*batch), times(times(m, r), transposed(m)))
	}
	addTo(out, 1-1/float64(batch), times(times(n.mean, r), transposed(n.mean)))
	return out
}

// random returns mean and E‖v‖² of (A): v = Nη M_1…M_p f_y, p uniform on {0, …, terms−1}.
func (n neumannTruth) random(eta float64, terms, batch int) (mean []float64, square float64) {
	mean = make([]float64, len(n.fy))
	f, r := n.fy, n.ff
	for range terms {
		mat.Axpy(mean, eta, f)
		square += float64(terms) * eta * eta * trace(r)
		f, r = bileveltest.Apply(n.mean, f), n.step(r, batch)
	}
	return mean, square
}

// sum returns mean and E‖v‖² of (B): v = η Σ_{q<terms} M_q…M_1 f_y, with batch sizes of their own.
func (n neumannTruth) sum(eta float64, terms int, batch func(j int) int) (mean []float64, square float64) {
	mean = make([]float64, len(n.fy))
	mat.Axpy(mean, eta, n.fy)
	f, m := n.fy, moments{n.ff, n.ff, n.ff}
	for j := range terms - 1 {
		f = bileveltest.Apply(n.mean, f)
		mat.Axpy(mean, eta, f)
		aa, cross := n.step(m.aa, batch(j)), times(m.sa, transposed(n.mean))
		ss := copied(m.ss)
		addTo(ss, 1, cross)
		addTo(ss, 1, transposed(cross))
		addTo(ss, 1, aa)
		addTo(cross, 1, aa)
		m = moments{aa, cross, ss}
	}
	return mean, eta * eta * trace(m.ss)
}

// Mean and second moment are those of the closed form, within five standard errors.
func TestNeumannMoments(t *testing.T) {
	const lg, mu = 6.0, 0.7
	draws := 20000
	if testing.Short() {
		draws = 5000
	}
	x, y := []float64{0.3, -0.8, 0.5}, []float64{0.4, -1, 0.2, 0.7}
	for _, c := range []struct {
		random, shrink bool
		terms, batch   int
	}{{true, false, 1, 1}, {true, false, 4, 1}, {true, false, 7, 2}, {false, false, 5, 1}, {false, false, 4, 3}, {false,
		true, 4, 1}} {
		t.Run(fmt.Sprintf("random=%v,shrink=%v,N=%d,batch=%d", c.random, c.shrink, c.terms, c.batch), func(t *testing.T) {
			w := newTable(newWavy(0.4), x, y)
			it := iteration(t, w, bilevel.Options{Seed: 11})
			h := newHypergradient(it, Neumann{LG: lg, MuG: mu, Terms: c.terms}, c.random)
			h.shrink = c.shrink

			truth := newNeumannTruth(t, w.wavy, x, y, 1/lg)
			mean, second := truth.random(1/lg, c.terms, c.batch)
			if !c.random {
				mean, second = truth.sum(1/lg, c.terms, func(j int) int { return h.size(j, c.batch) })
			}
			fx, fy, gxy := make([]float64, 3), make([]float64, 4), mat.NewDense(3, 4)
			require.NoError(t, w.GradF(fx, fy, x, y, nil))
			require.NoError(t, w.CrossG(gxy, x, y, nil))
			wantH := make([]float64, 3)
			mat.MulVec(wantH, gxy, mean)
			for i := range wantH {
				wantH[i] = fx[i] - wantH[i]
			}

			var stats [8]stat // v, ‖v‖², the hypergradient
			dst := make([]float64, 3)
			for range draws {
				h.draw(it, 1, c.batch)
				require.NoError(t, h.at(dst, it.Oracle(), x, y))
				for i, v := range h.v {
					stats[i].add(v)
				}
				stats[4].add(mat.Dot(h.v, h.v))
				for i, v := range dst {
					stats[5+i].add(v)
				}
			}
			for i, want := range append(append(append([]float64(nil), mean...), second), wantH...) {
				stats[i].check(t, want, fmt.Sprint("quantity ", i))
			}
		})
	}
}

// The mean over every possible draw is the closed form to rounding, for a short series.
func TestNeumannEnumerated(t *testing.T) {
	const lg, terms = 6.0, 3
	x, y := []float64{0.3, -0.8, 0.5}, []float64{0.4, -1, 0.2, 0.7}
	w := newTable(newWavy(0.4), x, y)
	it := iteration(t, w, bilevel.Options{})
	truth := newNeumannTruth(t, w.wavy, x, y, 1/lg)
	for _, random := range []bool{true, false} {
		h := newHypergradient(it, Neumann{LG: lg, Terms: terms}, random)
		h.n = terms
		mean, count := make([]float64, 4), 0.0
		for a := range bilevel.Sample(w.N) {
			for b := range bilevel.Sample(w.N) {
				for xi := range bilevel.Sample(w.N) {
					for p := range terms {
						h.prods, h.sum, h.xi = p, !random, []bilevel.Sample{xi}
						if !random {
							h.prods = terms - 1
						}
						h.phi.clear()
						for _, phi := range []bilevel.Sample{0, a, b} {
							h.phi.add([]bilevel.Sample{phi})
						}
						require.NoError(t, h.at(make([]float64, 3), it.Oracle(), x, y))
						mat.Axpy(mean, 1, h.v)
						count++
					}
				}
			}
		}
		want, _ := truth.random(1/lg, terms, 1)
		for i := range mean {
			assert.InDelta(t, want[i], mean[i]/count, 1e-13)
		}
	}
}

// p is uniform on {0, …, N−1}: Pearson's statistic is below its 99.9 % quantile.
func TestNeumannTruncationIsUniform(t *testing.T) {
	const n, draws = 5, 10000
	it := iteration(t, newWavy(0), bilevel.Options{Seed: 4})
	h := newHypergradient(it, Neumann{LG: 1, Terms: n}, true)
	var seen [n]float64
	for range draws {
		h.draw(it, 1, 1)
		require.Len(t, h.phi.ends, 1+h.prods)
		seen[h.prods]++
	}
	var chi float64
	for _, c := range seen {
		chi += sq(c-draws/n) / (draws / n)
	}
	assert.Less(t, chi, 18.467)
}

// With exact products both are the N-term sum, and its error attains the bound at an eigenvector.
func TestNeumannBias(t *testing.T) {
	w := newWavy(0)
	w.Kappa = 0 // g_yy = diag(1, 2, 3, 4)
	const mu, lg = 1.0, 4.0
	it := iteration(t, w, bilevel.Options{})
	x := []float64{0.3, -0.8, 0.5}
	gxy := mat.NewDense(3, 4)
	require.NoError(t, w.CrossG(gxy, x, make([]float64, 4), nil))
	for name, y := range map[string][]float64{"any": {0.4, -1, 0.2, 0.7}, "smallest": {2, 1, 1, 1}} { // f_y = y − 1
		for _, random := range []bool{true, false} {
			for _, n := range []int{1, 2, 5, 20, 60} {
				h := newHypergradient(it, Neumann{LG: lg, Terms: n}, random)
				h.draw(it, bilevel.Full, bilevel.Full)
				dst := make([]float64, 3)
				require.NoError(t, h.at(dst, it.Oracle(), x, y))
				exact, missing := make([]float64, 4), make([]float64, 4)
				for j := range y {
					exact[j] = (y[j] - 1) / float64(1+j)
					missing[j] = exact[j] - h.v[j]
				}
				bound := mat.Norm(h.fy) / mu * math.Pow(1-mu/lg, float64(n))
				assert.LessOrEqual(t, mat.Norm(missing), bound*(1+1e-12)+1e-14, name)
				if name == "smallest" {
					assert.InDelta(t, bound, mat.Norm(missing), 1e-14)
				}
				truth := make([]float64, 3)
				mat.MulVec(truth, gxy, exact)
				for i := range truth {
					truth[i] = h.fx[i] - truth[i] - dst[i]
				}
				assert.LessOrEqual(t, mat.Norm(truth), mat.NormFrob(gxy)*bound*(1+1e-12)+1e-14)
			}
		}
	}
}

// The default N keeps (1 − μ/L)^N below 1/(k+1), with at most a term or two too many.
func TestNeumannTerms(t *testing.T) {
	for _, n := range []Neumann{{LG: 1, MuG: 1}, {LG: 3, MuG: 1}, {LG: 50, MuG: 0.5}} {
		q := 1 - n.MuG/n.LG
		for _, k := range []int{0, 1, 2, 10, 1000, 1 << 30} {
			assert.LessOrEqual(t, math.Pow(q, float64(n.terms(k))), 1/float64(k+1))
			assert.LessOrEqual(t, float64(n.terms(k)), 2+n.LG/n.MuG*math.Log(float64(k)+1))
		}
	}
	assert.Equal(t, 7, Neumann{LG: 3, MuG: 1, Terms: 7}.terms(1000))
}

// |B_{Q+1−j}| = ⌈B Q (1−ημ)^(j−1)⌉: the product next to f_y, done first, has the largest batch.
func TestStocBiOBatches(t *testing.T) {
	w := newWavy(0.1)
	s, err := bilevel.New(w,
		StocBiO{Alpha: bilevel.Constant(0.1), Beta: bilevel.Constant(0.1), Inner: 1,
			Neumann: Neumann{LG: 8, MuG: 2, Terms: 5}},
		bilevel.Options{LowerBatch: 3})
	require.NoError(t, err)
	w.Log = []call{}
	require.NoError(t, s.Step())
	var sizes []int
	for _, c := range w.Log {
		if c.Oracle == "HessG" {
			sizes = append(sizes, len(c.Batch))
		}
	}
	assert.Equal(t, []int{12, 9, 7, 6}, sizes) // 3·4·(3/4)^j = 12, 9, 6.75, 5.06
}

type stat struct{ n, sum, sum2, first float64 }

func (s *stat) add(v float64) {
	if s.n == 0 {
		s.first = v
	}
	s.n++
	s.sum += v - s.first
	s.sum2 += sq(v - s.first)
}

// check wants the mean within five standard errors, and a draw that varies.
func (s *stat) check(t *testing.T, want float64, name string) {
	mean := s.sum / s.n
	deviation := math.Sqrt((s.sum2/s.n - mean*mean) / s.n)
	assert.InDelta(t, want, s.first+mean, 5*deviation, name)
	assert.Greater(t, deviation, 0.0, name)
}

// table is wavy at one point with every derivative made in advance, and with products.
type table struct {
	*wavy
	fx, fy [][]float64
	xy     []*mat.Dense
	yy     []*mat.Sym
}

func newTable(w *wavy, x, y []float64) *table {
	b := &table{wavy: w}
	for i := range w.N {
		phi := []bilevel.Sample{bilevel.Sample(i)}
		fx, fy, xy, yy := make([]float64, w.Dx), make([]float64, w.Dy), mat.NewDense(w.Dx, w.Dy), mat.NewSym(w.Dy)
		_, _, _ = w.GradF(fx, fy, x, y, phi), w.CrossG(xy, x, y, phi), w.HessG(yy, x, y, phi)
		b.fx, b.fy, b.xy, b.yy = append(b.fx, fx), append(b.fy, fy), append(b.xy, xy), append(b.yy, yy)
	}
	return b
}

func (b *table) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	if len(xi) == 0 {
		return b.wavy.GradF(fx, fy, x, y, xi)
	}
	clear(fx)
	clear(fy)
	for _, i := range xi {
		mat.Axpy(fx, 1/float64(len(xi)), b.fx[i])
		mat.Axpy(fy, 1/float64(len(xi)), b.fy[i])
	}
	return nil
}

func (b *table) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	clear(dst)
	w := make([]float64, len(dst))
	for _, i := range phi {
		mat.MulVecSym(w, b.yy[i], v)
		mat.Axpy(dst, 1/float64(len(phi)), w)
	}
	return nil
}

func (b *table) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	clear(dst)
	w := make([]float64, len(dst))
	for _, i := range phi {
		mat.MulVec(w, b.xy[i], v)
		mat.Axpy(dst, 1/float64(len(phi)), w)
	}
	return nil
}

func square(n int) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

func addTo(dst [][]float64, c float64, a [][]float64) {
	for i := range dst {
		mat.Axpy(dst[i], c, a[i])
	}
}

func copied(a [][]float64) [][]float64 {
	m := square(len(a))
	addTo(m, 1, a)
	return m
}

func times(a, b [][]float64) [][]float64 {
	m := square(len(a))
	for i := range m {
		for k := range b {
			mat.Axpy(m[i], a[i][k], b[k])
		}
	}
	return m
}

func transposed(a [][]float64) [][]float64 {
	m := square(len(a))
	for i := range a {
		for j := range a {
			m[i][j] = a[j][i]
		}
	}
	return m
}

func outer(a, b []float64) [][]float64 {
	m := square(len(a))
	for i := range a {
		mat.Axpy(m[i], a[i], b)
	}
	return m
}

func trace(a [][]float64) float64 {
	var s float64
	for i := range a {
		s += a[i][i]
	}
	return s
}
