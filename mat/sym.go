package mat

// Sym is a symmetric N × N matrix: entry (i, j), i ≥ j, is Data[i*Stride+j].
type Sym struct {
	N      int
	Stride int
	Data   []float64
}

// NewSym returns the zero matrix of order n, Stride = n. It panics if n is negative.
func NewSym(n int) *Sym {
	refuse(n < 0, "mat: NewSym", ": negative size")
	return &Sym{N: n, Stride: n, Data: make([]float64, times(n, n))}
}

// SymOf returns the matrix whose lower triangle is that of data, in rows of n, in that memory. It
// panics if n is negative or len(data) is not n².
func SymOf(n int, data []float64) *Sym {
	refuse(n < 0, "mat: SymOf", ": negative size")
	refuse(uint(len(data)) != times(n, n), "mat: SymOf", ": len(data) is not n²")
	return &Sym{N: n, Stride: n, Data: data}
}

// AsSym returns the matrix of a square a's lower triangle, in a's memory. It panics if a is not
// square or does not fit its Data.
func AsSym(a *Dense) Sym {
	refuse(a.Rows != a.Cols, "mat: AsSym", ": matrix is not square")
	fit("mat: AsSym", a, a, a)
	return Sym{N: a.Rows, Stride: a.Stride, Data: a.Data}
}

// Lower returns s as a Dense in its memory, with a meaning in the lower triangle alone.
func (s *Sym) Lower() Dense { return Dense{Rows: s.N, Cols: s.N, Stride: s.Stride, Data: s.Data} }

// At returns entry (i, j) = (j, i). It panics if an index is out of range.
func (s *Sym) At(i, j int) float64 {
	if uint(i) >= uint(s.N) || uint(j) >= uint(s.N) {
		panic("mat: Sym.At: index out of range")
	}
	if s.torn() {
		panic("mat: Sym.At" + torn)
	}
	return s.Data[times(max(i, j), s.Stride):][min(i, j)]
}

// Set writes entries (i, j) and (j, i). It panics if an index is out of range.
func (s *Sym) Set(i, j int, v float64) {
	if uint(i) >= uint(s.N) || uint(j) >= uint(s.N) {
		panic("mat: Sym.Set: index out of range")
	}
	if s.torn() {
		panic("mat: Sym.Set" + torn)
	}
	s.Data[times(max(i, j), s.Stride):][min(i, j)] = v
}

// Row returns entries (i, 0) to (i, i) in s's memory.
func (s *Sym) Row(i int) []float64 {
	if uint(i) >= uint(s.N) {
		panic("mat: Sym.Row: index out of range")
	}
	if s.torn() {
		panic("mat: Sym.Row" + torn)
	}
	return s.Data[times(i, s.Stride):][: i+1 : i+1]
}

// View returns the principal submatrix of rows and columns i to i+n−1, in s's memory.
func (s *Sym) View(i, n int) Sym {
	refuse(i < 0 || n < 0 || n > s.N-i, "mat: Sym.View", ": block out of range")
	full := s.Lower()
	fit("mat: Sym.View", &full, &full, &full)
	v := full.View(i, i, n, n)
	return Sym{N: n, Stride: v.Stride, Data: v.Data}
}

// Zero sets every entry to 0.
func (s *Sym) Zero() {
	for i := range s.N {
		clear(s.Row(i))
	}
}
