package zoo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/method"
	"stable/bilevel/observe"
	"stable/eig"
	"stable/mat"
)

// Outcome is one run.
type Outcome struct {
	Failed      string    `json:",omitempty"` // the error that ended it
	Warnings    []string  `json:",omitempty"`
	Reason      string    `json:",omitempty"` // why it stopped
	Used        []float64 // samples of the stream that was used more, when a mark was reached
	Error       []float64 // F less that of the stationary point that exact descent from the end reaches
	Ratio       []float64 `json:",omitempty"` // that over the limit at that point; NaN is −1
	Root        float64   `json:",omitempty"` // the last ratio of the exact minimum of the run's samples; −1: not known
	NoLimit     string    `json:",omitempty"` // why there is no ratio, or no reference but that from x⁰
	Free        int       // directions in which x can move there
	Gap         float64   // F(x⁰) − F*
	Rise        float64   // F(end) − F(x⁰)
	Evaluations float64   // of all oracles, in samples, over samples of the stream that was used more
	Steps       int
	Seconds     float64 // with the oracles, on the clock
}

// Worse says whether the run ended above its start, by more than rounding.
func (o *Outcome) Worse() bool { return !(o.Rise <= 1e-12*o.Gap) }

// tuning has parameters for methods that need some: μ_g and L_g of the mean at x⁰, steps from
// 1/L_g, falling as the method's theory says.
func (p *Problem) tuning(e method.Entry) (method.Tuning, error) {
	q := p.Fresh()
	_, dy := q.Dims()
	y, h := slices.Clone(p.Y0), mat.NewSym(dy)
	if err := q.(bilevel.Truth).Solution(y, p.X0); err != nil {
		return method.Tuning{}, err
	}
	if err := q.HessG(h, p.X0, y, nil); err != nil {
		return method.Tuning{}, err
	}
	var s eig.Jacobi // accurate where units spread the eigenvalues
	if err := s.FactorValues(h); err != nil {
		return method.Tuning{}, err
	}
	mu, l := max(s.Values()[0], 1e-300), s.Values()[dy-1]
	t := method.Tuning{MuG: mu, LG: l}
	if e.Needs.Alpha {
		t.Alpha = bilevel.Power{C: 1 / l, P: e.Orders[0]}
	}
	if e.Needs.Beta {
		t.Beta = bilevel.Power{C: 1 / l, P: e.Orders[1]}
	}
	return t, nil
}

// Run runs a method, measures it at the marks, the last of which ends it, and judges it by exact
// descent from its end. root asks for Outcome.Root.
func (p *Problem) Run(ctx context.Context, e method.Entry, seed uint64, marks []uint64, root bool) (Outcome, error) {
	var o Outcome
	var t method.Tuning
	if e.Needs != (method.Needs{}) {
		var err error
		if t, err = p.tuning(e); err != nil {
			return o, err
		}
	}
	q := p.Fresh()
	var k *kept
	if root && p.Stream {
		k = keep(q)
		q = k
	}
	s, err := bilevel.New(q, e.New(t), bilevel.Options{X0: p.X0, Y0: p.Y0, Set: p.Set, Seed: seed})
	if err != nil {
		return o, err
	}
	var points [][]float64
	mark := func() {
		points = append(points, p.base(s.X()))
		o.Used = append(o.Used, float64(max(s.Counts().Xi, s.Counts().Phi)))
	}
	last := marks[len(marks)-1]
	r, err := s.Run(ctx, bilevel.Run{Xi: last, Phi: last, Progress: func(s *bilevel.Solver) bool {
		for used := max(s.Counts().Xi, s.Counts().Phi); len(points) < len(marks)-1 && used >= marks[len(points)]; {
			mark()
		}
		return true
	}})
	o.Seconds = r.Elapsed.Seconds()
	if ctx.Err() != nil {
		return o, context.Cause(ctx)
	}
	if err != nil {
		o.Failed = err.Error()
	}
	for len(points) < len(marks) {
		mark()
	}
	c := r.Counts
	o.Warnings, o.Reason, o.Steps = r.Warnings, r.Reason.String(), r.Steps
	o.Evaluations = float64(c.GradF+c.GradG+c.CrossG+c.HessG+c.HessVecG+c.CrossVecG+c.GradXG) / float64(max(c.Xi, c.Phi, 1))
	p.judge(&o, points)
	if k != nil && o.Failed == "" {
		o.Root, err = p.root(ctx, k, s)
		return o, err
	}
	return o, nil
}

func (p *Problem) judge(o *Outcome, points [][]float64) {
	of := p.of.sum
	end := points[len(points)-1]
	f, err := of.Objective(nil, end)
	if err != nil { // the run has gone where the lower level has no solution
		o.Failed = fmt.Sprintf("%s; F at the end: %v", o.Failed, err)
		f = math.Inf(1)
	}
	o.Rise = f - p.F0
	star := p.Star
	if err == nil {
		if star, err = of.descend(p.set, end); err != nil {
			star, o.NoLimit = p.Star, fmt.Sprintf("exact descent from the end: %v", err)
		}
	}
	p.Best = min(p.Best, star.F)
	limit := observe.Limit{}
	if p.Stream && o.NoLimit == "" {
		limit, o.NoLimit = p.Limit, p.NoLimit
		if math.Abs(star.F-p.Star.F) > 1e-9*(p.F0-p.Best) {
			limit, o.NoLimit = p.limit(star)
		}
		o.Free = limit.Free
	}
	o.Gap = p.F0 - p.Best
	if star.Left > 1e-9*o.Gap {
		o.NoLimit = fmt.Sprintf("exact descent from the end stalls with %.2g of F(x⁰) − F* left", star.Left/o.Gap)
	}
	for i, x := range points {
		f, err := of.Objective(nil, x)
		if err != nil {
			f = math.MaxFloat64
		}
		o.Error = append(o.Error, f-star.F)
		if p.Stream && o.NoLimit == "" {
			o.Ratio = append(o.Ratio, max(f-star.F, 0)/limit.At(o.Used[i], o.Used[i]))
		}
	}
	o.Rise = min(o.Rise, math.MaxFloat64) // JSON has no infinity
}
