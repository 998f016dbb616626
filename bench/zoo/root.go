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
	sum     bool
}

type names struct {
	list, asked []bilevel.Sample
	seen        map[bilevel.Sample]bool
}

func keep(p bilevel.Problem) *kept {
	return &kept{Completed: bilevel.Complete(p), xi: names{seen: map[bilevel.Sample]bool{}},
		phi: names{seen: map[bilevel.Sample]bool{}}}
}

func (k *kept) Streams() (upper, lower uint64) {
	if k.sum {
		return uint64(len(k.xi.list)), uint64(len(k.phi.list))
	}
	return k.Completed.Streams()
}

// of returns the names of a batch, of all for the empty one of a sum.
func (k *kept) of(n *names, batch []bilevel.Sample) []bilevel.Sample {
	if k.sum && batch == nil {
		return n.list
	}
	n.asked = n.asked[:0]
	for _, s := range batch {
		if k.sum {
			s = n.list[s]
		} else if !n.seen[s] {
			n.seen[s] = true
			n.list = append(n.list, s)
		}
		n.asked = append(n.asked, s)
	}
	return n.asked
}

func (k *kept) GradF(fx, fy, x, y []float64, xi []bilevel.Sample) error {
	return k.Completed.GradF(fx, fy, x, y, k.of(&k.xi, xi))
}

func (k *kept) GradG(gy, x, y []float64, phi []bilevel.Sample) error {
	return k.Completed.GradG(gy, x, y, k.of(&k.phi, phi))
}

func (k *kept) CrossG(gxy *mat.Dense, x, y []float64, phi []bilevel.Sample) error {
	return k.Completed.CrossG(gxy, x, y, k.of(&k.phi, phi))
}

func (k *kept) HessG(gyy *mat.Sym, x, y []float64, phi []bilevel.Sample) error {
	return k.Completed.HessG(gyy, x, y, k.of(&k.phi, phi))
}

func (k *kept) HessVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return k.Completed.HessVecG(dst, x, y, v, k.of(&k.phi, phi))
}

func (k *kept) CrossVecG(dst, x, y, v []float64, phi []bilevel.Sample) error {
	return k.Completed.CrossVecG(dst, x, y, v, k.of(&k.phi, phi))
}

// root returns the ratio of Outcome that the exact minimum of the kept samples has, the one that 50
// exact Newton steps from the run's end lead to; −1 where the limit there is not known.
func (p *Problem) root(ctx context.Context, k *kept, s *bilevel.Solver) (float64, error) {
	k.sum = true
	used := float64(max(s.Counts().Xi, s.Counts().Phi))
	exact, err := bilevel.New(k, saa.Newton{}, bilevel.Options{X0: s.X(), Y0: s.Y(), Set: p.Set,
		UpperBatch: bilevel.Full, LowerBatch: bilevel.Full})
	if err == nil {
		_, err = exact.Run(ctx, bilevel.Run{Steps: 50})
	}
	if err != nil {
		return -1, context.Cause(ctx)
	}
	o := Outcome{Used: []float64{used}}
	if p.judge(&o, [][]float64{p.base(exact.X())}); len(o.Ratio) == 0 {
		return -1, nil
	}
	return o.Ratio[0], nil
}
