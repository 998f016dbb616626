package hyperopt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/bilevel/check"
	"stable/bilevel/hyperopt/data"
	"stable/bilevel/method"
	"stable/mat"
)

func models(t *testing.T, f func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64)) {
	for _, loss := range []Loss{Logistic, Squared, Softmax} {
		for _, o := range []Options{
			{Penalty: PerFeature},
			{Penalty: PerFeature, Form: Exp},
			{Penalty: PerFeature, PenaliseIntercept: true},
			{Penalty: PerRow, Ridge: 0.1},
		} {
			o.Loss = loss
			t.Run(fmt.Sprintf("loss=%d/penalty=%d/form=%d/%t", loss, o.Penalty, o.Form, o.PenaliseIntercept), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(uint64(loss)+4, uint64(o.Penalty))) // no row without an entry
				rows := func(n int) *data.Data { return data.WithBias(bileveltest.Rows(rng, n, 5, 0.6, loss == Squared)) }
				if loss == Softmax {
					rows = func(n int) *data.Data { return threeClasses(data.WithBias(bileveltest.Rows(rng, n, 5, 0.6, false))) }
				}
				p := bileveltest.Must(New(rows(23), rows(17), o))
				dx, dy := p.Dims()
				x, y := make([]float64, dx), make([]float64, dy)
				anywhere(p, rng, x, y)
				f(t, p, rng, x, y)
			})
		}
	}
}

func anywhere(p *Problem, rng *rand.Rand, x, y []float64) {
	lo, hi := p.Box()
	for i := range x {
		x[i] = lo[i] + (hi[i]-lo[i])*rng.Float64()
	}
	for i := range y {
		y[i] = rng.NormFloat64()
	}
}

func threeClasses(d *data.Data) *data.Data {
	for i := range d.Label {
		d.Label[i] = float64((i + 2*int(d.Label[i]+1)) % 3)
	}
	return d
}

var batches = [][]bilevel.Sample{nil, {5}, {3, 16, 3, 0}}

func rowLoss(l Loss, d *data.Data, i int, y []float64) float64 {
	var t []float64
	col, val := d.Row(i)
	for at := 0; at < len(y); at += d.Dim {
		t = append(t, 0)
		for k, c := range col {
			t[at/d.Dim] += val[k] * y[at+int(c)]
		}
	}
	switch b := d.Label[i]; l {
	case Squared:
		return (t[0] - b) * (t[0] - b) / 2
	case Logistic:
		return math.Log(1 + math.Exp(-b*t[0]))
	default:
		total := 0.0
		for _, v := range t {
			total += math.Exp(v)
		}
		return math.Log(total) - t[int(b)]
	}
}

func TestModels(t *testing.T) {
	models(t, func(t *testing.T, p *Problem, _ *rand.Rand, x, y []float64) {
		for _, b := range batches {
			n, upper, lower := 0.0, 0.0, 0.0
			for i := range bilevel.Each(b, 17) {
				n++
				upper += rowLoss(p.opt.Loss, p.val, int(i), y)
			}
			got := bileveltest.Must(p.ValueF(x, y, b))
			assert.InEpsilon(t, upper/n, got, 1e-14)
			n = 0
			for i := range bilevel.Each(b, 23) {
				weight := 1.0
				if p.perRow() {
					weight = x[i]
				}
				n++
				lower += weight * rowLoss(p.opt.Loss, p.train, int(i), y)
			}
			lower /= n
			for i, v := range y {
				switch k := i % 6; {
				case k == 5 && !p.opt.PenaliseIntercept:
					lower += 0.5 * p.free * (v - p.base[i/6]) * (v - p.base[i/6])
				case p.perRow():
					lower += 0.1 * v * v
				case p.opt.Form == Exp:
					lower += math.Exp(x[k]) / 2 * v * v
				default:
					lower += x[k] * v * v
				}
			}
			got = bileveltest.Must(p.ValueG(x, y, b))
			assert.InEpsilon(t, lower, got, 1e-14)
		}
		for _, err := range []error{p.GradXG(x, x, y, []bilevel.Sample{23}), p.GradF(x, y, x, y, []bilevel.Sample{17})} {
			require.ErrorContains(t, err, "sample")
		}
		lo, hi := p.Box()
		p.Start(x, y)
		r := bileveltest.Must(check.Problem(p, check.Options{
			Set: bilevel.Box{Lo: lo, Hi: hi}, Center: x, ScaleX: 0.2, ScaleY: 0.3, MuG: p.StrongConvexity(),
		}))
		assert.NoError(t, r.Err())
	})
}

type steeper struct{ *Problem }

func (p steeper) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	err := p.Problem.GradG(gy, x, y, phi)
	gy[0]++
	return err
}

func TestJoint(t *testing.T) {
	models(t, func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64) {
		dx, dy := p.Dims()
		anywhere(p, rng, x, y)
		v, got, want := make([]float64, dy), make([]float64, 2*dy+dx), make([]float64, 2*dy+dx)
		anywhere(p, rng, nil, v)
		joint := func(b []bilevel.Sample) error { return p.JointG(got[:dy], got[dy:2*dy], got[2*dy:], x, y, v, b) }
		for _, b := range append(batches, []bilevel.Sample{4, 2}) {
			require.NoError(t, joint(b))
			require.NoError(t, p.GradG(want[:dy], x, y, b))
			require.NoError(t, p.HessVecG(want[dy:2*dy], x, y, v, b))
			require.NoError(t, p.CrossVecG(want[2*dy:], x, y, v, b))
			assert.Equal(t, want, got, "%v", b)
		}
		require.ErrorContains(t, joint([]bilevel.Sample{23}), "sample 23")
		m := method.SABA{Alpha: bilevel.Constant(0.01), Beta: bilevel.Constant(0.01)}
		run := func(p bilevel.Problem) (r bilevel.Result) {
			o := bilevel.Options{X0: x, UpperBatch: 2, LowerBatch: 3}
			s := bileveltest.Must(bilevel.New(p, m, o))
			r = bileveltest.Must(s.Run(t.Context(), bilevel.Run{Steps: 20}))
			r.Elapsed = 0
			return r
		}
		bare := func(q bilevel.Problem) bilevel.Problem {
			return struct {
				bilevel.Problem
				bilevel.Products
			}{q, p}
		}
		assert.Equal(t, run(bare(p)), run(p))
		assert.Equal(t, run(bare(steeper{p})), run(steeper{p}), "a type that changes GradG")
	})
}

func TestModelBoundsHold(t *testing.T) {
	models(t, func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64) {
		dx, dy := p.Dims()
		v, hv := make([]float64, dy), make([]float64, dy)
		for range 20 {
			anywhere(p, rng, x, y)
			anywhere(p, rng, nil, v)
			sample := []bilevel.Sample{bilevel.Sample(rng.IntN(17))}
			require.NoError(t, p.HessVecG(hv, x, y, v, sample))
			assert.GreaterOrEqual(t, mat.Dot(v, hv), p.StrongConvexity()*mat.Dot(v, v)*(1-1e-14))
			assert.LessOrEqual(t, mat.Dot(v, hv), p.Smoothness()*mat.Dot(v, v)*(1+1e-14))
			if !p.perRow() {
				require.NoError(t, p.Solution(y, x))
				sample = nil
			}
			gxy := mat.NewDense(dx, dy)
			require.NoError(t, p.CrossG(gxy, x, y, sample))
			assert.LessOrEqual(t, mat.NormFrob(gxy), p.CrossBound())
		}
	})
	d := &data.Data{Dim: 2, RowPtr: []int{0, 2, 3}, Col: []int32{0, 1, 0}, Val: []float64{3, 4, 1}, Label: []float64{1, -1}}
	p := bileveltest.Must(New(d, d, Options{Loss: Squared, Penalty: PerRow, Hi: 0.8, Ridge: 0.1}))
	assert.InDelta(t, 0.8*25+0.2, p.Smoothness(), 1e-14)
	p = bileveltest.Must(New(d, d, Options{Penalty: PerRow, Lo: 0, Hi: 0.8}))
	assert.InDelta(t, 0.8*25/4+0.02, p.Smoothness(), 1e-14)
	assert.InDelta(t, 5, p.CrossBound(), 1e-14)
	p = bileveltest.Must(New(d, d, Options{Form: Raw, Lo: 1e-20, Hi: 1e-16}))
	x, y := make([]float64, 2), []float64{1, 1}
	p.Start(x, y)
	assert.InEpsilon(t, 1e-18, x[0], 1e-12)
}

func TestModelsAllocateNothing(t *testing.T) {
	models(t, func(t *testing.T, p *Problem, _ *rand.Rand, x, y []float64) {
		dx, dy := p.Dims()
		gx, v, gxy, gyy := make([]float64, dx), make([]float64, dy), mat.NewDense(dx, dy), mat.NewSym(dy)
		run := func() {
			for _, b := range batches {
				require.NoError(t, p.GradF(gx, v, x, y, b))
				require.NoError(t, p.GradG(v, x, y, b))
				require.NoError(t, p.CrossG(gxy, x, y, b))
				require.NoError(t, p.HessG(gyy, x, y, b))
				require.NoError(t, p.CrossVecG(gx, x, y, v, b))
				require.NoError(t, p.GradXG(gx, x, y, b))
				require.NoError(t, p.HessVecG(v, x, y, y, b))
			}
			_ = bileveltest.Must(p.Objective(gx, x))
		}
		run()
		assert.Zero(t, testing.AllocsPerRun(5, run))
	})
}

func TestSolution(t *testing.T) {
	models(t, func(t *testing.T, p *Problem, rng *rand.Rand, x, y []float64) {
		gy, cold := make([]float64, len(y)), make([]float64, len(y))
		require.NoError(t, p.Solution(cold, x))
		for _, far := range []float64{0, 1, 1e3, 1e200, math.Inf(1), math.NaN()} {
			for i := range y {
				y[i] = far * rng.NormFloat64()
			}
			require.NoError(t, p.Solution(y, x))
			require.NoError(t, p.GradG(gy, x, y, nil))
			assert.LessOrEqual(t, mat.Norm(gy), 1e-13*p.truth.unit)
			assert.InDeltaSlice(t, cold, y, 1e-11)
		}
		first := bileveltest.Must(p.Objective(nil, x))
		far := make([]float64, len(x))
		p.Start(far, y)
		_ = bileveltest.Must(p.Objective(nil, far))
		again := bileveltest.Must(p.Objective(nil, x))
		other := bileveltest.Must(p.Clone().Objective(nil, x))
		assert.Equal(t, []float64{first, first}, []float64{again, other}, "it depends on x alone")
	})
}
