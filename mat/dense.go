package mat

// Dense is a rectangular matrix of Rows × Cols float64s, stored row by row: entry (i, j) is
// Data[i*Stride+j].
//
// The fields are exported so that data goes in and out without a copy. A Dense must satisfy Stride
// ≥ Cols and len(Data) ≥ (Rows−1)·Stride+Cols (no bound where Rows or Cols is 0). Entries between
// the end of one row and the start of the next are not part of the matrix: no function of this
// package reads or writes them.
type Dense struct {
	Rows, Cols int
	Stride     int
	Data       []float64
}

// NewDense returns a zero matrix of rows × cols with Stride = cols. It panics if a size is
// negative.
func NewDense(rows, cols int) *Dense {
	if rows < 0 || cols < 0 {
		panic("mat: NewDense: negative size")
	}
	return &Dense{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, times(rows, cols))}
}

// DenseOf returns the matrix of rows × cols whose entries are those of data, row by row, in the
// same memory: nothing is copied. Its Stride is cols; for rows with a gap between them, write a
// Dense literal. It panics if a size is negative, or if len(data) is not rows·cols.
func DenseOf(rows, cols int, data []float64) *Dense {
	if rows < 0 || cols < 0 {
		panic("mat: DenseOf: negative size")
	}
	if uint(len(data)) != times(rows, cols) {
		panic("mat: DenseOf: len(data) is not rows·cols")
	}
	return &Dense{Rows: rows, Cols: cols, Stride: cols, Data: data}
}

// At returns entry (i, j). It panics if an index is out of range.
func (a *Dense) At(i, j int) float64 {
	if uint(i) >= uint(a.Rows) || uint(j) >= uint(a.Cols) {
		panic("mat: Dense.At: index out of range")
	}
	if a.torn() {
		panic("mat: Dense.At" + torn)
	}
	return a.Data[times(i, a.Stride):][j]
}

// Set writes entry (i, j). It panics if an index is out of range.
func (a *Dense) Set(i, j int, v float64) {
	if uint(i) >= uint(a.Rows) || uint(j) >= uint(a.Cols) {
		panic("mat: Dense.Set: index out of range")
	}
	if a.torn() {
		panic("mat: Dense.Set" + torn)
	}
	a.Data[times(i, a.Stride):][j] = v
}

// Row returns row i as a slice of a's own memory, of length and capacity Cols.
func (a *Dense) Row(i int) []float64 {
	if uint(i) >= uint(a.Rows) {
		panic("mat: Dense.Row: index out of range")
	}
	if a.torn() {
		panic("mat: Dense.Row" + torn)
	}
	if a.Cols == 0 {
		return nil
	}
	return a.Data[times(i, a.Stride):][:a.Cols:a.Cols]
}

// View returns the rows × cols block whose upper left entry is (i, j), in a's own memory.
func (a *Dense) View(i, j, rows, cols int) Dense {
	if i < 0 || j < 0 || rows < 0 || cols < 0 || rows > a.Rows-i || cols > a.Cols-j {
		panic("mat: Dense.View: block out of range")
	}
	fit("mat: Dense.View", a, a, a)
	v := Dense{Rows: rows, Cols: cols, Stride: a.Stride}
	if rows > 0 && cols > 0 {
		lo := i*a.Stride + j
		hi := lo + (rows-1)*a.Stride + cols
		v.Data = a.Data[lo:hi:hi]
	}
	return v
}

// Zero sets every entry to 0.
func (a *Dense) Zero() {
	for i := range a.Rows {
		clear(a.Row(i))
	}
}
