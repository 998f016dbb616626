package mat_test

import (
	"math/bits"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/mat"
	"stable/mat/mattest"
)

// guarded takes equal matrices; it writes to the first, which those in may are allowed to be.
type guarded struct {
	f   any
	may string
}

var guards = map[string]guarded{
	"AsSym":      {f: func(a *mat.Dense) { mat.AsSym(a) }},
	"Dense.At":   {f: func(a *mat.Dense) { a.At(4, 0) }},
	"Dense.Set":  {f: func(a *mat.Dense) { a.Set(4, 0, 1) }},
	"Dense.Row":  {f: func(a *mat.Dense) { a.Row(4) }},
	"Dense.View": {f: func(a *mat.Dense) { a.View(4, 0, 1, 1) }},
	"Sym.At":     {f: func(s *mat.Sym) { s.At(4, 0) }},
	"Sym.Set":    {f: func(s *mat.Sym) { s.Set(4, 0, 1) }},
	"Sym.Row":    {f: func(s *mat.Sym) { s.Row(4) }},
	"Sym.View":   {f: func(s *mat.Sym) { s.View(4, 1) }},
}

func init() {
	for may, all := range map[string][]any{
		"": {
			mat.AddDiag, mat.AddIdentity, mat.AddMul, mat.AddMulTransA, mat.AddMulTransASym, mat.CopyTrans, mat.MaxAbs,
			mat.MaxAbsSym, mat.Mul, mat.MulSym, mat.MulTransA, mat.MulTransB, mat.MulVec, mat.MulVecSym, mat.MulVecTrans,
			mat.NormFrob, mat.NormFrobSym, mat.Outer, mat.RankK, mat.RankKTrans, mat.RankOne,
		},
		"1":  {mat.Copy, mat.CopyFull, mat.CopySym, mat.ProjectFrob},
		"13": {mat.AddScaled, mat.AddScaledSym},
		"2": {
			mat.Scale, mat.ScaleSym, mat.SolveLower, mat.SolveLowerTrans, mat.SolveLowerTransVec, mat.SolveLowerVec,
			mat.SolveUpper, mat.SolveUpperTrans, mat.SolveUpperTransVec, mat.SolveUpperVec,
		},
		"234": {mat.Recur, mat.RecurSym},
	} {
		for _, f := range all {
			name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
			guards[strings.TrimPrefix(name, "stable/mat.")] = guarded{f, may}
		}
	}
}

// arguments returns arguments for f, of order n, and their slices, nil for a number.
func arguments(f any, n int) (in []reflect.Value, data []*[]float64) {
	for i := range reflect.TypeOf(f).NumIn() {
		switch reflect.TypeOf(f).In(i) {
		case reflect.TypeFor[*mat.Dense]():
			a := mattest.Dense(n, n, uint64(i))
			in, data = append(in, reflect.ValueOf(a)), append(data, &a.Data)
		case reflect.TypeFor[*mat.Sym]():
			a := mattest.Sym(n, uint64(i))
			in, data = append(in, reflect.ValueOf(a)), append(data, &a.Data)
		case reflect.TypeFor[[]float64]():
			v := mattest.Vec(n, uint64(i))
			in, data = append(in, reflect.ValueOf(&v).Elem()), append(data, &v)
		default:
			in, data = append(in, reflect.ValueOf(0.5)), append(data, nil)
		}
	}
	return in, data
}

// Each argument in turn is larger than the others by a row, a column, or an entry.
func TestSizesThatDoNotMatch(t *testing.T) {
	const n = 5
	for name, g := range guards {
		in, _ := arguments(g.f, n)
		for i := 0; i < len(in) && len(in) > 1 && name != "AddIdentity"; i++ {
			var larger []any
			switch in[i].Interface().(type) {
			case *mat.Dense:
				if !strings.HasPrefix(name, "RankK") { // of which one size is free
					larger = []any{mattest.Dense(n+1, n, 1), mattest.Dense(n, n+1, 1)}
				}
			case *mat.Sym:
				larger = []any{mattest.Sym(n+1, 1)}
			case []float64:
				larger = []any{mattest.Vec(n+1, 1)}
			}
			for _, l := range larger {
				in, _ := arguments(g.f, n)
				in[i] = reflect.ValueOf(l)
				assert.PanicsWithValue(t, "mat: "+name+": dimension mismatch", func() { reflect.ValueOf(g.f).Call(in) },
					"%s, argument %d", name, i)
			}
		}
	}
}

func TestAliasing(t *testing.T) {
	const n = 5
	torn := &mat.Sym{N: n, Stride: n - 1, Data: make([]float64, n*n)}
	assert.PanicsWithValue(t, "mat: CopySym: rows overlap, Stride is too small", func() { mat.CopySym(torn, torn) })
	for name, g := range guards {
		call := func(in []reflect.Value) func() { return func() { reflect.ValueOf(g.f).Call(in) } }
		in, data := arguments(g.f, n)
		require.NotPanics(t, call(in), name)
		for i := range in {
			for _, stride := range []int{0, n - 1} {
				if in, _ := arguments(g.f, n); in[i].Kind() == reflect.Pointer {
					in[i].Elem().FieldByName("Stride").SetInt(int64(stride))
					assert.PanicsWithValue(t, "mat: "+name+": rows overlap, Stride is too small",
						call(in), "%s, argument %d", name, i)
				}
			}
			if data[i] == nil || i == 0 {
				continue
			}
			in, data := arguments(g.f, n)
			long := append(*data[0], make([]float64, n*n)...)
			*data[0], *data[i] = long[:len(*data[0])], long[:len(*data[i])]
			if !strings.Contains(g.may, strconv.Itoa(i)) {
				assert.PanicsWithValue(t, "mat: "+name+": dst overlaps an operand", call(in), "%s, argument %d", name, i)
				continue
			}
			assert.NotPanics(t, call(in), "%s, argument %d", name, i)
			if in[i].Kind() == reflect.Pointer {
				in[i].Elem().FieldByName("Stride").SetInt(n + 1)
				*data[i] = long
				assert.PanicsWithValue(t, "mat: "+name+": dst overlaps an operand",
					call(in), "%s, argument %d with another stride", name, i)
			}
		}
	}
}

func TestShapesBeyondData(t *testing.T) {
	const n, wraps = 5, 1 << (bits.UintSize - 2) // n−1 times wraps is 0 again
	for name, g := range guards {
		regular, _ := arguments(g.f, n)
		for i, argument := range regular {
			if argument.Kind() != reflect.Pointer {
				continue
			}
			in, data := arguments(g.f, n)
			*data[i] = (*data[i])[: n*n-1 : n*n-1]
			if strings.Contains(name, "View") || name == "AsSym" {
				assert.PanicsWithValue(t, "mat: "+name+": Data is too short", func() { reflect.ValueOf(g.f).Call(in) })
			} else if !strings.Contains(name, ".") {
				assert.Panics(t, func() { reflect.ValueOf(g.f).Call(in) }, "%s, argument %d", name, i)
			}
			in, _ = arguments(g.f, n)
			in[i].Elem().FieldByName("Stride").SetInt(wraps)
			assert.Panics(t, func() { reflect.ValueOf(g.f).Call(in) }, "%s, argument %d", name, i)
		}
	}
	wide := mat.Dense{Rows: 1 << (bits.UintSize / 2), Cols: 1 << (bits.UintSize / 2), Stride: 1 << (bits.UintSize / 2)}
	for name, f := range map[string]func(){
		"NewDense": func() { mat.NewDense(wide.Rows, wide.Cols) }, "NewSym": func() { mat.NewSym(wide.Rows) },
		"DenseOf": func() { mat.DenseOf(wide.Rows, wide.Cols, nil) }, "SymOf": func() { mat.SymOf(wide.Rows, nil) },
		"AddScaled": func() { mat.AddScaled(&wide, &wide, 1, &wide) },
		"Recur":     func() { mat.Recur(&wide, 1, &wide, &wide, &wide) },
	} {
		assert.Panics(t, f, name)
	}
}

func TestAliasingIsCheckedEverywhere(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	found := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, f := range regexp.MustCompile(`(?m)^func ([A-Z]\w*)\([^)]*\*(Dense|Sym)\b`).FindAllSubmatch(source, -1) {
			found++
			assert.Contains(t, guards, string(f[1]))
		}
	}
	assert.Greater(t, found, 30)
}

func TestAliasingOfNothing(t *testing.T) {
	data := []float64{1, 2, 3}
	empty := mat.Dense{Rows: 0, Cols: 3, Data: data}
	mat.Mul(&empty, &empty, mat.NewDense(3, 3))
	row := mat.Dense{Rows: 1, Cols: 3, Data: data}
	mat.Scale(&row, 2, &row)
	assert.Equal(t, []float64{2, 4, 6}, data)
	c := mat.Dense{Rows: 1, Cols: 3, Stride: 3, Data: data}
	mat.Mul(&c, &mat.Dense{Rows: 1, Data: data}, mat.NewDense(0, 3))
	assert.Equal(t, []float64{0, 0, 0}, data)
}

type shape struct{ m, k, n int }

func shapes() (all []shape) {
	for _, n := range mattest.Orders {
		all = append(all, shape{n, n, n})
	}
	some := []int{0, 1, 2, 5, 16, 33}
	for _, m := range some {
		for _, k := range some {
			for _, n := range some {
				all = append(all, shape{m, k, n})
			}
		}
	}
	return append(all, shape{3, 600, 5}, shape{20, 530, 35}, shape{5, 3, 300}, shape{300, 3, 5}, shape{1, 1, 300},
		shape{70, 257, 19}, shape{91, 91, 91}, shape{40, 257, 64}, shape{300, 20, 200})
}

func scaledSum(c *mat.Dense, alpha float64, p *mat.Dense) *mat.Dense {
	return mattest.DenseOf(c.Rows, c.Cols, func(i, j int) float64 { return c.At(i, j) + alpha*p.At(i, j) })
}

// near allows the rounding of a product of inner size k with entries below 1.
func near(t *testing.T, want, got *mat.Dense, k int) {
	t.Helper()
	require.LessOrEqual(t, mattest.MaxDiff(want, got), float64(k+2)*mattest.Eps)
}

func TestMulForms(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, s := range shapes() {
			a, b, c := mattest.Dense(s.m, s.k, 1), mattest.Dense(s.k, s.n, 2), mattest.Dense(s.m, s.n, 3)
			product := mattest.Mul(a, b)
			sum := scaledSum(c, -0.75, product)
			at, bt := mattest.Trans(a), mattest.Trans(b)
			for name, f := range map[string]struct {
				call       func(dst, a, b *mat.Dense)
				a, b, want *mat.Dense
			}{
				"Mul":          {mat.Mul, a, b, product},
				"MulTransA":    {mat.MulTransA, at, b, product},
				"MulTransB":    {mat.MulTransB, a, bt, product},
				"AddMul":       {func(dst, a, b *mat.Dense) { mat.AddMul(dst, -0.75, a, b) }, a, b, sum},
				"AddMulTransA": {func(dst, a, b *mat.Dense) { mat.AddMulTransA(dst, -0.75, a, b) }, at, b, sum},
			} {
				for _, pad := range mattest.Strides {
					pa, pb, dst := mattest.Pad(f.a, pad), mattest.Pad(f.b, 2*pad), mattest.Pad(c, pad)
					f.call(dst, pa, pb)
					mattest.CheckPad(t, dst)
					near(t, f.want, dst, s.k)
					require.Zero(t, mattest.MaxDiff(pa, f.a)+mattest.MaxDiff(pb, f.b))
					require.False(t, t.Failed(), "%s %v pad %d", name, s, pad)
				}
			}
		}
	})
}

func TestSymmetricProducts(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range mattest.Orders {
			for _, k := range []int{0, 1, 2, 5, 16, 33, 65} {
				if testing.Short() && n*k > 65*65 {
					continue
				}
				a, b, s := mattest.Dense(n, k, 1), mattest.Dense(n, k, 2), mattest.Sym(n, 3)
				full, at, bt := mattest.Full(s), mattest.Trans(a), mattest.Trans(b)
				square, mixed := scaledSum(full, 1.5, mattest.Mul(a, at)), scaledSum(full, 1.5, mattest.Mul(a, bt))
				for _, pad := range mattest.Strides {
					product, dst := mattest.Pad(b, pad), mattest.PadSym(s, pad)
					mat.MulSym(product, dst, mattest.Pad(a, pad))
					near(t, mattest.Mul(full, a), product, n)
					mattest.CheckPad(t, product)
					check := func(name string, want *mat.Dense) {
						mattest.CheckPadSym(t, dst)
						for i := range n {
							require.LessOrEqual(t, mattest.MaxDiffVec(want.Row(i)[:i+1], dst.Row(i)),
								float64(k+2)*mattest.Eps, "%s n=%d k=%d pad=%d", name, n, k, pad)
						}
						mat.CopySym(dst, s)
					}
					mat.RankK(dst, 1.5, mattest.Pad(a, pad))
					check("RankK", square)
					mat.RankKTrans(dst, 1.5, mattest.Pad(at, pad))
					check("RankKTrans", square)
					mat.AddMulTransASym(dst, 1.5, mattest.Pad(at, pad), mattest.Pad(bt, pad))
					check("AddMulTransASym", mixed)
				}
			}
		}
	})
}

func TestMulHandsNaNOn(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range []int{3, 17, 65} {
			a, c := mattest.Dense(n, n, 1), mat.NewDense(n, n)
			a.Set(n/2, n-1, nan)
			mat.Mul(c, a, mat.NewDense(n, n))
			for k, v := range c.Data {
				require.Equal(t, k/n == n/2, v != v)
			}
		}
	})
}

func TestTriangularSolves(t *testing.T) {
	mattest.EachKernel(t, func(t *testing.T) {
		for _, n := range append([]int{0}, mattest.Orders...) {
			// U = triu(random) + n·I; the solver gets it with NaN below the diagonal.
			u, clean := mattest.Dense(n, n, 1), mat.NewDense(n, n)
			for i := range n {
				for j := range i {
					u.Set(i, j, nan)
				}
				u.Set(i, i, u.At(i, i)+float64(n))
				copy(clean.Row(i)[i:], u.Row(i)[i:])
			}
			l := mattest.Trans(u)
			for _, m := range []int{0, 1, 2, 3, 8, 17, 33} {
				x := mattest.Dense(n, m, 2)
				b, bt := mattest.Mul(clean, x), mattest.Mul(mattest.Trans(clean), x)
				for name, f := range map[string]struct {
					solve  func(dst, t, b *mat.Dense)
					vec    func(dst []float64, t *mat.Dense, b []float64)
					tri, b *mat.Dense
				}{
					"SolveUpper":      {mat.SolveUpper, mat.SolveUpperVec, u, b},
					"SolveUpperTrans": {mat.SolveUpperTrans, mat.SolveUpperTransVec, u, bt},
					"SolveLower":      {mat.SolveLower, mat.SolveLowerVec, l, bt},
					"SolveLowerTrans": {mat.SolveLowerTrans, mat.SolveLowerTransVec, l, b},
				} {
					for _, pad := range mattest.Strides {
						tri, y, in := mattest.Pad(f.tri, pad), mattest.Pad(mat.NewDense(n, m), pad), mattest.Pad(f.b, pad)
						f.solve(y, tri, in)
						near(t, x, y, 4*n)
						f.solve(in, tri, in)
						require.Zero(t, mattest.MaxDiff(in, y), "%s in place differs", name)
						mattest.CheckPad(t, y)
						mattest.CheckPad(t, in)
						if m == 1 {
							v, in := mat.NewDense(n, 1), mattest.Pad(f.b, 0)
							f.vec(v.Data, tri, in.Data)
							near(t, x, v, 4*n)
							f.vec(in.Data, tri, in.Data)
							require.Equal(t, v.Data, in.Data, "%sVec in place differs", name)
						}
					}
				}
			}
		}
	})
}
