package zoo

import (
	"context"
	"fmt"
	"math"
	"slices"

	"stable/bilevel"
	"stable/bilevel/method"
	"stable/bilevel/observe"
	"stable/bilevel/saa"
	"stable/eig"
	"stable/mat"
)

type outcome struct {
	Failed      string    `json:",omitempty"` // the error that ended it
	Warnings    []string  `json:",omitempty"`
	Reason      string    `json:",omitempty"`
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
	q, y, h := p.fresh(), slices.Clone(p.y0), mat.NewSym(len(p.y0))
	if err := q.(bilevel.Truth).Solution(y, p.x0); err != nil {
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
	q := p.fresh()
	k := keep(q)
	if root = root && p.Stream; root {
		q = k
	}
	s, err := bilevel.New(q, e.New(t), bilevel.Options{X0: p.x0, Y0: p.y0, Set: p.runIn, Seed: seed})
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
	o.Warnings, o.Reason, o.Steps, o.Seconds = r.Warnings, r.Reason.String(), r.Steps, r.Elapsed.Seconds()
	o.Evaluations = float64(r.Counts.Evaluations()) / max(used(s), 1)
	p.judge(&o, points)
	if root && o.Failed == "" {
		o.Root, err = p.root(ctx, k, s)
		return o, err
	}
	return o, nil
}

func (p *problem) judge(o *outcome, points [][]float64) {
	end := points[len(points)-1]
	f, err := p.of.Objective(nil, end)
	if err != nil { // the run has gone where the lower level has no solution
		o.Failed = fmt.Sprintf("%s; F at the end: %v", o.Failed, err)
		f = math.MaxFloat64 // JSON has no infinity
	}
	o.Rise = min(f-p.f0, math.MaxFloat64)
	star := p.star
	if err == nil {
		if star, err = p.of.descend(p.set, end); err != nil {
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
		f, err := p.of.Objective(nil, x)
		if err != nil {
			f = math.MaxFloat64
		}
		o.Error = append(o.Error, f-star.F)
		if p.Stream && o.NoLimit == "" {
			o.Ratio = append(o.Ratio, max(f-star.F, 0)/limit.At(o.Used[i], o.Used[i]))
		}
	}
}

// kept is a stream that keeps the names that f and g are asked for, or the finite sum of these.
type kept struct {
	*bilevel.Completed
	xi, phi names
}

type names struct {
	sum         bool
	list, terms []bilevel.Sample
	seen        map[bilevel.Sample]bool
}

func keep(p bilevel.Problem) *kept {
	return &kept{bilevel.Complete(p), names{seen: map[bilevel.Sample]bool{}}, names{seen: map[bilevel.Sample]bool{}}}
}

// Streams is asked for once, by bilevel.New: nothing is kept of a stream before.
func (k *kept) Streams() (upper, lower uint64) {
	return uint64(len(k.xi.list)), uint64(len(k.phi.list))
}

// of returns the names of a batch, of all for the empty one of a sum.
func (n *names) of(batch []bilevel.Sample) []bilevel.Sample {
	if !n.sum {
		for _, s := range batch {
			if !n.seen[s] {
				n.seen[s] = true
				n.list = append(n.list, s)
			}
		}
		return batch
	}
	if batch == nil {
		return n.list
	}
	n.terms = n.terms[:0]
	for _, s := range batch {
		n.terms = append(n.terms, n.list[s])
	}
	return n.terms
}

func (k *kept) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	return k.Completed.GradF(fx, fy, x, y, k.xi.of(xi))
}

func (k *kept) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	return k.Completed.GradG(gy, x, y, k.phi.of(phi))
}

func (k *kept) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	return k.Completed.CrossG(gxy, x, y, k.phi.of(phi))
}

func (k *kept) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	return k.Completed.HessG(gyy, x, y, k.phi.of(phi))
}

func (k *kept) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return k.Completed.HessVecG(dst, x, y, v, k.phi.of(phi))
}

func (k *kept) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return k.Completed.CrossVecG(dst, x, y, v, k.phi.of(phi))
}

// root returns outcome.Root: the point is where 50 exact Newton steps from the run's end lead.
func (p *problem) root(ctx context.Context, k *kept, s *bilevel.Solver) (float64, error) {
	k.xi.sum, k.phi.sum = true, true
	exact, err := bilevel.New(k, saa.Newton{}, bilevel.Options{X0: s.X(), Y0: s.Y(), Set: p.runIn,
		UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
	if err == nil {
		_, err = exact.Run(ctx, bilevel.Run{Steps: 50})
	}
	if err != nil {
		return -1, context.Cause(ctx)
	}
	o := outcome{Used: []float64{used(s)}}
	if p.judge(&o, [][]float64{p.base(exact.X())}); len(o.Ratio) == 0 {
		return -1, nil
	}
	return o.Ratio[0], nil
}
