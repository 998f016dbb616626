package bilevel

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel/bileveltest"
)

// A seed stands for PCG(seed, 'x') of ξ, PCG(seed, 'y') of φ and PCG(seed, 'm') of the method, and
// what one gives does not depend on the others.
func TestSeed(t *testing.T) {
	for _, seed := range []uint64{0, 1, 1 << 63} {
		w := newWavy(0.1)
		source := func(id uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, id)) }
		xi, phi, own := source('x'), source('y'), source('m')
		draw := func(rng *rand.Rand, n int) []Sample {
			batch := make([]Sample, n)
			for i := range batch {
				batch[i] = Sample(rng.Uint64N(w.N))
			}
			return batch
		}
		s := newSolver(t, w, drawing{func(it *Iteration) error {
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
		assert.Equal(t, Counts{Xi: 20 * (2 + w.N), Phi: 19 * 10}, s.Counts())
	}
}

type drawing struct{ draw func(it *Iteration) error }

func (drawing) Name() string                           { return "drawing" }
func (d drawing) Start(*Iteration) (Stepper, error)    { return d, nil }
func (d drawing) Step(it *Iteration) error             { return d.draw(it) }
func (drawing) Vectors(func(name string, v []float64)) {}
func (drawing) State(*State)                           {}

func TestStreamUnbounded(t *testing.T) {
	var count uint64
	s, rng := newStream(0, 5, 'x', &count), rand.New(rand.NewPCG(5, 'x'))
	for _, n := range []int{3, 1, 7} { // the memory grows, and is used again
		batch := s.draw(nil, n, 1)
		require.Len(t, batch, n)
		for _, v := range batch {
			assert.Equal(t, Sample(rng.Uint64()), v)
		}
	}
	assert.Equal(t, uint64(11), count)
	assert.Empty(t, s.draw(nil, Full, 1))
	assert.Equal(t, uint64(12), count)
}

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
	assert.Nil(t, NewPasses(0))
}

type (
	wavy   = bileveltest.Wavy[Sample]
	call   = bileveltest.Call[Sample]
	faulty = bileveltest.Faulty[Sample]
)

func newWavy(noise float64) *wavy { return bileveltest.NewWavy[Sample](noise) }

func newSolver(t testing.TB, p Problem, m Method, opt Options) *Solver {
	t.Helper()
	s, err := New(p, m, opt)
	require.NoError(t, err)
	return s
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

var floors = strings.Fields(`doc.go problem.go errors.go health.go state.go complete.go oracle.go stream.go
	sets.go sets_metric.go options.go iteration.go method.go solver.go run.go checkpoint_describe.go checkpoint.go
	estimator_bound.go estimator_health.go estimator.go stable.go`)

// Every file uses only what it declares itself, or a file before it in floors.
func TestUsesPointDown(t *testing.T) {
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	fset, floor := token.NewFileSet(), map[string]int{}
	var files []*ast.File
	for i, name := range floors {
		f, err := parser.ParseFile(fset, name, nil, 0)
		require.NoError(t, err)
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
