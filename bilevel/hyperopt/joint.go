package hyperopt

import (
	"cmp"

	"stable/bilevel"
)

// Joint returns p.
func (p *Problem) Joint() bilevel.Problem { return p }

// JointG writes the bits of GradG, HessVecG and CrossVecG: g_y, g_yy·v and g_xy·v. Cost: half of theirs for few rows.
func (p *Problem) JointG(gy, hv, cv, x, y, v []float64, phi []bilevel.Sample) error {
	if len(phi) == 0 || p.outputs > 1 || p.perRow() {
		return cmp.Or(p.GradG(gy, x, y, phi), p.HessVecG(hv, x, y, v, phi), p.CrossVecG(cv, x, y, v, phi))
	}
	p.sizes("hyperopt: JointG: dimension mismatch", same(cv, x), same(gy, hv, y, v))
	n, err := p.count(p.train, phi)
	if err != nil {
		return err
	}
	reg := p.diagonal(x)
	clear(gy)
	clear(hv)
	loss, train := p.opt.Loss, p.train
	if len(phi) > 3 {
		p.add(gy, 0, len(gy), &sum{kind: gradient, loss: loss, data: train, y: y}, phi)
		p.add(hv, 0, len(hv), &sum{kind: hessVec, loss: loss, data: train, y: y, v: v}, phi)
		phi = nil
	}
	for _, i := range phi {
		col, val := train.Row(int(i))
		t, u := dot(col, val, y), dot(col, val, v)
		first, second := loss.first(t, train.Label[i]), loss.second(t)
		axpy(gy, first, col, val)
		axpy(hv, second*u, col, val)
	}
	if n > 1 {
		for j := range gy {
			gy[j] /= n
			hv[j] /= n
		}
	}
	p.regularise(gy, hv, cv, reg, y, v)
	return nil
}

// regularise adds the penalty's part to g_y and g_yy·v, and writes g_xy·v. No build fuses its
// operations, nor the single oracles'.
func (p *Problem) regularise(gy, hv, cv, reg, y, v []float64) {
	hv, reg, y, v = hv[:len(gy)], reg[:len(gy)], y[:len(gy)], v[:len(gy)]
	for i, r := range reg {
		gy[i] += float64(r * y[i])
		hv[i] += float64(r * v[i])
	}
	gy[len(gy)-1] -= float64(p.free * p.base[0])
	reg, y, v = reg[:len(cv)], y[:len(cv)], v[:len(cv)]
	for i, r := range reg {
		cv[i] = 0 + float64(p.slope(r)*y[i]*v[i])
	}
}
