package method

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/auto"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/bilevel/compose"
	"stable/bilevel/implicit"
	"stable/bilevel/quadratic"
	"stable/bilevel/saa"
	"stable/bilevel/stream"
)

var tuning = Tuning{Alpha: bilevel.Constant(0.02), Beta: bilevel.Constant(0.05), MuG: 0.7, LG: 7, Terms: 4}

func forEach(t *testing.T, f func(t *testing.T, e Entry)) {
	for _, e := range Registry() {
		t.Run(e.Name, func(t *testing.T) { f(t, e) })
	}
}

func (e Entry) problem(noise float64) identity {
	w := newProducts(noise)
	if e.Needs.Composition {
		w.Identity, w.Kappa = true, 0
	}
	return identity{withProducts: w}
}

type composed struct{}

func (composed) Composition() compose.Composition { return nil }

type identity struct {
	withProducts
	composed
}

type bare struct {
	*wavy
	composed
}

type euclid struct{ bilevel.Set }

type ownGradXG struct {
	*bilevel.Completed
	bilevel.UpperGradient
}

type secondOrder struct {
	bilevel.Problem
	bilevel.Products
	composed
}

func TestLookup(t *testing.T) {
	require.GreaterOrEqual(t, len(Names()), 19)
	for _, e := range Registry() {
		assert.NotEmpty(t, e.Name)
		got := bileveltest.Must(Lookup(strings.ToUpper(e.Name)))
		assert.Equal(t, e.Name, got.Name)
		assert.Equal(t, e.Name, got.New(tuning).Name())
		assert.Equal(t, 1, len(slices.DeleteFunc(Names(), func(n string) bool { return !strings.EqualFold(n, e.Name) })))
	}
	_, err := Lookup("ADAM")
	require.ErrorIs(t, err, bilevel.ErrOption)
	assert.ErrorContains(t, err, `"ADAM"`)
	for _, name := range Names() {
		assert.ErrorContains(t, err, name)
	}
	list := Registry()
	list[0].Name = "mine"
	assert.Equal(t, "STABLE", Names()[0], "the registry is a copy")
}

type guest struct{ TTSA }

func (guest) Name() string { return "Guest" }

func TestRegister(t *testing.T) {
	defer func(list []Entry) { registry = list }(registry)
	e := Entry{Name: "Guest", New: func(t Tuning) bilevel.Method { return guest{TTSA{Alpha: t.Alpha, Beta: t.Beta}} }}
	require.NoError(t, Register(e))
	assert.Contains(t, Names(), "Guest")
	got := bileveltest.Must(Lookup("GUEST"))
	got.Variants[1].Set(&Tuning{})

	for want, bad := range map[string]Entry{
		"Name and New":                 {Name: "Other"},
		"needs a Name":                 {New: e.New},
		"New of Other returns":         {Name: "Other", New: e.New},
		"New of None returns":          {Name: "None", New: func(Tuning) bilevel.Method { return nil }},
		"called Guest already":         e,
		"called SAA-Newton already":    {Name: saa.Newton{}.Name(), New: func(Tuning) bilevel.Method { return saa.Newton{} }},
		`no method is called "Nobody"`: {Name: "Guest", New: e.New, Base: "Nobody"},
	} {
		n := len(Names())
		err := Register(bad)
		require.ErrorIs(t, err, bilevel.ErrOption, want)
		assert.ErrorContains(t, err, want)
		assert.Len(t, Names(), n, want)
	}
}

func TestEntriesTellWhatTheyNeed(t *testing.T) {
	forEach(t, func(t *testing.T, e Entry) {
		refused := func(p bilevel.Problem, set bilevel.Set, change func(t *Tuning)) bool {
			tuned := tuning
			change(&tuned)
			s, err := bilevel.New(p, e.New(tuned), bilevel.Options{Set: set})
			if err != nil {
				require.ErrorIs(t, err, bilevel.ErrOption)
				return true
			}
			require.NoError(t, s.Step())
			return false
		}
		p, n, keep := e.problem(0.1), e.Needs, func(*Tuning) {}
		assert.False(t, refused(p, nil, keep))
		assert.Equal(t, n.Alpha, refused(p, nil, func(t *Tuning) { t.Alpha = nil }), "α")
		assert.Equal(t, n.Beta, refused(p, nil, func(t *Tuning) { t.Beta = nil }), "β")
		assert.Equal(t, n.MuG, refused(p, nil, func(t *Tuning) { t.MuG, t.Terms = 0, 0 }), "μ_g")
		assert.Equal(t, n.LG, refused(p, nil, func(t *Tuning) { t.LG = 0 }), "L_g")
		assert.Equal(t, n.FiniteSums, refused(sized{p, 0, 0}, nil, keep), "finite sums")
		assert.Equal(t, n.MetricSet || n.Bounds, refused(p, euclid{bilevel.UniformBox(3, -1, 1)}, keep), "a metric")
		assert.Equal(t, n.Bounds, refused(p, bilevel.Ball{Radius: 9}, keep), "bounds")
		assert.Equal(t, n.Composition || n.UpperGradient, refused(struct{ bilevel.Problem }{p}, nil, keep), "more than the oracles")
		assert.Equal(t, n.UpperGradient, refused(secondOrder{p, p, composed{}}, nil, keep), "g_x")
		if n.UpperGradient {
			lacks := bilevel.Complete(secondOrder{p, p, composed{}})
			for _, q := range []bilevel.Problem{lacks.Problem, lacks, stream.Of(lacks)} {
				_, err := bilevel.New(q, e.New(tuning), bilevel.Options{})
				assert.ErrorContains(t, err, e.Name+" needs g_x")
			}
			assert.False(t, refused(ownGradXG{lacks, p}, nil, keep))
		}

		for _, v := range e.Variants {
			assert.False(t, refused(p, nil, v.Set), v.Name)
		}
		if e.Base != "" {
			assert.Empty(t, bileveltest.Must(Lookup(e.Base)).Base)
		}
		for _, order := range e.Orders {
			assert.True(t, 0 <= order && order <= 1)
		}
	})
}

func TestMethodsAllocate(t *testing.T) {
	forEach(t, func(t *testing.T, e Entry) {
		p := bare{wavy: newWavy(0.5)}
		s := start(t, p, e.New(tuning), bilevel.Options{Set: bilevel.UniformBox(3, 0, 1), LowerBatch: 2})
		steps(t, s, 50)
		assert.Zero(t, testing.AllocsPerRun(50, func() { _ = s.Step() }))
		require.NoError(t, s.Step(), "nor has one before failed")
	})
}

func TestMethodsKeepTheRules(t *testing.T) {
	same, growing := func(*Tuning) {}, func(t *Tuning) { t.Terms = 0 }
	forEach(t, func(t *testing.T, e Entry) {
		if !e.Needs.Composition {
			require.NoError(t, check.Method(e.New(tuning), check.MethodOptions{Steps: 12}))
		}
		for i, c := range []struct {
			change func(*Tuning)
			steps  int
			opt    bilevel.Options
		}{
			{same, 12, bilevel.Options{Set: bilevel.Ball{Radius: 0.4}, X0: []float64{0.3, -0.2, 0.1}}},
			{growing, 6, bilevel.Options{Set: bilevel.UniformBox(3, -0.2, 0.3)}},
			{e.Variants[0].Set, 6, bilevel.Options{Seed: 3}},
			{e.Variants[1].Set, 6, bilevel.Options{Set: euclid{bilevel.Simplex{}}}},
		} {
			if _, ok := c.opt.Set.(euclid); ok && e.Needs.MetricSet || testing.Short() && i > 0 {
				continue
			}
			if _, ok := c.opt.Set.(bilevel.BoundedSet); !ok && c.opt.Set != nil && e.Needs.Bounds {
				c.opt = bilevel.Options{Set: bilevel.UniformBox(3, 0, 1)}
			}
			tuned := tuning
			c.change(&tuned)
			require.NoError(t, check.Method(e.New(tuned), check.MethodOptions{
				Problem: e.problem(0.4), As: e.as, Options: c.opt, Steps: c.steps,
			}), "case %d", i)
		}
	})
}

func (e Entry) as(p bilevel.Problem) bilevel.Problem {
	if e.Needs.Composition {
		return struct {
			bilevel.Problem
			composed
		}{Problem: p}
	}
	return p
}

func start(t *testing.T, p bilevel.Problem, m bilevel.Method, opt bilevel.Options) *bilevel.Solver {
	t.Helper()
	return bileveltest.Must(bilevel.New(p, m, opt))
}

func failure(s *bilevel.Solver, n int) (err error) {
	for err == nil && s.K() < n {
		err = s.Step()
	}
	return err
}

func steps(t *testing.T, s *bilevel.Solver, n int) {
	t.Helper()
	require.NoError(t, failure(s, s.K()+n))
}

type (
	wavy   = bileveltest.Wavy[bilevel.Sample]
	call   = bileveltest.Call[bilevel.Sample]
	faulty = bileveltest.Faulty[bilevel.Sample]
)

func newWavy(noise float64) *wavy { return bileveltest.NewWavy[bilevel.Sample](noise) }

type withProducts struct {
	*wavy
	bilevel.Products
}

func newProducts(noise float64) withProducts {
	w := newWavy(noise)
	return withProducts{w, bilevel.Complete(w)}
}

func TestFieldsSayTheirDefaults(t *testing.T) {
	documented := map[string]string{} // by "type.field"
	for _, dir := range []string{".", "..", "../compose", "../saa"} {
		files := bileveltest.Must(filepath.Glob(filepath.Join(dir, "*.go")))
		for _, name := range files {
			f := bileveltest.Must(parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution))
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSpec); ok {
					if fields, ok := s.Type.(*ast.StructType); ok {
						for _, field := range fields.Fields.List {
							for _, id := range field.Names {
								documented[s.Name.Name+"."+id.Name] = field.Doc.Text() + field.Comment.Text()
							}
						}
					}
				}
				return true
			})
		}
	}
	types := []reflect.Type{reflect.TypeFor[bilevel.Options](), reflect.TypeFor[Neumann]()}
	for _, e := range Registry() {
		types = append(types, reflect.TypeOf(e.New(Tuning{})))
	}
	seen := 0
	for _, typ := range types {
		for i := range typ.NumField() {
			name := typ.Name() + "." + typ.Field(i).Name
			if doc, ok := documented[name]; ok { // MRBO's are SUSTAIN's
				assert.Regexp(t, "equired|efault|as in", doc, name)
				seen++
			}
		}
	}
	assert.Greater(t, seen, 60)
}

func TestMethodsSolve(t *testing.T) {
	p := bileveltest.Must(quadratic.New(quadratic.Options{Dx: 3, Dy: 4, Seed: 5, MuG: 1, LG: 3, LP: 2, CrossNorm: 1, Terms: 20}))
	free, _ := p.Optimum()
	box := bilevel.Box{Lo: []float64{free[0] - 1, free[1] + 0.3, free[2] - 1},
		Hi: []float64{free[0] - 0.5, free[1] + 1, free[2] + 1}}
	best := bileveltest.Must(implicit.Minimise(p.Objective, free, implicit.Options{Lo: box.Lo, Hi: box.Hi}))
	y := make([]float64, 4)
	require.NoError(t, p.Solution(y, best.X))
	for _, e := range Registry() {
		if e.Needs.Composition {
			continue
		}
		var alpha, beta bilevel.Schedule = bilevel.Constant(0.1), bilevel.Constant(0.2)
		steps, near := 1200, 1e-12
		switch {
		case e.Lengths[0]:
			alpha, steps, near = bilevel.Power{C: 1, K0: 10, P: 0.8}, 2000, 1e-2
			beta = alpha
		case e.Name == "BOME":
			alpha, steps, near = bilevel.Power{C: 0.2, P: 0.5}, 2000, 0.03
			beta = alpha
		case e.Needs.UpperGradient:
			near = 0.02
		}
		m := e.New(Tuning{Alpha: alpha, Beta: beta, Gamma: bilevel.Constant(0.2), MuG: 1, LG: 3, Terms: 80})
		s := start(t, p, m, bilevel.Options{Set: box, UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
		bileveltest.Must(s.Run(t.Context(), bilevel.Run{Steps: steps}))
		assert.InDeltaSlice(t, best.X, s.X(), near, e.Name)
		assert.InDeltaSlice(t, y, s.Y(), near, e.Name)
	}
}

// HOAG arrives at stationary points alone, in mixed units, too, and turns back where g has no value.
func TestHOAGArrives(t *testing.T) {
	g, arrived := make([]float64, 6), 0
	for seed := range uint64(20) {
		rng, c, b := rand.New(rand.NewPCG(seed, 1)), make([]float64, 6), make([]float64, 6)
		for j := range c {
			c[j], b[j] = math.Pow(1000, 2*rng.Float64()-1), rng.NormFloat64()
		}
		p := bileveltest.Must(auto.New(auto.Losses{Dx: 6, Dy: 6, Upper: 1, Lower: 1,
			F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num {
				return y.Mul(auto.Data(c)).Sub(auto.Data(b)).SquaredNorm().Add(y.At(0).Mul(y.At(1)).Scale(c[0] * c[1]))
			},
			G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num {
				return y.Sub(x).SquaredNorm().Scale(0.5).Add(y.Exp().Sum().Scale(1e-3))
			}}))
		s := bileveltest.Must(bilevel.New(p, HOAG{}, bilevel.Options{}))
		r, _ := s.Run(t.Context(), bilevel.Run{Steps: 400}) // and no y*(x) is found at some trials
		bileveltest.Must(implicit.NewTruth(p).Objective(g, r.X))
		for j, v := range g {
			if r.Reason == bilevel.Arrived {
				arrived++
				assert.InDelta(t, 0, v/c[j], 1e-4, "seed %d", seed)
			}
		}
	}
	assert.GreaterOrEqual(t, arrived, 9*6) // 10
	p := bileveltest.Must(auto.New(auto.Losses{Dx: 1, Dy: 1, Upper: 1, Lower: 1,
		F: func(_, y auto.Vec, _ bilevel.Sample) auto.Num { return y.At(0).Shift(-3).Square() },
		G: func(x, y auto.Vec, _ bilevel.Sample) auto.Num { return x.At(0).Mul(y.At(0)).Sub(y.At(0).Log()) }}))
	s := bileveltest.Must(bilevel.New(p, HOAG{}, bilevel.Options{Set: bilevel.UniformBox(1, 0.1, 9), X0: []float64{5}, Y0: []float64{1}}))
	assert.InDelta(t, 1./3, bileveltest.Must(s.Run(t.Context(), bilevel.Run{Steps: 100})).X[0], 1e-6)
}
