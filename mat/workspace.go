package mat

import (
	"sync/atomic"

	"stable/mat/kernel"
)

// A workspace is what a product packs its operands into. It is kept for the next product: on the
// stack it would be cleared each time, and lie across cache lines.
type workspace struct {
	b       [kVector * nVector]float64
	scratch [4*kVector*8 + kernel.EdgeScratch]float64
}

// workspaces holds the ones not in use, at most as many as products ever ran at the same time;
// spare is another, which is cheaper to borrow.
var (
	spare      atomic.Pointer[workspace]
	workspaces = make(chan *workspace, 64)
)

func borrow() *workspace {
	if w := spare.Swap(nil); w != nil {
		return w
	}
	select {
	case w := <-workspaces:
		return w
	default:
		return new(workspace)
	}
}

func (w *workspace) giveBack() {
	if spare.CompareAndSwap(nil, w) {
		return
	}
	select {
	case workspaces <- w:
	default:
	}
}
