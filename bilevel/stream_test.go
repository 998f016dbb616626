package bilevel

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"math/rand/v2"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/bileveltest"
	"stable/eig"
	"stable/mat"
)

// A seed stands for PCG(seed, 'x') of ξ, PCG(seed, 'y') of φ and PCG(seed, 'm') of the method, and
// what one gives does not depend on the others.
func TestSeed(t *testing.T) {
	for seed, p := range map[uint64]Problem{0: newWavy(0.1), 1: newWavy(0.1), 1 << 63: newHooked()} {
		n, _ := p.Streams()
		source := func(id uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, id)) }
		xi, phi, own := source('x'), source('y'), source('m')
		draw := func(rng *rand.Rand, many int) (batch []Sample) {
			for range many {
				if n == 0 {
					batch = append(batch, Sample(rng.Uint64()))
				} else {
					batch = append(batch, Sample(rng.Uint64N(n)))
				}
			}
			return batch
		}
		s := newSolver(t, p, drawing{func(it *Iteration) error {
			assert.Equal(t, draw(xi, 2), it.DrawXi(0))
			for range it.K() % 3 {
				assert.Equal(t, draw(phi, 3), it.DrawPhi(0))
				assert.Equal(t, draw(phi, 7), it.DrawPhi(7))
			}
			assert.Empty(t, it.DrawXi(Full))
			assert.Equal(t, own.IntN(9), it.Rand().IntN(9))
			return nil
		}}, Options{Seed: seed, UpperBatch: 2, LowerBatch: 3})
		steps(t, s, 20)
		assert.Equal(t, Counts{Xi: 20 * (2 + max(n, 1)), Phi: 19 * 10}, s.Counts())
	}
}

type drawing struct{ draw func(it *Iteration) error }

func (drawing) Name() string                           { return "drawing" }
func (d drawing) Start(*Iteration) (Stepper, error)    { return d, nil }
func (d drawing) Step(it *Iteration) error             { return d.draw(it) }
func (drawing) Vectors(func(name string, v []float64)) {}
func (drawing) State(*State)                           {}

func TestPasses(t *testing.T) {
	var count uint64
	const terms = 12
	s, p := newStream(terms, 1, 'x', &count), NewPasses(terms)
	var last []Sample
	for range 20 {
		pass := append([]Sample(nil), s.draw(p, 0, 5)...)
		pass = append(pass, s.draw(p, 7, 5)...)
		seen := map[Sample]bool{}
		for _, i := range pass {
			require.Less(t, i, Sample(terms))
			seen[i] = true
		}
		assert.Len(t, seen, terms)
		assert.NotEqual(t, last, pass)
		last = pass
	}
	assert.Equal(t, uint64(20*terms), count)
	assert.Empty(t, s.draw(p, Full, 1))
	require.NoError(t, p.check())
	for _, bad := range []*Passes{
		{terms: []Sample{0, 2, 2}}, {terms: []Sample{0, 1, 3}}, {terms: []Sample{0, 1, 2}, done: 4},
	} {
		require.ErrorIs(t, bad.check(), ErrDamaged)
	}
	assert.Nil(t, NewPasses(0).Drawn())
}

type (
	wavy   = bileveltest.Wavy[Sample]
	call   = bileveltest.Call[Sample]
	faulty = bileveltest.Faulty[Sample]
)

func newWavy(noise float64) *wavy { return bileveltest.NewWavy[Sample](noise) }

func newSolver(t testing.TB, p Problem, m Method, opt Options) *Solver {
	t.Helper()
	return bileveltest.Must(New(p, m, opt))
}

func steps(t testing.TB, s *Solver, n int) {
	t.Helper()
	for range n {
		require.NoError(t, s.Step())
	}
}

func saved(t testing.TB, s *Solver) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.Save(&b))
	return b.Bytes()
}

func small(t testing.TB, m Method) (*Solver, []byte) {
	s := newSolver(t, newWavy(0.3), m, Options{Seed: 9, Set: UniformBox(3, -1, 1)})
	steps(t, s, 5)
	return s, saved(t, s)
}

var smallMethods = []Method{
	STABLE{Alpha: Constant(0.05), Beta: Power{C: 0.1, P: 0.5}, MuG: 0.5},
	STABLE{MuG: 0.5},
}

var floors = strings.Fields(`doc.go errors.go problem.go health.go state.go oracle.go stream.go sets.go sets_metric.go
	options.go iteration.go method.go solver.go run.go checkpoint.go estimator_eigen.go
	estimator.go stable.go`)

// Every file uses only what it declares itself, or a file before it in floors.
func TestUsesPointDown(t *testing.T) {
	names := bileveltest.Must(filepath.Glob("*.go"))
	fset, floor := token.NewFileSet(), map[string]int{}
	var files []*ast.File
	for i, name := range floors {
		f := bileveltest.Must(parser.ParseFile(fset, name, nil, 0))
		files, floor[name] = append(files, f), i
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			assert.Contains(t, floor, name)
		}
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: strangers{}, Error: func(error) {}}
	pkg, _ := config.Check("bilevel", fset, files, &info)
	down := 0
	for id, used := range info.Uses {
		if used.Pkg() == pkg {
			from, to := fset.Position(id.Pos()), fset.Position(used.Pos())
			assert.GreaterOrEqual(t, floor[from.Filename], floor[to.Filename], "%s uses %s of %s", from, id, to)
			if from.Filename != to.Filename {
				down++
			}
		}
	}
	assert.Greater(t, down, 500)
}

type strangers struct{}

func (strangers) Import(p string) (*types.Package, error) {
	return types.NewPackage(p, path.Base(p)), nil
}

// bowls is Wavy with g_yy(x, y; φ) = s(x)·I + c·aaᵀ, s(x) = 1 + x_0², a drawn by φ, c = curve·(1 +
// cos(aᵀy))/2. A negative curve breaks the promise.
type bowls struct {
	*wavy
	curve float64
	a     []float64
}

func newBowls(dx, dy int) *bowls {
	p := &bowls{newWavy(0.1), 2, make([]float64, dy)}
	p.Dx, p.Dy = dx, dy
	return p
}

func (p *bowls) HessG(gyy *mat.Sym, x, y []float64, phi []Sample) error {
	gyy.Zero()
	for _, s := range phi {
		rng := rand.New(rand.NewPCG(uint64(s), 7))
		for i := range p.a {
			p.a[i] = rng.NormFloat64() / math.Sqrt(float64(p.Dy))
		}
		mat.RankOne(gyy, p.curve*(1+math.Cos(mat.Dot(p.a, y)))/2/float64(len(phi)), p.a)
	}
	mat.AddIdentity(gyy, p.ConvexityAt(x))
	return nil
}

func (p *bowls) ConvexityAt(x []float64) float64 { return 1 + x[0]*x[0] }

func minEigenvalue(t *testing.T, a *mat.Sym) float64 {
	var j eig.Jacobi
	require.NoError(t, j.Factor(a))
	return j.Values()[0]
}

// The bound is one, whatever μ_g, steps and points are, and changes no bit.
func TestPromise(t *testing.T) {
	proved, raised, clipped := 0, 0, 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(12)
		p, jump := newBowls(2, n), math.Pow(10, -4+5*rng.Float64())
		mu := []float64{0.5, 1, 1.0001, 1.3, 2}[seed%5]
		with := bileveltest.Must(NewEstimator(p, mu, math.Inf(1)))
		without := bileveltest.Must(NewEstimator(struct{ Problem }{p}, mu, math.Inf(1)))
		x, y := []float64{0.3, 0}, make([]float64, n)
		for k := range 60 {
			phi := []Sample{Sample(rng.Uint64()), Sample(rng.Uint64())}[:1+k%2]
			tau := []float64{0, 0.05, 0.3, 1}[rng.IntN(4)]
			for _, e := range []*Estimator{with, without} {
				if k == 0 {
					require.NoError(t, e.Init(x, y, phi))
				} else {
					require.NoError(t, e.Update(tau, x, y, phi))
				}
			}
			require.Equal(t, without.Hyy(), with.Hyy())
			require.Equal(t, without.Report(), with.Report())
			a, b := make([]float64, n), make([]float64, n)
			require.NoError(t, without.Drift(a, []float64{1, 2}))
			require.NoError(t, with.Drift(b, []float64{1, 2}))
			require.Equal(t, a, b)

			is := minEigenvalue(t, with.Hyy())
			require.LessOrEqual(t, with.bound.least, is+1e-14*float64(n)*trace(with.Hyy()), "seed %d, step %d", seed, k)
			if with.bound.least > mu {
				proved++
			}
			if with.bound.reach > firstReach {
				raised++
			}
			clipped += with.Report().Truncate.Clipped
			x[0] = max(0.01, x[0]+jump*0.1*rng.NormFloat64())
			for i := range y {
				y[i] += jump * rng.NormFloat64()
			}
		}
	}
	assert.Greater(t, proved, 600)
	assert.Greater(t, raised, 20)
	assert.Greater(t, clipped, 100)
}

// What a negative eigenvalue takes is taken in full: Δ = −δvvᵀ with v where H is least.
func TestPromiseWorstMove(t *testing.T) {
	for _, tau := range []float64{0, 0.25} {
		var m eigenBound
		h, old, now := mat.NewSym(2), mat.NewSym(2), mat.NewSym(2)
		for _, a := range []*mat.Sym{h, old, now} {
			mat.AddIdentity(a, 1)
		}
		mat.RankOne(now, -0.25, []float64{math.Sqrt(0.5), math.Sqrt(0.5)})
		m.reset(h, 1, 0.1)
		m.update(tau, 0.75, 0.1, trace(h), mat.NormFrobSym(now), now, old)
		mat.RecurSym(h, tau, h, old, now)
		assert.LessOrEqual(t, m.least, minEigenvalue(t, h))
		assert.InDelta(t, minEigenvalue(t, h), m.least, 1e-13)
	}
}

func TestBrokenPromise(t *testing.T) {
	bent := newBowls(1, 2)
	bent.curve = -0.2
	for want, p := range map[string]Problem{
		"step 0: ConvexityAt is 1, and entry (0, 0) of g_yy": bent, "not positive definite": hollow{newBowls(1, 2)},
	} {
		e := bileveltest.Must(NewEstimator(p, 0.5, math.Inf(1)))
		err := e.Init([]float64{0}, make([]float64, 2), []Sample{1})
		require.ErrorIs(t, err, ErrBrokenPromise)
		assert.ErrorContains(t, err, want)
	}
}

type hollow struct{ *bowls }

func (hollow) HessG(gyy *mat.Sym, _, _ []float64, _ []Sample) error {
	gyy.Zero()
	mat.AddIdentity(gyy, 1)
	gyy.Set(1, 0, 2)
	return nil
}

func TestEstimatorInitAgain(t *testing.T) {
	used := bileveltest.Must(NewEstimator(newWavy(0.5), 0.9, 1.5))
	require.NoError(t, used.Init([]float64{1, 2, 3}, []float64{4, 3, 2, 1}, []Sample{1, 2}))
	for k := range 3 {
		require.NoError(t, used.Update(0.2, []float64{1, -1, float64(k)}, make([]float64, 4), []Sample{Sample(k)}))
	}
	fresh := bileveltest.Must(NewEstimator(newWavy(0.5), 0.9, 1.5))
	for _, e := range []*Estimator{used, fresh} {
		require.NoError(t, e.Init([]float64{0.3, 0, -0.2}, []float64{0, 1, 0, -1}, []Sample{7}))
		require.NoError(t, e.Update(0.4, []float64{0, 1, 0}, make([]float64, 4), []Sample{8, 9}))
	}
	a, b := State{writing: true}, State{writing: true}
	used.State(&a)
	fresh.State(&b)
	assert.Equal(t, b.bytes, a.bytes)
}

func TestNewEstimatorRefuses(t *testing.T) {
	_, err := NewEstimator(shaped{nil, 0, 4}, 1, math.Inf(1))
	require.ErrorIs(t, err, ErrOption)
	assert.ErrorContains(t, err, "dx = 0, dy = 4")
}
