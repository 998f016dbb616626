package zoo

import (
	"context"

	"stable/bilevel"
	"stable/bilevel/saa"
	"stable/mat"
)

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
