package zoo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/implicit"
	"stable/bilevel/method"
	"stable/bilevel/observe"
	"stable/bilevel/stream"
	"stable/eig"
	"stable/mat"
)

type outcome struct {
	Failed      string    `json:",omitempty"` // the error that ended it
	Warnings    []string  `json:",omitempty"`
	Used        []float64 // samples of the stream used more, at each mark
	Error       []float64 // F less its value where exact descent from the end leads
	Ratio       []float64 `json:",omitempty"` // over the limit there
	Root        float64   `json:",omitempty"` // of the exact minimum of the same samples; −1: not known
	NoLimit     string    `json:",omitempty"` // why there is no ratio, or no descent
	Free        int       // directions in which x can move
	Gap         float64   // F(x⁰) − F*
	Rise        float64   // F(end) − F(x⁰)
	Evaluations float64   // over samples of that stream
	Steps       int
	Seconds     float64 // with the oracles
}

// worse: the run ended above its start, by more than rounding.
func (o *outcome) worse() bool { return !(o.Rise <= 1e-12*o.Gap) }

func (o *outcome) left() float64 {
	if o.Failed != "" {
		return math.Inf(1)
	}
	return o.Error[len(o.Error)-1] / o.Gap
}

// tuning has μ_g and L_g of the mean at x⁰, and steps from 1/L_g, falling as in theory.
func (p *problem) tuning(e method.Entry) (t method.Tuning, err error) {
	q, h := p.fresh(), mat.NewSym(len(p.y0))
	y := slices.Clone(p.y0)
	if err := implicit.New(q).Solve(y, p.x0, 0); err != nil {
		return t, err
	}
	if err := q.HessG(h, p.x0, y, nil); err != nil {
		return t, err
	}
	var s eig.Jacobi // accurate where units spread the eigenvalues
	if err := s.FactorValues(h); err != nil {
		return t, err
	}
	t.MuG, t.LG = max(s.Values()[0], 1e-300), s.Values()[len(y)-1]
	if e.Needs.Alpha {
		t.Alpha = bilevel.Power{C: 1 / t.LG, P: e.Orders[0]}
	}
	if e.Needs.Beta {
		t.Beta = bilevel.Power{C: 1 / t.LG, P: e.Orders[1]}
	}
	return t, nil
}

func used(s *bilevel.Solver) float64 { return float64(max(s.Counts().Xi, s.Counts().Phi)) }

// run measures a run at the marks, the last of which ends it, and judges it by descent from its end.
func (p *problem) run(ctx context.Context, e method.Entry, seed uint64, marks []uint64, root bool) (o outcome, err error) {
	var t method.Tuning
	if e.Needs != (method.Needs{}) {
		if t, err = p.tuning(e); err != nil {
			return o, err
		}
	}
	m := &recalled{Method: e.New(t)}
	s, err := bilevel.New(p.fresh(), m, bilevel.Options{X0: p.x0, Y0: p.y0, Set: p.runIn, Seed: seed})
	if err != nil {
		return o, err
	}
	var points [][]float64
	mark := func() {
		points = append(points, p.base(s.X()))
		o.Used = append(o.Used, used(s))
	}
	last := marks[len(marks)-1]
	r, err := s.Run(ctx, bilevel.Run{Xi: last, Phi: last, Progress: func(s *bilevel.Solver) bool {
		for len(points) < len(marks)-1 && used(s) >= float64(marks[len(points)]) {
			mark()
		}
		return true
	}})
	if ctx.Err() != nil {
		return o, context.Cause(ctx)
	}
	if err != nil {
		o.Failed = err.Error()
	}
	for len(points) < len(marks) {
		mark()
	}
	o.Warnings, o.Steps, o.Seconds = r.Warnings, r.Steps, r.Elapsed.Seconds()
	o.Evaluations = float64(r.Counts.Evaluations()) / max(used(s), 1)
	p.judge(&o, points)
	if root && p.Stream && o.Failed == "" {
		o.Root = p.root(m, s)
	}
	return o, nil
}

func (p *problem) judge(o *outcome, points [][]float64) {
	end := points[len(points)-1]
	f, err := p.exact.at(end)
	if err != nil { // the run has gone where the lower level has no solution
		o.Failed = fmt.Sprintf("%s; F at the end: %v", o.Failed, err)
		f = math.MaxFloat64 // JSON has no infinity
	}
	o.Rise = min(f-p.f0, math.MaxFloat64)
	star := p.star
	if err == nil {
		if star, err = p.exact.descend(p.set, end); err != nil {
			star, o.NoLimit = p.star, fmt.Sprintf("exact descent from the end: %v", err)
		}
	}
	p.best = min(p.best, star.F)
	limit := observe.Limit{}
	if p.Stream && o.NoLimit == "" {
		limit, o.NoLimit = p.limit, p.noLimit
		if math.Abs(star.F-p.star.F) > 1e-9*(p.f0-p.best) {
			limit, o.NoLimit = p.limitAt(star)
		}
		o.Free = limit.Free
	}
	o.Gap = p.f0 - p.best
	if star.Left > 1e-9*o.Gap {
		o.NoLimit = fmt.Sprintf("exact descent from the end stalls with %.2g of F(x⁰) − F* left", star.Left/o.Gap)
	}
	for i, x := range points {
		f, err := p.exact.at(x)
		if err != nil {
			f = math.MaxFloat64
		}
		o.Error = append(o.Error, f-star.F)
		if p.Stream && o.NoLimit == "" {
			o.Ratio = append(o.Ratio, max(f-star.F, 0)/limit.At(o.Used[i], o.Used[i]))
		}
	}
}

// recalled is a method whose samples can be had again.
type recalled struct {
	bilevel.Method
	xi, phi *bilevel.Past
}

func (m *recalled) Start(it *bilevel.Iteration) (bilevel.Stepper, error) {
	m.xi, m.phi = it.PastXi(), it.PastPhi()
	return m.Method.Start(it)
}

// root returns outcome.Root: the point is where exact descent on a run's samples leads from its end.
func (p *problem) root(m *recalled, s *bilevel.Solver) float64 {
	u, n := upperOf(stream.Of(p.of.fresh())), s.Counts()
	u.Xi, u.Phi = m.xi.Next(int(n.Xi)), m.phi.Next(int(n.Phi))
	least, err := u.descend(p.set, p.base(s.X()))
	if err != nil {
		return -1
	}
	o := outcome{Used: []float64{used(s)}}
	if p.judge(&o, [][]float64{least.X}); len(o.Ratio) == 0 {
		return -1
	}
	return o.Ratio[0]
}
