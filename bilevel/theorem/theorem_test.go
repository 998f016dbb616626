package theorem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stable/bilevel"
	"stable/bilevel/bileveltest"
	"stable/mat/mattest"
)

// randomConstants draws over several orders of magnitude, those of one kind all small at times.
func randomConstants(rng *rand.Rand) Constants {
	var c Constants
	v := reflect.ValueOf(&c).Elem()
	small := map[byte]float64{}
	for _, kind := range "LCSM" {
		small[byte(kind)] = math.Pow(10, -3*float64(rng.IntN(2)))
	}
	for i := range v.NumField() {
		v.Field(i).SetFloat(small[v.Type().Field(i).Name[0]] * math.Pow(10, 3*rng.Float64()-1.5))
	}
	c.Lg += c.MuG
	c.MuF = -c.MuF
	return c
}

func tightest(seen map[string]int, bounds map[string]float64) float64 {
	least := ""
	for name, v := range bounds {
		if least == "" || v < bounds[least] {
			least = name
		}
	}
	seen[least]++
	return bounds[least]
}

// The step sizes satisfy (eq.coeff), which the proof needs, and are the largest of (eq.stepsize);
// each bound is the tightest somewhere.
func TestTheorem2(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	forAlpha, forBeta := map[string]int{}, map[string]int{}
	for i := range mattest.Count(2000, 10_000, 10_000) {
		c := randomConstants(rng)
		k := 1 + rng.IntN(1e6)
		rho := -c.MuF * (1 + math.Pow(10, -4*rng.Float64()))
		where := fmt.Sprintf("case %d: %+v", i, c)
		s := bileveltest.Must(c.Theorem2(k, rho))
		alpha, beta, tau := s.Alpha.At(0), s.Beta.At(5), s.Tau.At(k)
		lf, _, _ := c.Lipschitz()
		c12, weak := c.lemma2(), c.MuF+rho
		assert.Equal(t, 1/math.Sqrt(float64(k)), tau)
		assert.LessOrEqual(t, alpha, beta, where)
		assert.LessOrEqual(t, beta, tau, where)
		assert.LessOrEqual(t, beta, 2/(c.MuG+c.Lg), where)
		const ulps = 1e-12
		h := c12*alpha*alpha/beta + 4*rho*c.Cgxy*c.Cgxy*c.Cfy*c.Cfy*alpha/(weak*math.Pow(c.MuG, 4))
		assert.LessOrEqual(t, h, tau*(1+ulps), where)
		h = c12*alpha*alpha/beta + 4*rho*c.Cfy*c.Cfy*alpha/(weak*c.MuG*c.MuG)
		assert.LessOrEqual(t, h, tau*(1+ulps), where)
		kappa := c.MuG * c.Lg / (c.MuG + c.Lg)
		y := kappa*beta - c12*alpha*alpha/beta - 2*lf*lf*rho*alpha/weak - 8*c.c3()*beta*beta*c.Lg*c.Lg
		assert.GreaterOrEqual(t, y, kappa*beta/4*(1-ulps), where)
		assert.Positive(t, alpha, where)

		assert.InEpsilon(t, tightest(forBeta, map[string]float64{
			"1/√K": tau, "c": c.MuG / (c.Lg * 32 * (c.MuG + c.Lg) * c12),
			"c̃₃": c.MuG / (c.Lg * 32 * (c.MuG + c.Lg) * c.c3()),
		}), beta, ulps, where)
		assert.InEpsilon(t, tightest(forAlpha, map[string]float64{
			"β":    beta,
			"H_yy": tau / (c12 + 4*rho*math.Pow(c.Cgxy*c.Cfy, 2)/(weak*math.Pow(c.MuG, 4))),
			"H_xy": tau / (c12 + 4*rho*math.Pow(c.Cfy, 2)/(weak*math.Pow(c.MuG, 2))),
			"y":    kappa * beta / (2*c12 + 4*rho*lf*lf/weak),
		}), alpha, ulps, where)
	}
	assert.Len(t, forBeta, 3)
	assert.Len(t, forAlpha, 4)
}

// The step sizes satisfy (eq.coeff2), and contract V by at least 2/(K₀+k). α/β is the largest, K₀
// the smallest that the bounds allow; each is the tightest somewhere.
func TestTheorem3(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	forA, forBeta := map[string]int{}, map[string]int{}
	for i := range mattest.Count(1000, 3000, 3000) {
		c := randomConstants(rng)
		where := fmt.Sprintf("case %d: %+v", i, c)
		s := bileveltest.Must(c.Theorem3())
		lf, _, _ := c.Lipschitz()
		c12 := c.lemma2()
		kappa := c.MuG * c.Lg / (c.MuG + c.Lg)
		for _, k := range []int{0, 1, 1000, 1e8} {
			alpha, beta, tau := s.Alpha.At(k), s.Beta.At(k), s.Tau.At(k)
			require.Equal(t, beta, tau)
			require.LessOrEqual(t, tau, 1.0, where)
			const ulps = 1e-9
			h := 4 * alpha / c.Mu * c.Cfy * c.Cfy / (c.MuG * c.MuG)
			assert.GreaterOrEqual(t, tau-c12*alpha*alpha/beta-h, beta/4*(1-ulps), where)
			h *= c.Cgxy * c.Cgxy / (c.MuG * c.MuG)
			assert.GreaterOrEqual(t, tau-c12*alpha*alpha/beta-h, beta/4*(1-ulps), where)
			y := kappa*beta - c12*alpha*alpha/beta - 2*lf*lf*alpha/c.Mu - 8*c.c3()*beta*beta*c.Lg*c.Lg
			assert.GreaterOrEqual(t, y, kappa*beta/4*(1-ulps), where)
			contraction := min(c.Mu*alpha, kappa*beta/4, beta/4)
			assert.InEpsilon(t, 2/(s.Beta.(bilevel.Power).K0+float64(k)), contraction, 1e-9, where)
		}

		a := tightest(forA, map[string]float64{
			"y, c": math.Sqrt(kappa / (4 * c12)),
			"y, x": c.Mu * kappa / (8 * lf * lf),
			"H, c": 1 / math.Sqrt(4*c12),
			"H_yy": c.Mu * math.Pow(c.MuG, 4) / (8 * math.Pow(c.Cgxy*c.Cfy, 2)),
			"H_xy": c.Mu * math.Pow(c.MuG, 2) / (8 * math.Pow(c.Cfy, 2)),
		})
		beta := s.Beta.(bilevel.Power)
		assert.InEpsilon(t, a, s.Alpha.(bilevel.Power).C/beta.C, 1e-12, where)
		most := tightest(forBeta, map[string]float64{
			"τ ≤ 1": 1, "printed": c.MuG / (c.Lg * 32 * (c.MuG + c.Lg)),
			"c̃₃": c.MuG / (c.Lg * 32 * (c.MuG + c.Lg) * c.c3()),
		})
		assert.LessOrEqual(t, beta.At(0), most*(1+1e-12), where)
		assert.Greater(t, beta.C/(beta.K0-1), most*(1-1e-12), where)
	}
	assert.Len(t, forA, 5)
	assert.Len(t, forBeta, 3)
}

// By hand: C_gxy/μ_g = 3 or 1/2, each term of c̃₁ the largest in turn, c̃₂ = 1/4 + 2/3 = 11/12.
func TestLemma2(t *testing.T) {
	for _, v := range []struct{ cfx, cfy, cgxy, lgyy, lgxy, want float64 }{
		{3, 5, 6, 0.25, 0.5, 11 * 9 * (81 + 81*625)},                // L_y²(…)
		{0.5, 0.125, 6, 7, 11, 11 * (9*7 + 11) / 4.0 * 25 / 64},     // (9L_gyy + L_gxy)/μ_g²·(1/4 + 9/64)
		{0.5, 0.125, 6, 0.25, 0.5, 11 * 9 / 4.0 * 25 / 64},          // C_gxy²/μ_g⁴·(1/4 + 9/64)
		{0.5, 0.125, 1, 0.25, 0.5, 11 / 4.0 * (1/4.0 + 1/(4*64.0))}, // 1/μ_g²·(1/4 + 1/256)
	} {
		c := Constants{Cfx: v.cfx, Cfy: v.cfy, Cgxy: v.cgxy, Lgyy: v.lgyy, Lgxy: v.lgxy, MuG: 2, Lg: 6}
		assert.InEpsilon(t, v.want, c.lemma2(), 1e-14, "%+v", v)
	}

	c := Constants{Lgxy: 2, LgxyBar: 3, Lgyy: 5, LgyyBar: 7, MuG: 2, Lg: 6}
	assert.Equal(t, 4.0+9+25+49, c.c3())
	assert.InEpsilon(t, 1/(3*32*8*100.0), c.betaMax(100), 1e-14)
	assert.InEpsilon(t, 1/(3*32*8*87.0), c.betaMax(10), 1e-14)
	assert.Equal(t, 0.25, Constants{MuG: 2, Lg: 6}.betaMax(0.001))
}

func TestTheorem3WithoutUpperLevel(t *testing.T) {
	s := bileveltest.Must(Constants{Lg: 6, MuG: 2, Mu: 3}.Theorem3())
	k0 := 8 * 32 * 8 * 3.0 // c̃₅ = 1/4, and β ≤ 1/(3·32·8)
	assert.Equal(t, Steps{bilevel.Power{C: 8, K0: k0, P: 1}, bilevel.Power{C: 8, K0: k0, P: 1}, bilevel.Power{C: 8, K0: k0, P: 1}}, s)
}

// By hand: C_gxy/μ_g = 2, C_fy/μ_g = 3/2.
func TestLipschitz(t *testing.T) {
	c := Constants{Lfx: 1, LfxBar: 2, Lfy: 3, LfyBar: 4, Lg: 5, Lgxy: 6, LgxyBar: 7, Lgyy: 8, LgyyBar: 9, Cfy: 3,
		Cgxy: 4, MuG: 2}
	lf, ly, lF := c.Lipschitz()
	assert.Equal(t, 1+2*3+1.5*(6+2*8.0), lf)
	assert.Equal(t, 2.0, ly)
	assert.Equal(t, 2+2*(4+lf)+1.5*(7+2*9), lF)
}

func TestTheoremsRefuse(t *testing.T) {
	good := randomConstants(rand.New(rand.NewPCG(5, 6)))
	for want, spoil := range map[string]func(c *Constants){
		"Constants.MuG is 0":   func(c *Constants) { c.MuG = 0 },
		"Constants.Cfx is NaN": func(c *Constants) { c.Cfx = math.NaN() },
		"Constants.Lgyy is -1": func(c *Constants) { c.Lgyy = -1 },
		"Constants.Lg is":      func(c *Constants) { c.Lg = c.MuG / 2 },
		"Constants.Mu is 0":    func(c *Constants) { c.Mu = 0 },
	} {
		c := good
		spoil(&c)
		_, err := c.Theorem3()
		require.ErrorIs(t, err, bilevel.ErrOption, want)
		assert.ErrorContains(t, err, want)
		_, err = c.Theorem2(10, 1e9)
		assert.Equal(t, want != "Constants.Mu is 0", err != nil)
	}
	for _, c := range []Constants{{Lg: 1, MuG: 1, Mu: 1, Cfx: 1e100}, {Lg: 1e200, MuG: 1e-200, Mu: 1, Cfy: 1}} {
		_, err := c.Theorem2(5, 1)
		require.ErrorIs(t, err, bilevel.ErrOption)
		_, err = c.Theorem3()
		require.ErrorIs(t, err, bilevel.ErrOption)
	}
	_, err := good.Theorem2(0, 1e9)
	assert.ErrorContains(t, err, "Theorem2: k is 0")
	_, err = good.Theorem2(10, 1e-9)
	assert.ErrorContains(t, err, "Theorem2: rho is 1e-09")
}
