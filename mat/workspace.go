package mat

import (
	"sync/atomic"

	"stable/mat/kernel"
)

// A workspace holds packed operands; a stack would clear it each time.
type workspace struct {
	b       [nVector / kernel.Panel * kernel.PanelStep]float64
	scratch [4*kVector*8 + kernel.EdgeScratch]float64
}

// workspaces are not in use; spare is one more, cheaper to borrow.
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
