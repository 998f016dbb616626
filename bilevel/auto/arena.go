package auto

// arena hands out memory that lives until reset. Blocks never move, so slices of them stay good.
type arena struct {
	blocks  [][]float64
	k, used int
}

const blockSize = 4096

func (a *arena) reset() { a.k, a.used = 0, 0 }

// take returns n numbers, of any value.
func (a *arena) take(n int) []float64 {
	for {
		if a.k == len(a.blocks) {
			a.blocks = append(a.blocks, make([]float64, max(n, blockSize)))
		}
		if b := a.blocks[a.k]; n <= len(b)-a.used {
			s := b[a.used : a.used+n : a.used+n]
			a.used += n
			return s
		}
		a.k++
		a.used = 0
	}
}

func (a *arena) zeros(n int) []float64 {
	s := a.take(n)
	clear(s)
	return s
}
