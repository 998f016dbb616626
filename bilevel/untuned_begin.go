package bilevel

import "stable/mat"

// begin makes the first estimates at step 0, from a first batch whose samples are asked one by one:
// their scatter tells how far the estimates are off.
func (f *follower) begin(it *Iteration, xi, phi []Sample) error {
	if err := f.beginUpper(it, xi); err != nil {
		return err
	}
	if err := f.beginLower(it, phi); err != nil {
		return err
	}
	copy(f.old.fx, f.fx)
	copy(f.old.fy, f.fy)
	copy(f.old.gy, f.gy)
	mat.Copy(f.old.xy, f.xy)
	mat.CopySym(f.old.yy, f.yy)
	f.settle()
	return nil
}

func (f *follower) beginUpper(it *Iteration, xi []Sample) error {
	o, x, y, n := it.Oracle(), it.X(), it.Y(), len(xi)
	sfx, sfy := f.squares[:f.dx], 0.0
	clear(sfx)
	if n == 0 {
		if err := o.GradF(f.fx, f.fy, x, y, nil); err != nil {
			return err
		}
	}
	for j := range n {
		if err := o.GradF(f.one.fx, f.one.fy, x, y, xi[j:j+1]); err != nil {
			return err
		}
		if f.upper != nil {
			f.upper.visit(xi[j], f.one.fx, f.one.fy)
		}
		for i := range sfx {
			sfx[i] += welford(f.fx[i:i+1], f.one.fx[i:i+1], j+1)
		}
		sfy += welford(f.fy, f.one.fy, j+1)
	}
	for i := range sfx {
		f.gfx[i].begin(sfx[i], n, f.nXi)
	}
	f.gfy.begin(sfy, n, f.nXi)
	return nil
}

func (f *follower) beginLower(it *Iteration, phi []Sample) error {
	o, x, y, n := it.Oracle(), it.X(), it.Y(), len(phi)
	sxy, sgy, syy := f.squares[:f.dx], 0.0, 0.0
	clear(sxy)
	if n == 0 {
		if err := f.lowerAt(o, sample{gy: f.gy, xy: f.xy, yy: f.yy}, x, y, nil); err != nil {
			return err
		}
	}
	for j := range n {
		if err := f.lowerAt(o, f.one, x, y, phi[j:j+1]); err != nil {
			return err
		}
		if f.lower != nil {
			f.lower.visit(phi[j], f.one.gy, nil)
			f.bends.visit(phi[j], x, y, f.one.xy, f.one.yy)
		}
		sgy += welford(f.gy, f.one.gy, j+1)
		for i := range sxy {
			sxy[i] += welford(f.xy.Row(i), f.one.xy.Row(i), j+1)
		}
		for i := range f.dy {
			mean, t := f.yy.Row(i), f.one.yy.Row(i)
			syy += 2*welford(mean[:i], t[:i], j+1) + welford(mean[i:], t[i:], j+1)
		}
	}
	for i := range sxy {
		f.gxy[i].begin(sxy[i], n, f.nPhi)
	}
	f.ggy.begin(sgy, n, f.nPhi)
	f.gyy.begin(syy, n, f.nPhi)
	return nil
}
