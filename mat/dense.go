package mat

// Dense is a Rows × Cols matrix by rows: entry (i, j) is Data[i*Stride+j]. Stride ≥ Cols and
// len(Data) ≥ (Rows−1)·Stride+Cols, unless Rows or Cols is 0.
type Dense struct {
	Rows, Cols int
	Stride     int
	Data       []float64
}

// NewDense returns a zero matrix with Stride = cols. It panics if a size is negative.
func NewDense(rows, cols int) *Dense {
	refuse(rows < 0 || cols < 0, "mat: NewDense", ": negative size")
	return &Dense{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, times(rows, cols))}
}

// DenseOf returns a matrix on data itself, with Stride = cols. It panics if a size is negative or
// len(data) is not rows·cols.
func DenseOf(rows, cols int, data []float64) *Dense {
	refuse(rows < 0 || cols < 0, "mat: DenseOf", ": negative size")
	refuse(uint(len(data)) != times(rows, cols), "mat: DenseOf", ": len(data) is not rows·cols")
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

// Row returns row i in a's memory, with length and capacity Cols.
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

// View returns the rows × cols block from (i, j) on, in a's memory.
func (a *Dense) View(i, j, rows, cols int) Dense {
	refuse(i < 0 || j < 0 || rows < 0 || cols < 0 || rows > a.Rows-i || cols > a.Cols-j,
		"mat: Dense.View", ": block out of range")
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
